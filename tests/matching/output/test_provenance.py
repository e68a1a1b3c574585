"""The digest of the code depends on its text alone, and the machine names what rounds."""

import shutil

import pytest

from matching._common import threads
from matching.output import provenance


@pytest.fixture
def program(tmp_path):
    for name in ("gdl_core/a.py", "matching/a.py", "matching/grouping/b.py", "tests/test_a.py"):
        path = tmp_path / "one" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"A = 1\nB = 2\n")
    return tmp_path / "one"


def test_the_digest_is_the_same_wherever_the_code_is_installed(program, tmp_path):
    digest = provenance.digest_code(program)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(program, elsewhere)
    (elsewhere / "matching/grouping/b.py").write_bytes(b"A = 1\r\nB = 2\r\n")  # as a checkout on Windows
    (elsewhere / "matching/grouping/b.cpython-311.pyc").write_bytes(b"compiled")
    (elsewhere / "tests/test_a.py").unlink()  # no part of an installed program
    assert provenance.digest_code(elsewhere) == digest


def test_the_digest_changes_with_any_line_and_any_name(program):
    digests = [provenance.digest_code(program)]
    (program / "gdl_core/a.py").write_bytes(b"A = 2\nB = 2\n")
    digests.append(provenance.digest_code(program))
    (program / "matching/grouping/b.py").rename(program / "matching/grouping/c.py")
    digests.append(provenance.digest_code(program))
    assert len(set(digests)) == 3


def test_the_program_has_a_digest_and_the_machine_names_the_kernels_of_the_blas(monkeypatch):
    assert provenance.programs()["code"] == provenance.digest_code(provenance.ROOT)
    pools = [
        {"user_api": "openmp", "internal_api": "openmp", "version": None, "filepath": "/lib/libgomp.so"},
        *(
            {"user_api": "blas", "internal_api": "openblas", "filepath": f"/lib/{name}.libs/libopenblas.so"}
            | {"version": version, "architecture": "Zen"}
            for name, version in (("opencv", "0.3.0"), ("numpy", "0.3.1"), ("scipy", "0.3.2"))
        ),
    ]
    for order in (1, -1):  # whichever is loaded first
        monkeypatch.setattr(threads, "threadpool_info", lambda order=order: pools[::order])
        assert provenance.machine.__wrapped__().endswith(", openblas 0.3.1 Zen")
    monkeypatch.setattr(threads, "threadpool_info", list)
    assert provenance.machine.__wrapped__().endswith("None")
