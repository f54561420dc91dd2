from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from functools import cache
from math import isnan

import numpy as np
import pytest
import torch

from supernetic import calibration, catalog
from supernetic.blueprint import Layer
from supernetic.datasets.batches import Batches
from supernetic.datasets.dataset import Dataset
from supernetic.errors import ArchError, InputError, UnknownNameError
from supernetic.evaluators import supernet as module
from supernetic.evaluators.prefix_tree import PrefixNode, build_tree
from supernetic.evaluators.supernet import SupernetEvaluator, shared_cells
from supernetic.nn.norm import batch_statistics, recalibrate
from supernetic.space import Arch, Space
from supernetic.spaces.macro import Macro
from supernetic.supernets.supernet import Supernet
from supernetic.testing import check_evaluator

SMALL = "classes=4,in_channels=1"
SPACES = [
    f"macro:channels=4,resolution=12,head=16,{SMALL}",
    f"macro:channels=4,resolution=12,head=16,stabiliser=skip,{SMALL}",
    f"nasbench201:channels=4,resolution=12,cells=1,{SMALL}",
    f"nasbench201:channels=4,resolution=12,cells=1,share_cells=false,affine=false,{SMALL}",
    f"nasbench101-chain:channels=4,resolution=12,{SMALL}",
    f"scarlet-s2:resolution=16,width=0.1,{SMALL}",
    f"attentive:resolutions=8+12,width=0.1,{SMALL}",
    f"mixed:channels=4,resolution=12,{SMALL}",
    f"scalenet:resolution=16,width=0.1,{SMALL}",
]


@cache
def made(text: str) -> Supernet:
    """A supernet (the same for all tests) whose BNs have weights and statistics of their own."""
    net = Supernet(catalog.space(text), seed=1)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name, tensor in net.state_dict().items():
            if "norm" in name and tensor.is_floating_point():
                tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
    return net


def some(space: Space, n: int = 3) -> list[Arch]:
    return [tuple(row) for row in space.sample(np.random.default_rng(3), n).tolist()]


def reference(net: Supernet, data: Dataset, arch: Arch, bn: str, split: str) -> np.ndarray:
    """The extracted network, recalibrated and run as torch would."""
    pixels = next(iter(net.resolutions)) if len(net.resolutions) == 1 else None
    batches = Batches(data, split, 20, seed=0, resolution=pixels)
    total = torch.zeros(())
    for slice_side in net.slice_sides:
        network = net.extract(arch, slice_side).eval()
        wanted = network.blueprint.resolution
        if bn == "recalibrate":
            recalibrate(network, [net.resize(x, wanted) for x in torch.split(batches.fixed(60), 30)])
        inputs = [net.resize(x, wanted) for x, _ in batches.evaluate()]
        with torch.no_grad():
            if bn == "batch":
                with batch_statistics(network):
                    total = total + torch.cat([network(x) for x in inputs])
            else:
                total = total + torch.cat([network(x) for x in inputs])
    return total.numpy()


def evaluator(net: Supernet, data: Dataset, **settings: object) -> SupernetEvaluator:
    return SupernetEvaluator(net, data, **{"images": 60, "batch_size": 30, **settings})  # type: ignore[arg-type]


@pytest.mark.parametrize("bn", ["recalibrate", "batch", "running"])
@pytest.mark.parametrize("text", SPACES)
def test_scores_are_those_of_the_extracted_network(text: str, bn: str, blobs: Dataset) -> None:
    net = made(text)
    if bn == "running" and not net.rule.tracks:
        with pytest.raises(InputError, match="no running BN statistics"):
            evaluator(net, blobs, bn=bn)
        return
    evaluate = evaluator(net, blobs, bn=bn, batch_size=20 if bn == "batch" else 30)
    for arch, metrics in zip(archs := some(evaluate.space), evaluate(archs), strict=True):
        z = reference(net, blobs, arch, bn, "valid")
        labels = blobs.labels[blobs.splits["valid"]]
        assert metrics["valid/cross_entropy"] == pytest.approx(calibration.cross_entropy(z, labels), rel=1e-5)
        assert metrics["valid/accuracy"] == calibration.accuracy(z, labels)
        held_out = reference(net, blobs, arch, bn, "calibrate"), blobs.labels[blobs.splits["calibrate"]]
        calibrated = calibration.cross_entropy(z, labels, calibration.temperature(*held_out))
        assert metrics["valid/calibrated_cross_entropy"] == pytest.approx(calibrated, rel=1e-4)


