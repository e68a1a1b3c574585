"""Groups of a small collection, and the table, page and CSV of them."""

import csv
import os
import re
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageOps
from planting import crops
from stored import fill

from matching import MatchConfig, MatchResult
from matching.cli.main import main
from matching.collection import match_collection, plan_folder
from matching.collection.database.store import open_store
from matching.collection.records import make_pair_record
from matching.collection.reports import query_results
from matching.collection.reports.duplicates import list_removable
from matching.collection.reports.groups import (
    COLUMNS,
    Link,
    _grow_groups,
    find_groups,
    find_joined,
    find_links,
)
from matching.collection.reports.relations import Relation
from matching.objects.comparison import Comparison
from matching.objects.description import describe_object


def read_groups(db):
    with open_store(db) as store:
        return find_groups(store, find_links(store))


@pytest.fixture(scope="module")
def db(cache, tmp_path_factory):
    """The matched database of two families of pictures and a stranger."""
    folder = tmp_path_factory.mktemp("family")
    made = {name: Image.fromarray(picture) for name, picture in crops(300).items()}
    coffee, cat = made["coffee"], made["chelsea"]
    coffee.save(folder / "coffee.png")
    coffee.save(folder / "coffee copy.jpg", quality=60)
    coffee.crop((60, 40, 250, 260)).save(folder / "coffee crop.png")
    cat.save(folder / "cat.png")
    cat.rotate(90).save(folder / "cat turned.png")
    made["astronaut"].save(folder / "stranger.png")
    match_collection(plan_folder(folder), folder / "c.db", cache=cache, jobs=1)
    return folder / "c.db"


def test_pictures_of_one_group_are_not_matched_again(monkeypatch, tmp_path):
    """Three pictures of one thing and two strangers; what is asked for, round by round."""
    rounds, links = [], []

    @contextmanager
    def match(pairs, *_, db, **__):
        rounds.append(pairs)
        links.extend(pair for pair in rounds[-1] if not {"d", "e"} & {*pair})
        with open_store(db, MatchConfig()):
            yield db

    def find_joined(_, asked):
        assert asked == {pair for some in rounds for pair in some}
        joined = {name: name for pair in links for name in pair}
        for p, q in links:
            joined = {name: joined[p] if there == joined[q] else there for name, there in joined.items()}
        return joined

    monkeypatch.setattr(query_results, "verify_pairs", match)
    monkeypatch.setattr(query_results, "find_joined", find_joined)
    best = {"a": "bcd", "b": "acd", "c": "bad", "d": "abc", "e": "abc"}
    candidates = {query: dict.fromkeys(found, 9) for query, found in best.items()}
    with query_results.verify_for_groups(candidates, db=tmp_path / "g.db") as db:
        assert db.exists()
    first, second = [("a", "b"), ("a", "d"), ("a", "e"), ("b", "c")], [("b", "d"), ("b", "e"), ("c", "d")]
    assert rounds == [first, second]  # a and c are in one group already; d and e take part no more
    rounds.clear()
    with query_results.verify_for_groups({}) as db:
        assert read_groups(db) == []


def test_joined_pictures_equal_the_groups(db, tmp_path):
    paths = [m.picture for members in read_groups(db) for m in members]
    with open_store(db) as store:
        joined = find_joined(store, {(p, q) for p in paths for q in paths if p < q})
        assert find_joined(store, {(q, p) for p in paths for q in paths if p < q}) == {}
        (coffee,) = (p for p in paths if p.endswith("coffee.png"))
        some = find_joined(store, {(p, coffee) for p in paths})
    assert {named(p) for p in some} == {"coffee.png", "coffee copy.jpg", "coffee crop.png"}
    found = {}
    for path, group in joined.items():
        found.setdefault(group, set()).add(path)
    groups = {frozenset(m.picture for m in members) for members in read_groups(db)}
    assert {frozenset(paths) for paths in found.values()} == groups
    with open_store(tmp_path / "empty.db", MatchConfig()) as store:
        assert find_joined(store, set()) == {}


def named(path):
    return None if path is None else path.rsplit("/", 1)[-1]


def test_groups_name_the_role_of_each_picture(db):
    coffee, cat = ({named(m.picture): (m.role, named(m.of)) for m in members} for members in read_groups(db))
    whole = {"coffee.png", "coffee copy.jpg"}
    assert set(coffee) == {*whole, "coffee crop.png"}
    assert coffee["coffee crop.png"][0] == "part of"
    assert coffee["coffee crop.png"][1] in whole
    assert coffee["coffee.png"][0] == ""  # though the other name comes first
    assert coffee["coffee copy.jpg"] == ("copy of", "coffee.png")
    assert set(cat) == {"cat.png", "cat turned.png"}
    assert sorted(role for role, _ in cat.values()) == ["", "turned copy of"]


