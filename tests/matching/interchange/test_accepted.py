"""The files of the table in docs/matches-from-anywhere.md, each written by the program that it names."""

import cv2
import numpy as np
import pytest

from matching import InputError, matches_from, read_matches

TABLE = np.round(np.random.default_rng(0).uniform(0, 500, (20, 4)), 2)
XY0, XY1 = TABLE[:, :2], TABLE[:, 2:]
SCORE = np.linspace(0, 1, 20)


def save_storage(path):
    file = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    for name, matrix in (("xy0", XY0), ("xy1", XY1), ("distance", SCORE)):
        file.write(name, matrix)
    file.write("comment", "made by a test")
    file.release()


def save_hdf5(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        pair = file.create_group("left-1.png/right-1.png")
        pair["keypoints0"], pair["keypoints1"], pair["scores"] = XY0, XY1, 1 - SCORE


def save_colmap(path):
    pycolmap = pytest.importorskip("pycolmap")
    with pycolmap.Database.open(str(path)) as file:
        camera = file.write_camera(pycolmap.Camera.create_from_model_name(1, "SIMPLE_RADIAL", 500, 640, 480))
        for name, xy in (("a.png", XY0), ("b.png", XY1)):
            number = file.write_image(pycolmap.Image(name=name, camera_id=camera))
            file.write_keypoints(number, (xy + 0.5).astype(np.float32))
        file.write_matches(1, 2, np.repeat(np.arange(20, dtype=np.uint32)[:, None], 2, axis=1))


def save_pandas(path):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(TABLE, columns=["x0", "y0", "x1", "y1"]).assign(score=SCORE).to_csv(path)


WRITERS = {
    "np.savez: m.npz": lambda path: np.savez(path, xy0=XY0, xy1=XY1, score=SCORE),
    "np.savez_compressed: m.npz": lambda path: np.savez_compressed(path, mkpts0_f=XY0, mkpts1_f=XY1),
    "np.save: m.npy": lambda path: np.save(path, TABLE),
    "np.savetxt: m.txt": lambda path: np.savetxt(path, TABLE),
    "np.savetxt, header of semicolons: m.txt": lambda path: np.savetxt(
        path, TABLE[:, [1, 0, 3, 2]], header="y0;x0;y1;x1"
    ),
    "np.savetxt, header: m.txt": lambda path: np.savetxt(path, TABLE[:, [1, 0, 3, 2]], header="y0 x0 y1 x1"),
    "np.savetxt, commas: m.csv": lambda path: np.savetxt(
        path, TABLE[:, [1, 0, 3, 2]], header="y0,x0,y1,x1", delimiter=","
    ),
    "DataFrame.to_csv: m.csv": save_pandas,
    "cv2.FileStorage: m.yml": save_storage,
    "cv2.FileStorage: m.xml": save_storage,
    "cv2.FileStorage: m.json": save_storage,
    "h5py (hloc): m.h5": save_hdf5,
    "pycolmap: m.db": save_colmap,
}


@pytest.mark.parametrize("name", WRITERS)
def test_files_of_other_programs_are_read(tmp_path, name):
    path = tmp_path / name.split(": ")[1]
    WRITERS[name](path)
    [pair] = read_matches(path)
    np.testing.assert_allclose(pair.xy0, XY0, atol=1e-4)  # COLMAP's are float32
    np.testing.assert_allclose(pair.xy1, XY1, atol=1e-4)
    if pair.score is not None:
        np.testing.assert_allclose(pair.score, SCORE, atol=1e-12)


@pytest.mark.parametrize("first", [0, 1])
def test_column_of_row_numbers_is_refused_or_needs_a_name(tmp_path, first):
    counted = np.column_stack([np.arange(first, first + 20), TABLE])
    np.savetxt(tmp_path / "m.csv", counted, delimiter=",")
    for read in (lambda: read_matches(tmp_path / "m.csv"), lambda: matches_from(counted)):
        with pytest.raises(
            InputError, match="the first of its 5 columns seems to number the rows: leave it out, or name the"
        ):
            read()
    np.savetxt(tmp_path / "n.csv", counted, delimiter=",", header="index,x0,y0,x1,y1", comments="")
    [pair] = read_matches(tmp_path / "n.csv")
    assert np.array_equal(pair.xy0, XY0)


@pytest.mark.parametrize(
    "text",
    ["", "{}", "%YAML:1.0\n---\nxy0: !!opencv-matrix\n", "%YAML:1.0\n---\na: 1\n"],
)
def test_storage_without_matches_is_refused(tmp_path, text):
    (tmp_path / "m.yml").write_text(text)
    with pytest.raises(InputError, match=r"m\.yml: "):
        read_matches(tmp_path / "m.yml")
