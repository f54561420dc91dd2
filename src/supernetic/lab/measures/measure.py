"""The base class of measures, and how a study file names them."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, get_type_hints

from ...errors import InputError, UnknownNameError
from ...runs.directory import open_run, read_settings
from ...runs.space_record import space_of
from ...space import Arch, Space

MEASURE_CLASSES = {  # by kind: the module and the class
    "ranking": "ranking:Ranking",
    "usage": "usage:OperationUsage",
    "similarity": "similarity:Similarity",
    "histogram": "histogram:Histogram",
    "order": "order:Order",
    "robustness": "robustness:Robustness",
    "extremes": "extremes:Extremes",
    "single": "single:Single",
    "columns": "columns:Columns",
}
TYPE_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}

MEASURED_FILE = "measured.jsonl"  # in the run of a training

Report = Callable[[int, int], None]  # (networks done, networks in all)


@dataclass(frozen=True)
class Measured:
    """What was measured on one supernet."""

    values: dict[str, float]  # by metric
    details: dict[str, Any]  # plain records that figures need


class Scoring(NamedTuple):
    """Networks that a measure needs the scores of: several processes may share them out before it is called."""

    space: Space
    archs: Sequence[Arch]
    how: dict[str, Any]  # arguments of `score`: bn, images, valid, step


class Measure(ABC):
    """Base class of measures: frozen dataclasses whose fields are the settings under `[measure]`."""

    trains: ClassVar[bool] = True  # whether supernets are trained for it; else each space is measured once

    @property
    def shown(self) -> tuple[str, ...]:
        """The metrics in tables for people; files have all metrics."""
        return ()

    @abstractmethod
    def check(self, space: Space) -> list[str]:
        """Refuse a space that cannot be measured, before anything is trained.

        Args:
            space: The space of a variant.

        Returns:
            The names of all metrics.
        """

    def scorings(self, space: Space, run: Path | None = None) -> list[Scoring]:
        """The networks whose scores it needs.

        Args:
            space: The space of the variant.
            run: The run of a training; before there is one, what depends on it is left out.

        Returns:
            Networks, by the supernets that score them: the final one, and snapshots.
        """
        return []

    @abstractmethod
    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Measure the supernet of one seed; slow parts are kept in its run.

        Args:
            run: The run of its training.
            space: The space of the variant.
            report: Called with the progress.

        Returns:
            What was measured.
        """

    def pooled(self, seeds: Mapping[int, Measured]) -> dict[str, float]:
        """Metrics of all seeds together, from what was measured on each."""
        return {}


def read_measure(settings: Mapping[str, Any]) -> Measure:
    """Make a measure from its table in a study file.

    Args:
        settings: The table under `[measure]`.

    Returns:
        The measure.
    """
    kind = str(settings["kind"])
    if kind not in MEASURE_CLASSES:
        raise UnknownNameError("kind of measure", kind, MEASURE_CLASSES)
    module, _, name = MEASURE_CLASSES[kind].partition(":")
    measure_class = getattr(import_module(f".{module}", __package__), name)
    hints = get_type_hints(measure_class)
    fields = [f.name for f in dataclasses.fields(measure_class)]
    values = {}
    for key, value in settings.items():
        if key == "kind":
            continue
        if key not in fields:
            raise UnknownNameError(f"setting of the measure {kind}", key, fields)
        values[key] = _value(f"measure: {key}", hints[key], value)
    for f in dataclasses.fields(measure_class):
        if f.default is dataclasses.MISSING and f.name not in values:
            raise InputError(f"the measure {kind} needs {f.name}")
    measure: Measure = measure_class(**values)
    return measure


def _value(what: str, hint: Any, value: Any) -> Any:
    if hint in TYPE_NAMES:
        if type(value) is not hint and not (hint is float and type(value) is int):
            raise InputError(f"{what} must be {TYPE_NAMES[hint]}, got {value!r}")
        return value
    inner = int if hint == tuple[int, ...] else str
    if not isinstance(value, list) or any(type(v) is not inner for v in value):
        raise InputError(f"{what} must be a list of {'whole numbers' if inner is int else 'texts'}, got {value!r}")
    return tuple(value)


def trained_space(run: Path) -> Space:
    """The space of the networks in the supernet of a run."""
    return plain_space(space_of(run, read_settings(run)))


def plain_space(space: Space) -> Space:
    """The space without stabilisers and with shared cells, which only matter in a supernet."""
    changed: Any = space
    for name, plain in (("share_cells", True), ("stabiliser", "")):
        if hasattr(changed, name):
            changed = dataclasses.replace(changed, **{name: plain})
    result: Space = changed
    return result


def measure_once(run: Path, what: Mapping[str, Any], measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Measure something once: the answer is recorded in the run, and read from there the next time.

    Args:
        run: The run of a training.
        what: What is measured, with all settings that matter.
        measure: Measures it.

    Returns:
        The answer.
    """
    settings = {k: v for k, v in read_settings(run).items() if k != "versions"}
    with open_run(run, settings) as opened:
        for record in opened.read(MEASURED_FILE):
            if record["what"] == what:
                recorded: dict[str, Any] = record["answer"]
                return recorded
        answer = measure()
        opened.append(MEASURED_FILE, [{"what": what, "answer": answer}])
    return answer


def archs_of(rows: Any) -> Sequence[tuple[int, ...]]:
    """Architectures from an array of genes."""
    return [tuple(a) for a in rows.tolist()]
