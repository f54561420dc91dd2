from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from supernetic import catalog
from supernetic.errors import UnknownNameError
from supernetic.nn.norm import recalibrate
from supernetic.nn.run import Regularisation
from supernetic.space import Arch, Space
from supernetic.spaces.declared import declare
from supernetic.supernets.supernet import Supernet


def draw(space: Space, n: int, seed: int = 0) -> list[Arch]:
    return [tuple(a) for a in space.sample(np.random.default_rng(seed), n).tolist()]


def images(supernet: Supernet, arch: Arch, n: int = 3) -> Tensor:
    blueprint = supernet.blueprint(arch)
    generator = torch.Generator().manual_seed(1)
    return torch.randn(n, blueprint.in_channels, blueprint.resolution, blueprint.resolution, generator=generator)


def state(model: nn.Module) -> dict[str, Tensor]:
    return {n: t.clone() for n, t in model.state_dict().items()}


def reached(supernet: Supernet) -> set[str]:
    return {n for n, p in supernet.named_parameters() if p.grad is not None and p.grad.any()}


@pytest.mark.parametrize("name", ["macro", "nasbench201", "attentive", "nasbench101", "mixed"])
def test_paths_do_not_remember_one_another(name: str, small: Callable[[str], Space]) -> None:
    supernet = Supernet(small(name), seed=0).eval()
    archs = draw(supernet.space, 4)
    alone = [deepcopy(supernet)(images(supernet, a), a) for a in archs]
    for i in (0, 1, 0, 3, 2, 2, 1, 0):
        assert torch.equal(supernet(images(supernet, archs[i]), archs[i]), alone[i])


def test_gradients_reach_exactly_the_path() -> None:
    supernet = Supernet(catalog.space("macro:channels=8,resolution=16,head=32"), seed=0)
    arch = (2, 1, 0, 0, 1, 1, 0, 2)
    supernet(images(supernet, arch), arch).square().sum().backward()
    layers = {f"layer{i}.{('CONV_K1' if i in (0, 2, 5) else '', 'MB3_K3', 'MB6_K5')[g]}" for i, g in enumerate(arch)}
    layers = {n for n in layers if not n.endswith(".")}
    touched = {".".join(n.split(".")[:2]) for n in reached(supernet)}
    assert touched == layers | {"stem.CONV_K3", "head.conv", "classifier.LINEAR"}
    untouched = [p.grad for n, p in supernet.named_parameters() if ".".join(n.split(".")[:2]) not in touched]
    assert untouched
    assert all(g is None for g in untouched)


def test_gradients_stay_within_the_slices() -> None:
    supernet = Supernet(catalog.space("attentive:resolutions=24+32,width=0.5,classes=4"), seed=0)
    least = (0,) * len(supernet.space.choices)
    supernet(images(supernet, least), least).square().sum().backward()
    weight = supernet.get_parameter("mb2.0.mbconv.depthwise.op.weight")
    used = supernet.blueprint(least).layers[2]
    assert used.name == "mb2.0"
    assert weight.grad is not None
    assert weight.shape[0] > used.hidden
    assert weight.grad[: used.hidden, :, 1:4, 1:4].ne(0).float().mean() > 0.99
    outside = weight.grad.clone()
    outside[: used.hidden, :, 1:4, 1:4] = 0
    assert not outside.any()
    deeper = supernet.get_parameter("mb5.7.mbconv.project.op.weight")
    assert deeper.grad is None


# --- choice -----------------------------------------------------------------------------------------------------------


def test_after_skips_the_first_input_channels_are_used() -> None:
    space = catalog.space("scarlet-s1:resolution=32,width=0.5,classes=4")
    supernet = Supernet(space, seed=0)
    arch = (6, 6, 0) + (6,) * 16
    blueprint = supernet.blueprint(arch)
    layer = next(x for x in blueprint if x.name == "layer2")
    shared = supernet.get_parameter("layer2.MB3_K3.C24.expand.op.weight")
    assert (layer.c_in, layer.shortcut, tuple(shared.shape[:2])) == (8, "", (48, 16))
    own = supernet.extract(arch).get_parameter("layer2.expand.op.weight")
    assert torch.equal(own, shared[:, :8])


