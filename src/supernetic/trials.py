"""The evaluated architectures of a search: as a sequence, as a frame, as a plot.

    trials = supernetic.read_trials("runs/demo")
    trials.to_frame().sort_values("cost/macs")
    trials.plot()
    trials.to_optuna("runs/optuna.db")

Frames need pandas and plots matplotlib: `pip install 'supernetic[notebook]'`. Studies need Optuna: the extra `optuna`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from math import isfinite, nan
from pathlib import Path
from typing import Any, TypeAlias, overload

from . import catalog, pareto
from .errors import InputError, RunError, SupernetError
from .objective import Constraint, Objective, combine, parse_objective, parse_where, resolve
from .runs.directory import read_records, read_settings
from .runs.files import RESULT, SEARCH, SETTINGS, TRIALS
from .runs.space_record import space_of
from .searchers.problem import Trial
from .space import Space

FIRST_COLUMNS = ("arch", "name", "status", "reason")
LAST_COLUMN = "on_front"
COST_GROUPS = ("cost/", "latency/")  # of metrics that say what a network costs, not how good it is
COMMON_COST = "cost/macs"
PLOT_INCHES = (6.4, 4.0)

Frame: TypeAlias = Any  # pandas.DataFrame; a list of dictionaries where pandas is not installed
Axes: TypeAlias = Any  # matplotlib.axes.Axes


@dataclass(frozen=True, eq=False)
class Trials(Sequence[Trial]):
    """Trials in the order in which they were evaluated; a slice is trials again, with a front of its own."""

    items: tuple[Trial, ...]
    objectives: tuple[Objective, ...] = ()  # without any there is no front
    space: Space | None = None  # gives architectures their names; None: they have none
    constraints: tuple[Constraint, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> Trial: ...

    @overload
    def __getitem__(self, index: slice) -> Trials: ...

    def __getitem__(self, index: int | slice) -> Trial | Trials:
        chosen = self.items[index]
        return chosen if isinstance(chosen, Trial) else self._with(chosen)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Full names of all metrics that any trial has."""
        return tuple(dict.fromkeys(name for trial in self.items for name in trial.metrics))

    @cached_property
    def front(self) -> Trials:
        """The trials that keep all constraints and that no other such trial dominates, the cheapest first."""
        good = [trial for trial in self.items if trial.ok]
        if not self.objectives:
            return self._with(())
        points = pareto.points([trial.metrics for trial in good], self.objectives)
        along = self._cost or self.objectives[-1].name
        front = [good[i] for i in pareto.front(points)]
        return self._with(sorted(front, key=lambda trial: (trial.metrics.get(along, nan), trial.arch)))

    @property
    def best(self) -> Trial | None:
        """The best trial by the first objective, the best by the next among equals; None if no trial is `ok`."""
        good = [trial for trial in self.items if trial.ok]
        if not good or not self.objectives:
            return None
        points = pareto.points([trial.metrics for trial in good], self.objectives).tolist()
        return good[min(range(len(good)), key=lambda i: (points[i], i))]

    def name_of(self, trial: Trial) -> str:
        """What the space calls an architecture.

        Args:
            trial: any trial of the space.

        Returns:
            Its name; nothing where the space is not known.
        """
        return "" if self.space is None else self.space.name_of(trial.arch)

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record per trial.

        Returns:
            Dictionaries with the keys `arch`, `name`, `status`, `reason`, one per metric (NaN where a trial has none),
            and `on_front`.
        """
        on_front = {trial.arch for trial in self.front}
        return [
            {
                **dict(zip(FIRST_COLUMNS, (t.arch, self.name_of(t), t.status, t.reason), strict=True)),
                **{name: t.metrics.get(name, nan) for name in self.metrics},
                LAST_COLUMN: t.ok and t.arch in on_front,
            }
            for t in self.items
        ]

    def to_frame(self) -> Frame:
        """One row per trial, in the order of evaluation.

        Returns:
            A `pandas.DataFrame`; where pandas is not installed, the records of `to_records`.
        """
        try:
            pandas = import_module("pandas")
        except ModuleNotFoundError:
            return self.to_records()
        columns = [*FIRST_COLUMNS, *self.metrics, LAST_COLUMN]
        return pandas.DataFrame(self.to_records(), columns=columns)

    def plot(self, x: str | None = None, y: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw all trials and their front; `plot_front` says what the arguments mean."""
        return plot_front(self, x, y, ax)

    def to_optuna(self, storage: str | Path, name: str = "supernetic") -> int:
        """Write the trials as a study of Optuna, whose dashboard and plots then show them.

        Parameters are the choices of the space by their names, values are the objectives, and metrics are user
        attributes. A study that has the first of these trials already, such as one of a search that still runs, gets
        the others.

        Args:
            storage: a SQLite file, or the URL of a storage such as `postgresql://...`.
            name: of the study.

        Returns:
            How many trials were added.
        """
        return write_study(self, storage, name)

    def __repr__(self) -> str:
        return f"Trials({len(self)} trials, {len(self.front)} on the front)"

    @property
    def _cost(self) -> str | None:
        """The first objective that is a cost."""
        return next((o.name for o in self.objectives if o.name.startswith(COST_GROUPS)), None)

    def _with(self, items: Iterable[Trial]) -> Trials:
        return Trials(tuple(items), self.objectives, self.space, self.constraints)


