import numpy as np
import numpy.typing as npt
import pytest

from supernetic.catalog import space
from supernetic.costs.table import costs_of
from supernetic.errors import InputError, UnknownNameError
from supernetic.samplers.hierarchical import Hierarchical
from supernetic.samplers.step import Draw
from supernetic.spaces.scaled import Strategies
from supernetic.spaces.scalenet import FACTORS, PIXELS, ScaleNet, ScaleNetBase

MEAN = 318.8e6  # MACs of base networks, choice by choice


def masses(costs: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Share of networks within a quarter of 2^j times the mean base network."""
    return np.array([((costs >= 0.75 * 2**j * MEAN) & (costs <= 1.25 * 2**j * MEAN)).mean() for j in range(4)])


@pytest.mark.parametrize(
    ("prior", "expected"), [("size", (0.045, 0.179, 0.232, 0.271)), ("uniform", (0.192, 0.190, 0.196, 0.168))]
)
def test_masses_near_the_stage_budgets(prior: str, expected: tuple[float, ...]) -> None:
    made = ScaleNet()
    archs = Hierarchical(prior).sample(made, np.random.default_rng(0), 30_000)  # type: ignore[arg-type]
    assert abs(masses(costs_of(made, archs)) - expected).max() < 0.011  # both sides are of 30,000 draws: 4 x .0026


def test_one_list_for_all_stages_starves_the_ends() -> None:
    """The baseline: depth, width and side each from the union of their lists."""
    made, n = ScaleNet(), 1500
    union = Strategies(
        (tuple(sorted({f for s in FACTORS for f in s})),), (tuple(sorted({p for s in PIXELS for p in s})),)
    )
    flat = ScaleNetBase() * union
    rng = np.random.default_rng(0)
    baseline = masses(costs_of(flat, flat.sample(rng, n, depth_uniform=True)))
    staged = masses(costs_of(made, Hierarchical().sample(made, rng, n)))
    assert staged[0] > baseline[0]
    assert staged[3] > baseline[3]
    assert abs(baseline - (0.006, 0.154, 0.382, 0.191)).max() < 0.055


def test_stages_by_their_number_of_widths() -> None:
    made = ScaleNet()
    archs = Hierarchical().sample(made, np.random.default_rng(0), 17_000)
    assert abs(np.bincount(archs[:, 0]) - np.array([1000, 4000, 5000, 7000])).max() < 260
    for arch in archs[:200].tolist():
        made.check(arch)


def test_path() -> None:
    step = Hierarchical()(ScaleNet(), Draw(np.random.default_rng(0)))
    assert len(step.paths) == 1
    assert step.paths[0].regularise


def test_refusals() -> None:
    with pytest.raises(InputError, match="is for scaled spaces such as scalenet: macro has no stages of scaling"):
        Hierarchical()(space("macro"), Draw(np.random.default_rng(0)))
    with pytest.raises(UnknownNameError, match="did you mean 'size'"):
        Hierarchical("sise")  # type: ignore[arg-type]
