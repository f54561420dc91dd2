import numpy as np
import pytest

from supernetic.costs import cost
from supernetic.errors import InputError, UnknownNameError
from supernetic.scaling.histogram import Sampling, macs_of, sampling, without_stages
from supernetic.spaces.macro import Macro
from supernetic.spaces.scaled import Strategies
from supernetic.spaces.scalenet import ScaleNet, ScaleNetBase

TARGETS = [2**j * 318.8e6 for j in range(4)]
PUBLISHED = {  # of 30,000 draws each
    "size": (0.045, 0.179, 0.232, 0.271),
    "uniform": (0.192, 0.190, 0.196, 0.168),
    "plain": (0.006, 0.154, 0.382, 0.191),
}


@pytest.mark.parametrize("way", PUBLISHED)
def test_masses(way: str) -> None:
    n = 1000
    drawn = sampling(ScaleNet(), way, n)  # type: ignore[arg-type]
    masses = np.array(drawn.masses(TARGETS))
    expected = np.array(PUBLISHED[way])
    assert (np.abs(masses - expected) < 3.5 * np.sqrt(expected * (1 - expected) / n)).all()


def test_shares_by_hand() -> None:
    drawn = Sampling("size", np.array([74, 75, 100, 125, 126, 200]))
    assert drawn.masses([100, 200]) == (0.5, 1 / 6)


def test_both_ways_of_costing_agree() -> None:
    space = Macro() * Strategies(((1.0,), (1.3, 1.4)), ((32,), (36, 40)))
    archs = space.sample(np.random.default_rng(0), 5)
    assert macs_of(space, archs).tolist() == [cost(space.blueprint(tuple(a))).macs for a in archs.tolist()]
    small = ScaleNet(resolution=32, width=0.25, classes=10)
    archs = small.sample(np.random.default_rng(0), 20)
    by_hand = [cost(small.blueprint(tuple(a))).macs for a in archs.tolist()]
    assert macs_of(small, archs).tolist() == by_hand


def test_all_values_together() -> None:
    flat = without_stages(ScaleNet().strategies)
    assert len(flat.factors[0]) == 17
    assert flat.pixels == ((224, 240, 256, 272, 288, 304, 320, 336, 354),)


def test_refusals() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'plain'"):
        sampling(ScaleNet(), "plane")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must be a base space times a scaling space, got scalenet-base"):
        sampling(ScaleNetBase())
    with pytest.raises(InputError, match="number of paths must be at least 1, got 0"):
        sampling(ScaleNet(), n=0)
