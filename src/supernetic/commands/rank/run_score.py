"""Scores by the supernet of a run, or by the parts of a few-shot supernet: several runs, one per option of a choice.

Paper: Zhao et al., "Few-shot Neural Architecture Search", arXiv 2006.06863; the sampler of such a run is `fixed`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from ...benchmarks import Column, Table
from ...benchmarks.table import Ints
from ...errors import InputError, RunError
from ...hardware import Hardware
from ...jobs.train.score import is_run, translated
from ...jobs.train.score import score as evaluate
from ...metrics import better
from ...objective import Metrics, resolve
from ...progress import Event, OnEvent, ignore
from ...runs.directory import read_settings
from ...runs.space_record import space_of
from ...samplers.fixed import choice_index
from ...space import Arch, Space
from .scores import Answers, SampleSize, Score

FIXED_SAMPLER = "fixed"
RUN_SEPARATOR = ","  # between the runs of a few-shot supernet
RUN_SAMPLE = SampleSize(1000, 300)

AskRun = Callable[[str, list[Arch]], list[Metrics]]  # (run, architectures)


@dataclass(frozen=True)
class RunScore(Score):
    """What trained supernets say of an architecture. Evaluations are kept in the run, so that none is made twice.

    Args:
        name: As the caller wrote it.
        runs: The run of a supernet, or those of all parts of a few-shot supernet.
        metric: The full name of a metric of the validation split, or of the weight angle.
        bn: Where BN statistics come from: recalibrate, batch or running.
        hardware: Where networks are scored; by default where the supernet was trained, if this machine has that.
    """

    name: str
    runs: tuple[str, ...]
    metric: str
    bn: str = "recalibrate"
    hardware: Hardware | None = None
    is_measured: ClassVar[bool] = True
    can_be_truth: ClassVar[bool] = False
    usual_sample: ClassVar[SampleSize] = RUN_SAMPLE

    def ask(self, table: Table, rows: Ints, on_event: OnEvent = ignore) -> Answers:
        """Evaluate the architectures; cross-entropy has its sign reversed."""
        archs = list(table.take(rows))

        def ask_run(run: str, some: list[Arch]) -> list[Metrics]:
            return self._ask_run(run, table.space, some, on_event)

        whole = len(self.runs) == 1
        answers = ask_run(self.runs[0], archs) if whole else ask_parts(self.runs, table.space, archs, ask_run)
        sign = sign_of(self.metric)
        values = np.array([sign * answer[self.metric] for answer in answers])
        return Answers(Column(values, split=self._split), [metric_remark(self.name, self.metric)])

    @property
    def _split(self) -> str:
        """The split of the data that the metric looks at; the angle looks at none."""
        from ...evaluators.angle import ANGLE

        return "" if self.metric == ANGLE else self.metric.partition("/")[0]

    def _ask_run(self, run: str, space: Space, archs: list[Arch], on_event: OnEvent) -> list[Metrics]:
        from ...evaluators.angle import ANGLE

        def report(done: int, total: int) -> None:
            on_event(Event("score", item=self.name, done=done, total=total))

        return (
            angles(run, space, archs)
            if self.metric == ANGLE
            else evaluate(run, space, archs, bn=self.bn, hardware=self.hardware, progress=report)
        )


def sign_of(metric: str) -> int:
    """-1 for a metric of which less is better, so that more of the score is better."""
    return -1 if better(metric) == "lower" else 1


def metric_remark(name: str, metric: str) -> str:
    """Which metric a score is, and which way it counts."""
    return f"{name} is {metric}" + ("; lower is better, so its sign is reversed" if sign_of(metric) < 0 else "")


def find_runs(text: str) -> tuple[tuple[str, ...], str] | None:
    """(directories, metric or nothing) of `RUN`, `RUN:METRIC`, or several runs between commas; None if it is no run."""
    path, _, metric = text.rpartition(":")
    for place, wanted in ((text, ""), (path, metric)):
        for runs in ([place], place.split(RUN_SEPARATOR)):
            if all(run and is_run(run) for run in runs):  # an empty text is no run, wherever one stands
                return tuple(runs), wanted
    return None


def metric_of(text: str) -> str:
    """The metric of a run, from its full name or its last part; cross-entropy, if the text is empty."""
    from ...evaluators.angle import ANGLE
    from ...networks.scores import full_names

    metrics = (*full_names("valid"), ANGLE)
    return resolve(text, metrics) if text else metrics[0]


def angles(run: str, space: Space, archs: Sequence[Arch]) -> list[Metrics]:
    """How far the training of a run has turned the weights of each architecture; not kept, it takes microseconds."""
    from ...evaluators.angle import AngleEvaluator
    from ...jobs.train.supernet_run import first_supernet, load_supernet

    trained, _ = load_supernet(run)
    evaluator = AngleEvaluator(first_supernet(run), trained)
    return evaluator(translated(archs, space, evaluator.space, run))


# --- few-shot supernets -----------------------------------------------------------------------------------------------


def ask_parts(runs: Sequence[str], space: Space, archs: Sequence[Arch], ask: AskRun) -> list[Metrics]:
    """Ask, for each architecture, the run that was trained on its option.

    Args:
        runs: The parts of a few-shot supernet.
        space: The space of the architectures.
        archs: Architectures.
        ask: Gives the metrics of architectures by one run.

    Returns:
        The metrics of each architecture, in the order given.
    """
    choice, run_by_option = parts_of(runs)
    names = [c.name for c in space.choices]
    if choice not in names:
        raise RunError(f"{runs[0]} was trained with {choice} fixed, which {space.name} does not have")
    i = names.index(choice)
    options = [str(o) for o in space.choices[i].options]
    rows: dict[str, list[int]] = {}
    for row, arch in enumerate(archs):
        rows.setdefault(options[arch[i]], []).append(row)
    if lacking := [o for o in rows if o not in run_by_option]:
        n = len(rows[lacking[0]])
        raise InputError(f"no run was trained on {lacking[0]} as {choice}, which {n} of {len(archs)} networks have")
    answers: list[Metrics] = [{}] * len(archs)
    for option, some in rows.items():
        for row, answer in zip(some, ask(run_by_option[option], [archs[r] for r in some]), strict=True):
            answers[row] = answer
    return answers


def parts_of(runs: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The choice that was split, and the run of each option."""
    run_by_choice: dict[str, str] = {}
    run_by_option: dict[str, str] = {}
    for run in runs:
        choice, option = _fixed_option(run)
        if option in run_by_option:
            raise InputError(f"{run_by_option[option]} and {run} were both trained on {option} as {choice}")
        run_by_choice[choice] = run
        run_by_option[option] = run
    if len(run_by_choice) > 1:
        listed = ", ".join(f"{choice} in {run}" for choice, run in run_by_choice.items())
        raise InputError(f"parts of a few-shot supernet split one choice, got {listed}")
    return next(iter(run_by_choice)), run_by_option


def _fixed_option(run: str) -> tuple[str, str]:
    """The names of the choice and of the option that all networks of a training had."""
    settings = read_settings(run)
    sampler = settings.get("recipe", {}).get("sampler", {})
    if sampler.get("name") != FIXED_SAMPLER:
        name = sampler.get("name") or f"a run of {settings.get('job', 'something else')!r}"
        raise RunError(f"{run} is no part of a few-shot supernet: its sampler must be {FIXED_SAMPLER}, got {name}")
    space = space_of(Path(run), settings)
    i, gene = choice_index(space, sampler.get("choice", ""), sampler.get("option", ""))
    return space.choices[i].name, str(space.choices[i].options[gene])