@pytest.mark.parametrize("text", SPACES)
def test_company_and_order_change_no_bit_and_the_supernet_stays_as_it_was(text: str, blobs: Dataset) -> None:
    net = made(text)
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    modes = [(m.training, getattr(m, "track_running_stats", None)) for m in net.modules()]
    evaluate = evaluator(net, blobs)
    check_evaluator(evaluate, evaluate.space, n=3)
    after = net.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert [(m.training, getattr(m, "track_running_stats", None)) for m in net.modules()] == modes


def test_little_memory_means_more_walks_and_the_same_answers(blobs: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = evaluator(made(SPACES[0]), blobs)
    archs = some(evaluate.space, 30)
    expected = evaluate(archs)
    monkeypatch.setattr(module, "WALK_MEMORY_BYTES", 20_000)
    monkeypatch.setattr(module, "SORTED_NETWORKS", 7)
    groups = [list(g) for g in evaluate._groups(sorted((i, evaluate._layers(a)) for i, a in enumerate(archs)))]
    assert len(groups) > 5
    assert sum(map(len, groups)) == 30
    assert evaluate(archs) == expected


def test_what_stays_during_a_walk_is_one_piece(blobs: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics of thousands of BNs, allocated one by one between activations, once kept gigabytes from use."""
    net = made(SPACES[2])
    trees: list[PrefixNode] = []

    def recorded(networks: list[tuple[int, Sequence[Layer]]]) -> PrefixNode:
        trees.append(build_tree(networks))
        return trees[-1]

    monkeypatch.setattr(module, "build_tree", recorded)
    evaluator(net, blobs)(some(net.space, 5))
    (tree,) = trees
    own = [s for node in tree.nodes() for s in node.statistics.values()]
    assert len(own) > 50
    for kind in ("mean", "var"):
        tensors = [getattr(s, kind) for s in own]
        assert len({t.untyped_storage().data_ptr() for t in tensors}) == 1
        assert len({t.data_ptr() for t in tensors}) == len(tensors)


def test_the_same_network_twice_is_answered_twice(blobs: Dataset) -> None:
    evaluate = evaluator(made(SPACES[0]), blobs, metrics=["valid/accuracy"])
    first, second, other = evaluate([(1,) * 8, (1,) * 8, (2,) * 8])
    assert first == second
    assert list(first) == list(other) == ["valid/accuracy"]
    assert evaluate([]) == []


def test_cells_trained_apart_are_evaluated_alike(blobs: Dataset) -> None:
    net = made(SPACES[3])
    evaluate = evaluator(net, blobs)
    assert len(net.space.choices) == 18
    assert len(evaluate.space.choices) == 6
    assert shared_cells(Macro()) == Macro()
    with pytest.raises(ArchError, match="has 6 integers, got 18"):
        evaluate([(1,) * 18])


def test_one_side_of_a_supernet_that_has_two(blobs: Dataset) -> None:
    net = made(SPACES[-1])
    archs = some(net.space, 2)
    left, right, both = (list(evaluator(net, blobs, slice_side=s).logits(archs)) for s in ("left", "right", "both"))
    for a, b, total in zip(left, right, both, strict=True):
        assert np.array_equal(a + b, total)
        assert not np.array_equal(a, b)


def test_the_images_that_recalibrate_are_training_images_chosen_by_the_seed(blobs: Dataset) -> None:
    net, arch = made(SPACES[0]), (1,) * 8
    scores = [evaluator(net, blobs, seed=seed)([arch]) for seed in (0, 0, 1)]
    assert scores[0] == scores[1] != scores[2]
    held_out = np.concatenate([blobs.splits[s] for s in ("valid", "calibrate", "test")])
    other = blobs.images.copy()
    other[held_out] = 255 - other[held_out]
    changed = dataclasses.replace(blobs, images=other)
    assert torch.equal(evaluator(net, changed)._fixed[0], evaluator(net, blobs)._fixed[0])


def test_test_data_are_marked(blobs: Dataset) -> None:
    evaluate = evaluator(made(SPACES[0]), blobs, split="test")
    assert evaluate.test == set(evaluate.metrics) == set(evaluate([(0,) * 8])[0])
    assert evaluator(made(SPACES[0]), blobs).test == frozenset()


def test_broken_weights_give_no_number(blobs: Dataset) -> None:
    net = copy.deepcopy(made(SPACES[0]))
    with torch.no_grad():
        net.get_parameter("classifier.LINEAR.C4.linear.op.bias").fill_(torch.nan)
    assert all(isnan(v) for v in evaluator(net, blobs)([(0,) * 8])[0].values())


def test_bad_settings_are_named(blobs: Dataset) -> None:
    net = made(SPACES[0])
    with pytest.raises(UnknownNameError, match="did you mean 'recalibrate'"):
        evaluator(net, blobs, bn="recalibrated")
    with pytest.raises(UnknownNameError, match="valid/accurcy"):
        evaluator(net, blobs, metrics=["valid/accurcy"])
    with pytest.raises(InputError, match="two images or more, got 1"):
        evaluator(net, blobs, images=1)
    with pytest.raises(UnknownNameError, match="slice side"):
        evaluator(net, blobs, slice_side="top")([(0,) * 8])
    rows = np.arange(20)
    splits = {"train": rows[:10], "valid": rows[10:], "calibrate": rows[:0], "test": rows[:0]}
    few = dataclasses.replace(blobs, images=blobs.images[:20], labels=blobs.labels[:20], rows=rows, splits=splits)
    with pytest.raises(InputError, match="the split calibrate of blobs is empty"):
        evaluator(net, few)


# --- batches of one's own ---------------------------------------------------------------------------------------------


def own_batches(data: Dataset, split: str, size: int = 20) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return list(Batches(data, split, size).evaluate())


@pytest.mark.parametrize("bn", ["recalibrate", "batch"])
def test_batches_of_ones_own_score_as_the_data_set_does(bn: str, blobs: Dataset) -> None:
    net = made(SPACES[0])
    archs = some(net.space)
    fixed = Batches(blobs, "train").fixed(60)
    train = [(x, torch.zeros(len(x), dtype=torch.long)) for x in torch.split(fixed, 25)]
    expected = evaluator(net, blobs, bn=bn, batch_size=20 if bn == "batch" else 30)(archs)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(*map(torch.cat, zip(*own_batches(blobs, "valid"), strict=True))), batch_size=20
    )
    own = SupernetEvaluator(
        net, loader, bn=bn, images=60, batch_size=30, train=train, calibrate=own_batches(blobs, "calibrate")
    )
    assert own.metrics == tuple(expected[0])
    for metrics, other in zip(own(archs), expected, strict=True):
        assert metrics == pytest.approx(other, rel=1e-6)


def test_without_images_for_the_temperature_there_is_no_calibrated_score(blobs: Dataset) -> None:
    own = SupernetEvaluator(made(SPACES[0]), own_batches(blobs, "valid"), bn="batch")
    assert own.metrics == ("valid/cross_entropy", "valid/accuracy")
    named = SupernetEvaluator(made(SPACES[0]), own_batches(blobs, "valid"), bn="batch", split="test")
    assert named.test == {"test/cross_entropy", "test/accuracy"}


def test_what_is_missing_is_named(blobs: Dataset) -> None:
    net, valid = made(SPACES[0]), own_batches(blobs, "valid")
    with pytest.raises(InputError, match=r"bn='recalibrate' needs training images: pass train="):
        SupernetEvaluator(net, valid)
    with pytest.raises(InputError, match=r"calibrated cross-entropy needs images .*: pass calibrate="):
        SupernetEvaluator(net, valid, ["valid/calibrated_cross_entropy"], bn="batch")
    with pytest.raises(InputError, match="a data set has its own splits"):
        SupernetEvaluator(net, blobs, train=valid)
