from dataclasses import fields, replace

import cv2
import numpy as np
import pytest

from eval import door
from eval.common.tables import read_csv
from eval.matching.ablation import runs as ablation
from eval.matching.ablation.variants import DEFAULT as CONFIG
from eval.matching.ablation.variants import changed_settings, settings, variants
from matching import MatchConfig
from matching.features.extraction import extract_features
from matching.grouping.methods import PAIR
from matching.pictures.images import make_picture_of_array
from synth.photographs import read_shipped

REQUIRED = {"default", "one-cluster", "components", "hdbscan", "k-means", "average-linkage"}


@pytest.fixture
def tabletop(tmp_path):
    """A composite as a table top: its objects' true points are the labelled ones."""
    pair = ablation.Composite("composites", 6, read_shipped(), side=120).pair
    rng = np.random.default_rng(0)
    xy1 = rng.uniform(0, 359, (3000, 2))
    flat = pair.warp(xy1)
    owner = pair.instance_map[tuple(np.clip(np.rint(flat[:, ::-1]).astype(int), 0, 359).T)]
    on = owner >= 0
    folder = tmp_path / "data" / "one"
    folder.mkdir(parents=True)
    for name, image in (("img1.png", pair.image0), ("img2.png", pair.image1)):
        cv2.imwrite(str(folder / name), image[..., ::-1])
    xy0 = flat[on] - pair.affine[owner[on], :, 2]
    np.savez(folder / "gt.npz", x1=xy0, x2=xy1[on], label=owner[on] + 1)
    return folder


def test_every_variant_changes_something():
    known = variants()
    assert known.keys() >= REQUIRED and next(iter(known)) == "default"
    assert len(set(known.values())) == len(known)
    assert set(settings()) <= known.keys()


def test_each_number_of_the_settings_is_halved_and_doubled():
    known = changed_settings()
    configs = {name: variant.config for name, variant in known.items()}
    assert configs.pop("default") == CONFIG and len(set(configs.values())) == len(configs)
    assert configs["graph.scale = 3"].graph == replace(CONFIG.graph, scale=3.0)
    assert configs["merging.n_landmarks = 48"].merging == replace(CONFIG.merging, n_landmarks=48)
    assert configs["objects.evidence = 1"].objects == replace(CONFIG.objects, evidence=1.0)
    names = {name.split(" = ")[0] for name in configs}
    assert len(names) >= 25 and len(configs) <= 2 * len(names)
    assert not any("bandwidth" in name or "method" in name for name in names)


def test_variants_of_a_pair_share_its_features(monkeypatch):
    described = []

    def count(*args):
        described.append(1)
        return extract_features(*args)

    monkeypatch.setattr(ablation, "extract_features", count)
    names = ("default", "one-cluster", "SIFT only")
    compared = {name: variants()[name] for name in names}
    rows = list(ablation.measure(ablation.Composite("copies", 1, read_shipped(), side=200), compared))
    assert [row["variant"] for row in rows] == list(names) and len(described) == 2
    assert all(row["data"] == "copies" and row["objects"] == 4 for row in rows)
    default, one, sift = rows
    assert default["found"] == 4 > one["found"] and default["f"] > 0.9 and sift["f"] != default["f"]


def test_one_kind_of_region_has_the_features_that_it_has_alone():
    grey = make_picture_of_array(read_shipped().models[0][:200, :200]).grey
    both = extract_features(grey)
    config = replace(MatchConfig(), features=replace(MatchConfig().features, regions=("mser",)))
    alone = extract_features(grey, config.features)
    assert np.array_equal(both[both.kind == 0].xy, alone.xy)
    assert np.array_equal(both[both.kind == 0].descriptors, alone.descriptors)


@pytest.mark.parametrize(
    ("name", "step"),
    [("one-cluster", "cluster"), ("no largest gap", "find_above_gap"), ("no merging", "merge")],
)
def test_a_variant_changes_one_step_of_the_method(name, step):
    variant = variants()[name]
    changed = [f.name for f in fields(PAIR) if getattr(variant.method, f.name) != getattr(PAIR, f.name)]
    assert changed == [step]
    assert variant.config == CONFIG


def test_without_the_largest_gap_all_scores_are_above_it():
    assert variants()["no largest gap"].method.find_above_gap(np.array([0.0, 0.1, 0.9])).all()


def test_mostly_false_clusters_are_mixed_or_spurious():
    case = ablation.Composite("composites", 1, read_shipped(), side=120)
    affine = case.pair.affine[0]
    xy1 = np.stack(np.meshgrid(np.arange(0, 360.0, 4), np.arange(0, 360.0, 4)), axis=-1).reshape(-1, 2)
    xy0 = case.pair.warp(xy1) - affine[:, 2]
    true = ablation.true_instance(case.pair, xy0, xy1) == 0
    points = [np.concatenate([xy[true][:30], xy[true][:20]]) for xy in (xy0, xy1)]
    points[0][40:] += 100  # ten of the last twenty are false
    labels = np.repeat([0, 1], [30, 20])
    judged = case.judge(*points, labels)
    assert (judged["found"], judged["clusters"], judged["mixed"], judged["spurious"]) == (1, 1, 1, 0)
    points[0][30:] += 200
    judged = case.judge(*points, labels)
    assert (judged["found"], judged["mixed"], judged["spurious"]) == (1, 0, 1)


@pytest.mark.slow
def test_command(tabletop, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(ablation, "SETTINGS", {"composites": ((1, 5),)})
    monkeypatch.setattr(ablation, "SIZES", (500, 1000))
    options = ["--pairs", "1", "--jobs", "1", "--quiet", "--variants", "default", "one-cluster"]
    assert (
        door.main(["ablation", "--data", str(tabletop.parent), "--out", str(tmp_path / "o"), *options]) == 0
    )
    rows = read_csv(tmp_path / "o/ablation.csv")
    assert tuple(rows[0]) == ablation.COLUMNS
    assert [(row["data"], row["variant"], row["pairs"]) for row in rows] == [
        ("composites", "default", 1),
        ("composites", "one-cluster", 1),
        ("prints", "default", 1),
        ("prints", "one-cluster", 1),
        ("tabletops", "default", 2),
        ("tabletops", "one-cluster", 2),
    ]
    composites, _, prints, _, tabletops, _ = rows
    assert (prints["objects"], prints["found"], prints["mixed"]) == (2, 2, 0)
    assert composites["mean_f"] == composites["worst_f"] > 0.9 and np.isnan(tabletops["mean_f"])
    assert (composites["found"], composites["objects"]) == (1, 1)
    assert (tabletops["found"], tabletops["objects"]) == (4, 4)  # two objects in lists of two sizes
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "| variant | composites | prints | tabletops | s |" and shown[2].startswith(
        f"| default | {composites['mean_f']:.3f}, 1/1"
    )


@pytest.mark.slow
def test_two_prints_are_two_objects_and_a_bent_one_is_one():
    compared = {name: variants()[name] for name in ("default", "one-cluster", "no merging")}
    two, bent = (list(ablation.measure(ablation.Prints(n, read_shipped()), compared)) for n in (2, 3))
    assert [row["objects"] for row in (two[0], bent[0])] == [2, 1]
    assert (two[0]["found"], two[0]["clusters"], two[0]["mixed"]) == (2, 2, 0)
    assert two[1]["found"] + two[1]["mixed"] < 3 and two[1]["found"] < 2
    assert (bent[0]["found"], bent[0]["clusters"]) == (1, 1) and bent[2]["clusters"] == 2
