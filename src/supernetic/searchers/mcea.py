"""MCEA: a base model and its scaling strategies, searched in turns.

Paper: "ScaleNet", appendix A, as in its released code: first strategies that suit 20 random base models;
then, `rounds` times, an evolutionary search for the base model under these strategies (population 50, 40 generations:
binary tournaments, two-point crossover, survival of the best) and a grid over each stage's strategies for that base.
A family's score is the mean of its scaled members' (the base's own does not count), weighted by powers of `ratio`.
Each round depends on the state before it alone: a Markov chain, which ends early once it stands still for some rounds.
Differences: budget sampling supplies the base models and repairs children that fit no budget, where the paper scores
them badly; the best base so far is in every population, so that the score does not fall; grids run over distinct
networks; a mutant changes each gene with the chance of one in all (the paper: polynomial mutation of integers).
In a space without strategies the chain is over models alone: rounds of the same evolution, each with the best so far.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..metrics import is_cost
from ..objective import Objective
from ..scaling.budgets import Budgets, budgets_for
from ..scaling.family import Candidate, Family, State
from ..space import Arch, Archs, Space
from ..spaces.scaled import Scaled
from .problem import Asking, SearchProblem, Trial, fill
from .variation import limits, mutate, repair

STILL_ROUNDS = 3  # rounds that change nothing, after which a search ends; one alone may be bad luck
MEMBER_SLACK = 1.25  # by which a member may exceed its stage's budget: half a unit for its base, one for itself

Answers = Generator[list[Arch], list[Trial], list[float]]
Log = Callable[[State], None]


@dataclass(frozen=True)
class MCEA:
    """The budgets say what a base model and its siblings may cost; None: a round number near that of random ones.

    It goes by the one objective that is no cost. A limit on MACs lowers the budgets until the largest
    members of families keep it on average; those that do not are infeasible, as anywhere.
    """

    budgets: Budgets | None = None
    bases: int = 20  # random ones that judge the first strategies
    rounds: int = 8
    population: int = 50
    generations: int = 40  # the first one included
    ratio: float = 1.0  # weight of a stage over that of the next larger one

    needs_budget: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, least in (("bases", 1), ("rounds", 1), ("population", 2), ("generations", 1)):
            if getattr(self, name) < least:
                raise InputError(f"MCEA: {name} must be at least {least}, got {getattr(self, name)}")
        if not 0 < self.ratio < inf:
            raise InputError(f"MCEA: ratio must be a positive number, got {self.ratio:g}")

    def search(self, task: SearchProblem, rng: np.random.Generator) -> Asking:
        """Ask for members of families; `chain_of` reads the states back from the trials."""
        yield from self.chain(task, rng, lambda state: None)

    def chain(self, task: SearchProblem, rng: np.random.Generator, log: Log) -> Asking:
        """The same search, with a call at each state.

        Args:
            task: a space, scaled or not, and one objective beside costs.
            rng: of all draws.
            log: called with each state of the chain.

        Returns:
            The generator of a searcher.
        """
        turn = _Turn(task, self, rng)
        strategies, scores = yield from turn.grids(turn.family.draw(rng, self.bases))
        state = State(0, None, strategies, scores, turn.mean(scores), turn.asked)
        log(state)
        still = 0
        for number in range(1, self.rounds + 1):
            base = yield from turn.evolve(state)
            strategies, scores = yield from turn.grids([base])
            before, state = state, State(number, base, strategies, scores, turn.mean(scores), turn.asked)
            log(state)
            still = still + 1 if state.same_as(before) else 0
            if still == STILL_ROUNDS:
                return


class _Turn:
    """What the steps of one search share."""

    def __init__(self, task: SearchProblem, settings: MCEA, rng: np.random.Generator) -> None:
        self.settings, self.rng, self.objective = settings, rng, _objective(task)
        self.family: Family | _Alone
        if isinstance(task.space, Scaled):
            budgets = settings.budgets or affordable_budgets(task, task.space)
            self.family, self.base, stages = Family(task.space, budgets), task.space.base, budgets.stages
        elif settings.budgets is None:
            self.family, self.base, stages = _Alone(task), task.space, 1
        else:
            raise InputError(f"MCEA: budgets are for a base space times a scaling space, {task.space.name} is none")
        self.sign = 1.0 if self.objective.maximise else -1.0
        self.stages = range(1, stages + 1)
        self.weights = np.array([settings.ratio ** (stages - j) for j in self.stages])
        self.asked = 0

    def mean(self, scores: Sequence[float]) -> float:
        """The family score."""
        return float(np.average(scores, weights=self.weights))

    def values(self, archs: list[Arch]) -> Answers:
        """The objective of each, to be maximised; minus infinity for what failed."""
        self.asked += len(archs)
        trials = yield archs
        return [self.sign * t.metrics[self.objective.name] if t.ok else -inf for t in trials]

    def grids(
        self, bases: list[Arch]
    ) -> Generator[list[Arch], list[Trial], tuple[tuple[Candidate, ...], tuple[float, ...]]]:
        """For each stage the strategy under which the base models do best on average, and how well they do."""
        chosen, scores = [], []
        for stage in self.stages:
            candidates = self.family.candidates(stage, bases)
            values = yield from self.values([c.genes + base for c in candidates for base in bases])
            means = np.array(values).reshape(len(candidates), len(bases)).mean(axis=1)
            best = int(np.argmax(means))
            chosen.append(candidates[best])
            scores.append(self.sign * float(means[best]))
        return tuple(chosen), tuple(scores)

    def evolve(self, state: State) -> Generator[list[Arch], list[Trial], Arch]:
        """The best base model under the state's strategies."""
        strategies = [c.genes for c in state.strategies]
        alive = self.family.draw(self.rng, self.settings.population, strategies)
        if state.base is not None and state.base not in alive:
            alive[-1] = state.base
        ratings: dict[Arch, float] = {}
        yield from self.rate(alive, strategies, ratings)
        for _ in range(self.settings.generations - 1):
            children = self.breed(alive, strategies, ratings)
            yield from self.rate(children, strategies, ratings)
            alive = sorted([*alive, *children], key=lambda base: -ratings[base])[: self.settings.population]
        return max(ratings, key=lambda base: ratings[base])

    def rate(
        self, bases: list[Arch], strategies: list[Arch], ratings: dict[Arch, float]
    ) -> Generator[list[Arch], list[Trial], None]:
        """Family scores of base models, to be maximised."""
        if not bases:
            return
        values = yield from self.values([s + base for base in bases for s in strategies])
        rows = np.array(values).reshape(len(bases), len(strategies))
        ratings.update(zip(bases, map(self.mean, rows.tolist()), strict=True))

    def breed(self, alive: list[Arch], strategies: list[Arch], ratings: dict[Arch, float]) -> list[Arch]:
        """Children of winners of binary tournaments, mutated and repaired; none twice."""
        space, n = self.base, self.settings.population
        pairs = self.rng.integers(len(alive), size=(2 * n, 2))
        winners = [alive[min(pair, key=lambda i: (-ratings[alive[i]], i))] for pair in pairs.tolist()]
        parents = np.array(winners, dtype=np.int8)
        children = mutate(space, self.rng, two_points(space, self.rng, parents[:n], parents[n:]), 1 / parents.shape[1])
        repaired = self.family.repair(self.rng, children, strategies)
        fresh = dict.fromkeys(space.canonical(tuple(c)) for c in repaired.tolist())
        return [c for c in fresh if c not in ratings]


