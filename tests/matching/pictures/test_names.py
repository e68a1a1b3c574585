import ntpath
import os

from matching.pictures.names import make_absolute, make_relative


def test_two_leading_slashes_name_the_same_file():
    assert make_absolute("//tmp/a.png") == make_absolute("/tmp/a.png") == "/tmp/a.png"
    assert make_relative(["//tmp/x/a.png", "/tmp/y/a.png"]) == ["x/a.png", "y/a.png"]


def test_names_are_relative_to_the_common_folder():
    assert make_relative(["/1.png", "/a/2.png"]) == ["1.png", "a/2.png"]
    assert make_relative(["/a/1.png"]) == ["1.png"]
    assert make_relative(["/a/1.png", "/a/1.png"]) == ["1.png", "1.png"]
    assert make_relative(["d/../1.png", "2.png"]) == ["1.png", "2.png"]
    assert make_relative([]) == []


def test_names_across_windows_drives_are_absolute(monkeypatch):
    monkeypatch.setattr(os, "path", ntpath)
    assert make_relative([r"C:\a\x.png", r"c:\A\b\x.png"]) == ["x.png", "b/x.png"]
    assert make_relative([r"C:\a\x.png", r"D:\a\x.png"]) == ["C:/a/x.png", "D:/a/x.png"]
    assert make_absolute(r"\\host\share\a.png") == r"\\host\share\a.png"
