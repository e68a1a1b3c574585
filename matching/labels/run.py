"""A run: every picture of a folder is searched once, and the results are written as labels."""

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

from matching.collection.backends import Progress, start_workers
from matching.collection.cache import FeatureCache
from matching.collection.work import Settings, Source, explain_failure, open_source
from matching.drivers.pair import match_pair
from matching.errors import InputError
from matching.grouping.config import MatchConfig
from matching.grouping.methods import MANY
from matching.labels.formats import FORMATS, check_twins
from matching.labels.frames import save_frames
from matching.labels.places import number_tracks, sort_frames
from matching.labels.record import WHOLE, LabelledPicture, Record, open_record
from matching.labels.references import Reference
from matching.labels.rivals import Claim, claim_places, settle_places
from matching.output.files import make_folder
from matching.output.folders import compute_digest, write_whole
from matching.output.provenance import code_digest
from matching.pictures.formats import find_pictures
from matching.pictures.names import is_video, make_absolute
from matching.searches.source import ImageSource
from matching.settings import EVERY, MIN_SCORE

MAX_KEPT_REFERENCES = 128  # described references per process


@dataclass(frozen=True)
class Labels:
    """The labels that a run has found, and the means to write them."""

    folder: Path  # of the pictures
    out: Path
    record: Record
    names: tuple[str, ...]  # of the pictures in the folder
    classes: tuple[str, ...]  # names of the things
    has_tracks: bool = False  # whether the pictures are consecutive frames
    min_score: float = 0.0  # of a label, unless the user accepted it

    @property
    def usable(self) -> list[LabelledPicture]:
        """The pictures that can be used, with all of their places."""
        return [one for name in self.names if (one := self.record.pictures[name]).error is None]

    @property
    def pictures(self) -> list[LabelledPicture]:
        """The pictures that can be used, with their labels."""
        return [
            replace(
                one,
                places=tuple(
                    place.completed if self.get_verdict(one, k) == WHOLE else place
                    for k, place in enumerate(one.places)
                    if self.is_label(one, k)
                ),
            )
            for one in self.usable
        ]

    def is_label(self, picture: LabelledPicture, place: int) -> bool:
        """Test whether a place is a label: as the user decided, or else a whole thing of enough score.

        What differs from its reference is no label by itself.
        """
        proposed = picture.places[place]
        is_proposed = proposed.whole and proposed.same is not False and proposed.score >= self.min_score
        verdict = self.get_verdict(picture, place)
        return is_proposed if verdict is None else bool(verdict)

    def get_verdict(self, picture: LabelledPicture, place: int) -> bool | str | None:
        """What the user decided about a place: True, False or WHOLE; None if nothing."""
        return self.record.verdicts.get((str(picture.content), place))

    @property
    def n_undecided(self) -> int:
        """The number of places about which the user has decided nothing."""
        return sum(self.get_verdict(one, k) is None for one in self.usable for k in range(len(one.places)))

    @property
    def left_out(self) -> Counter[str]:
        """Count the places that are no labels by the reason.

        "parts" show only a part of their references, "different" ones are whole but not the same, and those
        "below" have only too small a score; the user has "dropped" the others.
        """
        return Counter(
            "parts" if not place.whole
            else "different" if place.same is False
            else "below" if self.get_verdict(picture, k) is None
            else "dropped"
            for picture in self.usable
            for k, place in enumerate(picture.places)
            if not self.is_label(picture, k)
        )  # fmt: skip

    def write(self, forms: Sequence[str]) -> None:
        """Write the labels in some formats; raise InputError if a foreign file would be replaced."""
        pictures = self.pictures
        if self.has_tracks:
            pictures = [
                replace(one, places=tuple(map(lambda place, n: replace(place, track=n), one.places, numbers)))
                for one, numbers in zip(pictures, number_tracks([p.places for p in pictures]), strict=True)
            ]
        folder, out = make_absolute(self.folder), make_absolute(self.out)
        written = (FORMATS[form].write for form in forms)
        files = {k: v for w in written for k, v in w(pictures, self.classes, folder, out)}
        changed: dict[str, str] = {}
        for name, content in files.items():
            path, digest = self.out / name, hashlib.sha256(content).hexdigest()
            present = compute_digest(path)
            if present is None and os.path.lexists(path):
                raise InputError(f"{path}: can't be replaced; choose another --out, or remove it")
            if present not in (None, digest, *self.record.written.get(name, ())):
                raise InputError(
                    f"{path}: was not written by gdl-match label, or has been changed since;"
                    " choose another --out, or remove it"
                )
            if present != digest:
                changed[name] = digest
        if changed:
            self.record.add_written(changed)
        for name in changed:
            make_folder((self.out / name).parent)
            write_whole(self.out / name, files[name])


