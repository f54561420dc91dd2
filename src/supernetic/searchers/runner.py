"""Run a searcher: evaluate what it asks for, record it, and resume by replay.

What is recorded is always a prefix of what the searcher asks, in that order, so a resumed run only has to feed the
record back: the generator arrives at the same state and continues. Asking twice for a network costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import isfinite, nan
from time import perf_counter

import numpy as np

from ..errors import InputError, RunError, SupernetError, UnknownNameError
from ..evaluators import CostEvaluator, Evaluator
from ..evaluators.cost import COSTS
from ..objective import Metrics
from ..runs.directory import TIMINGS, TRIALS, Run
from ..space import Arch
from .problem import Searcher, SearchProblem, Trial

IDLE_BATCHES = 1000  # in a row without a new architecture, after which a searcher counts as finished
FAILURES = (ArithmeticError, RuntimeError, ValueError)  # what one architecture may die of without ending the search
Report = Callable[[Sequence[Trial]], None]
OnFailure = Callable[[Arch, Exception], None]


def run_search(
    searcher: Searcher,
    task: SearchProblem,
    evaluate: Evaluator,
    run: Run | None = None,
    *,
    seed: int = 0,
    budget: int | None = None,
    chunk: int | None = None,
    progress: Report | None = None,
    progress_by_chunk: Report | None = None,
    on_failure: OnFailure | None = None,
) -> list[Trial]:
    """Evaluate what a searcher asks for, from the record as far as it goes.

    An architecture whose evaluation raises one of `FAILURES` is recorded as failed; a batch of which all fail ends the
    search. With `on_failure`, any exception but an `InputError` is recorded, and `on_failure` decides when to end.

    Args:
        searcher: what to evaluate next.
        task: the space, the objectives and the constraints.
        evaluate: the metrics of architectures.
        run: where trials are recorded; None: nowhere.
        seed: of the searcher's draws.
        budget: the most evaluations; None: until the searcher ends.
        chunk: architectures that are evaluated and recorded together; None: a batch at a time.
        progress: called with all trials so far, after every batch.
        progress_by_chunk: the same after every chunk that was evaluated, not read from the record.
        on_failure: told of every evaluation that failed; what it raises ends the search.

    Returns:
        All trials in the order asked.
    """
    if budget is None and searcher.needs_budget:
        raise InputError(f"{type(searcher).__name__} never ends by itself: say how many evaluations")
    for name in (*(o.name for o in task.objectives), *(c.name for c in task.constraints)):
        if name not in evaluate.metrics:
            raise UnknownNameError("metric", name, evaluate.metrics)
    answer = _Answers(task, evaluate, run, chunk, progress_by_chunk, on_failure)
    asking = searcher.search(task, np.random.default_rng(seed))
    canonical = task.space.canonical
    idle = 0
    try:
        batch = next(asking)
        while idle < IDLE_BATCHES and (budget is None or len(answer.trials) < budget):
            fresh = answer.unknown(batch)
            left = len(fresh) if budget is None else budget - len(answer.trials)
            answer(fresh[:left])
            idle = 0 if fresh else idle + 1
            if fresh and progress is not None:
                progress(answer.trials)
            if left < len(fresh):
                break  # the budget ends within this batch
            batch = asking.send([answer.by_network[canonical(a)]._replace(arch=a) for a in batch])
    except StopIteration:
        pass
    answer.finish()
    return answer.trials


class _Answers:
    """Trials by network: from the record as long as it lasts, then from the evaluator."""

    def __init__(
        self,
        task: SearchProblem,
        evaluate: Evaluator,
        run: Run | None,
        chunk: int | None,
        progress: Report | None,
        on_failure: OnFailure | None,
    ) -> None:
        self.task, self.evaluate, self.run, self.chunk = task, evaluate, run, chunk
        self.progress, self.on_failure = progress, on_failure
        self.failures = FAILURES if on_failure is None else (Exception,)
        self.trials: list[Trial] = []
        self.by_network: dict[Arch, Trial] = {}
        self.record = [Trial.from_json(r) for r in run.read(TRIALS)] if run else []
        self.checked = False

    def __call__(self, archs: list[Arch]) -> None:
        replayed = self.record[len(self.trials) : len(self.trials) + len(archs)]
        for arch, trial in zip(archs, replayed, strict=False):
            if trial.arch != arch:
                raise self._mismatch(f"trial {len(self.trials)} is {list(trial.arch)}, asked was {list(arch)}")
            self._keep([trial])
        rest = archs[len(replayed) :]
        size = self.chunk or max(len(rest), 1)
        for start in range(0, len(rest), size):
            began = perf_counter()
            trials = list(self._evaluated(rest[start : start + size]))
            if self.run:
                self.run.append(TRIALS, (t.to_json() for t in trials))
                self.run.append(TIMINGS, [{"evaluations": len(trials), "seconds": round(perf_counter() - began, 6)}])
            self._keep(trials)
            if self.progress is not None:
                self.progress(self.trials)

    def unknown(self, archs: list[Arch]) -> list[Arch]:
        """Those whose network has no trial yet, each network once."""
        space = self.task.space
        networks: dict[Arch, Arch] = {}
        for arch in archs:
            networks.setdefault(space.canonical(space.check(arch)), arch)
        return [arch for network, arch in networks.items() if network not in self.by_network]

    def finish(self) -> None:
        """A longer record than the search now is belongs to something else."""
        if len(self.record) > len(self.trials):
            raise self._mismatch(f"it holds {len(self.record)} trials, the search ended after {len(self.trials)}")

    def _mismatch(self, what: str) -> RunError:
        where = self.run.path / TRIALS if self.run else TRIALS
        return RunError(f"{where} was not recorded by this search: {what}")

    def _keep(self, trials: list[Trial]) -> None:
        self.trials += trials
        self.by_network.update((self.task.space.canonical(t.arch), t) for t in trials)

    def _evaluated(self, archs: list[Arch]) -> Iterator[Trial]:
        """Trials for architectures; those that break a cheap constraint are not evaluated."""
        feasible = self.task.feasible(np.array(archs, dtype=np.int8))
        answers = iter(self._measured([a for a, good in zip(archs, feasible, strict=True) if good]))
        costs = CostEvaluator(self.task.space, tuple(c.name for c in self.task.cheap))
        for arch, good in zip(archs, feasible, strict=True):
            metrics, reason = next(answers) if good else (costs([arch])[0], "")
            metrics = {k: float(v) if isfinite(v) else nan for k, v in metrics.items()}
            if reason:
                yield Trial(arch, metrics, "failed", reason)
            elif not good:
                broken = (f"{c} does not hold" for c in self.task.cheap if not c.holds(metrics[c.name]))
                yield Trial(arch, metrics, "infeasible", next(broken, "not among the architectures there are"))
            else:
                yield Trial(arch, metrics, *self.task.verdict(metrics))

    def _measured(self, archs: list[Arch]) -> list[tuple[Metrics, str]]:
        """(metrics, reason of failure) of each architecture. One that fails does not end the search; all do."""
        if not archs:
            return []
        try:
            return [(m, "") for m in self._ask(archs)]
        except InputError:
            raise
        except self.failures as e:
            first = e
        answers = [self._failed(archs[0], first)] if len(archs) == 1 else [self._alone(arch) for arch in archs]
        every = all(reason for _, reason in answers)
        if self.on_failure is None and every and (len(archs) > 1 or not self.checked):
            raise first
        return answers

    def _alone(self, arch: Arch) -> tuple[Metrics, str]:
        try:
            return self._ask([arch])[0], ""
        except InputError:
            raise
        except self.failures as e:
            return self._failed(arch, e)

    def _failed(self, arch: Arch, error: Exception) -> tuple[Metrics, str]:
        """Costs, which are known all the same, and the reason in one line."""
        if self.on_failure is not None:
            self.on_failure(arch, error)
        names = self.evaluate.metrics
        metrics = dict.fromkeys(names, nan)
        with suppress(*self.failures):
            metrics |= CostEvaluator(self.task.space, tuple(n for n in names if n in COSTS))([arch])[0]
        return metrics, " ".join(f"{type(error).__name__}: {error}".split())

    def _ask(self, archs: list[Arch]) -> list[Metrics]:
        answers = self.evaluate(archs)
        if not self.checked:
            declared, given = set(self.evaluate.metrics), [set(a) for a in answers]
            if len(answers) != len(archs) or any(g != declared for g in given):
                raise SupernetError(
                    f"{type(self.evaluate).__name__} declares {sorted(declared)} for {len(archs)} architectures, "
                    f"but returned {len(answers)} records" + (f" with {sorted(given[0])}" if given else "")
                )
            self.checked = True
        return answers
