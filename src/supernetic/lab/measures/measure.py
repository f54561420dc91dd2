"""What a kind of measure is, and the kinds that there are."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, get_type_hints

from ...errors import InputError, UnknownNameError
from ...runs.directory import open_run, read_settings
from ...runs.space_record import space_of
from ...space import Space

KINDS = {
    "ranking": "ranking:Ranking",
    "usage": "usage:OperationUsage",
    "similarity": "similarity:Similarity",
    "histogram": "histogram:Histogram",
    "order": "order:Order",
    "robustness": "robustness:Robustness",
    "extremes": "extremes:Extremes",
}
WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}

MEASURED = "measured.jsonl"  # in the run of a training

Report = Callable[[int, int], None]  # (done, in all)


@dataclass(frozen=True)
class Measured:
    """Numbers by name, and what figures need beside them (plain records)."""

    values: dict[str, float]
    details: dict[str, Any]


class Measure(ABC):
    """Base of frozen dataclasses, whose fields are the settings under [measure]."""

    trains: ClassVar[bool] = True  # whether it looks at trained supernets; else spaces are measured, once each

    @property
    def shown(self) -> tuple[str, ...]:
        """The metrics in tables for people; files have all."""
        return ()

    @abstractmethod
    def check(self, space: Space) -> list[str]:
        """Refuse what cannot be measured on the space, before anything is trained; the names of all metrics."""

    @abstractmethod
    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """What the supernet of one seed says. Slow parts are kept in its run."""

    def pooled(self, seeds: Mapping[int, Measured]) -> dict[str, float]:
        """What only all seeds together say."""
        return {}


def read_measure(settings: Mapping[str, Any]) -> Measure:
    """The measure from its table in a study file."""
    kind = str(settings["kind"])
    if kind not in KINDS:
        raise UnknownNameError("kind of measure", kind, KINDS)
    module, _, name = KINDS[kind].partition(":")
    made = getattr(import_module(f".{module}", __package__), name)
    hints = get_type_hints(made)
    fields = [f.name for f in dataclasses.fields(made)]
    values = {}
    for key, value in settings.items():
        if key == "kind":
            continue
        if key not in fields:
            raise UnknownNameError(f"setting of the measure {kind}", key, fields)
        values[key] = _value(f"measure: {key}", hints[key], value)
    for f in dataclasses.fields(made):
        if f.default is dataclasses.MISSING and f.name not in values:
            raise InputError(f"the measure {kind} needs {f.name}")
    measure: Measure = made(**values)
    return measure


def _value(what: str, hint: Any, value: Any) -> Any:
    if hint in WORDS:
        if type(value) is not hint and not (hint is float and type(value) is int):
            raise InputError(f"{what} must be {WORDS[hint]}, got {value!r}")
        return value
    inner = int if hint == tuple[int, ...] else str
    if not isinstance(value, list) or any(type(v) is not inner for v in value):
        raise InputError(f"{what} must be a list of {'whole numbers' if inner is int else 'texts'}, got {value!r}")
    return tuple(value)


def trained_space(run: Path) -> Space:
    """The space of the networks that a run's supernet holds."""
    return plain_space(space_of(run, read_settings(run)))


def plain_space(space: Space) -> Space:
    """A space without what only supernets have: stabilisers, and cells that differ."""
    made: Any = space
    for name, plain in (("share_cells", True), ("stabiliser", "")):
        if hasattr(made, name):
            made = dataclasses.replace(made, **{name: plain})
    result: Space = made
    return result


def kept(run: Path, what: Mapping[str, Any], measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The answer to a question that the run has recorded before; else it is measured, and recorded."""
    settings = {k: v for k, v in read_settings(run).items() if k != "versions"}
    with open_run(run, settings) as opened:
        for record in opened.read(MEASURED):
            if record["what"] == what:
                known: dict[str, Any] = record["answer"]
                return known
        answer = measure()
        opened.append(MEASURED, [{"what": what, "answer": answer}])
    return answer


def archs_of(rows: Any) -> Sequence[tuple[int, ...]]:
    """Architectures from an array of genes."""
    return [tuple(a) for a in rows.tolist()]
