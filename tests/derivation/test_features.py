"""Feature diagnostics against plain loops, and the paper's finding on how skips differ."""

from math import cos, pi, sin

import numpy as np
import pytest
import torch
from torch import Tensor

from supernetic.derivation.features import angles, choice_features, feature_maps, mean_similarity, project, similarity
from supernetic.errors import InputError, UnknownNameError
from supernetic.nn.norm import batch_statistics
from supernetic.spaces.attentive import Attentive
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench101 import NASBench101
from supernetic.spaces.nasbench201 import OPERATIONS, NASBench201
from supernetic.spaces.scarlet import ScarletS1
from supernetic.supernets.supernet import Supernet

SPACE = Macro(channels=4, resolution=8, head=16)
ARCH = (1, 2, 1, 0, 2, 2, 1, 1)


def images(n: int = 4, resolution: int = 8) -> Tensor:
    return torch.randn(n, 3, resolution, resolution, generator=torch.Generator().manual_seed(0))


def test_choices_of_a_layer_see_the_same_input() -> None:
    supernet = Supernet(SPACE, seed=0)
    state = {k: v.clone() for k, v in supernet.state_dict().items()}
    features = choice_features(supernet, images(), ARCH, 3)
    assert list(features) == ["Identity", "MB3_K3", "MB6_K5"]
    before = feature_maps(supernet, images(), ARCH, ["layer2"])["layer2"]
    assert torch.equal(features["Identity"], before)
    for i, option in enumerate(features):
        arch = (*ARCH[:3], i, *ARCH[4:])
        with batch_statistics(supernet), torch.no_grad():
            expected = {layer.name: y for layer, y in supernet.trace(images(), arch)}
        assert torch.equal(features[option], expected["layer3"])
    assert all(torch.equal(v, state[k]) for k, v in supernet.state_dict().items())
    assert supernet.training


def test_a_slot_of_several_genes() -> None:
    space = Attentive(resolutions=(32,), classes=3, width=0.25)
    arch = space.check(space.sample(np.random.default_rng(0), 1)[0].tolist())
    features = choice_features(Supernet(space, seed=0), images(2, 32), arch, 1)
    widths, depths, kernels, expands = (space.choices[g].options for g in space.slots[1])
    assert list(features) == [f"{w} {d} {k} {e}" for w in widths for d in depths for k in kernels for e in expands]
    assert {f.shape[0] for f in features.values()} == {2}


def test_a_slot_of_a_cell() -> None:
    cells = Supernet(NASBench201(channels=4, resolution=8, cells=1, stabiliser="skip+pool"), seed=0)
    features = choice_features(cells, images(), (1, 2, 3, 4, 1, 2), 0, layer="cell0.0to1")
    assert list(features) == list(OPERATIONS)
    assert not features["none"].any()
    stem = feature_maps(cells, images(), (1, 2, 3, 4, 1, 2), ["stem"])["stem"]
    weight = cells.state_dict()["cell0.0to1.CONV_K1_BARE.conv.op.weight"]
    assert torch.allclose(features["skip_connect"], torch.nn.functional.conv2d(stem, weight), atol=1e-6)


def test_feature_maps_of_low_and_high_layers() -> None:
    supernet = Supernet(SPACE, seed=0)
    maps = feature_maps(supernet, images(), ARCH, ["layer0", "layer7"])
    assert maps["layer0"].shape == (4, 8, 4, 4)
    assert maps["layer7"].shape == (4, 32, 1, 1)
    with pytest.raises(UnknownNameError, match="did you mean 'layer7'"):
        feature_maps(supernet, images(), ARCH, ["layr7"])


def test_similarity_is_the_mean_cosine_of_channels() -> None:
    generator = torch.Generator().manual_seed(1)
    features = {name: torch.randn(2, 3, 4, 4, generator=generator) for name in "abc"}
    features["narrow"] = features["a"][:, :2] * 5
    matrix = similarity(features)
    for i, f in enumerate(features.values()):
        for j, g in enumerate(features.values()):
            cosines = [
                float(f[n, c].flatten() @ g[n, c].flatten() / f[n, c].norm() / g[n, c].norm())
                for n in range(2)
                for c in range(2)
            ]
            assert matrix[i, j] == pytest.approx(np.mean(cosines), abs=1e-6)
    assert matrix[0, 3] == pytest.approx(1)  # lengths do not matter
    others = [matrix[i, j] for i in range(4) for j in range(4) if i != j]
    assert mean_similarity(matrix) == pytest.approx(np.mean(others))


def test_projection_keeps_angles_and_lengths() -> None:
    def at(degrees: float, length: float) -> Tensor:
        a = degrees / 180 * pi
        return torch.tensor([0.0, length * cos(a), length * sin(a), 0.0]).reshape(1, 1, 2, 2)

    points = project({"a": at(40, 1), "b": at(10, 2), "c": at(130, 1)}, reference="b")
    assert points[1] == pytest.approx([1, 0])
    assert np.linalg.norm(points, axis=1) == pytest.approx([0.5, 1, 0.5])
    assert angles(points) == pytest.approx([30, 0, 120])
    assert angles(project({"a": at(40, 1), "b": at(10, 2)})) == pytest.approx([0, 30], abs=1e-5)


def test_a_skip_at_a_wider_layer_is_compared_on_its_own_channels() -> None:
    plain = Supernet(ScarletS1(resolution=32, width=0.5, classes=3), seed=0)
    features = choice_features(plain, images(4, 32), (0,) * 19, 2)
    assert features["skip"].shape[1] < features["MB3_K3"].shape[1]
    assert similarity(features).shape == (7, 7)
    stabilised = Supernet(ScarletS1(resolution=32, width=0.5, classes=3, stabiliser="skip"), seed=0)
    assert len({f.shape for f in choice_features(stabilised, images(4, 32), (0,) * 19, 2).values()}) == 1


def test_what_cannot_be_compared() -> None:
    with pytest.raises(InputError, match=r"macro: slot must lie in 0\.\.7, got 8"):
        choice_features(Supernet(SPACE), images(), ARCH, 8)
    one, half = torch.ones(1, 2, 4, 4), torch.ones(1, 2, 2, 2)
    with pytest.raises(InputError, match="at least two options, got 1"):
        similarity({"a": one})
    with pytest.raises(InputError, match="same height and width"):
        similarity({"a": one, "b": half})
    with pytest.raises(UnknownNameError, match="option"):
        project({"a": one, "b": one}, "z")
    cells = NASBench101(channels=8, resolution=8, vertices=4)
    arch = cells.check(cells.sample(np.random.default_rng(0), 1)[0].tolist())
    with pytest.raises(InputError, match="nasbench101: only the layers of a sequential space"):
        choice_features(Supernet(cells), images(), arch, 0)