def read_trials(run: str | Path, space: Space | None = None) -> Trials:
    """The trials of a run directory, finished or not.

    Args:
        run: the directory of a search, or of `optimise`.
        space: the space of the run; by default it is made again from the run's settings, where they suffice.

    Returns:
        The trials; without a space their names are empty.
    """
    path = Path(run)
    settings = read_settings(path) if (path / SETTINGS).exists() else {}
    if not (path / TRIALS).exists():
        raise RunError(f"{path} has no trials: it has no {TRIALS}")
    texts = settings.get("objectives") or _result(path).get("objectives") or ()
    items = tuple(Trial.from_json(record) for record in read_records(path / TRIALS))
    found = space or _space(path, settings)
    return Trials(items, tuple(map(parse_objective, texts)), found, _constraints(settings.get("where") or ()))


def plot_front(source: Any, x: str | None = None, y: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw trials as points and their front as a line.

    Args:
        source: trials, or a result that has `trials`.
        x: metric of the horizontal axis; by default the cost that was searched for, else `cost/macs`.
        y: metric of the vertical axis; by default the first objective that is another.
        ax: axes of matplotlib to draw on; by default new ones.

    Returns:
        The axes; `ax.figure.savefig(...)` writes them to a file.
    """
    trials = source if isinstance(source, Trials) else source.trials
    pyplot = _pyplot()
    good = [trial for trial in trials if trial.ok]
    if not good:
        raise InputError(f"a plot needs a trial that keeps all constraints, none of {len(trials)} does")
    across = resolve(x or trials._cost or COMMON_COST, trials.metrics)
    others = (o.name for o in trials.objectives if o.name != across)
    up = resolve(y or next(others, next(n for n in (*trials.metrics, "") if n != across)), trials.metrics)
    if ax is None:
        ax = pyplot.figure(figsize=PLOT_INCHES, layout="constrained").add_subplot()
    ax.scatter(*_columns(good, across, up), s=10, color="0.7", label=f"{len(good):,} evaluated")
    front = sorted(trials.front, key=lambda trial: trial.metrics[across])
    if front:
        ax.plot(*_columns(front, across, up), marker="o", markersize=4, label=f"front of {len(front)}")
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    ax.legend()
    return ax


def write_study(trials: Trials, storage: str | Path, name: str) -> int:
    """Write trials as a study of Optuna; `Trials.to_optuna` says how."""
    try:
        optuna = import_module("optuna")
    except ModuleNotFoundError:
        raise InputError("a study needs Optuna: pip install 'supernetic[optuna]'") from None
    if not trials.objectives:
        raise InputError("a study needs objectives, and these trials have none")
    place = str(storage) if "://" in str(storage) else f"sqlite:///{Path(storage).absolute()}"
    directions = ["maximize" if goal.maximise else "minimize" for goal in trials.objectives]
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(storage=place, study_name=name, directions=directions, load_if_exists=True)
        known = [tuple(t.user_attrs.get("arch", ())) for t in study.get_trials(deepcopy=False)]
        same = [d.name.lower() for d in study.directions] == directions
        if not same or known != [t.arch for t in trials[: len(known)]]:
            raise InputError(f"{place} has a study {name!r} of other trials: give another name")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            study.set_metric_names([goal.name for goal in trials.objectives])
        new = trials.items[len(known) :]
        study.add_trials([_optuna_trial(optuna, trials, trial) for trial in new])
    except (import_module("sqlalchemy.exc").SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
        raise InputError(f"the storage {place} cannot be used: {str(error).splitlines()[0]}") from None
    finally:
        optuna.logging.set_verbosity(before)
    return len(new)


def _optuna_trial(optuna: Any, trials: Trials, trial: Trial) -> Any:
    """One trial as Optuna has it: failed, or complete and perhaps outside the limits."""
    failed = trial.status == "failed"
    options = _options(trials, trial)
    return optuna.trial.create_trial(
        state=optuna.trial.TrialState.FAIL if failed else optuna.trial.TrialState.COMPLETE,
        values=None if failed else [trial.metrics[goal.name] for goal in trials.objectives],
        params={choice: labels[gene] for choice, (labels, gene) in options.items()},
        distributions={
            choice: optuna.distributions.CategoricalDistribution(labels) for choice, (labels, _) in options.items()
        },
        user_attrs={
            "arch": list(trial.arch),
            **({"name": trials.name_of(trial)} if trials.space else {}),
            **({"reason": trial.reason} if trial.reason else {}),
            **{name: value for name, value in trial.metrics.items() if isfinite(value)},
        },
        constraints={} if failed else {str(c): _excess(c, trial) for c in trials.constraints},
    )


def _options(trials: Trials, trial: Trial) -> dict[str, tuple[list[str], int]]:
    """By choice: its options and the one taken. A choice that another one leaves no room for is left out."""
    if trials.space is None:
        most = [max(genes) for genes in zip(*(t.arch for t in trials.items), strict=True)]
        return {f"gene{i}": (list(map(str, range(m + 1))), trial.arch[i]) for i, m in enumerate(most)}
    found = {}
    for gene, choice in zip(trial.arch, trials.space.choices, strict=True):
        if choice.parent < 0 or choice.allowed[trial.arch[choice.parent]] > 1:
            labels = [str(option) for option in choice.options]
            if len(set(labels)) < len(labels):
                labels = [f"{i}: {label}" for i, label in enumerate(labels)]
            found[choice.name] = labels, gene
    return found


def _excess(limit: Constraint, trial: Trial) -> float:
    """By how much a limit is exceeded: at most 0 if it holds.

    A run may have recorded the limit in round numbers, so the trial's own status decides where both differ.
    """
    value = trial.metrics.get(limit.name, nan)
    excess = max(value - limit.high, limit.low - value)
    return excess if not trial.ok else min(excess, 0.0)


def _constraints(recorded: Iterable[Any]) -> tuple[Constraint, ...]:
    """Limits as runs have them: as texts, or by their fields."""
    limits: list[Constraint] = []
    for one in recorded:
        parts = [Constraint(**one)] if isinstance(one, Mapping) else map(parse_where, str(one).split(" and "))
        limits.extend(parts)
    return tuple(combine(limits).values())


def _columns(trials: Sequence[Trial], *names: str) -> list[list[float]]:
    return [[trial.metrics.get(name, nan) for trial in trials] for name in names]


def _pyplot() -> Any:
    try:
        return import_module("matplotlib.pyplot")
    except ModuleNotFoundError:
        raise InputError("a plot needs matplotlib: pip install 'supernetic[notebook]'") from None


def _result(path: Path) -> dict[str, Any]:
    """What a search wrote beside its trials."""
    for file in (path / SEARCH, path / RESULT):
        if file.exists():
            record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            return record
    return {}


def _space(path: Path, settings: dict[str, Any]) -> Space | None:
    """The space, if the settings can make it again and it is still what it was."""
    wrong = (SupernetError, KeyError, TypeError, ValueError, OSError)
    with suppress(*wrong):
        return space_of(path, settings)
    with suppress(*wrong):  # a search on a table records the name alone
        named: Space = catalog.space(settings["space"]["name"])
        if named.fingerprint == settings["space"]["fingerprint"]:
            return named
    return None