@dataclass(frozen=True)
class _Alone:
    """What `Family` is for a scaled space, where there is nothing to scale: one strategy, which changes nothing."""

    task: SearchProblem

    def draw(self, rng: np.random.Generator, n: int, strategies: Sequence[Arch] = ()) -> list[Arch]:
        """Draw at most `n` different models that keep the cheap limits."""
        return fill(self.task, n, set(), lambda k: self.task.sample(rng, k))

    def candidates(self, stage: int, bases: Sequence[Arch]) -> list[Candidate]:
        """Return the one strategy."""
        return [Candidate((), (1.0, 1.0), 0.0)]

    def repair(self, rng: np.random.Generator, archs: Archs, strategies: Sequence[Arch]) -> Archs:
        """Replace models that are not valid or break a cheap limit."""
        bad = ~self.task.feasible(archs)
        if bad.any():
            archs[bad] = self.task.sample(rng, int(bad.sum()))
        return archs


def affordable_budgets(task: SearchProblem, space: Scaled) -> Budgets:
    """Return budgets under which the largest members of families keep the limit on MACs, if there is one.

    Args:
        task: The limits.
        space: Base models and their strategies.
    """
    stages = len(space.strategies.factors) - 1
    budgets = budgets_for(space.base, stages)
    most = min((c.high for c in task.cheap if c.name == "cost/macs"), default=inf) / (MEMBER_SLACK * 2**stages)
    return budgets if budgets.base <= most else budgets_for(space.base, stages, most)


def _objective(task: SearchProblem) -> Objective:
    goals = [o for o in task.objectives if not is_cost(o.name)]
    if len(goals) != 1:
        raise InputError(f"MCEA needs one objective beside costs, got {', '.join(map(str, task.objectives)) or 'none'}")
    return goals[0]


def two_points(space: Space, rng: np.random.Generator, mothers: Archs, fathers: Archs) -> Archs:
    """Crossover in which the genes between two random points come from the father.

    Args:
        space: the space.
        rng: of the points.
        mothers: one architecture per row.
        fathers: as many.

    Returns:
        One child per row.
    """
    n, genes = mothers.shape
    ends = np.sort(rng.integers(genes + 1, size=(n, 2)), axis=1)
    place = np.arange(genes)
    inner: npt.NDArray[np.bool_] = (place >= ends[:, :1]) & (place < ends[:, 1:])
    children = np.where(inner, fathers, mothers).astype(np.int8)
    inactive = np.where(inner, limits(space, fathers), limits(space, mothers)) == 1
    return repair(space, rng, children, inactive)


def chain_of(searcher: MCEA, task: SearchProblem, trials: Sequence[Trial], seed: int = 0) -> list[State]:
    """The states that a search went through, read from its trials.

    Args:
        searcher: the searcher with its settings.
        task: what it searched.
        trials: the record.
        seed: of the search.

    Returns:
        As many states as the record is complete for.
    """
    canonical = task.space.canonical
    by_network = {canonical(t.arch): t for t in trials}
    states: list[State] = []
    asking = searcher.chain(task, np.random.default_rng(seed), states.append)
    try:
        batch = next(asking)
        while all(canonical(a) in by_network for a in batch):
            batch = asking.send([by_network[canonical(a)]._replace(arch=a) for a in batch])
    except StopIteration:
        pass
    return states
