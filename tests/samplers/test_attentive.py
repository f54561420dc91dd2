from collections.abc import Sequence

import numpy as np
import pytest

from supernetic.catalog import space
from supernetic.costs.table import LayerCost, costs_of
from supernetic.errors import InputError, UnknownNameError
from supernetic.samplers.attentive import DRAW_METHODS, Attentive, _counts, _proposal, _window
from supernetic.samplers.step import Draw
from supernetic.space import Arch
from supernetic.spaces.macro import Macro

ROWS = 20_000


def asked(sampler: Attentive, name: str, steps: int) -> tuple[list[list[Arch]], list[Arch]]:
    """(candidates, chosen) of some steps, scored by `value`."""
    made, candidates = space(name), []

    def score(archs: Sequence[Arch]) -> list[float]:
        candidates.append(list(archs))
        return [value(a) for a in archs]

    steps_ = [sampler(made, Draw(np.random.default_rng([0, s]), s, score)) for s in range(steps)]
    return candidates, [s.paths[0].arch for s in steps_]


def value(arch: Arch) -> float:
    return float(np.dot(arch, np.arange(1, len(arch) + 1)))


@pytest.mark.parametrize("draws", ["proposal", "exact"])
@pytest.mark.parametrize(("up", "better"), [("best", max), ("worst", min)])
def test_best_and_worst_of_k_at_one_budget(draws: str, up: str, better: type) -> None:
    sampler = Attentive(k=4, up=up, draws=draws, rows=ROWS)  # type: ignore[arg-type]
    candidates, chosen = asked(sampler, "attentive", 20)
    step = _proposal(space("attentive"), "macs", sampler.width, ROWS).step
    for archs, arch in zip(candidates, chosen, strict=True):
        assert len(archs) == 4
        assert value(arch) == better(map(value, archs))
        bins = np.rint(costs_of(space("attentive"), np.array(archs)) / step)
        assert len(set(bins.tolist())) == 1


def test_budgets_follow_the_prior_or_are_uniform() -> None:
    made = space("attentive")
    share = {}
    for budgets in ("prior", "uniform"):
        _, chosen = asked(Attentive(k=1, budgets=budgets, rows=ROWS), "attentive", 300)
        share[budgets] = costs_of(made, np.array(chosen))
    everything = costs_of(made, made.sample(np.random.default_rng(0), ROWS))
    middle = np.quantile(everything, [0.25, 0.75])
    inside = {k: float(((v > middle[0]) & (v < middle[1])).mean()) for k, v in share.items()}
    assert abs(inside["prior"] - 0.5) < 0.12
    bins = np.unique(np.rint(everything / 25e6) * 25e6)
    assert abs(inside["uniform"] - ((bins > middle[0]) & (bins < middle[1])).mean()) < 0.12


def test_exact_draws_are_uniform_over_the_bin() -> None:
    """Against enumeration: every network of a bin of NAS-Bench-Macro, equally often."""
    made = Macro()
    proposal = _proposal(made, "macs", 25e6, ROWS)
    archs = np.array(np.unravel_index(np.arange(3**8), (3,) * 8), dtype=np.int8).T
    label = np.rint(costs_of(made, archs) / proposal.step)
    place = int(np.argmin([abs((label == b).sum() - 120) for b in proposal.bins]))
    members = archs[label == proposal.bins[place]]
    drawn = DRAW_METHODS["exact"](proposal, place, np.random.default_rng(0), 60 * len(members))
    found, counts = np.unique(drawn, axis=0, return_counts=True)
    assert np.array_equal(found, np.unique(members, axis=0))
    chi = ((counts - 60) ** 2 / 60).sum()
    assert abs(chi - len(members)) < 5 * (2 * len(members)) ** 0.5


def test_one_table_serves_all_bins_of_the_paper() -> None:
    made = space("attentive")
    counts = _counts(made, "macs", 25e6)
    assert counts is not None
    trials = []
    for label in range(9, 72, 9):
        drawn, n = _window(made, "macs", 25e6, label).sample(np.random.default_rng(label), 200)
        assert set(np.rint(costs_of(made, drawn) / 25e6).tolist()) == {float(label)}
        trials.append(n / 200)
    assert max(trials) < 1.2


@pytest.mark.parametrize("draws", ["proposal", "exact"])
def test_budgets_of_latency(draws: str, slowness: LayerCost) -> None:
    """Appendix F: the best of k networks that are equally fast."""
    made, layer_cost = space("attentive"), slowness
    sampler = Attentive(k=4, draws=draws, metric="latency/ms", width=0.4, rows=ROWS)  # type: ignore[arg-type]
    spread = []
    for s in range(10):
        candidates: list[Arch] = []

        def score(archs: Sequence[Arch], seen: list[Arch] = candidates) -> list[float]:
            seen.extend(archs)
            return [value(a) for a in archs]

        step = sampler(made, Draw(np.random.default_rng([0, s]), s, score, layer_cost))
        assert value(step.paths[0].arch) == max(map(value, candidates))
        latency = costs_of(made, np.array(candidates), layer_cost)
        assert len(set(np.rint(latency / 400).tolist())) == 1
        spread.append(latency[0])
    assert max(spread) - min(spread) > 800  # budgets differ from step to step


def test_latency_needs_measurements() -> None:
    with pytest.raises(InputError, match="a budget in latency/ms needs measurements"):
        Attentive(metric="latency/ms", rows=ROWS)(Macro(), Draw(np.random.default_rng(0)))
    with pytest.raises(UnknownNameError, match="attentive metric 'peak'"):
        Attentive(metric="peak")


def test_a_space_that_is_no_automaton() -> None:
    candidates, _ = asked(Attentive(k=2, draws="exact", rows=300), "nasbench101:vertices=4", 3)
    assert [len(c) for c in candidates] == [2, 2, 2]


def test_predictor_takes_the_place_of_the_loss() -> None:
    candidates, chosen = asked(
        Attentive(k=5, rows=ROWS, predictor=lambda archs: [-value(a) for a in archs]), "macro", 5
    )
    assert candidates == []
    _, best = asked(Attentive(k=5, up="worst", rows=ROWS), "macro", 5)
    assert chosen == best


def test_a_loss_that_is_no_number_never_wins() -> None:
    made = Macro()
    seen: list[Arch] = []

    def score(archs: Sequence[Arch]) -> list[float]:
        seen.extend(archs)
        return [float("nan"), -5.0, float("nan")]

    step = Attentive(k=3, rows=ROWS)(made, Draw(np.random.default_rng(0), 0, score))
    assert step.paths[0].arch == seen[1]


def test_refusals() -> None:
    with pytest.raises(InputError, match="k, rows and width must be positive, got 0"):
        Attentive(k=0)
    with pytest.raises(UnknownNameError, match="did you mean 'best'"):
        Attentive(up="bets")  # type: ignore[arg-type]
