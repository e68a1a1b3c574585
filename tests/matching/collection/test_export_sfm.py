"""Whole collections for COLMAP and hloc: all pictures in one, tracks through several, what moved left out."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from PIL import Image
from planting import crops

from matching import InputError
from matching.cli.main import main
from matching.collection import match_collection, plan_folder
from matching.collection.database.store import open_store
from matching.collection.reports.export_sfm import export_for_sfm, static_matches


@pytest.fixture(scope="module")
def db(cache, tmp_path_factory):
    """Three views of one photograph, one of them stored turned, and a stranger."""
    folder = tmp_path_factory.mktemp("views")
    photograph = Image.fromarray(crops(300)["coffee"])
    photograph.save(folder / "a.png")
    photograph.crop((20, 10, 290, 280)).save(folder / "b.png")
    exif = Image.Exif()
    exif[274] = 6  # shown a quarter turn clockwise
    photograph.crop((0, 30, 280, 300)).rotate(90, expand=True).save(folder / "c.jpg", quality=95, exif=exif)
    Image.fromarray(crops(200)["chelsea"]).save(folder / "d.png")
    match_collection(plan_folder(folder), folder / "c.db", cache=cache, jobs=1)
    return folder / "c.db"


def test_colmap_database_holds_all_pictures_and_their_tracks(db, tmp_path):
    (path,) = export_for_sfm(db, tmp_path, "colmap")
    with closing(sqlite3.connect(path)) as colmap:
        names = dict(colmap.execute("SELECT image_id, name FROM images"))
        assert list(names.values()) == ["a.png", "b.png", "c.jpg", "d.png"]
        keypoints = {
            k: np.frombuffer(data, np.float32).reshape(n, 2)
            for k, n, data in colmap.execute("SELECT image_id, rows, data FROM keypoints WHERE rows > 0")
        }
        pairs = {
            divmod(number, 2**31 - 1): np.frombuffer(data, np.uint32).reshape(n, 2)
            for number, n, data in colmap.execute("SELECT pair_id, rows, data FROM matches")
        }
        geometries = dict(colmap.execute("SELECT pair_id, config FROM two_view_geometries"))
    assert set(pairs) == {(1, 2), (1, 3), (2, 3)}
    assert len(geometries) == 3
    for (i, j), matches in pairs.items():
        assert all(len(np.unique(column)) == len(column) for column in matches.T)  # one partner each
        a, b = keypoints[i][matches[:, 0]] - 0.5, keypoints[j][matches[:, 1]] - 0.5
        upright = {
            1: lambda xy: xy,
            2: lambda xy: np.add(xy, (20, 10)),
            3: lambda xy: np.add(turned(xy), (0, 30)),
        }
        assert np.median(np.linalg.norm(upright[i](a) - upright[j](b), axis=1)) < 0.7
    through = set(pairs[1, 2][:, 0]) & set(pairs[1, 3][:, 0])
    assert len(through) > 0.3 * len(pairs[1, 2])  # places that all three show are one keypoint of the first
    for xy in keypoints.values():
        assert len(np.unique(xy, axis=0)) == len(xy)


def turned(xy):
    """From stored to displayed pixels of c.jpg."""
    return np.column_stack([279 - xy[:, 1], xy[:, 0]])


def test_hloc_files_equal_the_database(db, tmp_path):
    h5py = pytest.importorskip("h5py")
    features, matches, pairs = export_for_sfm(db, tmp_path, "hloc")
    (database,) = export_for_sfm(db, tmp_path, "colmap")
    assert pairs.read_text() == "a.png b.png\na.png c.jpg\nb.png c.jpg\n"
    with (
        h5py.File(features) as file,
        h5py.File(matches) as matched,
        closing(sqlite3.connect(database)) as colmap,
    ):
        assert set(file) == {"a.png", "b.png", "c.jpg", "d.png"}
        for name, n in colmap.execute("SELECT name, rows FROM images JOIN keypoints USING (image_id)"):
            assert file[f"{name}/keypoints"].shape == (n, 2)
        partner = matched["a.png/b.png/matches0"][:]
        data = colmap.execute("SELECT data FROM matches ORDER BY pair_id").fetchone()[0]
        listed = np.frombuffer(data, np.uint32).reshape(-1, 2)
        assert len(partner) == len(file["a.png/keypoints"])
        assert np.array_equal(partner[listed[:, 0]], listed[:, 1])
        assert (partner >= 0).sum() == len(listed)
        score = matched["a.png/b.png/matching_scores0"][:]
        assert ((score > 0.5) == (partner >= 0)).all()


def test_moving_objects_are_left_out():
    """A camera moves past points in depth; one object moves on its own."""
    rng = np.random.default_rng(0)
    points = rng.uniform((-2, -2, 4), (2, 2, 8), (300, 3))
    moving = rng.uniform((-0.5, -0.5, 4), (0.5, 0.5, 5), (60, 3))
    xy0 = np.vstack([points, moving])
    xy1 = np.vstack([np.add(points, (0.5, 0, 0.1)), np.add(moving, (0.1, 0.9, 0))])
    xy0, xy1 = (500 * xyz[:, :2] / xyz[:, 2:] + 500 for xyz in (xy0, xy1))
    object_ = np.repeat([0, 1, 2], [150, 150, 60])
    fundamental, is_static = static_matches(xy0, xy1, object_)
    assert is_static[:300].mean() > 0.95
    assert not is_static[300:].any()
    assert fundamental.shape == (3, 3)
    assert static_matches(xy0[:5], xy1[:5], object_[:5])[0] is None


def test_command_writes_and_refuses_foreign_files(db, tmp_path, capsys):
    folder = tmp_path / "a#b"
    assert main(["collection", "--db", str(db), "--colmap", str(folder), "--static"]) == 0
    assert main(["collection", "--db", str(db), "--colmap", str(folder)]) == 0  # ours: replaced
    (folder / "database.db").write_bytes(b"somebody's")
    assert main(["collection", "--db", str(db), "--colmap", str(folder)]) == 2
    assert "database.db: was not written by gdl-match collection" in capsys.readouterr().err
    assert (folder / "database.db").read_bytes() == b"somebody's"
    assert main(["collection", "--db", str(db), "--static"]) == 2
    assert "--static requires --colmap or --hloc" in capsys.readouterr().err


def test_missing_picture_is_reported(db, cache, tmp_path):
    Image.fromarray(crops(100)["coffee"]).save(tmp_path / "x.png")
    Image.fromarray(crops(100)["coffee"]).save(tmp_path / "y.png")
    match_collection(plan_folder(tmp_path), tmp_path / "c.db", cache=cache, jobs=1)
    (tmp_path / "x.png").unlink()
    with pytest.raises(InputError, match=r"x\.png: can't be read"):
        export_for_sfm(tmp_path / "c.db", tmp_path / "out", "colmap")
    assert not (tmp_path / "out").exists()
    with open_store(tmp_path / "c.db") as store:
        assert store.value("SELECT count(*) FROM pairs") == 1


def test_names_that_hloc_cannot_hold_are_rejected_early(tmp_path, capsys):
    pytest.importorskip("h5py")
    for name in ("one.png", "two words.png"):
        Image.fromarray(np.zeros((40, 40), np.uint8)).save(tmp_path / name)
    db = tmp_path / "c.db"
    assert main(["collection", "--all", str(tmp_path), "--db", str(db), "--hloc", str(tmp_path / "out")]) == 2
    assert "can't hold a name with white space" in capsys.readouterr().err
    assert not db.exists()
