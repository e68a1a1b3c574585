import base64
import io
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import skimage.data
from PIL import Image
from planting import crops

from matching import InputError, MatchConfig, find_in_video
from matching.cli.main import main
from matching.video import search
from matching.video.files import format_time, make_page
from matching.video.reading import open_video

RATE, N_FRAMES = 10, 60
SHOWN = range(10, 25)  # frames that show the thing
SIDE = 170  # pixels
CODECS = {"mp4v": "mp4", "MJPG": "avi", "XVID": "avi", "VP80": "webm", "FFV1": "mkv"}


def where(number):
    """The left top corner of the thing in a frame."""
    return np.array([60 + 4 * (number - SHOWN[0]), 50])


@pytest.fixture(scope="module")
def thing():
    return crops(220)["coffee"]


def write_clip(path, codec, thing, n_frames=N_FRAMES):
    small = cv2.resize(thing, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    background = np.ascontiguousarray(skimage.data.astronaut()[:300, :400])
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*codec), RATE, (400, 300))
    assert writer.isOpened()
    for number in range(n_frames):
        frame = np.roll(background, number, axis=1)
        if number in SHOWN:
            x, y = where(number)
            frame[y : y + SIDE, x : x + SIDE] = small
        writer.write(np.ascontiguousarray(frame[:, :, ::-1]))
    writer.release()


@pytest.fixture(scope="module")
def clip(thing, tmp_path_factory):
    path = tmp_path_factory.mktemp("clips") / "clip.mp4"
    write_clip(path, "mp4v", thing)
    return path


@pytest.fixture(scope="module")
def result(thing, clip):
    return find_in_video(thing, clip, every=0.5)


def test_thing_is_found_where_and_when_it_is_seen(result):
    assert [(s.frame, s.seconds) for s in result.sightings] == [
        (10, pytest.approx(1.0)), (15, pytest.approx(1.5)), (20, pytest.approx(2.0)),
    ]  # fmt: skip
    (appearance,) = result.appearances
    assert (appearance.begin, appearance.end) == pytest.approx((1.0, 2.0))
    assert appearance.best.score == max(s.score for s in result.sightings)
    for sighting in result.sightings:
        best = max(sighting.objects, key=lambda found: found.score)
        expected = (best.points0 + 0.5) * SIDE / 220 - 0.5 + where(sighting.frame)
        assert np.median(np.linalg.norm(best.points1 - expected, axis=1)) < 1
    assert (result.n_frames, result.n_looked_at, result.size) == (N_FRAMES, 12, (400, 300))
    assert not result.ends_early
    assert repr(result) == "<VideoResult: seen 1 time, in 3 of 12 frames>"


def test_appearances_far_apart_are_two_and_one_missed_frame_is_bridged(thing, clip, result, monkeypatch):
    seen = SimpleNamespace(objects=result.sightings[0].objects, things=())
    unseen = SimpleNamespace(objects=(), things=())
    numbers = [10, 11, *range(13, 18), *range(21, 25)]
    looked_at = iter(range(N_FRAMES))
    matches = lambda *_: seen if next(looked_at) in numbers else unseen  # noqa: E731
    monkeypatch.setattr(search, "match_pair", matches)
    found = find_in_video(thing, clip, every=0.1)
    assert [[s.frame for s in a.sightings] for a in found.appearances] == [numbers[:7], numbers[7:]]


@pytest.mark.parametrize("codec", CODECS)
def test_frames_of_real_codecs_have_their_times(codec, thing, tmp_path):
    path = tmp_path / f"clip.{CODECS[codec]}"
    write_clip(path, codec, thing, 30)
    with open_video(path) as video:
        frames = list(video.frames(0.5))
    assert [frame.number for frame in frames] == [0, 5, 10, 15, 20, 25]
    assert [frame.seconds for frame in frames] == pytest.approx([0, 0.5, 1, 1.5, 2, 2.5], abs=0.01)
    assert frames[0].rgb.shape == (300, 400, 3)
    shown = skimage.data.astronaut()[:300, :400]
    assert np.abs(frames[0].rgb.astype(int) - shown).mean() < 12  # and not its colours in reverse
    assert (video.n_frames, video.seconds) == (30, pytest.approx(2.9, abs=0.01))


