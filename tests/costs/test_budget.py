from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from supernetic import catalog
from supernetic.costs import budget
from supernetic.costs.budget import BudgetSampler, budget_sampler, window_of
from supernetic.costs.graph import cost_graph_of
from supernetic.costs.half_lists import list_halves
from supernetic.costs.suffix_counts import count_suffixes
from supernetic.costs.table import LayerCost, costs_of
from supernetic.errors import BudgetError, InputError, UnknownNameError
from supernetic.objective import Constraint, parse_where
from supernetic.space import Archs, SequentialSpace
from supernetic.testing import check_sampler

Window = tuple[int, int]
Draw = Callable[[np.random.Generator, int], Archs]


def by_units(space: SequentialSpace, window: Window, prior: str) -> Draw:
    graph = cost_graph_of(space, "macs", prior)
    counts = count_suffixes(graph, graph.unit)
    return lambda rng, n: counts.sample(rng, n, *window)


def by_halves(space: SequentialSpace, window: Window, prior: str) -> Draw:
    halves = list_halves(cost_graph_of(space, "macs", prior))
    assert halves is not None
    return halves.window(*window).sample


def by_bins(space: SequentialSpace, window: Window, prior: str) -> Draw:
    graph = cost_graph_of(space, "macs", prior)
    counts = count_suffixes(graph, 5 * graph.unit + 1, window[1])
    macs = Constraint("macs", *window)
    sampler = BudgetSampler(space, (macs,), "", lambda rng, n: counts.sample(rng, n, *window), (macs,))
    return lambda rng, n: sampler.sample(rng, n)[0]


