"""COLMAP's database, written and read by pycolmap where it is installed."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from matching import InputError, read_matches
from matching.interchange.colmap import write_groups
from matching.interchange.files import match_file
from matching.objects.transforms import apply_transform
from matching.output.exchange import SCHEMA

PAIR = 2147483647 + 2
HOMOGRAPHY = np.array([[1.1, 0.2, 30], [-0.15, 0.9, 60], [4e-4, -2e-4, 1]])
MATCHES = np.column_stack([np.arange(90), np.arange(90)[::-1]]).astype(np.uint32)
GROUPS = np.repeat([0, 1, -1], 30)


def keypoints(columns):
    """COLMAP's keypoints of two images: two planes, 30 each, and 30 outliers; in 2, 4 or 6 columns."""
    rng = np.random.default_rng(0)
    xy0 = rng.uniform(10, 190, (90, 2))
    xy1 = apply_transform(HOMOGRAPHY, xy0)
    xy1[30:60] += 70
    xy1[60:] = rng.uniform(0, 300, (30, 2))
    scale, angle = rng.uniform(1, 4, (2, 90)), rng.uniform(-3, 3, (2, 90))
    shape = scale[:, :, None] * np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], 2)
    more = {2: shape[:, :, :0], 4: np.stack([scale, angle], 2), 6: shape}[columns]
    tables = [np.hstack([xy, m]).astype(np.float32) for xy, m in zip((xy0, xy1), more, strict=True)]
    tables[1] = tables[1][::-1]  # match i is keypoint i of the first and 89 - i of the second image
    return tables, shape


def database(path, columns=2):
    tables, _ = keypoints(columns)
    with closing(sqlite3.connect(path)) as file:
        file.executescript(SCHEMA)
        for k, table in enumerate(tables, 1):
            file.execute("INSERT INTO cameras VALUES (?, 2, 640, 480, ?, 0)", (k, np.ones(4).tobytes()))
            file.execute("INSERT INTO images VALUES (?, ?, ?)", (k, f"folder/{k}.png", k))
            file.execute("INSERT INTO keypoints VALUES (?, ?, ?, ?)", (k, *table.shape, table.tobytes()))
        file.execute("INSERT INTO matches VALUES (?, 90, 2, ?)", (PAIR, MATCHES.tobytes()))
        file.execute(
            "INSERT INTO two_view_geometries VALUES (?, 0, 2, NULL, 1, NULL, NULL, NULL, NULL, NULL)", (PAIR,)
        )
        file.commit()
    return path


@pytest.mark.parametrize("columns", [2, 4, 6])
def test_pair_is_read(tmp_path, columns):
    [pair] = read_matches(database(tmp_path / "a.db", columns))
    tables, shape = keypoints(columns)
    # the centre of the top-left pixel is (0.5, 0.5) in COLMAP and (0, 0) here
    assert np.allclose(pair.xy0, tables[0][:, :2] - 0.5)
    assert np.allclose(pair.xy1, tables[1][::-1, :2] - 0.5)
    assert pair.names == ("folder/1.png", "folder/2.png")
    assert pair.sizes == ((480, 640), (480, 640))
    assert np.array_equal(pair.indices, MATCHES)
    assert pair.as_stored
    if columns == 2:
        assert pair.frames0 is None
    else:
        assert np.allclose(pair.frames0, shape[0].reshape(-1, 2, 2), atol=1e-5)


def test_database_written_by_pycolmap_is_read(tmp_path):
    pycolmap = pytest.importorskip("pycolmap")
    tables, shape = keypoints(4)
    with pycolmap.Database.open(str(tmp_path / "a.db")) as file:
        camera = file.write_camera(pycolmap.Camera.create_from_model_name(1, "SIMPLE_RADIAL", 500, 640, 480))
        numbers = [file.write_image(pycolmap.Image(name=f"{k}.png", camera_id=camera)) for k in range(3)]
        for number, table in zip(numbers, (tables[1], tables[0], tables[1]), strict=True):
            file.write_keypoints(number, table)
        file.write_matches(numbers[1], numbers[0], MATCHES)  # it turns them round
        file.write_matches(numbers[1], numbers[2], MATCHES)
        pairs = read_matches(tmp_path / "a.db")  # while its log is not yet in the file
    assert [pair.names for pair in pairs] == [("0.png", "1.png"), ("1.png", "2.png")]
    assert np.array_equal(pairs[0].swapped().xy0, pairs[1].xy0)
    assert np.array_equal(pairs[0].xy0, pairs[1].xy1)
    assert np.allclose(pairs[1].frames0, shape[0].reshape(-1, 2, 2), atol=1e-5)


