from pathlib import Path

import pytest

from matching import InputError
from matching.collection.plan import _split_names, list_pictures, plan_folder, plan_gallery, plan_list


def named(plan):
    return [tuple(Path(plan.paths[k]).name for k in pair) for pair in plan.pairs()]


def test_folder_gives_every_pair_once_in_the_order_of_names(folder):
    plan = plan_folder(folder)
    names = ["a first.png", "b second.png", "c.jpg", "d plain.png", "e damaged.jpg", "f text.png"]
    assert [Path(p).name for p in plan.paths] == names
    assert named(plan) == [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]


def test_subfolders_are_optional(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("x.png", "in/y.PNG", ".git/z.png"):
        (tmp_path / name).touch()
    assert list_pictures(tmp_path) == [str(tmp_path / "x.png")]
    assert list_pictures(tmp_path, recursive=True) == [str(tmp_path / "in/y.PNG"), str(tmp_path / "x.png")]


def test_only_pictures_of_every_kind_are_listed(tmp_path):
    pictures = ["a.HEIC", "b.heif", "c.hif", "d.jpg", "e.tiff", "f.webp", "g.hdr"]
    for name in [*pictures, "a.h5", "b.hdf", "c.mpg", "d.mpeg", "e.ps", "f.eps", "g.pdf", "h.grib", "i.wmf"]:
        (tmp_path / name).touch()
    assert [Path(path).name for path in list_pictures(tmp_path)] == pictures


@pytest.mark.parametrize(
    "line",
    ["a.png\tb c.png", "a.png, b c.png", '"a.png","b c.png"', "a.png 'b c.png'", "  a.png   'b c.png' "],
)
def test_pair_can_be_written_in_several_forms(tmp_path, line):
    (tmp_path / "list").write_text(f"# pairs\n\n{line}\n")
    assert named(plan_list(tmp_path / "list")) == [("a.png", "b c.png")]


@pytest.mark.parametrize("line", [r"C:\a\x.png D:\y.png", r"C:\a\x.png 'D:\y.png'"])
def test_backslashes_between_folders_stay(line):
    assert _split_names(line) == [r"C:\a\x.png", r"D:\y.png"]


def test_relative_paths_count_from_the_list_then_from_here(tmp_path, monkeypatch):
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists/near.png").touch()
    (tmp_path / "here.png").touch()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lists/pairs").write_text("near.png here.png\nnear.png nowhere.png\n")
    plan = plan_list("lists/pairs")
    assert plan.paths == tuple(str(tmp_path / p) for p in ("lists/near.png", "here.png", "lists/nowhere.png"))


def test_pair_listed_twice_is_one_and_its_reverse_another(tmp_path):
    (tmp_path / "list").write_text("a b\nb a\na b\na a\n")
    assert plan_list(tmp_path / "list").listed == ((0, 1), (1, 0), (0, 0))
    (tmp_path / "list").write_text("/a /b\n//a /b\n")  # two slashes: another name for the same file
    assert plan_list(tmp_path / "list").paths == ("/a", "/b")


def test_queries_meet_the_whole_gallery_but_not_themselves(folder, tmp_path):
    (tmp_path / "q.png").touch()
    assert len(named(plan_gallery(tmp_path, folder))) == 6
    both = named(plan_gallery(folder, folder))
    assert len(both) == 30
    assert all(a != b for a, b in both)
    assert len(named(plan_gallery(folder / "c.jpg", folder))) == 5


def test_unreadable_paths_are_listed_by_name(tmp_path):
    long = "x" * 300
    (tmp_path / "list").write_text(f"{long}.png /{long}/b.png\n")
    plan = plan_list(tmp_path / "list")
    assert plan.paths == (str(tmp_path / f"{long}.png"), f"/{long}/b.png")
    with pytest.raises(InputError, match="the folder can't be read"):
        plan_folder(tmp_path / long)


@pytest.mark.parametrize(
    ("text", "reason"), [("a\n", "line 1 must name two pictures, got 1"), ("# none\n", "has no pairs")]
)
def test_bad_list_is_rejected(tmp_path, text, reason):
    (tmp_path / "list").write_text(text)
    with pytest.raises(InputError, match=reason):
        plan_list(tmp_path / "list")


def test_bad_folder_is_rejected(tmp_path, folder):
    with pytest.raises(InputError, match="can't be read"):
        plan_folder(tmp_path / "missing")
    with pytest.raises(InputError, match="has no pictures"):
        plan_folder(tmp_path)
    with pytest.raises(InputError, match="is a file; a folder of pictures is needed"):
        plan_folder(folder / "c.jpg")
    (tmp_path / "one.png").write_text("")
    with pytest.raises(InputError, match="at least 2 pictures are needed, the folder has 1"):
        plan_folder(tmp_path)
    with pytest.raises(InputError, match="no pair of different pictures"):
        plan_gallery(folder / "c.jpg", folder / "c.jpg")
    with pytest.raises(InputError, match="can't be read"):
        plan_list(tmp_path / "missing")
    with pytest.raises(InputError, match="must be text in UTF-8"):
        plan_list(folder / "c.jpg")