def test_logo_alone_joins_no_group_and_mirrored_copies_need_no_option(cache, tmp_path):
    made = {name: Image.fromarray(picture) for name, picture in crops(300).items()}
    logo = made["coffee"].crop((80, 80, 200, 200)).resize((80, 80))
    for name in ("astronaut", "rocket"):
        made[name].paste(logo, (200, 20))
        made[name].save(tmp_path / f"{name}.png")
    made["chelsea"].save(tmp_path / "cat.png")
    ImageOps.mirror(made["chelsea"]).save(tmp_path / "cat mirrored.png")
    match_collection(plan_folder(tmp_path), tmp_path / "c.db", cache=cache, jobs=1)
    with open_store(tmp_path / "c.db") as store:
        links = list(find_links(store))
        (cat,) = find_groups(store, links)
    assert sorted(link.relation.kind for link in links) == ["mirrored", "shares a part"]
    (logo,) = (link.relation.role for link in links if not link.is_strong)
    assert re.fullmatch(r"shares a part with \([3-9] %\)", logo)
    assert [named(member.picture)[:3] for member in cat] == ["cat", "cat"]
    assert cat[1].role == "mirrored copy of"


def test_shares_of_the_same_thing_are_those_of_its_outlines(tmp_path):
    """Not what one motion would show; what lies in two outlines counts once."""
    corners = np.array([[0, 0], [60, 0], [60, 45], [0, 45]]) - 0.5
    xy0 = np.concatenate([np.random.default_rng(0).uniform(0, [59, 44], (60, 2)), corners])
    found = [describe_object(k, xy0, xy0 + 2, 0.5) for k in range(2)]
    found = tuple(replace(one, outline0=corners, outline1=corners + 2) for one in found)
    labels = np.repeat([0, 1], 64)
    both = np.tile(xy0, (2, 1))
    with open_store(tmp_path / "c.db", MatchConfig()) as store:
        fill(store).record_pair(
            make_pair_record(0, MatchResult(both, both + 2, labels, np.zeros(128), found))
        )
        (link,) = find_links(store)
        sizes = store.rows("SELECT width, height FROM images ORDER BY id")
    assert link.relation.kind == "same thing"
    shares = [60 * 45 / (width * height) for width, height in sizes[:2]]
    assert [link.relation.share0, link.relation.share1] == pytest.approx(shares)


def test_small_object_joins_no_group(tmp_path):
    """A thing that fills a picture of its own, and a small part of another one."""
    xy0 = np.random.default_rng(0).uniform(0, 90, (60, 2))
    found = describe_object(0, xy0, xy0 / 10, 0.5)
    result = MatchResult(xy0, xy0 / 10, np.zeros(60, np.int64), np.zeros(60), (found,))
    with open_store(tmp_path / "c.db", MatchConfig()) as store:
        fill(store).record_pair(make_pair_record(0, result))
        (link,) = find_links(store)
    assert 0 < min(link.relation.share0, link.relation.share1) < 0.01
    assert not link.is_strong


def _link(image0, image1, n_matches, kind="copy", mirrored=False):
    return Link(image0, image1, Relation(kind, None, 1.0, 1.0, 0.0, 1.0, mirrored), 0.5, n_matches)


def _members_by_definition(links, images):
    """At each step the best of all links from a picture that is reached to one that is not."""
    reached = [next(iter(images))]
    found = [(images[reached[0]], None, None)]
    while len(reached) < len(images):
        link = min(
            (link for link in links if (link.image0 in reached) != (link.image1 in reached)),
            key=lambda x: (
                ["copy", "same template", "same thing"].index(x.relation.kind),
                x.relation.mirrored,
                -x.n_matches,
                x.image0,
                x.image1,
            ),
        )
        link = link.reverse() if link.image1 in reached else link
        reached.append(link.image1)
        found.append((images[link.image1], images[link.image0], link.n_matches))
    return found