def test_frames_follow_rotation_of_pycolmap_sift(tmp_path):
    pycolmap = pytest.importorskip("pycolmap")
    Image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(3)
    small = rng.integers(0, 256, (40, 40)).astype(np.uint8)
    picture = Image.fromarray(small).resize((240, 240), Image.Resampling.BICUBIC)
    (tmp_path / "images").mkdir()
    picture.save(tmp_path / "images" / "a.png")
    picture.transpose(Image.Transpose.ROTATE_270).save(tmp_path / "images" / "b.png")  # clockwise as seen
    pycolmap.extract_features(tmp_path / "a.db", tmp_path / "images")
    pycolmap.match_exhaustive(tmp_path / "a.db")
    [pair] = read_matches(tmp_path / "a.db")
    pair = pair if pair.names == ("a.png", "b.png") else pair.swapped()  # in the order of their extraction
    maps = pair.frames1 @ np.linalg.inv(pair.frames0)
    assert np.abs(np.median(maps, axis=0) - [[0, -1], [1, 0]]).max() < 0.1
    # (0, 0) is the centre of the top-left pixel, so a row y becomes the column 239 - y
    assert abs(np.median(pair.xy1[:, 0] + pair.xy0[:, 1]) - 239) < 0.1


def written(tmp_path, columns=2, all_objects=True):
    source = database(tmp_path / "a.db", columns)
    before = source.read_bytes()
    file = match_file(source)
    labels = {key: (pair, GROUPS) for key, pair in file.pairs()}
    [(name, write)] = file.groups(labels, all_objects).items()
    write(tmp_path / name)
    assert source.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.db", name]
    return tmp_path / name


def test_groups_are_written_as_tables_of_geometries(tmp_path):
    target = written(tmp_path)
    with closing(sqlite3.connect(target)) as file:
        for k in range(2):
            of_k = np.flatnonzero(k == GROUPS)
            rows = file.execute(
                f"SELECT pair_id, rows, cols, data, config, F, H FROM two_view_geometries_{k}"
            )
            [(pair, n, width, data, config, fundamental, homography)] = rows.fetchall()
            assert (pair, n, width, config, fundamental) == (PAIR, 30, 2, 4, None)  # planar
            assert np.array_equal(np.frombuffer(data, np.uint32).reshape(-1, 2), MATCHES[of_k])
            tables, _ = keypoints(2)
            mapped = apply_transform(np.frombuffer(homography).reshape(3, 3), tables[0][of_k])
            assert np.abs(mapped - tables[1][::-1][of_k]).max() < 0.05
        [(n, config)] = file.execute("SELECT rows, config FROM two_view_geometries").fetchall()
        assert (n, config) == (60, 8)  # multiple
    [pair] = read_matches(target)
    assert np.array_equal(pair.indices, MATCHES[:60])


def test_geometry_describes_static_scene(tmp_path):
    """Both planes are of one: they are apart by the same shift everywhere, as parallel planes are."""
    with closing(sqlite3.connect(written(tmp_path, all_objects=False))) as file:
        [(n, data, config, fundamental)] = file.execute(
            "SELECT rows, data, config, length(F) FROM two_view_geometries"
        ).fetchall()
        [(n_matches,)] = file.execute("SELECT rows FROM matches").fetchall()
    matches = np.frombuffer(data, np.uint32).reshape(-1, 2)
    assert config == 3 and fundamental == 72
    kept = np.isin(MATCHES[:, 0], matches[:, 0])
    assert kept[GROUPS >= 0].all() and kept[GROUPS < 0].mean() < 0.3
    assert n == kept.sum()
    assert n_matches == 60 + kept[GROUPS < 0].sum()


def test_static_scene_of_few_matches_is_degenerate(tmp_path):
    file = match_file(database(tmp_path / "a.db"))
    [(key, pair)] = file.pairs()
    few = replace(pair, xy0=pair.xy0[:14], xy1=pair.xy1[:14], indices=pair.indices[:14])
    labels = {key: (few, np.repeat([0, -1], [10, 4]))}
    file.groups(labels)["groups.db"](tmp_path / "b.db")
    with closing(sqlite3.connect(tmp_path / "b.db")) as again:
        assert again.execute("SELECT rows, config FROM two_view_geometries").fetchall() == [(0, 1)]


def test_pycolmap_reads_the_copy(tmp_path):
    pycolmap = pytest.importorskip("pycolmap")
    with pycolmap.Database.open(str(written(tmp_path, 6))) as file:
        assert np.array_equal(file.read_matches(1, 2), MATCHES[:60])
        geometry = file.read_two_view_geometry(1, 2)
        assert np.array_equal(geometry.inlier_matches, MATCHES[:60])
        cache = pycolmap.DatabaseCache.create(file, pycolmap.DatabaseCacheOptions())
        assert cache.correspondence_graph.num_matches_between_images(1, 2) == 60


