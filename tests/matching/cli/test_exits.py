"""Exit statuses that do not depend on the command."""

import pytest

from matching.cli.exits import BAD_INPUT
from matching.cli.main import main


@pytest.mark.parametrize(
    "words", [["../a.jpg", "../b.jpg"], ["collection", "--all", "/photos", "--db", "/x.db"]]
)
def test_a_deleted_working_folder_is_one_line(tmp_path, monkeypatch, capsys, words):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(words) == BAD_INPUT
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("error: the working folder was deleted; run the command in another one")
