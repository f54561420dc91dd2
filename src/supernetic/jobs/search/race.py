"""The step `finish`: the better networks are trained further, and the best of them to the end of the time.

The first round is the step `compare`: all networks are trained alike, which is the evidence. Then they race by
successive halving: those with the best prospects go on, each from the weights that it has. The winner is the
recommended model. Cheaper networks that are still useful are handed over beside it. Where an objective names macro F1
or balanced accuracy, that metric takes the place of accuracy.

Paper: Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter Optimization", arXiv
1502.07943. Differences: the sizes of the rounds follow from the time, and the winner gets most of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from ...blueprint import Blueprint
from ...errors import RunError
from ...objective import Constraint
from ...pareto import equispaced
from ...progress import Event, OnEvent
from ...runs.directory import Run, read_plain_file, write_atomically
from ...runs.files import DECISIONS, FINISHED_NETWORKS, NETWORK_TRAININGS, TIMINGS, WEIGHTS
from ...runs.records import (
    CANDIDATE,
    CHOSEN,
    INHERITED,
    TRAINED,
    MetricValues,
    NetworkRecord,
    TeacherRecord,
    networks_text,
    read_trained_networks,
)
from ..compare.candidates import BASELINE, Candidate
from ..compare.comparison import WHOLE, Comparison
from ..compare.last_training import LastTraining, decided, may_train_together, steps_in
from ..compare.train import inherited_file, load_inherited, numbers
from ..speed import step_seconds, together_seconds
from ..time_plan import EXPORT, FINISH, PLANNED_SHARE, TEST
from .forecast import later_error
from .plan import SearchPlan
from .teacher import Teacher

if TYPE_CHECKING:
    from ...networks.pool import Training

CROSS_ENTROPY = "valid/cross_entropy"
USEFUL_SHARE = 0.8  # of the way from guessing to the best accuracy: a network below it is not handed over
CHEAPER_MACS = 0.9  # of the MACs of the recommended model, above which another one is not worth its time
CLEAR_LEAD = 1.5  # points of expected error that end the race: forecasts were wrong by as much (findings/prospects.md)
FULL = "full"  # evidence: controls are trained for as long as the recommended model


@dataclass(frozen=True)
class Race:
    """How networks are trained beyond the first round.

    Args:
        comparison: The networks, and how they are trained.
        plan: Rounds and times.
        keep: Models that are handed over at most.
        evidence: `full`, `short` or `none`.
        limits: What a model must keep. Candidates do; controls may not.
    """

    comparison: Comparison
    plan: SearchPlan
    keep: int
    evidence: str = "short"
    limits: Sequence[Constraint] = ()

    def first_lengths(self, run: Run, entries: Sequence[Candidate]) -> Mapping[str, int]:
        """Steps of each network in the first round, equal in time.

        Args:
            run: Keeps the decision.
            entries: The networks.

        Returns:
            Steps by name.
        """
        plan = self.plan
        if plan.network_steps:
            return {c.name: plan.network_steps for c in entries}
        if len(entries) < 2:  # no race: the first round is the last
            return decided(run, "round-1", lambda: self._only_length(run, entries))

        def lengths() -> dict[str, int]:
            blueprints = [c.network for c in entries if isinstance(c.network, Blueprint)]
            seconds = step_seconds(blueprints, self.comparison.recipe, plan.workers, hardware=self.comparison.hardware)
            paces = iter(seconds)
            slowest = max(seconds, default=1.0)  # for a module of the user's, which is not timed
            return {
                c.name: steps_in(plan.rounds[0], next(paces) if isinstance(c.network, Blueprint) else slowest)
                for c in entries
            }

        return decided(run, "round-1", lengths)

    def _only_length(self, run: Run, entries: Sequence[Candidate]) -> dict[str, int]:
        network = entries[0].network
        assert isinstance(network, Blueprint)
        pace = step_seconds([network], self.comparison.recipe, 1, hardware=self.comparison.hardware)[0]
        return {entries[0].name: steps_in(self._left(run, 0.0), pace)}

    def finish(self, run: Run, send: OnEvent) -> None:
        """Take the step `finish`.

        Args:
            run: The run.
            send: Receives progress.
        """
        begin = perf_counter()
        records = {r.name: r for r in read_trained_networks(run.path)}
        running = self._rounds(run, records, send)
        if not running:  # nothing could be trained: the export says so
            run.write(FINISHED_NETWORKS, networks_text(records.values()))
            return
        best, cheaper = running[0], self._cheaper(records, running[0])
        if self.plan.finish and len(records) > 1:
            self._train_cheaper(run, records, cheaper, send)
            best = self._train_to_the_end(run, records, running, begin, send)
        kept = [best, *(n for n in cheaper if (records[n].macs or 0) < (records[best].macs or 0))]
        run.write(FINISHED_NETWORKS, networks_text(self._named(run.path, records, kept)))

    # --- rounds -------------------------------------------------------------------------------------------------------

    def _rounds(self, run: Run, records: dict[str, NetworkRecord], send: OnEvent) -> list[str]:
        """Train the better ones of the better ones ..., and return the names of the last round, the winner first."""
        running = [n for n, r in records.items() if self._can_be_handed_over(r)]
        done = 1
        for number, (size, seconds) in enumerate(zip(self.plan.sizes[1:], self.plan.rounds[1:], strict=True), 2):
            running = self._order(records, running, done)[:size]
            if len(running) < 2 or self._settled(records, running, done, send):
                break

            def lengths(names: Sequence[str] = running, seconds: float = seconds) -> dict[str, int]:
                return {n: steps_in(seconds, self._pace(run.path, records[n])) for n in names}

            self._train(run, records, decided(run, f"round-{number}", lengths), send)
            done = number
        return self._order(records, running, done)

    def _expected(self, records: Mapping[str, NetworkRecord], running: Sequence[str], rounds: int) -> dict[str, float]:
        """The error that each network would have at the end of the time, told after some rounds, by name.

        After equal time, accuracies compare networks of equal speed. A slow one has seen fewer images, and may overtake
        the others later.
        """
        steps = {n: max(1, records[n].steps or 0) for n in running}
        usual, growth = median(steps.values()) if steps else 1, self._growth(rounds)
        return {
            n: later_error(
                100 - self._accuracy(records[n]), self._epochs(records[n]), growth, pace=steps[n] / usual
            )
            for n in running
        }  # fmt: skip

    def _order(self, records: Mapping[str, NetworkRecord], running: Sequence[str], rounds: int) -> list[str]:
        """The order of the race after some rounds: by the errors to be expected, then by cross-entropy."""
        expected = self._expected(records, running, rounds)
        return sorted(running, key=lambda n: (expected[n], self._standing(records)(n)))

    def _settled(
        self, records: Mapping[str, NetworkRecord], running: Sequence[str], rounds: int, send: OnEvent
    ) -> bool:
        """Whether the first of the networks leads so clearly that the time of the next round is better spent on it."""
        if rounds < 2 or not self.plan.finish:
            return False
        expected = self._expected(records, running, rounds)
        lead = expected[running[1]] - expected[running[0]]
        if lead < CLEAR_LEAD:
            return False
        rest = f"{lead:.1f} points ahead of {running[1]} at the end: no further round is needed"
        send(Event(FINISH, f"{running[0]} is expected to be {rest}"))
        return True

    def _growth(self, rounds: int) -> float:
        """How many times as long as after some rounds the winner will have been trained at the end of the time.

        Processes that train it together are faster than one by about the root of their number.
        """
        together = self.evidence != FULL and self._may_join()
        spent = sum(self.plan.rounds[:rounds])
        return 1 + (sqrt(self.plan.workers) if together else 1.0) * self.plan.finish / spent if spent else 1.0

    def _epochs(self, record: NetworkRecord) -> float:
        images = len(self.comparison.dataset.splits["train"])
        return self.comparison.recipe.batch_size * (record.steps or 0) / max(1, images)

    def _train(
        self,
        run: Run,
        records: dict[str, NetworkRecord],
        steps: Mapping[str, int],
        send: OnEvent,
        processes: int = 1,
        part: tuple[float, float] = WHOLE,
        targets: Path | None = None,
    ) -> None:
        """Train networks further, and note in their records what came of it."""
        from ...networks.pool import train_all

        names = list(steps)
        unknown = next((n for n in names if n not in records), None)
        if unknown is not None:
            raise RunError(f"{run.path / DECISIONS} names the unknown network {unknown!r}: it is not of this run")

        def report(i: int, done: int, total: int) -> None:
            send(Event(FINISH, item=names[i], done=done, total=total))

        trained = train_all(
            [self._further(run.path, records[n], steps[n], processes, part, targets) for n in names],
            run.path / NETWORK_TRAININGS,
            workers=self.plan.workers,
            progress=report,
        )
        for name, result in zip(names, trained, strict=True):
            if result.reason:  # it diverged: the weights from before stay
                send(Event(FINISH, f"{name} could not be trained any further: {result.reason}"))
                continue
            before = records[name]
            records[name] = replace(
                before,
                key=result.key,
                trained=numbers(result.metrics),
                steps=(before.steps or 0) + steps[name],
                first_key=before.first_key or before.key,
                keys=(*before.trainings, result.key),
                first=before.first or before.trained,
            )

    def _further(
        self,
        run: Path,
        record: NetworkRecord,
        steps: int,
        processes: int,
        part: tuple[float, float],
        targets: Path | None,
    ) -> Training:
        """The next training of a network: from the weights that it has, with batches of its own."""
        path = run / NETWORK_TRAININGS / str(record.key)
        earlier = len(record.trainings)
        return self.comparison.training(_blueprint(path), steps, path / WEIGHTS, processes, part, earlier, targets)

    def _pace(self, run: Path, record: NetworkRecord) -> float:
        """Seconds per step in the training before."""
        from ...networks.pool import training_pace

        return training_pace(run / NETWORK_TRAININGS / str(record.key))

    def _can_be_handed_over(self, record: NetworkRecord) -> bool:
        """Whether a network works, has a blueprint, which modules of the user's have not, and keeps the limits.

        What limits beyond costs say of a control, such as milliseconds, is not known.
        """
        if record.failed or record.role == BASELINE:
            return False
        known = {"cost/macs": record.macs, "cost/params": record.params}
        values = [(c, known.get(c.name)) for c in self.limits]
        return record.arch is not None or all(v is not None and c.holds(v) for c, v in values)

    # --- the models that are handed over ------------------------------------------------------------------------------

    def _cheaper(self, records: Mapping[str, NetworkRecord], best: str) -> list[str]:
        """Names of useful networks that cost clearly less than the best one, none of them beaten by a cheaper one."""
        top = records[best]
        chance = 100 / len(self.comparison.dataset.classes)
        least = chance + USEFUL_SHARE * (self._accuracy(top, first=True) - chance)
        useful = [
            r
            for n, r in records.items()
            if n != best
            and self._can_be_handed_over(r)
            and (r.macs or 0) <= CHEAPER_MACS * (top.macs or 0)
            and self._accuracy(r, True) >= least
        ]
        useful.sort(key=lambda r: (r.macs or 0, -self._accuracy(r, True)))
        front: list[NetworkRecord] = []
        for r in useful:
            if not front or self._accuracy(r, True) > self._accuracy(front[-1], True):
                front.append(r)
        picked = equispaced([r.macs or 0 for r in front], self.keep - 1) if front and self.keep > 1 else []
        return [front[i].name for i in reversed(picked)]

    def _train_cheaper(self, run: Run, records: dict[str, NetworkRecord], names: Sequence[str], send: OnEvent) -> None:
        def lengths() -> dict[str, int]:
            return {n: steps_in(self.plan.cheaper, self._pace(run.path, records[n])) for n in names}

        if names:
            self._train(run, records, decided(run, "cheaper", lengths), send)

    def _train_to_the_end(
        self, run: Run, records: dict[str, NetworkRecord], running: Sequence[str], begin: float, send: OnEvent
    ) -> str:
        """Train the winner for all the time that is left, and return the name of the best network then.

        All processes train the winner together if that is faster. If it is not, each process trains one of the last
        networks in the race. If the evidence is to be full, the winner and its controls are trained alike.
        """
        best, workers = running[0], self.plan.workers
        names = [best]
        if self.evidence == FULL:
            names += [n for n, r in records.items() if n != best and r.role not in (CHOSEN, BASELINE) and not r.failed]
        alone = len(names) == 1

        def left() -> float:
            return self._left(run, perf_counter() - begin)

        teacher, targets = self._teach(run, records, running, left, send) if self.plan.teacher else (None, None)

        def train(steps: Mapping[str, int], processes: int, part: tuple[float, float]) -> None:
            self._train(run, records, steps, send, processes, part, targets)

        last = LastTraining(
            workers, self.plan.finish, self.plan.start, self.comparison.recipe.schedule == "linear",
            left=left,
            pace=lambda name: self._pace(run.path, records[name]),
            train=train,
        )  # fmt: skip
        finished = last.run(
            run,
            running[:workers] if alone else names,
            lambda: self._together(run.path, records[best]) if alone else inf,
        )
        for name in finished:
            records[name] = replace(records[name], teacher=teacher)
        return min((n for n, r in records.items() if self._can_be_handed_over(r)), key=self._standing(records))

    def _teach(
        self,
        run: Run,
        records: dict[str, NetworkRecord],
        running: Sequence[str],
        left: Callable[[], float],
        send: OnEvent,
    ) -> tuple[TeacherRecord | None, Path | None]:
        """Train a teacher of the winner, and say what the winner is to learn from."""
        best = records[running[0]]
        student = _blueprint(run.path / NETWORK_TRAININGS / str(best.key))
        expected = 100 - self._expected(records, running, len(best.trainings))[best.name]
        return Teacher(self.comparison, self.plan, left, send).teach(run, student, expected)

    def _together(self, run: Path, record: NetworkRecord) -> float:
        """Seconds per step of the winner if all processes train it together; infinite if that is not worth while."""
        if not self._may_join():
            return inf
        hardware = self.comparison.hardware.with_processes(self.plan.workers)
        blueprint = _blueprint(run / NETWORK_TRAININGS / str(record.key))
        return together_seconds(blueprint, self.comparison.recipe, hardware)

    def _may_join(self) -> bool:
        """Whether all processes may train the winner together."""
        workers, batch_size = self.plan.workers, self.comparison.recipe.batch_size
        hardware = self.comparison.hardware.with_processes(workers)
        return may_train_together(workers, self.plan.finish, batch_size, hardware)

    def _left(self, run: Run, spent_here: float) -> float:
        """Seconds until testing must begin."""
        before = sum(float(r["seconds"]) for r in run.read(TIMINGS) if "task" in r and "step" not in r)
        after = sum(self.plan.seconds.get(k, 0.0) for k in (TEST, EXPORT))
        return max(1.0, PLANNED_SHARE * self.plan.limit - before - spent_here - after)

    def _named(self, run: Path, records: Mapping[str, NetworkRecord], kept: Sequence[str]) -> list[NetworkRecord]:
        """The models that are handed over, the recommended one first; then candidates that lost, and controls."""
        for i, name in enumerate(kept, 1):
            if records[name].inherited_weights:  # a copy, so that an interrupted step can be taken again
                weights = read_plain_file(run, inherited_file(run, name))  # neither is reached through a link
                write_atomically(inherited_file(run, f"model-{i}"), weights)
        models = [
            replace(
                records[name],
                name=f"model-{i}",
                role=CHOSEN,
                against="",
                recommended=True if i == 1 else None,
                weights=self._better_weights(run, records[name]),
            )
            for i, name in enumerate(kept, 1)
        ]
        others = [r for n, r in records.items() if n not in kept]
        lost = [replace(r, role=CANDIDATE, against="", weights="") for r in others if r.role == CHOSEN]
        controls = [replace(r, against=models[0].name, weights="") for r in others if r.role != CHOSEN]
        return [*models, *lost, *controls]

    def _better_weights(self, run: Path, record: NetworkRecord) -> str:
        """The supernet's weights, if they are the better ones."""
        if not record.inherited_weights:
            return TRAINED
        if record.trained is None:
            return INHERITED
        from ...networks.training import measure

        network = load_inherited(run, record.name).to(self.comparison.hardware.device)
        decides = self.comparison.decides
        inherited = measure(network, network.blueprint.resolution, self.comparison.dataset, (decides,))[decides]
        return INHERITED if inherited > self._accuracy(record) else TRAINED

    def _standing(self, records: Mapping[str, NetworkRecord]) -> Callable[[str], tuple[float, float]]:
        """The order of the race: the metric that decides, then cross-entropy."""

        def key(name: str) -> tuple[float, float]:
            record = records[name]
            entropy = (record.trained or record.score or {}).get(CROSS_ENTROPY)
            return -self._accuracy(record), inf if entropy is None else entropy

        return key

    def _accuracy(self, record: NetworkRecord, first: bool = False) -> float:
        """Validation accuracy, or whatever else decides, after all training or after the first round.

        By the supernet if nothing was trained.
        """
        metrics: MetricValues = (record.first if first else None) or record.trained or record.score or {}
        value = metrics.get(self.comparison.decides)
        return -inf if value is None else value


def _blueprint(path: Path) -> Blueprint:
    from ...networks.pool import training_settings

    return Blueprint.from_json(training_settings(path)["blueprint"])