def test_a_declared_space_with_choices_of_width_has_weights_per_width() -> None:
    stage = {"width": [8, 12], "depth": [1, 2], "operation": ["mbconv", "conv", "skip"], "stride": 2}
    space = declare(name="mine", stem={"width": [4, 6]}, stages=[stage, stage], resolution=16, classes=3, per="block")
    supernet = Supernet(space, seed=0)
    names = {n.rpartition(".op")[0] for n in supernet.state_dict() if n.startswith("stage1.0") and ".op." in n}
    assert {"stage1.0.CONV_K3.C8.conv", "stage1.0.CONV_K3.C12.conv", "stage1.0.MB6_K3.C8.project"} <= names
    for arch in draw(space, 20):
        x = images(supernet, arch)
        assert torch.equal(supernet.extract(arch)(x), supernet(x, arch))


# --- cell -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", ["aggregate=mean", "affine=false", "without=none", "cells=2"])
def test_variants_of_nasbench201(settings: str) -> None:
    supernet = Supernet(catalog.space(f"nasbench201:channels=4,resolution=8,{settings}"), seed=0)
    for arch in draw(supernet.space, 5):
        x = images(supernet, arch)
        for training in (False, True):
            network = supernet.train(training).extract(arch)
            assert torch.equal(supernet(x, arch), network(x))


def test_cells_trained_each_by_itself_are_evaluated_alike() -> None:
    settings = "cells=1,channels=4,resolution=8"
    shared = catalog.space(f"nasbench201:{settings}")
    supernet = Supernet(catalog.space(f"nasbench201:{settings},share_cells=false"), seed=0).eval()
    (own,) = draw(supernet.space, 1)
    assert len(own) == 18
    assert set(Supernet(shared).state_dict()) == set(supernet.state_dict())
    cell = (2, 3, 1, 4, 2, 3)
    x = images(supernet, own)
    assert torch.equal(supernet(x, cell), supernet(x, cell * 3))
    assert supernet.blueprint(cell) == shared.blueprint(cell)
    assert not torch.equal(supernet(x, own), supernet(x, cell))


def test_narrower_vertices_use_the_first_channels() -> None:
    supernet = Supernet(catalog.space("nasbench101:channels=12,resolution=8,cells=1,stacks=1"), seed=0)
    arch = supernet.space.named["small-data-2"]
    layer = next(x for x in supernet.blueprint(arch) if x.name.startswith("cell0.v") and x.kind == "conv")
    shared = supernet.get_parameter(f"{layer.name}.CONV_K{layer.kernel}.conv.op.weight")
    own = supernet.extract(arch).get_parameter(f"{layer.name}.conv.op.weight")
    assert layer.c_out < 12
    assert torch.equal(own, shared[: layer.c_out, : layer.c_in])


# --- elastic ----------------------------------------------------------------------------------------------------------


def test_images_are_resized_to_the_networks_resolution() -> None:
    supernet = Supernet(catalog.space("attentive:resolutions=24+32,width=0.25,classes=4"), seed=0).eval()
    arch = (0,) * len(supernet.space.choices)
    assert supernet.blueprint(arch).resolution == 24
    x = torch.randn(2, 3, 32, 32)
    resized = F.interpolate(x, (24, 24), mode="bicubic", align_corners=False)
    network = supernet.extract(arch)
    assert torch.equal(supernet(x, arch), network(resized))
    assert not torch.equal(network(x), network(resized))  # the network itself does not resize


def test_elastic_training_keeps_no_running_statistics() -> None:
    supernet = Supernet(catalog.space("attentive:resolutions=24+32,width=0.25,classes=4"), seed=0)
    before = {n: t for n, t in state(supernet).items() if "running" in n}
    for arch in draw(supernet.space, 3):
        supernet(images(supernet, arch), arch).sum().backward()
    now = supernet.state_dict()
    assert before
    assert all(torch.equal(t, now[n]) for n, t in before.items())
    network = supernet.extract(arch)
    recalibrate(network, [images(supernet, arch, 8)])
    norms = [n for n in network.modules() if isinstance(n, nn.BatchNorm2d)]
    assert norms
    assert all(n.track_running_stats and n.running_mean is not None and n.running_mean.any() for n in norms)


def test_choice_training_keeps_them() -> None:
    supernet = Supernet(catalog.space("macro:channels=8,resolution=16,head=32"), seed=0)
    arch = (1,) * 8
    before = state(supernet)
    supernet(images(supernet, arch), arch)
    moved = {n.split(".")[1] for n, t in supernet.state_dict().items() if "running" in n and not t.equal(before[n])}
    assert moved == {"CONV_K3", "MB3_K3", "conv"}


