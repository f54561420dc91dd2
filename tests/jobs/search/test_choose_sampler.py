from __future__ import annotations

import numpy as np
import pytest

from supernetic import catalog
from supernetic.costs import costs_of
from supernetic.jobs.search.choose_sampler import choose_sampler
from supernetic.objective import Constraint, parse_where
from supernetic.samplers.step import Draw
from supernetic.space import Space

MIXED = catalog.space("mixed:channels=16,resolution=32")


def costs(space: Space, where: list[Constraint], metric: str = "macs") -> list[float]:
    """Of networks that the chosen sampler draws."""
    sampler, _ = choose_sampler(space, where)
    assert sampler is not None
    rng = np.random.default_rng(0)
    archs = [path.arch for _ in range(200) for path in sampler(space, Draw(rng)).paths]
    return [float(c) for c in costs_of(space, np.array(archs, dtype=np.int8), metric)]


def test_networks_beyond_the_limit_are_not_trained() -> None:
    drawn = costs(MIXED, [parse_where("macs<=3M")])
    assert max(drawn) <= 3e6
    assert min(drawn) < 1.5e6  # and the small ones are


def test_the_note_says_how_much_is_left() -> None:
    _, note = choose_sampler(MIXED, [parse_where("macs<=3M")])
    assert note == "the supernet is trained only on networks with macs<=3M, 16 % of the space"


def test_limits_are_not_rounded() -> None:
    exact = sorted(costs(MIXED, [parse_where("macs<=3M")]))[100]
    assert max(costs(MIXED, [Constraint("macs", high=exact)])) <= exact
    assert max(costs(MIXED, [Constraint("macs", high=exact, high_open=True)])) < exact


def test_several_limits_and_lower_ends() -> None:
    where = [parse_where("macs in 1M..3M"), parse_where("params<=30K")]
    assert 1e6 <= min(costs(MIXED, where)) <= max(costs(MIXED, where)) <= 3e6
    assert max(costs(MIXED, where, "params")) <= 30e3


@pytest.mark.parametrize(
    ("space", "where"),
    [
        ("mixed:channels=16,resolution=32", []),
        ("mixed:channels=16,resolution=32", ["macs>=3M"]),  # large ones are wanted
        ("mixed:channels=16,resolution=32", ["macs<=50M"]),  # hardly a network is excluded
        ("mixed:channels=16,resolution=32", ["accuracy>=50%"]),  # no cost
        ("scalenet:resolution=16,width=0.25", ["macs<=100K"]),  # its stages are trained in turns
    ],
)
def test_otherwise_the_usual_sampler_stays(space: str, where: list[str]) -> None:
    assert choose_sampler(catalog.space(space), [parse_where(w) for w in where]) == (None, "")
