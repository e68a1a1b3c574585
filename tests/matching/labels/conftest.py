import pytest
from PIL import Image
from planting import crops, object_pair

from matching.cli import main as cli

QUICK = ("--quiet", "--max-matches", "800", "--jobs", "1")


@pytest.fixture
def label(tmp_path, monkeypatch, capsys):
    """Runs the command in a folder with an astronaut, a cup, and three pictures of which one shows both:
    (exit status, output, errors).
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    own = crops()
    Image.fromarray(own["astronaut"]).save("astronaut.png")
    Image.fromarray(own["coffee"]).save("cup.png")
    Image.fromarray(object_pair()[1]).save("photos/both.png")
    Image.fromarray(own["chelsea"]).save("photos/cat.png")

    def call(*arguments):
        words = ["label", "--in", "photos", *map(str, arguments), "--cache", "cache", *QUICK]
        return cli.main(words), *capsys.readouterr()

    return call