@pytest.mark.parametrize("seed", range(10))
def test_members_are_reached_by_the_best_links(seed):
    rng = np.random.default_rng(seed)
    images = {int(k): str(k) for k in rng.permutation(12)}
    pairs = [(k, int(rng.integers(k))) for k in range(1, 12)]
    pairs += [(int(a), int(b)) for a, b in rng.integers(0, 12, (20, 2)) if a != b]
    kinds = ["copy", "same thing", "same template"]
    links = [
        _link(a, b, int(rng.integers(3, 6)), kinds[rng.integers(3)], bool(rng.integers(2)))
        for a, b in dict.fromkeys(pairs)
    ]
    (members,) = _grow_groups(links, images)
    told = [(m.picture, m.of, m.link and m.link.n_matches) for m in members]
    assert told == _members_by_definition(links, images)


def test_thumbnail_is_that_of_the_original_and_not_of_its_mirror_image():
    links = [_link(0, 1, 800, "mirrored", True), _link(1, 2, 204, "mirrored", True), _link(0, 2, 195)]
    (members,) = _grow_groups(links, {0: "a", 1: "mirror", 2: "c"})
    assert [(m.picture, m.of) for m in members] == [("a", None), ("c", "a"), ("mirror", "a")]


def test_copies_that_differ_are_not_joined_by_one_that_is_too_small_to_tell():
    links = [_link(0, 1, 300), _link(0, 2, 900, "thumbnail"), _link(1, 2, 800, "thumbnail")]
    links[0] = replace(links[0], relation=replace(links[0].relation, compared=Comparison(is_same=False)))
    (members,) = _grow_groups(links, {0: "a", 1: "changed", 2: "small"})
    assert [(m.picture, m.of) for m in members] == [("a", None), ("changed", "a"), ("small", "a")]


def test_thumbnail_is_that_of_its_original_and_not_of_what_differs():
    links = [_link(0, 1, 300), _link(0, 2, 900, "thumbnail"), _link(1, 2, 800, "thumbnail")]
    for k, is_same in enumerate((False, False, True)):
        derived = 1 if links[k].relation.kind == "thumbnail" else None
        relation = replace(links[k].relation, compared=Comparison(is_same=is_same), derived=derived)
        links[k] = replace(links[k], relation=relation)
    (members,) = _grow_groups(links, {0: "changed", 1: "a", 2: "small"})
    assert [(m.picture, m.of) for m in members] == [("changed", None), ("a", "changed"), ("small", "a")]