def label_pictures(
    references: Sequence[Reference],
    folder: Path,
    out: Path,
    config: MatchConfig = MatchConfig(),
    *,
    cache: FeatureCache,
    form: str | Sequence[str] = "coco",
    min_score: float = 0.0,
    recursive: bool = False,
    tracks: bool = False,
    every: float = EVERY.default,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Labels:
    """Find things in all pictures of a folder, or in frames of a video, and write their labels.

    A run that was stopped continues where it stopped. Pictures whose files have changed are searched again.

    Parameters
    ----------
    references : sequence of Reference
        The things; several references of one class are pictures of one thing.
    folder : Path
        The folder of the pictures, or a video, whose frames are written into the folder `frames` of `out` and
        count as consecutive.
    out : Path
        The folder for the labels, which is created if missing.
    config : MatchConfig
        The settings.
    cache : FeatureCache
        The cache for the features of the pictures.
    form : str or sequence of str
        The format, or several ones, of `matching.labels.formats.FORMATS`.
    min_score : float
        The smallest score of a label, see docs/labels.md. Others are recorded, but not written.
    recursive : bool
        Whether to include subfolders.
    tracks : bool
        Whether the pictures are consecutive frames, in the order of the numbers in their names.
    every : float
        Seconds between the frames of a video.
    jobs : int, optional
        Processes at a time; by default, one for each processor.
    progress : callable
        A function like `tqdm.tqdm`.

    Returns
    -------
    Labels
        What was found.

    Raises
    ------
    InputError
        A reference, the folder or the video can't be used, or files that this program did not write are in
        the way.
    """
    if is_video(folder):
        folder, tracks = save_frames(folder, out, EVERY.check("every", every)), True
    paths = find_pictures(folder, recursive)
    names = [os.path.relpath(path, folder).replace(os.path.sep, "/") for path in paths]
    forms = (form,) if isinstance(form, str) else tuple(form)
    for one in (one for one in forms if one not in FORMATS):
        raise InputError(f"the format must be one of {', '.join(FORMATS)}, got {one!r}")
    MIN_SCORE.check("min_score", min_score)
    if not all(FORMATS[one].is_one_file for one in forms):
        check_twins(names)
    if tracks:
        order = sort_frames(names)
        paths, names = [paths[k] for k in order], [names[k] for k in order]
    wanted = [(r.name, r.polygon, _open_reference(r, config).described.digest.hex()) for r in references]
    head = {"references": wanted, "settings": asdict(config), "code": code_digest()}
    record = open_record(make_folder(out), head)
    todo = [
        (number, str(path), name, tuple(references))
        for number, (path, name) in enumerate(zip(paths, names, strict=True))
        if name not in record.pictures or record.pictures[name].content != compute_digest(path)
    ]

    def lost(number: int, error: str) -> LabelledPicture:
        return LabelledPicture(number, names[number], None, error=error)

    with start_workers(config, cache, jobs, progress=progress) as workers:
        for found in workers.records(_label_file, todo, lost, len(todo), "pictures"):
            record.add_picture(found)
    classes = tuple(dict.fromkeys(reference.name for reference in references))
    labels = Labels(folder, out, record, tuple(names), classes, tracks, min_score)
    labels.write(forms)
    return labels


def _label_file(
    number: int, path: str, name: str, references: tuple[Reference, ...], settings: Settings
) -> LabelledPicture:
    content = compute_digest(path)
    try:
        scene = open_source(Source(path, content), settings)
        width, height = map(int, scene.described.size)
        claims = list[Claim]()
        for reference in references:
            thing = _open_reference(reference, settings.config)
            objects = match_pair(thing, scene, MANY).objects
            claims += claim_places(reference, objects, thing.described.box, (width, height))
        places = settle_places(claims, references, scene.picture)
    except Exception as error:
        return LabelledPicture(number, name, content, error=explain_failure(error))
    return LabelledPicture(number, name, content, width, height, tuple(places))


@lru_cache(maxsize=MAX_KEPT_REFERENCES)
def _open_reference(reference: Reference, config: MatchConfig) -> ImageSource:
    thing = ImageSource(reference.read(), config)
    if not len(thing.described.features):
        raise InputError(f"{reference.path}: {reference.name} has no features, so it can't be found")
    return thing