# --- scaled -----------------------------------------------------------------------------------------------------------


def test_two_sides() -> None:
    supernet = Supernet(catalog.space("scalenet:resolution=32,width=0.25,classes=4,released=true"), seed=0).eval()
    assert supernet.slice_sides == ("left", "right")
    for arch in draw(supernet.space, 2):
        x = images(supernet, arch)
        left, right, both = (supernet(x, arch, slice_side=s) for s in ("left", "right", "both"))
        assert torch.equal(both, left + right)
        assert (left - right).abs().max() > 0.1 * left.abs().max()
        for slice_side, logits in (("left", left), ("right", right)):
            assert torch.equal(supernet.extract(arch, slice_side)(x), logits)
    with pytest.raises(UnknownNameError, match="slice side"):
        supernet(x, arch, slice_side="middle")
    one_sided = Supernet(catalog.space("macro:channels=8,resolution=16,head=32"))
    with pytest.raises(UnknownNameError, match="side of a supernet of macro 'right'"):
        one_sided(torch.randn(2, 3, 16, 16), (1,) * 8, slice_side="right")


# --- stabilisers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["macro", "scarlet-s1", "nasbench101-chain", "nasbench201"])
def test_identity_stabilisers_compute_what_skips_do(name: str, small: Callable[[str], Space]) -> None:
    plain: Any = small(name)
    kind = "skip+pool" if name == "nasbench201" else "skip"
    supernet = Supernet(replace(plain, stabiliser=kind), seed=0, stabiliser="identity").eval()
    assert supernet.space == plain
    skip = len(plain.choices[0].options) - 1 if name != "nasbench201" else 1
    arch = tuple(skip if i % 2 else 0 for i in range(len(plain.choices)))
    if name == "scarlet-s1":  # no skip where the width changes: there the stabiliser widens
        arch = tuple(6 if i in (1, 3, 5, 9, 12) else 0 for i in range(19))
    if name == "macro":
        arch = (1, 0, 1, 0, 2, 1, 0, 0)
    assert supernet.blueprint(arch) != plain.blueprint(arch)
    unstable = Supernet(plain, seed=1).eval()
    weights = supernet.state_dict()
    unstable.load_state_dict({n: weights[n] for n in unstable.state_dict()})
    got, expected = (model(images(supernet, arch), arch) for model in (supernet, unstable))
    assert (got - expected).abs().max() <= 1e-4 * expected.abs().max()


def test_built_networks_are_finished_extracted_ones_are_not() -> None:
    supernet = Supernet(catalog.space("macro:channels=8,resolution=16,head=32,stabiliser=skip"), seed=0)
    arch = (1, 0, 1, 0, 2, 1, 0, 0)
    assert supernet.build(arch).blueprint == supernet.space.blueprint(arch)
    assert supernet.extract(arch).blueprint == supernet.blueprint(arch) == supernet.stabilised.blueprint(arch)
    assert sum(x.kind == "skip" for x in supernet.space.blueprint(arch)) == 4
    assert not any(x.kind == "skip" for x in supernet.blueprint(arch))


# --- the module -------------------------------------------------------------------------------------------------------


def test_copies_and_saved_weights() -> None:
    supernet = Supernet(catalog.space("macro:channels=8,resolution=16,head=32"), seed=0).eval()
    arch = (1,) * 8
    x = images(supernet, arch)
    expected = supernet(x, arch)
    copied = deepcopy(supernet)
    with torch.no_grad():
        for p in copied.parameters():
            p.add_(1)
    assert torch.equal(supernet(x, arch), expected)
    assert not torch.equal(copied(x, arch), expected)
    other = Supernet(supernet.space, seed=7).eval()
    assert not torch.equal(other(x, arch), expected)
    other.load_state_dict(supernet.state_dict())
    assert torch.equal(other(x, arch), expected)


def test_extracted_weights_are_copies() -> None:
    supernet = Supernet(catalog.space("macro:channels=8,resolution=16,head=32"), seed=0)
    before = state(supernet)
    network = supernet.extract((1,) * 8)
    with torch.no_grad():
        for tensor in network.state_dict().values():
            tensor.zero_()
    assert all(torch.equal(t, before[n]) for n, t in supernet.state_dict().items())


