"""Matches of one pair in a table or an archive."""

import pickle
import sys
from types import ModuleType

import numpy as np
import pytest

from matching import InputError, read_matches

TABLE = np.round(np.random.default_rng(0).uniform(0, 500, (20, 5)), 3)
PLAIN = "\n".join(" ".join(map(str, row)) for row in TABLE)


def read(path, text):
    path.write_text(text)
    [pair] = read_matches(path)
    return pair


def same(pair, score=TABLE[:, 4]):
    table = np.column_stack([pair.xy0, pair.xy1])
    return np.array_equal(table, TABLE[:, :4]) and (
        pair.score is None if score is None else np.array_equal(pair.score, score)
    )


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace(" ", ","),
        PLAIN.replace(" ", " ; "),
        PLAIN.replace(" ", "\t") + "\n\n",
        "# made by hand\n" + PLAIN.replace("\n", "  # a match\n"),
        "x0,y0,x1,y1,score\n" + PLAIN.replace(" ", ","),
        "\ufeffX0, Y0, X1, Y1, distance\n" + PLAIN.replace(" ", ","),
        "x0 y0 x1 y1 score\n" + PLAIN,
        PLAIN.replace("\n", "\r\n"),
    ],
)
def test_text_tables_are_read(tmp_path, text):
    assert same(read(tmp_path / "MATCHES.TXT", text))


def test_named_columns_may_be_in_any_order_among_others(tmp_path):
    lines = ["pair;confidence;x1;y1;x0;y0"]
    lines += [f"a.png;{1 - s};{x1};{y1};{x0};{y0}" for x0, y0, x1, y1, s in TABLE.tolist()]
    pair = read(tmp_path / "a.csv", "\n".join(lines))
    assert same(pair, pair.score)
    assert np.allclose(pair.score, TABLE[:, 4])  # 1 - confidence


def test_numpy_archives_are_read(tmp_path):
    frames = np.random.default_rng(1).normal(size=(20, 2, 2))
    np.savez_compressed(
        tmp_path / "a.npz",
        mkpts0=TABLE[:, :2],
        mkpts1=TABLE[:, 2:4],
        frames0=frames,
        frames1=frames,
        sizes=[[480, 640], [100, 200]],
    )
    [pair] = read_matches(tmp_path / "a.npz")
    assert same(pair, None)
    assert np.array_equal(pair.frames0, frames)
    assert pair.sizes == ((480, 640), (100, 200))
    np.save(tmp_path / "a.npy", TABLE)
    assert same(read_matches(tmp_path / "a.npy")[0])
    np.savez(tmp_path / "b.npz", keypoints0=TABLE[:, :2], keypoints1=TABLE[:, 2:4], matches=[[0, 3]])
    assert np.array_equal(read_matches(tmp_path / "b.npz")[0].xy1, TABLE[[3], 2:4])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "\n", "a.csv: holds no matches"),
        ("a.csv", "1,2,3\n", "a.csv: must have 4 or 5 columns, .*, got 1 row of 3$"),
        ("a.csv", "x0,a,y0,x1,y1\n\n1,nan,2,3,4\n1,2,3,4,inf\n", "a.csv: line 4: must hold .* got 'inf'"),
        ("a.csv", "1,2,3,4\n\x0c\n1,2,3,1e39\n", "a.csv: line 3: must hold finite numbers .*, got '1e39'"),
        ("a.csv", "1,2,3,4\n1,2,3\n", "a.csv: line 2: must have 4 columns, got 3"),
        ("a.csv", "1,2,3,4\n# x\n1,2,,4\n", "a.csv: line 3: must hold finite numbers .*, got ''"),
        ("a.csv", "x0,y0,x1,y1\n1,2,3,four\n", "a.csv: line 2: must hold finite numbers .*, got 'four'"),
        ("a.csv", "x,y,x1,y1\n1,2,3,4\n", "a.csv: must have the columns x0, y0, x1, y1; x0 is missing"),
        ("a.csv", b"\xff\xfe1\x002", "a.csv: must be text in UTF-8"),
        ("a.npz", "no archive", "a.npz: is damaged, or is not NumPy's"),
        ("a.npz", b"PK\x03\x04 and no more", "a.npz: is damaged, or is not NumPy's"),
        ("a.png", "1", "a.png: the name of a file of matches must end in one of .npz, .npy, .csv, .txt"),
        ("none", None, "none.csv: no such file"),
        ("", b"", "is not a file"),
    ],
)
def test_unreadable_table_reports_reason(tmp_path, name, content, message):
    path = tmp_path / name if content is not None else tmp_path / f"{name}.csv"
    if content:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError, match=message) as raised:
        read_matches(path)
    assert "\n" not in str(raised.value)


def lines(form, *head):
    return "\n".join([*head, *(form(*row) for row in TABLE)])


@pytest.mark.parametrize(
    "text",
    [
        lines('"{}","{}","{}","{}","{}"'.format),
        lines('"{}";"{}";"{}";"{}";"{}"'.format, '"x0";"y0";"x1";"y1";"score"'),
        lines("'{}', '{}', '{}', '{}', '{}'".format),
        lines('"a, b",{},{},{},{},{}'.format, '"","X0","Y0","X1","Y1","Score"'),
        lines('"{}","{}","{}","{}","{}"'.format, '"x0","y0","x1","y1","score"').replace("\n", "\r\n"),
    ],
    ids=["no names", "names", "single", "an index", "CR LF"],
)
def test_quoted_fields_are_read(tmp_path, text):
    (tmp_path / "a.csv").write_bytes(text.encode())
    [pair] = read_matches(tmp_path / "a.csv")
    np.testing.assert_array_equal(np.hstack([pair.xy0, pair.xy1, pair.score[:, None]]), TABLE)


@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("form", ["{};{};{};{}", '"{}","{}","{}","{}"'])
def test_decimal_commas_are_refused(tmp_path, form, names):
    text = "\n".join(form.format(*row[:4]).replace(".", ",") for row in TABLE)
    head = form.format("x0", "y0", "x1", "y1") + "\n" if names else ""
    (tmp_path / "a.csv").write_text(head + text)
    with pytest.raises(
        InputError, match=rf"a\.csv: line {1 + names}: must hold finite numbers .*, got '\d+,\d+'"
    ):
        read_matches(tmp_path / "a.csv")


def test_torch_files_are_read_by_pytorch_without_running_code(tmp_path, monkeypatch):
    """PyTorch is asked for weights only; here it is a stand-in that returns arrays."""
    calls = []

    def load(path, **options):
        calls.append((path, options))
        return {"xy0": TABLE[:, :2], "xy1": TABLE[:, 2:4], "score": TABLE[:, 4], "stop": 9}

    torch = ModuleType("torch")
    torch.load = load
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert same(read(tmp_path / "a.pt", ""))
    assert calls == [(tmp_path / "a.pt", {"map_location": "cpu", "weights_only": True})]
    monkeypatch.setattr(torch, "load", lambda *_, **__: pickle.loads(b"cos\nno_such_thing\n."))
    with pytest.raises(
        InputError, match=r"a\.pt: is damaged, or is not a file of torch.save that holds only"
    ):
        read_matches(tmp_path / "a.pt")


def test_file_written_by_pytorch_is_read(tmp_path):
    torch = pytest.importorskip("torch")
    points = {
        "mkpts0_f": torch.tensor(TABLE[:, :2]).T.contiguous().T,
        "mkpts1_f": torch.tensor(TABLE[:, 2:4]),
    }
    torch.save(points, tmp_path / "m.pt")
    [pair] = read_matches(tmp_path / "m.pt")
    assert same(pair, None)
