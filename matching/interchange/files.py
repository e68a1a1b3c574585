"""Files of matches of any kind: recognising the kind, reading the pairs, and writing the groups back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from matching.errors import InputError
from matching.interchange import colmap, hloc
from matching.interchange.records import Grouped, PairMatches
from matching.interchange.tables import read_npz, read_storage, read_text, read_torch
from matching.output.folders import Content
from matching.pictures.names import check_name, exists, is_file, make_absolute

SUFFIXES = {
    "npz": (".npz", ".npy"),
    "text": (".csv", ".txt", ".tsv"),
    "storage": (".xml", ".yml", ".yaml", ".json"),
    "torch": (".pt", ".pth"),
    "hloc": (".h5", ".hdf5"),
    "colmap": (".db", ".sqlite", ".sqlite3"),
}
KINDS = {suffix: kind for kind, suffixes in SUFFIXES.items() for suffix in suffixes}
# the readers of kinds that hold one pair; the others hold many
READERS = {"npz": read_npz, "text": read_text, "storage": read_storage, "torch": read_torch}


@dataclass(frozen=True)
class MatchFile:
    """A file of matches."""

    path: Path
    kind: str  # "npz", "text", "storage", "torch", "hloc" or "colmap"
    features: Path | None = None  # hloc's file of features

    @property
    def holds_many(self) -> bool:
        """Whether the file is of a kind that holds many pairs."""
        return self.kind not in READERS

    def pairs(self) -> Iterator[tuple[Any, PairMatches]]:
        """Read the matches of each pair."""
        if self.kind == "hloc":
            yield from hloc.read_hloc(self.path, self.features)
        elif self.kind == "colmap":
            yield from colmap.read_colmap(self.path)
        else:
            yield None, READERS[self.kind](self.path)

    def pair_of(self, images: Sequence[Path]) -> tuple[Any, PairMatches, bool]:
        """Read the matches of the pair of two images; if the file has only one pair, read that one."""
        if not self.holds_many:
            [(key, pair)] = self.pairs()
            return key, pair, False
        for key, pair in self.pairs():
            assert pair.names is not None  # files of many pairs have names
            for names in (pair.names, pair.names[::-1]):
                if all(_is_named(path, name) for path, name in zip(images, names, strict=True)):
                    return key, pair, names != pair.names
        raise InputError(f"{self.path}: holds no pair of {images[0]} and {images[1]}")

    def groups(self, labels: Mapping[Any, Grouped], all_objects: bool = False) -> dict[str, Content]:
        """Make the files with the groups, in the format of the matches; labels: {key: (matches, (n,))}."""
        if self.kind == "hloc":
            groups: Content = partial(hloc.write_groups, self.path, labels=labels)
            return {"groups.h5": groups, "pairs.txt": hloc.pairs_list(labels)}
        if self.kind == "colmap":
            return {"groups.db": lambda target: colmap.write_groups(self.path, target, labels, all_objects)}
        return {}


def _is_named(path: Path, name: str) -> bool:
    """Test whether a path ends with the name of an image, in which - may stand for /, as in hloc's files."""
    parts = f"-{make_absolute(path)}".replace("\\", "/").replace("/", "-")
    return parts.endswith("-" + name.replace("/", "-"))


def match_file(path: str | Path, features: str | Path | None = None) -> MatchFile:
    """Find a file of matches and its kind."""
    for name in [path] if features is None else [path, features]:
        check_name(name)
        if not is_file(name):
            raise InputError(f"{name}: {'is not a file' if exists(name) else 'no such file'}")
    path = Path(path)
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"{path}: the name of a file of matches must end in one of {', '.join(KINDS)}")
    if features is not None and kind != "hloc":
        raise InputError(f"{features}: --features requires matches of hloc (.h5), got {path.name}")
    return MatchFile(path, kind, None if features is None else Path(features))


def read_matches(path: str | Path, *, features: str | Path | None = None) -> list[PairMatches]:
    r"""Read the matches in a file that another program wrote.

    Parameters
    ----------
    path : str or Path
        The file: an .npz with arrays that have the names in `matches_from`, OpenCV's .yml, .yaml, .xml or
        .json with such matrices, or the .pt or .pth of `torch.save` with such tensors, which needs PyTorch;
        an .npy with rows x0, y0, x1, y1 [, score]; a .csv, .txt or .tsv with x0 y0 x1 y1 [score] on each
        line; hloc's matches (.h5, .hdf5); or COLMAP's database (.db, .sqlite, .sqlite3).
    features : str or Path, optional
        hloc's features (.h5), which are needed unless the matches are those of a dense matcher.

    Returns
    -------
    list of PairMatches
        The matches of each pair.

    Raises
    ------
    InputError
        A ValueError: a file is missing or damaged, or its suffix is wrong.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "matches.csv")
    ...     _ = path.write_text("x0,y0,x1,y1\n10,20,30,40\n")
    ...     [pair] = read_matches(path)
    >>> pair.xy0.tolist(), pair.xy1.tolist()
    ([[10.0, 20.0]], [[30.0, 40.0]])
    """
    return [pair for _, pair in match_file(path, features).pairs()]