def test_extracted_networks_are_as_exact_as_the_supernet() -> None:
    supernet = Supernet(catalog.space("macro:channels=8,resolution=16,head=32"), seed=0).double()
    x = images(supernet, (1,) * 8).double()
    assert torch.equal(supernet.extract((1,) * 8)(x), supernet(x, (1,) * 8))


def test_noise_and_trace() -> None:
    supernet = Supernet(catalog.space("macro:channels=8,resolution=16,head=32"), seed=0).eval()
    arch = (1, 0, 1, 0, 2, 1, 0, 2)
    x = images(supernet, arch)
    assert not torch.equal(supernet(x, arch, Regularisation(dropout=0.5)), supernet(x, arch))
    assert not torch.equal(supernet(x, arch, Regularisation(drop_connect=0.9)), supernet(x, arch))
    traced = list(supernet.trace(x, arch))
    assert [layer for layer, _ in traced] == list(supernet.blueprint(arch))
    assert torch.equal(traced[-1][1], supernet(x, arch))


def test_zero_residual_and_seed() -> None:
    space = catalog.space("attentive:resolutions=24+32,width=0.25,classes=4")
    one, two = Supernet(space, seed=0, zero_residual=True), Supernet(space, seed=0, zero_residual=True)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    assert not one.get_parameter("mb3.1.mbconv.project.norm.weight").any()
    mixed = Supernet(catalog.space("mixed:channels=4,resolution=8"), seed=0, zero_residual=True)
    assert not mixed.get_parameter("stage1.0.residual.conv2.norm.weight").any()
    assert mixed.get_parameter("stage1.0.residual.conv1.norm.weight").all()
    # An inverted bottleneck that opens a stage has no shortcut in some networks: those would stay zero.
    assert mixed.get_parameter("stage1.0.mbconv.project.norm.weight").all()
    assert not mixed.get_parameter("stage1.1.mbconv.project.norm.weight").any()


def test_channels_last_computes_the_same() -> None:
    supernet = Supernet(catalog.space("attentive:resolutions=24+32,width=0.25,classes=4"), seed=0)
    arch = draw(supernet.space, 1)[0]
    x = images(supernet, arch, 8)
    expected = supernet(x, arch)
    supernet = supernet.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    got = supernet(x.contiguous(memory_format=torch.channels_last), arch)
    torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-4)


def test_caches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supernetic.supernets.supernet.MAX_CACHED_LAYERS", 12)
    monkeypatch.setattr("supernetic.supernets.supernet.MAX_CACHED_PROGRAMS", 3)
    supernet = Supernet(catalog.space("macro:channels=4,resolution=8,head=16"), seed=0).eval()
    for arch in draw(supernet.space, 10):
        x = images(supernet, arch, 1)
        assert torch.equal(supernet(x, arch), supernet.extract(arch)(x))
    assert len(supernet._programs) <= 3
    assert len(supernet._used) <= 12


def test_all_networks_of_one_width_and_resolution_may_start_alike() -> None:
    space = catalog.space("scalenet:resolution=16,width=0.25,classes=10,released=true")
    alike, he = (Supernet(space, seed=0, zero_residual=True, weights=w).train() for w in ("alike", "he"))
    names = [choice.name for choice in space.choices]
    scale = [names.index(f"scale.{name}") for name in ("stage", "width", "resolution")]
    first, *others = draw(space, 200)
    same = [a for a in others if all(a[i] == first[i] for i in scale)]
    assert len(same) > 3
    x = images(alike, first, n=8)  # with their own statistics: with those that BN begins with, logits would vanish
    for arch in same:
        assert alike(x, first).std() > 0.01
        torch.testing.assert_close(alike(x, arch), alike(x, first), rtol=1e-3, atol=1e-3 * alike(x, first).std().item())
        assert (he(x, arch) - he(x, first)).std() > 0.1 * he(x, first).std()
    theirs = dict(alike.named_parameters())
    assert all(torch.equal(p, theirs[n]) for n, p in he.named_parameters() if "_K3" in n or "stem" in n or "head" in n)
    alone = Supernet(space, seed=0, weights="alike")  # blocks start as their shortcuts without being told
    assert all(torch.equal(p, theirs[n]) for n, p in alone.named_parameters())


def test_unknown_start_is_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown initial weights 'alik': did you mean 'alike'"):
        Supernet(catalog.space("macro:channels=8,resolution=16,head=32"), weights="alik")
