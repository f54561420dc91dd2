import numpy as np
import pytest

from supernetic.catalog import space
from supernetic.costs.table import LayerCost, costs_of
from supernetic.errors import BudgetError, InputError, UnknownNameError
from supernetic.samplers.budgeted import Budgeted
from supernetic.samplers.hierarchical import Hierarchical
from supernetic.samplers.sandwich import Sandwich
from supernetic.samplers.step import Draw, SampledPath
from supernetic.samplers.uniform import Uniform
from supernetic.spaces.macro import Macro


def draws(sampler: Budgeted, name: str, n: int) -> list[SampledPath]:
    made = space(name)
    return [p for s in range(n) for p in sampler(made, Draw(np.random.default_rng([0, s]), s)).paths]


def costs(paths: list[SampledPath], name: str, metric: str = "macs") -> list[int]:
    found: list[int] = costs_of(space(name), np.array([p.arch for p in paths]), metric).tolist()
    return found


def test_draws_lie_in_the_window() -> None:
    found = draws(Budgeted(("macs in 290M..300M",)), "scarlet-s1", 60)
    assert all(290e6 <= c <= 300e6 for c in costs(found, "scarlet-s1"))
    assert len({p.arch for p in found}) == 60
    assert all(p.regularise for p in found)


def test_bins_are_equally_likely() -> None:
    """As SPOS does: a bin first, then a network in it; without bins few would come from the last ones."""
    found = costs(draws(Budgeted(("macs in 60M..100M",), step=10e6), "macro", 600), "macro")
    share = np.histogram(found, bins=np.arange(60e6, 101e6, 10e6))[0] / 600
    assert abs(share - 1 / 4).max() < 4 * (3 / 16 / 600) ** 0.5
    plain = costs(draws(Budgeted(("macs in 60M..100M",)), "macro", 600), "macro")
    assert (np.array(plain) > 90e6).mean() < 0.1


def test_several_constraints() -> None:
    found = draws(Budgeted(("macs<=60M", "params<=1.5M")), "macro", 40)
    assert max(costs(found, "macro")) <= 60e6
    assert max(costs(found, "macro", "params")) <= 1.5e6


def test_any_sampler_can_be_kept_inside() -> None:
    found = draws(Budgeted(("macs in 50M..60M",), of=Uniform()), "macro", 40)
    assert all(50e6 <= c <= 60e6 for c in costs(found, "macro"))
    found = draws(Budgeted(("macs<=700M",), of=Hierarchical()), "scalenet", 30)
    assert all(c <= 700e6 for c in costs(found, "scalenet"))


def test_windows_of_latency(slowness: LayerCost) -> None:
    made, layer_cost = Macro(), slowness
    for sampler in (Budgeted(("latency in 2ms..6ms", "macs<=100M")), Budgeted(("latency in 2ms..6ms",), of=Uniform())):
        steps = [sampler(made, Draw(np.random.default_rng([0, s]), s, layer_cost=layer_cost)) for s in range(40)]
        found = costs_of(made, np.array([p.arch for s in steps for p in s.paths]), layer_cost)
        assert ((found >= 2000) & (found <= 6000)).all()
        assert len(set(found.tolist())) > 5
    with pytest.raises(InputError, match="a budget in latency/ms needs measurements"):
        Budgeted(("latency<=4ms",))(made, Draw(np.random.default_rng(0)))


def test_a_window_that_holds_nothing() -> None:
    draw = Draw(np.random.default_rng(0))
    with pytest.raises(BudgetError, match="run from"):
        Budgeted(("macs<=1M",))(Macro(), draw)
    with pytest.raises(BudgetError, match="no step of Sandwich"):
        Budgeted(("macs<=50M",), of=Sandwich(n=0))(Macro(), draw)


def test_refusals() -> None:
    with pytest.raises(InputError, match="at least one window"):
        Budgeted(())
    with pytest.raises(InputError, match="two ends"):
        Budgeted(("macs<=300M",), step=10e6)
    with pytest.raises(UnknownNameError, match="did you mean 'macs'"):
        Budgeted(("mac<=300M",))