def p_value(drawn: Archs, members: Archs, chance: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Of a chi-square test that the draws follow the chances; all draws must be members."""
    counts = Counter(map(tuple, drawn.tolist()))
    seen = np.array([counts.pop(tuple(m), 0) for m in members.tolist()])
    assert not counts, "drawn outside the window"
    expected = chance / chance.sum() * len(drawn)
    return float(chi2.sf(((seen - expected) ** 2 / expected).sum(), len(members) - 1))


@pytest.mark.parametrize("method", [by_units, by_halves, by_bins], ids=lambda f: f.__name__)
@pytest.mark.parametrize("prior", ["uniform", "depth-uniform"])
def test_draws_are_exactly_distributed(
    small: tuple[SequentialSpace, Archs], method: Callable[..., Draw], prior: str
) -> None:
    space, archs = small
    costs = costs_of(space, archs)
    order = np.sort(costs)
    window = int(order[len(order) // 4]), int(order[len(order) // 4 + 200])  # a few hundred architectures
    members = archs[(costs >= window[0]) & (costs <= window[1])]
    drawn = method(space, window, prior)(np.random.default_rng(1), 40 * len(members))
    assert p_value(drawn, members, weights(space, members, prior)) > 1e-4


def weights(space: SequentialSpace, archs: Archs, prior: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The prior's chance of each architecture, from its definition: what is allowed at a choice is equally likely."""
    chance = np.ones(len(archs))
    if prior == "depth-uniform":
        for c in space.choices:
            chance /= len(c.options) if c.parent < 0 else np.array(c.allowed)[archs[:, c.parent]]
    return chance


CASES = [
    ("macro", ["macs<=50M"], "units"),
    ("nasbench201", ["macs in 80M..120M"], "units"),
    ("nasbench101-chain", ["macs<=1G"], "units"),
    ("scarlet-s1", ["macs in 275M..325M"], "units"),
    ("scarlet-s2", ["macs in 275M..325M"], "bins"),
    ("attentive", ["macs in 275M..325M"], "halves"),
    ("scalenet", ["macs in 500M..550M"], "bins"),
    ("scalenet-base", ["macs in 300M..350M"], "bins"),
    ("deep-narrow", ["macs<=400M"], "halves"),
    ("nasbench101", ["params<=5M"], "rejection"),
    ("nasbench201", ["macs<=50M", "params>=0.2M"], "rejection"),
    ("attentive", ["peak<=1M"], "rejection"),
    ("macro", [], "unconstrained"),
]


@pytest.mark.parametrize(("name", "where", "how"), CASES)
def test_every_kind_of_space(name: str, where: list[str], how: str) -> None:
    sampler = budget_sampler(catalog.space(name), [parse_where(w) for w in where])
    assert how in sampler.how.replace("both halves", "halves")
    check_sampler(sampler, n=200)


@pytest.mark.parametrize(("name", "where", "how"), [c for c in CASES if c[2] in ("units", "halves")])
def test_single_trial_spaces(name: str, where: list[str], how: str) -> None:
    sampler = budget_sampler(catalog.space(name), [parse_where(w) for w in where])
    assert sampler.sample(np.random.default_rng(0), 500)[1] == 500
    assert sampler.count is not None
    assert sampler.count[0] == sampler.count[1]


@pytest.mark.parametrize("name", ["scalenet", "scarlet-s2"])
@pytest.mark.parametrize("share", [0.02, 0.1])
def test_bins_need_at_most_one_and_a_half_trials(name: str, share: float) -> None:
    space = catalog.space(name)
    centre = float(np.median(costs_of(space, space.sample(np.random.default_rng(0), 2000))))
    sampler = budget_sampler(space, [Constraint("macs", centre * (1 - share), centre * (1 + share))])
    assert sampler.sample(np.random.default_rng(0), 2000)[1] <= 1.5 * 2000
    assert sampler.count is not None
    assert sampler.count[0] <= sampler.count[1]


def test_counts_of_a_window(small: tuple[SequentialSpace, Archs]) -> None:
    space, archs = small
    costs = costs_of(space, archs)
    middle = int(np.median(costs))
    sampler = budget_sampler(space, [Constraint("macs", high=middle)])
    assert sampler.count == (int((costs <= middle).sum()),) * 2


@pytest.mark.parametrize("method", ["naive", "proposal"])
def test_the_papers_methods_stay_inside_the_window_too(method: str) -> None:
    for name, where in (("attentive", "macs in 400M..450M"), ("macro", "macs<=50M"), ("scalenet", "macs<=900M")):
        check_sampler(budget_sampler(catalog.space(name), [parse_where(where)], method=method), n=50)


def test_trials_are_counted_one_by_one() -> None:
    """With acceptance 1/4 the trials of many samples average 4, however the batches fell."""
    space = catalog.space("nasbench201")
    costs = costs_of(space, space.sample(np.random.default_rng(0), 20_000))
    quarter = Constraint("macs", high=float(np.quantile(costs, 0.25)))
    share = (costs <= quarter.high).mean()
    sampler = budget_sampler(space, [quarter], method="naive")
    trials = [sampler.sample(np.random.default_rng(s), 5)[1] / 5 for s in range(400)]
    assert np.mean(trials) == pytest.approx(1 / share, rel=0.1)


def test_whole_numbers_in_a_window() -> None:
    assert window_of(Constraint("macs", 1.5, 3.5)) == (2, 3)
    assert window_of(Constraint("macs", 2, 4)) == (2, 4)
    assert window_of(Constraint("macs", 2, 4, True, True)) == (3, 3)
    assert window_of(Constraint("macs", 1.5, 3.5, True, True)) == (2, 3)


@pytest.mark.parametrize(
    ("name", "where", "message"),
    [
        ("attentive", "macs in 1M..2M", r"run from 203\.4M to 1\.939G"),
        ("attentive", "macs in 203389569..203389570", "nearest costs are 203,389,568 and 203,830,400"),
        ("nasbench201", "macs in 8M..9M", "nearest costs are 7,783,040 and 11,715,200"),
        ("scalenet", "macs>=1000G", "run from"),
        ("macro", "peak<=10", "0 of 3 architectures satisfied"),
    ],
)
def test_empty_windows_say_what_is_near(name: str, where: str, message: str) -> None:
    def draw() -> None:
        sampler = budget_sampler(catalog.space(name), [parse_where(where)])
        replace(sampler, cap=1000).sample(np.random.default_rng(0), 3)

    with pytest.raises(BudgetError, match=message):
        draw()


def test_latency_is_drawn_exactly(small: tuple[SequentialSpace, Archs], layer_cost: LayerCost) -> None:
    space, archs = small
    costs = costs_of(space, archs, layer_cost)
    order = np.sort(costs)
    low, high = int(order[len(order) // 4]), int(order[len(order) // 4 + 200])
    window = Constraint("latency", low / 1e6, high / 1e6)
    members = archs[(costs >= low) & (costs <= high)]
    sampler = budget_sampler(space, [window], layer_cost=layer_cost)
    drawn, trials = sampler.sample(np.random.default_rng(1), 40 * len(members))
    assert p_value(drawn, members, np.ones(len(members))) > 1e-4
    assert sampler.count == (len(members),) * 2
    assert trials == len(drawn)


@pytest.mark.parametrize("name", ["scarlet-s1", "scarlet-s2", "scalenet", "attentive"])
def test_latency_on_large_spaces(name: str, layer_cost: LayerCost) -> None:
    space = catalog.space(name)
    middle = float(np.median(costs_of(space, space.sample(np.random.default_rng(0), 500), layer_cost))) / 1e6
    window = Constraint("latency/ms", 0.98 * middle, 1.02 * middle)
    drawn, trials = budget_sampler(space, [window], layer_cost=layer_cost).sample(np.random.default_rng(0), 500)
    assert all(window.holds(v) for v in (costs_of(space, drawn, layer_cost) / 1e6).tolist())
    assert trials <= 1.5 * 500


@pytest.mark.parametrize("method", ["exact", "proposal", "naive"])
def test_latency_and_macs_together(method: str, layer_cost: LayerCost) -> None:
    space = catalog.space("macro")
    archs = space.sample(np.random.default_rng(0), 2000)
    limits = [Constraint("macs", high=float(np.quantile(costs_of(space, archs), 0.6)))]
    limits.append(Constraint("latency", high=float(np.quantile(costs_of(space, archs, layer_cost), 0.5)) / 1e6))
    sampler = budget_sampler(space, limits, method=method, layer_cost=layer_cost)
    drawn, _ = sampler.sample(np.random.default_rng(0), 200)
    assert costs_of(space, drawn).max() <= limits[0].high
    assert (costs_of(space, drawn, layer_cost) / 1e6).max() <= limits[1].high


def test_latency_windows_are_told_in_milliseconds(layer_cost: LayerCost) -> None:
    space = catalog.space("macro")
    with pytest.raises(BudgetError, match=r"latency/ms<=0.001; its latency/ms run from 0\.\d+ to 0\.\d+"):
        budget_sampler(space, [parse_where("latency<=0.001ms")], layer_cost=layer_cost)
    with pytest.raises(InputError, match="a budget in latency/ms needs measurements"):
        budget_sampler(space, [parse_where("latency<=8ms")])
    assert window_of(Constraint("latency/ms", 4.35, 8.7), 1_000_000) == (4_350_000, 8_700_000)
    assert window_of(Constraint("latency/ms", 4.35, 8.7, True, True), 1_000_000) == (4_350_001, 8_699_999)


def test_bad_requests() -> None:
    macro = catalog.space("macro")
    with pytest.raises(UnknownNameError, match="did you mean 'macs'"):
        budget_sampler(macro, [parse_where("mac<=3")])
    with pytest.raises(UnknownNameError, match="did you mean 'exact'"):
        budget_sampler(macro, method="exakt")
    with pytest.raises(UnknownNameError, match="prior"):
        budget_sampler(macro, prior="deep")
    with pytest.raises(InputError, match="takes no prior"):
        budget_sampler(macro, method="proposal", prior="depth-uniform")
    with pytest.raises(InputError, match="contradict"):
        budget_sampler(macro, [parse_where("macs<=3M"), parse_where("cost/macs>=4M")])
    with pytest.raises(InputError, match="a prior file needs a SequentialSpace, got nasbench101"):
        budget_sampler(catalog.space("nasbench101"), prior={"0-1": {"0": 1.0}})


def test_a_prior_without_a_window() -> None:
    sampler = budget_sampler(catalog.space("macro"), prior={"layer0": {"Identity": 0.0, "MB3_K3": 0.0}})
    archs, trials = sampler.sample(np.random.default_rng(0), 300)
    assert trials == 300
    assert (archs[:, 0] == 2).all()
    assert len(np.unique(archs[:, 1:], axis=0)) > 200


def test_the_tightest_constraint_is_counted() -> None:
    space = catalog.space("scarlet-s1")
    where = [parse_where("macs<=500M"), parse_where("params<=3M")]
    assert "params" in budget_sampler(space, where).how.split(",")[0]
    assert budget.METHODS == ("exact", "proposal", "naive")