def test_repeated_matches_are_written_once(tmp_path):
    path = database(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as file:
        twice = np.vstack([MATCHES, MATCHES[:40]])
        file.execute("UPDATE matches SET rows = ?, data = ?", (len(twice), twice.tobytes()))
        file.commit()
    [pair] = read_matches(path)
    labels = np.concatenate([GROUPS, GROUPS[:40]])
    for all_objects in (True, False):
        target = tmp_path / f"{all_objects}.db"
        write_groups(path, target, {PAIR: (pair, labels)}, all_objects)
        with closing(sqlite3.connect(target)) as file:
            for table in ("matches", "two_view_geometries", "two_view_geometries_0"):
                n, data = file.execute(f"SELECT rows, data FROM {table}").fetchone()
                pairs = np.frombuffer(data, "<u4").reshape(-1, 2)
                assert n == len(pairs) == len(np.unique(pairs, axis=0)) > 0


def test_groups_replace_groups_of_an_earlier_copy(tmp_path):
    target = written(tmp_path)
    file = match_file(target)
    labels = {key: (pair, np.where(np.arange(60) < 30, 0, -1)) for key, pair in file.pairs()}
    file.groups(labels)["groups.db"](tmp_path / "again.db")
    with closing(sqlite3.connect(tmp_path / "again.db")) as again:
        names = [n for (n,) in again.execute("SELECT name FROM sqlite_master WHERE name GLOB 'two_view*'")]
        assert sorted(names) == ["two_view_geometries", "two_view_geometries_0"]


def test_verified_matches_stay_without_objects(tmp_path):
    path = database(tmp_path / "a.db")
    row = (14, MATCHES[:14].tobytes(), 6, np.arange(9.0).tobytes(), PAIR)  # less than a geometry needs here
    with closing(sqlite3.connect(path)) as file:
        file.execute(
            "UPDATE two_view_geometries SET rows = ?, data = ?, config = ?, H = ? WHERE pair_id = ?", row
        )
        file.commit()
    file = match_file(path)
    file.groups({key: (pair, np.full(90, -1)) for key, pair in file.pairs()})["groups.db"](tmp_path / "b.db")
    with closing(sqlite3.connect(tmp_path / "b.db")) as again:
        assert again.execute("SELECT rows FROM matches").fetchall() == [(14,)]
        query = "SELECT rows, data, config, H, pair_id FROM two_view_geometries"
        assert again.execute(query).fetchall() == [row]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE matches SET rows = 91", "a.db: pair 1, 2: is damaged .720 bytes for 91 x 2 numbers"),
        (
            "UPDATE keypoints SET rows = 9, data = zeroblob(72) WHERE image_id = 2",
            "refers to keypoint 89 of image 1, but that image has only 9 keypoints",
        ),
        ("UPDATE keypoints SET cols = 3", "folder/1.png: must have 2 or 4 or 6 columns, got 3"),
        ("DELETE FROM matches", "a.db: holds no matches"),
        ("DELETE FROM images WHERE image_id = 2", "a.db: pair 1, 2: there is no image 2"),
        ("DROP TABLE matches", "a.db: is not a database of COLMAP: it has no table matches"),
    ],
)
def test_unreadable_database_reports_reason(tmp_path, change, message):
    path = database(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as file:
        file.execute(change)
        file.commit()
    with pytest.raises(InputError, match=message) as raised:
        read_matches(path)
    assert "\n" not in str(raised.value)


def test_zero_size_of_a_camera_is_ignored(tmp_path):
    path = database(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE cameras SET width = 0")
        file.commit()
    assert read_matches(path)[0].sizes is None


def test_pair_without_matches_uses_those_of_its_geometry(tmp_path):
    path = database(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as file:
        file.execute("INSERT INTO cameras VALUES (3, 2, 640, 480, ?, 0)", (np.ones(4).tobytes(),))
        file.execute("INSERT INTO images VALUES (3, '3.png', 3)")
        file.execute("INSERT INTO keypoints SELECT 3, rows, cols, data FROM keypoints WHERE image_id = 2")
        file.execute("INSERT INTO matches VALUES (?, 0, 2, NULL)", (PAIR + 1,))
        file.execute(
            "INSERT INTO two_view_geometries VALUES (?, 90, 2, ?, 3, NULL, NULL, NULL, NULL, NULL)",
            (PAIR + 1, MATCHES.tobytes()),
        )
        file.commit()
    first, second = read_matches(path)
    assert second.names == ("folder/1.png", "3.png")
    assert np.array_equal(first.xy1, second.xy1)


@pytest.mark.parametrize("folder", ["a#b?", "c%41 d"])
def test_folders_may_have_any_name(tmp_path, folder):
    (tmp_path / folder).mkdir()
    assert len(read_matches(database(tmp_path / folder / "a.db"))) == 1


RIG_TABLES = "rigs", "rig_sensors", "frames", "frame_data", "pose_priors"


def add_rig(path):
    """Put both images of a database into one frame of a rig, by COLMAP 4's tables."""
    with closing(sqlite3.connect(path)) as file:
        file.executescript(
            """
            CREATE TABLE rigs (rig_id INTEGER PRIMARY KEY, ref_sensor_id INTEGER, ref_sensor_type INTEGER);
            CREATE TABLE rig_sensors (rig_id INTEGER REFERENCES rigs(rig_id) ON DELETE CASCADE,
                sensor_id INTEGER, sensor_type INTEGER, sensor_from_rig BLOB);
            CREATE UNIQUE INDEX rig_sensor_assignment ON rig_sensors(sensor_id, sensor_type);
            CREATE TABLE frames (frame_id INTEGER PRIMARY KEY, rig_id INTEGER REFERENCES rigs(rig_id));
            CREATE TABLE frame_data (frame_id INTEGER REFERENCES frames(frame_id) ON DELETE CASCADE,
                data_id INTEGER, sensor_id INTEGER, sensor_type INTEGER);
            CREATE TABLE pose_priors (pose_prior_id INTEGER PRIMARY KEY, gravity BLOB);
            INSERT INTO rigs VALUES (1, 1, 0);
            INSERT INTO rig_sensors VALUES (1, 2, 0, x'0102');
            INSERT INTO frames VALUES (1, 1);
            INSERT INTO frame_data VALUES (1, 1, 1, 0), (1, 2, 2, 0);
            INSERT INTO pose_priors VALUES (1, x'03');
            ALTER TABLE two_view_geometries ADD COLUMN camera1 BLOB;
            ALTER TABLE two_view_geometries ADD COLUMN camera2 BLOB;
            """
        )
        file.commit()


@pytest.mark.parametrize("all_objects", [True, False])
def test_rigs_and_frames_stay(tmp_path, all_objects):
    path = database(tmp_path / "a.db")
    add_rig(path)
    [pair] = read_matches(path)
    write_groups(path, tmp_path / "copy.db", {PAIR: (pair, GROUPS)}, all_objects)
    stored = []
    for name in ("a.db", "copy.db"):
        with closing(sqlite3.connect(tmp_path / name)) as file:
            schema = "SELECT name, sql FROM sqlite_master WHERE name LIKE 'rig%' OR name LIKE 'frame%'"
            stored.append([file.execute(schema).fetchall()])
            stored[-1] += [file.execute(f"SELECT * FROM {table}").fetchall() for table in RIG_TABLES]
    assert stored[0] == stored[1]
    assert all(stored[0])


@pytest.mark.parametrize("all_objects", [True, False])
def test_rig_of_pycolmap_stays(tmp_path, all_objects):
    pycolmap = pytest.importorskip("pycolmap")
    tables, _ = keypoints(2)
    with pycolmap.Database.open(str(tmp_path / "a.db")) as file:
        if not hasattr(file, "write_rig"):
            pytest.skip("this pycolmap has no rigs")
        cameras = [pycolmap.Camera.create_from_model_name(k, "SIMPLE_RADIAL", 500, 640, 480) for k in (1, 2)]
        for camera in cameras:
            file.write_camera(camera, use_camera_id=True)
        rig = pycolmap.Rig(rig_id=1)
        rig.add_ref_sensor(cameras[0].sensor_id)
        rig.add_sensor(cameras[1].sensor_id, pycolmap.Rigid3d(np.eye(3, 4)))
        file.write_rig(rig, use_rig_id=True)
        frame = pycolmap.Frame(frame_id=1, rig_id=1)
        for k, table in enumerate(tables, 1):
            image = pycolmap.Image(name=f"{k}.png", camera_id=k, image_id=k)
            file.write_image(image, use_image_id=True)
            file.write_keypoints(k, table)
            frame.add_data_id(image.data_id)
        file.write_frame(frame, use_frame_id=True)
        file.write_matches(1, 2, MATCHES)
    [pair] = read_matches(tmp_path / "a.db")
    write_groups(tmp_path / "a.db", tmp_path / "copy.db", {PAIR: (pair, GROUPS)}, all_objects)
    with pycolmap.Database.open(str(tmp_path / "copy.db")) as copy:
        (rig,), (frame,) = copy.read_all_rigs(), copy.read_all_frames()
        assert rig.num_sensors() == 2
        assert {data.id for data in frame.image_ids} == {1, 2}
        assert len(copy.read_matches(1, 2)) >= np.count_nonzero(GROUPS >= 0)
        assert len(copy.read_two_view_geometry(1, 2).inlier_matches) > 0