def test_groups_are_written_as_table_csv_and_page(db, tmp_path, capsys):
    out = ["--csv", str(tmp_path / "tables"), "--html", str(tmp_path / "page.html")]
    assert main(["collection", "--db", str(db), "--groups", *out]) == 0
    told = capsys.readouterr().out
    assert "group 0: 3 pictures" in told
    assert "coffee crop.png  part of coffee" in told
    assert re.search(
        r"46% of it, (same size|1.00 times as large), (the same|alike; what).*, \d+ matches", told
    )
    with (tmp_path / "tables" / "groups.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 5
    crop = next(row for row in rows if row["picture"].endswith("coffee crop.png"))
    assert float(crop["share"]) == pytest.approx(1, abs=0.02)
    assert float(crop["share_of"]) == pytest.approx(190 * 220 / 300**2, rel=0.05)
    assert float(crop["scale"]) == pytest.approx(1, abs=0.02)
    turned = next(row for row in rows if row["role"] == "turned copy of")
    assert abs(float(turned["turn"])) == pytest.approx(90, abs=1)
    page = (tmp_path / "page.html").read_text()
    assert page.count("<figure>") == 5
    assert "part of" in page


def test_no_groups_gives_status_1(cache, tmp_path, capsys):
    for k, name in enumerate(("coffee", "chelsea")):
        Image.fromarray(crops(120)[name]).save(tmp_path / f"{k}.png")
    db = str(tmp_path / "c.db")
    match_collection(plan_folder(tmp_path), db, cache=cache, jobs=1)
    assert main(["collection", "--db", db, "--groups", "--html", str(tmp_path / "page.html")]) == 1
    assert "no group" in capsys.readouterr().out
    assert "No two pictures" in (tmp_path / "page.html").read_text()


@pytest.fixture(scope="module")
def copies(cache, tmp_path_factory):
    """A picture, copies of it, one of which was changed, and the database of the folder."""
    folder = tmp_path_factory.mktemp("copies")
    coffee = Image.fromarray(crops(300)["coffee"])
    coffee.save(folder / "b.png")
    coffee.save(folder / "c.jpg", quality=80)
    coffee.resize((150, 150), Image.Resampling.LANCZOS).save(folder / "a.png")
    coffee.paste(Image.fromarray(crops(60)["chelsea"]), (120, 150))
    coffee.save(folder / "changed.png")
    for k, name in enumerate(("c.jpg", "a.png", "b.png", "changed.png")):
        os.utime(folder / name, (k, k))
    match_collection(plan_folder(folder), folder / "c.db", cache=cache, jobs=1)
    return folder


@pytest.mark.parametrize(
    ("keep", "removable"),
    [
        (["--keep", "largest"], ["a.png", "c.jpg"]),
        (["--keep", "oldest"], ["a.png", "b.png"]),
        ([], ["a.png", "c.jpg"]),
    ],
)
def test_pictures_that_could_go_are_listed_and_stay(copies, tmp_path, capsys, keep, removable):
    options = ["--groups", "--list", str(tmp_path / "list.txt"), *keep]
    assert main(["collection", "--db", str(copies / "c.db"), *options]) == 0
    told = capsys.readouterr()
    assert "differs in 1 place" in told.out
    assert "2 pictures that could go" in told.out + told.err
    listed = (tmp_path / "list.txt").read_text().splitlines()
    assert [named(path) for path in listed] == removable
    assert len(list(copies.glob("*.[pj]*g"))) == 4


def test_first_keeps_no_thumbnail_in_place_of_its_original(copies, tmp_path):
    file = tmp_path / "list.txt"
    assert (
        main(["collection", "--db", str(copies / "c.db"), "--groups", "--list", str(file), "--keep", "first"])
        == 0
    )
    assert [named(path) for path in file.read_text().splitlines()] == ["c.jpg"]


def test_list_requires_groups(copies, capsys):
    assert main(["collection", "--db", str(copies / "c.db"), "--html", "x.html", "--list", "list.txt"]) == 2
    assert "--list requires --groups" in capsys.readouterr().err


def test_nothing_below_a_folder_is_listed_and_what_equals_it_may_go(copies, tmp_path, capsys):
    """The copies lie in one folder, so none is listed; a link to it is as good."""
    (tmp_path / "link").symlink_to(copies)
    file = tmp_path / "list.txt"
    command = ["collection", "--db", str(copies / "c.db"), "--groups", "--list", str(file), "--never-list"]
    for folder in (copies, tmp_path / "link", copies.parent):
        assert main([*command, str(folder)]) == 0
        assert file.read_text() == ""
    assert main([*command, str(tmp_path), "--never-list", str(copies)]) == 0
    assert file.read_text() == ""
    assert main([*command, str(tmp_path)]) == 0
    assert len(file.read_text().splitlines()) == 2
    assert main([*command, str(copies / "none")]) == 2
    assert "no such folder" in capsys.readouterr().err
    assert main(["collection", "--db", str(copies / "c.db"), "--groups", "--never-list", str(copies)]) == 2
    assert "--never-list requires --list" in capsys.readouterr().err


def _copy(image0, image1, *appearance, kind="copy"):
    """A link of copies; picture 1 has this appearance beside picture 0."""
    relation = replace(
        Relation(kind, None, 1.0, 1.0, 0.0, 1.0, False), compared=Comparison(True, (), 6.0, appearance)
    )
    return Link(image0, image1, relation, 0.5, 99)


@pytest.mark.parametrize(
    ("links", "keep", "removable"),
    [
        ([_copy(1, 2)], "largest", ["2"]),
        ([_copy(1, 2, "in grey")], "largest", ["2"]),
        ([_copy(2, 1, "in grey")], "largest", []),  # neither: the larger one is in grey
        ([_copy(1, 2, "darker")], "largest", []),
        ([_copy(1, 2, "in another colour")], "largest", []),
        ([_copy(0, 2, "sharper")], "largest", ["0"]),  # an enlargement that is less sharp
        ([_copy(0, 2, "less sharp")], "largest", ["2"]),
        ([_copy(1, 2, "sharper")], "first", []),
        ([_copy(0, 2, "sharper"), _copy(2, 3), _copy(0, 3, "sharper")], "largest", ["0", "3"]),
    ],
)
def test_what_is_better_in_anything_is_not_listed(tmp_path, links, keep, removable):
    """Picture 0 has the most pixels; 1, 2 and 3 are of one size."""
    with open_store(tmp_path / "c.db", MatchConfig()) as store:
        sizes = [(200, 150), (100, 75), (100, 75), (100, 75)]
        with store.transaction():
            for k, (width, height) in enumerate(sizes):
                store.execute(
                    "INSERT INTO images (id, path, width, height) VALUES (?, ?, ?, ?)",
                    (k, str(tmp_path / str(k)), width, height),
                )
        assert [named(path) for path in list_removable(store, links, keep)] == removable
