from __future__ import annotations

from math import isnan
from typing import Any

import pytest
import torch

from supernetic.datasets.batches import Batches
from supernetic.datasets.dataset import Dataset
from supernetic.errors import ArchError, InputError, UnknownNameError
from supernetic.evaluators.proxies import ProxyEvaluator
from supernetic.nn.network import build
from supernetic.proxies import PROXIES, find_proxy
from supernetic.proxies.probe import Probe
from supernetic.space import Space
from supernetic.spaces.attentive import Attentive
from supernetic.spaces.macro import Macro
from supernetic.spaces.nasbench201 import NASBench201
from supernetic.testing import check_evaluator

SPACE = Macro(channels=4, resolution=8, classes=4, in_channels=1, head=16)
CELLS = NASBench201(cells=1, channels=4, resolution=8, classes=4, in_channels=1)
GOOD = (1, 0, 1, 0, 0, 1, 0, 0)


def evaluator(data: Dataset, space: Space = SPACE, **settings: Any) -> ProxyEvaluator:
    return ProxyEvaluator(space, data, **{"proxies": tuple(PROXIES), "images": 8, **settings})


@pytest.mark.parametrize("space", [SPACE, CELLS])
def test_answers_depend_on_seed_and_architecture_only(blobs: Dataset, space: Space) -> None:
    check_evaluator(evaluator(blobs, space), space, n=3)
    one, other = (evaluator(blobs, seed=s)([GOOD])[0] for s in (0, 1))
    assert {k for k in one if one[k] == other[k]} == {"proxy/live_macs", "proxy/live_params", "proxy/layers"}


def test_proxies_asked_together_are_those_asked_alone(blobs: Dataset) -> None:
    together = evaluator(blobs)([GOOD])[0]
    images, labels = Batches(blobs, "train", 8, 0, resolution=8).batch(0)
    for name, value in together.items():
        assert find_proxy(name)(Probe(SPACE.blueprint(GOOD), images, labels)) == pytest.approx(value, rel=1e-6)


def test_repeats_average_over_images_and_weights(blobs: Dataset) -> None:
    names = ("naswot", "snip")
    batches = Batches(blobs, "train", 8, 0, resolution=8)
    probes = [Probe(SPACE.blueprint(GOOD), *batches.batch(i), seed=i) for i in range(3)]
    mean = evaluator(blobs, proxies=names, repeats=3)([GOOD])[0]
    for name in names:
        assert mean[f"proxy/{name}"] == pytest.approx(sum(find_proxy(name)(p) for p in probes) / 3, rel=1e-6)


def test_the_first_weights_are_those_of_a_network_of_that_seed(blobs: Dataset) -> None:
    images, labels = Batches(blobs, "train", 8, 0, resolution=8).batch(0)
    probe = Probe(SPACE.blueprint(GOOD), images, labels, seed=3)
    expected = build(SPACE.blueprint(GOOD), seed=3).state_dict()
    assert all(torch.equal(v, expected[k]) for k, v in probe.network.state_dict().items())


def test_a_network_that_ignores_the_image_has_the_lowest_scores(blobs: Dataset) -> None:
    empty, some = evaluator(blobs, CELLS)([(0,) * 6, (0, 0, 0, 1, 0, 0)])
    for name, value in empty.items():
        assert isnan(value) or value == 0 < some[name]
    assert isnan(empty["proxy/jacov"])


def test_elastic_resolutions_get_images_of_their_side(blobs: Dataset) -> None:
    space = Attentive(resolutions=(32, 48), width=0.25, classes=4, in_channels=1)
    smallest = (0,) * len(space.choices)
    archs = [smallest, (1, *smallest[1:])]
    small, large = evaluator(blobs, space, proxies=("naswot", "live_macs"), images=2)(archs)
    assert small["proxy/live_macs"] < large["proxy/live_macs"]
    assert small["proxy/naswot"] != large["proxy/naswot"]


@pytest.mark.parametrize(
    ("settings", "error", "why"),
    [
        ({"proxies": ("jacof",)}, UnknownNameError, "did you mean 'jacov'"),
        ({"proxies": ()}, InputError, "at least one proxy must be named"),
        ({"images": 1}, InputError, "images of a proxy must be at least 2, got 1"),
        ({"repeats": 0}, InputError, "repeats of a proxy must be at least 1, got 0"),
    ],
)
def test_bad_settings(blobs: Dataset, settings: dict[str, Any], error: type[InputError], why: str) -> None:
    with pytest.raises(error, match=why):
        evaluator(blobs, **settings)


def test_bad_input(blobs: Dataset) -> None:
    with pytest.raises(ArchError, match="must lie in"):
        evaluator(blobs)([(9,) * 8])
    with pytest.raises(InputError, match="reads images of 3 channels, those of blobs have 1"):
        evaluator(blobs, Macro(resolution=8, classes=4))([GOOD])
    with pytest.raises(InputError, match="macro has 3 classes, blobs 4"):
        evaluator(blobs, Macro(resolution=8, classes=3, in_channels=1))([GOOD])
