from __future__ import annotations

import numpy as np
import pytest

from supernetic.costs.macs import cost
from supernetic.costs.table import costs_of
from supernetic.errors import ArchError, UnknownNameError
from supernetic.spaces.efficientnet import EfficientNet

# Published: G MACs, M parameters
B = {"b0": (0.39, 5.3), "b1": (0.70, 7.8), "b2": (1.0, 9.2), "b3": (1.8, 12.0), "b4": (4.2, 19.0), "b5": (9.9, 30.0)}
S = {"s1": (0.79, 8.3), "s2": (1.58, 11.8), "s3": (2.94, 15.4), "s4": (6.34, 19.5), "s5": (11.42, 25.8)}


@pytest.mark.parametrize("model", B)
def test_b_series_as_published(model: str) -> None:
    space = EfficientNet()
    c = cost(space.blueprint(space.parse(f"efficientnet-{model}")))
    macs, params = B[model]
    assert c.macs / 1e9 == pytest.approx(macs, rel=0.05)
    assert c.params / 1e6 == pytest.approx(params, rel=0.02)


def test_b0_and_b1_parameters_to_the_unit() -> None:
    """Known from the reference implementations."""
    space = EfficientNet()
    params = [cost(space.blueprint((i,))).params for i in range(6)]
    assert params == [5_288_548, 7_794_184, 9_109_994, 12_233_232, 19_341_616, 30_389_784]


@pytest.mark.parametrize("model", S)
def test_s_series_as_published(model: str) -> None:
    macs, params = S[model]
    floor, ceil = EfficientNet(spatial="floor"), EfficientNet()
    small, large = (cost(s.blueprint(s.parse(f"EfficientNet-{model}"))) for s in (floor, ceil))
    assert small.params / 1e6 == pytest.approx(params, abs=0.05)
    assert small.params == large.params
    assert small.macs / 1e9 == pytest.approx(macs, rel=0.025)
    assert 1 <= large.macs / 1e9 / macs < 1.135


def test_sides_of_the_s_series() -> None:
    space = EfficientNet()
    assert [space.blueprint((i,)).resolution for i in (0, *range(6, 11))] == [224, 256, 304, 354, 458, 533]


def test_other_inputs() -> None:
    blueprint = EfficientNet(resolution=112, classes=10, in_channels=1).blueprint((1,))
    assert (blueprint.resolution, blueprint.classes, blueprint.in_channels) == (120, 10, 1)


def test_table_equals_blueprints() -> None:
    space = EfficientNet()
    archs = np.arange(11, dtype=np.int8)[:, None]
    for metric in ("macs", "params", "peak"):
        walked = [getattr(cost(space.blueprint((i,))), metric) for i in range(11)]
        assert costs_of(space, archs, metric).tolist() == walked


def test_text() -> None:
    space = EfficientNet()
    assert space.size == 11
    assert all(space.parse(space.format((i,))) == (i,) == space.parse(str(i)) for i in range(11))
    with pytest.raises(ArchError, match=r"model must lie in 0\.\.10, got 11"):
        space.parse("11")
    with pytest.raises(ArchError, match="efficientnet-b0"):
        space.parse("efficientnet-b9")
    with pytest.raises(UnknownNameError, match="spatial convention 'up'"):
        EfficientNet(spatial="up")