def test_command_writes_table_json_and_page_of_hits(thing, clip, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Image.fromarray(thing).save("thing.png")
    assert main(["thing.png", str(clip), "--every", "0.5"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].split()[:6] == ["from", "to", "frames", "matches", "score", "how"]
    assert table[1].split()[:3] == ["0:01.0", "0:02.0", "3"]
    assert table[2].startswith("12 of 60 frames searched, one every 0.5 s, in a video of 0:0")
    folder = tmp_path / "thing-clip-match"
    told = json.loads((folder / "matches.json").read_text())
    assert told["appearances"][0] | {"best": 0} == {
        "begin": 1.0,
        "end": 2.0,
        "frames": [10, 15, 20],
        "best": 0,
    }
    assert {o["frame"] for o in told["objects"]} == {10, 15, 20}
    assert told["objects"][0]["matches"] > 12
    assert told["video"] == {
        "frames": 60, "seconds": 5.9, "every": 0.5, "looked_at": 12, "ends_early": False,
    }  # fmt: skip
    assert set(told["files"]) == {"hits.html"}
    page = (folder / "hits.html").read_text()
    assert "<h1>thing in clip</h1>" in page
    assert page.count('<li data-names="thing 0:01.0 to 0:02.0') == 1  # an appearance, in its best frame
    assert main(["thing.png", str(clip), "--every", "2.5", "--json", "--no-figure", "--quiet"]) == 1
    again = json.loads(capsys.readouterr().out)
    assert (again["objects"], again["files"]) == ([], {})  # frames 0, 25 and 50
    assert not (folder / "hits.html").exists()  # of the run before


def test_page_cuts_the_thing_out_of_the_best_frame(result):
    page = make_page(result, ("thing.png", "clip.mp4"))
    left, top, width, height = map(int, re.search(r'viewBox="([\d ]+)"', page).group(1).split())
    outline = re.search(r'class="outline ink \w+" d="M([^"]*)Z"', page).group(1)
    corners = np.array([corner.split() for corner in outline.split("L")], float) - 0.5
    low, high = corners.min(axis=0), corners.max(axis=0)
    assert (low >= (left, top)).all()
    assert (high <= (left + width, top + height)).all()
    assert (width, height) < result.size
    cut = base64.b64decode(re.search(r'href="data:image/jpeg;base64,([^"]+)"', page).group(1))
    with Image.open(io.BytesIO(cut)) as picture:
        assert picture.width / picture.height == pytest.approx(width / height, rel=0.03)


def test_damaged_video_is_searched_as_far_as_possible(thing, clip, tmp_path):
    cut = tmp_path / "cut.avi"
    write_clip(cut, "MJPG", thing)
    content = cut.read_bytes()
    cut.write_bytes(content[: int(len(content) * 0.55)])
    found = find_in_video(thing, cut, every=0.5)
    assert found.ends_early
    assert 20 < found.n_frames < 50
    assert [s.frame for s in found.sightings] == [10, 15, 20]
    hurt = tmp_path / "hurt.mp4"
    content = bytearray(clip.read_bytes())
    rng = np.random.default_rng(0)
    for at in rng.integers(1000, int(len(content) * 0.8), 300):
        content[at] ^= 255
    hurt.write_bytes(content)
    Image.fromarray(thing).save(tmp_path / "thing.png")
    code = "import sys; from matching.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "thing.png", "hurt.mp4", "--every", "2"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)  # FFmpeg's own is loaded anew
    assert run.returncode in (0, 1)
    assert "3 of 60 frames searched" in run.stdout
    assert run.stderr == "written to thing-hurt-match\n"  # decoders are kept silent


def refused(call):
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_other_files_are_rejected_by_name(thing, clip, tmp_path):
    def find(content):
        path = tmp_path / "a.mp4"
        path.write_bytes(content)
        return refused(lambda: find_in_video(thing, path))

    assert find(b"") == f"{tmp_path / 'a.mp4'}: is empty"
    assert "damaged video" in find(b"no video at all")
    assert "damaged video" in find(clip.read_bytes()[:3000])  # its index is at the end
    assert "playlist of a stream" in find(b"#EXTM3U\n#EXTINF:10\nhttp://127.0.0.1:9/endless.ts\n")
    assert "can't be opened" in refused(lambda: find_in_video(thing, tmp_path / "none.mp4"))
    assert "is a URL" in refused(lambda: find_in_video(thing, "rtsp://127.0.0.1/live"))
    assert "every must be at least" in refused(lambda: find_in_video(thing, clip, every=0))


def test_codec_is_named_if_no_frame_can_be_decoded(thing, clip, monkeypatch):
    monkeypatch.setattr("matching.video.reading.VideoReader.skip", lambda self: None)
    assert "no frame of it can be decoded (codec fmp4)" in refused(lambda: find_in_video(thing, clip))


def test_frames_have_the_decoders_limit(thing, clip, monkeypatch):
    monkeypatch.setattr("matching.video.reading.MAX_PIXELS", 100_000)
    assert re.search(
        r"at most 0 megapixels; the frames of this video have 0\.1",
        refused(lambda: find_in_video(thing, clip)),
    )


def test_wrong_usage_is_rejected(thing, clip, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Image.fromarray(thing).save("thing.png")
    for arguments, told in (
        ((str(clip), "thing.png"), "the video must come second and last"),
        (("thing.png", str(clip), "thing.png"), "the video must come second and last"),
        (("thing.png", "thing.png", "--every", "1"), "--every requires a video"),
        (("thing.png", str(clip), "--warp"), "--warp is only for pictures, got the video"),
        (("thing.png", str(clip), "--every", "0"), "must be a number of seconds from 0.001 to 86400"),
        (("thing.png", "rtsp://127.0.0.1/live.mp4"), "is a URL"),
    ):
        assert main(list(arguments)) == 2
        assert told in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["thing.png"]


def test_thing_without_features_is_reported(clip, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (50, 50)).save("flat.png")
    assert main(["flat.png", str(clip), "--every", "5"]) == 1
    assert "flat.png: no features" in capsys.readouterr().err


def test_details_of_large_frames_are_found(thing, tmp_path):
    """Frames larger than the working size are looked at at their own."""
    path = tmp_path / "large.mp4"
    write_clip(path, "mp4v", thing, SHOWN[0] + 1)
    coarse = MatchConfig(working_pixels=8_000)
    assert find_in_video(thing, path, coarse, every=1.0).sightings
    assert not find_in_video(thing, path, coarse, every=1.0, max_pixels=8_000).sightings


def test_times_are_formatted():
    assert [format_time(s) for s in (0, 59.96, 3600)] == ["0:00.0", "1:00.0", "1:00:00.0"]
