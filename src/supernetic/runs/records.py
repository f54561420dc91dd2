"""Typed readers of the files that a search leaves in its run directory.

Each file is checked when it is read: a field of the wrong type is a `RunError` of one line that names the file and the
field. `view` puts all files of a run together for reports.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Generic, TypeVar

from ..errors import RunError
from ..numerals import LARGEST
from ..reading import read_json as parse_file
from ..reading import reason
from ..space import Arch
from .files import AUGMENT, FINISHED_NETWORKS, NETWORKS, SEARCH, TRAINED_NETWORKS, TRUST

CHOSEN = "chosen"  # the role of the models that a search hands over
CANDIDATE = "candidate"  # the role of networks of the search that lost the race; all others are controls
TRAINED, INHERITED = "trained", "inherited"  # which weights of a chosen network are exported
NAME = re.compile(r"\w[\w.+-]{0,199}")  # of networks and keys: they name directories

MOST_PICTURES = 32  # in a row or a column of a preview
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
LONGEST_VALUE = 60  # characters of a wrong value in an error message

MetricValues = Mapping[str, float | None]  # what is not finite is null
T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True)
class FinishRecord:
    """A training of a network after its run was finished (`supernetic finish`), whose weights were kept.

    Args:
        number: Its directory under `finishes/`.
        steps: Its updates.
        before: Validation and test metrics of the network until then.
        before_steps: Updates until then; None if the weights were the supernet's.
        difference: Points of test accuracy that it gained, with their 95 % interval: value, low, high; None if it is
            not known which test images the network got right before.
        recipe: The title of the recipe, if it was not the run's own.
    """

    number: int
    steps: int
    before: MetricValues
    before_steps: int | None = None
    difference: tuple[float, float, float] | None = None
    recipe: str = ""

    @classmethod
    def from_json(cls, record: Any, file: str | Path) -> FinishRecord:
        """Read an entry; `file` is where it comes from, for error messages."""
        fields = _Fields(record, f"{file}: a finish")
        return cls(
            number=fields.required("number", COUNT),
            steps=fields.required("steps", COUNT),
            before=fields.required("before", METRICS),
            before_steps=fields.get("before_steps", COUNT, None),
            difference=fields.get("difference", TRIPLE, None),
            recipe=fields.get("recipe", TEXT, ""),
        )

    def to_json(self) -> dict[str, Any]:
        """The entry for the file."""
        difference = None if self.difference is None else list(self.difference)
        return {k: v for k, v in {**asdict(self), "difference": difference}.items() if v not in (None, "")}


@dataclass(frozen=True)
class TeacherRecord:
    """A network beyond the limits that was trained so that a model could learn from its answers.

    Args:
        label: What it is, in words.
        macs: Multiply-accumulates for one image.
        params: Trainable numbers.
        key: The directory of its last training under `networks/`.
        steps: Updates of its training.
        trained: Metrics of validation images.
        asked: Whether the model learnt from it. A teacher that knows no more than its student will is not asked.
    """

    label: str
    macs: int
    params: int
    key: str
    steps: int
    trained: MetricValues
    asked: bool

    @classmethod
    def from_json(cls, record: Any, file: str | Path) -> TeacherRecord:
        """Read an entry; `file` is where it comes from, for error messages."""
        fields = _Fields(record, f"{file}: a teacher")
        return cls(
            label=fields.required("label", TEXT),
            macs=fields.required("macs", COUNT),
            params=fields.required("params", COUNT),
            key=fields.required("key", NAMED),
            steps=fields.required("steps", COUNT),
            trained=fields.required("trained", METRICS),
            asked=fields.required("asked", FLAG),
        )

    def to_json(self) -> dict[str, Any]:
        """The entry for the file."""
        return asdict(self)


@dataclass(frozen=True)
class NetworkRecord:
    """One entry of `networks.json`: a model, a candidate that lost, or a control. What is not known is None or empty.

    Args:
        name: Its name in the run, such as `model-1`.
        role: `chosen` if it is handed over as a model, `candidate` if it lost the race, else the kind of control.
        against: The model that a control is compared with.
        label: The architecture in words.
        arch: The architecture, if it is one of the run's space.
        macs: Multiply-accumulates for one image.
        params: Trainable numbers.
        key: The directory of its training under `networks/`.
        score: Metrics that the search used: of the supernet, of proxies, of a table.
        trained: Metrics after training on its own.
        steps: Updates of its training, those of earlier rounds included.
        first_key: The directory of its training in the first round, where all networks were trained alike; None if
            that is `key`, because it was not trained any further.
        keys: The directories of all its trainings in their order, if there were several.
        first: Metrics after the first round, if it was trained any further.
        first_test: Metrics on the test split after the first round, likewise.
        recommended: Whether this is the model to take.
        teacher: The network that was trained to teach it.
        test: Metrics on the test split, after all of its training.
        inherited: Metrics on the test split with the supernet's weights, where the network was trained as well.
        latency: Measured milliseconds with their interval, and the engine; of models only.
        int8: What a model is in 8-bit integers; the keys are in `ranking.int8`.
        failed: Why its training failed.
        fold: What became of the stabilisers of skipped layers.
        weights: Which weights are exported: `trained` or `inherited`; nothing for a control.
        inherited_weights: Whether the run holds the network with the supernet's weights too.
        finishes: How it was trained further after the run was finished, from the first time to the last.
    """

    name: str
    role: str
    against: str = ""
    label: str = ""
    arch: Arch | None = None
    macs: int | None = None
    params: int | None = None
    key: str | None = None
    score: MetricValues | None = None
    trained: MetricValues | None = None
    steps: int | None = None
    first_key: str | None = None
    keys: tuple[str, ...] | None = None
    first: MetricValues | None = None
    first_test: MetricValues | None = None
    recommended: bool | None = None
    teacher: TeacherRecord | None = None
    test: MetricValues | None = None
    inherited: MetricValues | None = None
    latency: Mapping[str, float | str] | None = None
    int8: MetricValues | None = None
    failed: str = ""
    fold: Mapping[str, Any] | None = None
    weights: str = ""
    inherited_weights: bool | None = None
    finishes: tuple[FinishRecord, ...] = ()

    @property
    def chosen(self) -> bool:
        """Whether it is handed over as a model."""
        return self.role == CHOSEN

    @property
    def trainings(self) -> tuple[str, ...]:
        """The directories of its trainings in their order, as far as they are known."""
        return self.keys or (() if self.key is None else (self.key,))

    @property
    def first_trained(self) -> MetricValues | None:
        """Metrics after the first round, in which all networks were trained alike."""
        return self.first or self.trained

    @property
    def exported_test(self) -> MetricValues | None:
        """Metrics on the test split with the weights that are exported."""
        return self.inherited if self.exports_inherited and self.inherited else self.test

    @property
    def exports_inherited(self) -> bool:
        """Whether the weights to be exported are the supernet's."""
        return self.weights == INHERITED

    @classmethod
    def from_json(cls, record: Any, file: str | Path = NETWORKS) -> NetworkRecord:
        """Read an entry.

        Args:
            record: The entry as JSON has it.
            file: Where it comes from, for error messages.

        Returns:
            The record; fields that it does not know are ignored.
        """
        fields = _Fields(record, f"{file}: a network")
        teacher = fields.get("teacher", TABLE, None)
        return cls(
            name=fields.required("name", NAMED),
            role=fields.required("role", TEXT),
            against=fields.get("against", NAMED, ""),
            label=fields.get("label", TEXT, ""),
            arch=fields.get("arch", ARCH, None),
            macs=fields.get("macs", COUNT, None),
            params=fields.get("params", COUNT, None),
            key=fields.get("key", NAMED, None),
            score=fields.get("score", METRICS, None),
            trained=fields.get("trained", METRICS, None),
            steps=fields.get("steps", COUNT, None),
            first_key=fields.get("first_key", NAMED, None),
            keys=fields.get("keys", NAMES, None),
            first=fields.get("first", METRICS, None),
            first_test=fields.get("first_test", METRICS, None),
            recommended=fields.get("recommended", FLAG, None),
            teacher=None if teacher is None else TeacherRecord.from_json(teacher, file),
            test=fields.get("test", METRICS, None),
            inherited=fields.get("inherited", METRICS, None),
            latency=fields.get("latency", LATENCY, None),
            int8=fields.get("int8", METRICS, None),
            failed=fields.get("failed", TEXT, ""),
            fold=fields.get("fold", TABLE, None),
            weights=fields.get("weights", EXPORTED, ""),
            inherited_weights=fields.get("inherited_weights", FLAG, None),
            finishes=tuple(FinishRecord.from_json(r, file) for r in fields.get("finishes", TABLES, ())),
        )

    def to_json(self) -> dict[str, Any]:
        """The entry for the file; what only some networks have is left out of the others."""
        always = ("name", "role", "against", "label", "arch", "macs", "params", "key", "score", "trained")
        sometimes = (
            "recommended", "steps", "first_key", "keys", "first", "first_test", "failed", "fold", "weights",
            "inherited_weights", "test", "inherited", "latency", "int8",
        )  # fmt: skip
        arch = {"arch": None if self.arch is None else list(self.arch)}
        keys = {} if self.keys is None else {"keys": list(self.keys)}
        return (
            {name: getattr(self, name) for name in always}
            | arch
            | {name: value for name in sometimes if (value := getattr(self, name)) not in (None, "")}
            | keys
            | ({"teacher": self.teacher.to_json()} if self.teacher else {})
            | ({"finishes": [f.to_json() for f in self.finishes]} if self.finishes else {})
        )


@dataclass(frozen=True)
class FrontRecord:
    """An architecture on the front, with its name and metrics."""

    arch: Arch
    name: str = ""
    metrics: MetricValues = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Any, file: str | Path = SEARCH) -> FrontRecord:
        """Read an entry; `file` is where it comes from, for error messages."""
        fields = _Fields(record, f"{file}: an architecture")
        return cls(fields.required("arch", ARCH), fields.get("name", TEXT, ""), fields.get("metrics", METRICS, {}))

    def to_json(self) -> dict[str, Any]:
        """The entry for the file."""
        return {"arch": list(self.arch), "name": self.name, "metrics": dict(self.metrics)}


@dataclass(frozen=True)
class SearchRecord:
    """What a search found: `search.json`, or the result of a search on a table. Empty while there is none."""

    space: str = ""
    searcher: Mapping[str, Any] = field(default_factory=dict)
    objectives: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    evaluations: int = 0
    trials: Mapping[str, int] = field(default_factory=dict)  # how many were ok, infeasible, failed
    front: tuple[FrontRecord, ...] = ()
    chosen: tuple[FrontRecord, ...] = ()
    hypervolume: float | None = None
    reference: Mapping[str, float] = field(default_factory=dict)  # by objective, from which the volume is measured
    first: int = 0  # how many trials began the search at random
    generations: tuple[Mapping[str, Any], ...] = ()
    contenders: tuple[FrontRecord, ...] = ()  # the best of the largest networks, on the front or not

    @classmethod
    def from_json(cls, record: Any, file: str | Path = SEARCH) -> SearchRecord:
        """Read the record.

        Args:
            record: The file's content.
            file: Where it comes from, for error messages.

        Returns:
            The record; fields that it does not know are ignored.
        """
        fields = _Fields(record, str(file))
        front, chosen = fields.required("front", TABLES), fields.get("chosen", TABLES, ())  # `optimise` chooses none
        return cls(
            space=fields.get("space", TEXT, ""),
            searcher=fields.get("searcher", TABLE, {}),
            objectives=fields.get("objectives", TEXTS, ()),
            where=fields.get("where", TEXTS, ()),
            evaluations=fields.get("evaluations", COUNT, 0),
            trials=fields.get("trials", TABLE, {}),
            front=tuple(FrontRecord.from_json(r, file) for r in front),
            chosen=tuple(FrontRecord.from_json(r, file) for r in chosen),
            hypervolume=fields.get("hypervolume", NUMBER, None),
            reference=fields.get("reference", TABLE, {}),
            first=fields.get("first", COUNT, 0),
            generations=fields.get("generations", TABLES, ()),
            contenders=tuple(FrontRecord.from_json(r, file) for r in fields.get("contenders", TABLES, ())),
        )


@dataclass(frozen=True)
class AugmentRecord:
    """How training images are changed, with a preview: `augment.json`.

    Args:
        augment: Names joined by `+`.
        reason: Why, in one sentence.
        columns: Training images of the preview.
        rows: The images themselves in the first, augmented versions in the others.
        resolution: Pixels of a picture of the preview.
        sheet: All pictures side by side without gaps, a PNG in base64.
    """

    augment: str
    reason: str
    columns: int
    rows: int
    resolution: int
    sheet: str

    @classmethod
    def from_json(cls, record: Any, file: str | Path = AUGMENT) -> AugmentRecord:
        """Read the record; `file` is where it comes from, for error messages."""
        fields = _Fields(record, str(file))
        return cls(
            augment=fields.required("augment", TEXT),
            reason=fields.required("reason", TEXT),
            columns=fields.required("columns", PICTURES),
            rows=fields.required("rows", PICTURES),
            resolution=fields.required("resolution", COUNT),
            sheet=fields.required("sheet", PNG),
        )

    def to_json(self) -> dict[str, Any]:
        """The record for the file."""
        return asdict(self)


def read_networks(run: str | Path) -> tuple[NetworkRecord, ...]:
    """The networks of a run, the chosen ones first.

    Args:
        run: The run directory.

    Returns:
        The entries of `networks.json`. A run that has none is refused.
    """
    file = Path(run) / NETWORKS
    if not file.exists():
        raise RunError(f"{run} holds no finished search: it has no {NETWORKS}")
    return networks_of(read_json(file), file)


def read_trained_networks(run: str | Path) -> tuple[NetworkRecord, ...]:
    """The networks of a run as they were trained, before any of them saw the test split.

    Args:
        run: The run directory.

    Returns:
        The entries of `finished.json`, if some networks were trained further than others, else of `trained.json`. A
        run without them is refused.
    """
    name = FINISHED_NETWORKS if (Path(run) / FINISHED_NETWORKS).exists() else TRAINED_NETWORKS
    return networks_of(read_finished(Path(run), name), Path(run) / name)


def recommended_network(networks: Iterable[NetworkRecord]) -> NetworkRecord | None:
    """The model to take; None in a run that recommends none."""
    return next((n for n in networks if n.recommended), None)


def networks_text(networks: Iterable[NetworkRecord]) -> str:
    """The content of `networks.json` and `trained.json`."""
    return json.dumps([n.to_json() for n in networks], indent=1) + "\n"


def networks_of(records: Any, file: str | Path = NETWORKS) -> tuple[NetworkRecord, ...]:
    """The entries of `networks.json` from its content; no two may have the same name."""
    if not isinstance(records, list):
        raise RunError(f"{file} must be a list of networks, got {_shown(records)}")
    networks = tuple(NetworkRecord.from_json(r, file) for r in records)
    names = [n.name for n in networks]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RunError(f"{file}: names of networks must differ, got {twice!r} twice")
    return networks


def int8_of(record: Any, file: str | Path) -> MetricValues | None:
    """What a record says about a quantised model, checked; None if there is none.

    Args:
        record: A table that may have an entry `int8`.
        file: Where it comes from, for error messages.
    """
    return _Fields(record, str(file)).get("int8", METRICS, None)


def read_search(run: str | Path) -> SearchRecord:
    """What a search found.

    Args:
        run: The run directory.

    Returns:
        The content of `search.json`. A run without it is not finished and is refused.
    """
    return SearchRecord.from_json(read_finished(Path(run), SEARCH), Path(run) / SEARCH)


def read_trust(run: str | Path) -> dict[str, Any]:
    """The facts about how far a search may be trusted; `ranking.sentences` puts them into words.

    Args:
        run: The run directory.

    Returns:
        The content of `trust.json`: `tau`, `comparisons`, `beaten`, `of`, `table`, and the numbers that sentences
        about trainings need (`rounds`, `steps_per_epoch`, `test_images`). A run without it is refused.
    """
    return trust_of(read_finished(Path(run), TRUST), Path(run) / TRUST)


def trust_of(record: Any, file: str | Path = TRUST) -> dict[str, Any]:
    """The facts of `trust.json` from its content, checked as far as sentences need them."""
    fields = _Fields(record, str(file))
    for name in ("tau", "table"):
        fields.get(name, TABLE, None)
    fields.get("decides", TEXT, None)
    for name in ("rounds", "test_images"):
        fields.get(name, COUNT, None)
    fields.get("steps_per_epoch", POSITIVE, None)
    for comparison in fields.get("comparisons", TABLES, ()):
        contest = _Fields(comparison, f"{file}: a comparison")
        for name in ("model", "control"):
            contest.required(name, TEXT)
        for name in ("difference", "low", "high", "seconds"):
            contest.get(name, NUMBER, None)
        for name in ("steps", "epochs"):
            contest.get(name, PAIR, None)
    return dict(record)


def read_json(file: Path) -> Any:
    """The content of a file that exists; one that is damaged is named."""
    try:
        return parse_file(file)
    except (OSError, ValueError) as e:
        raise RunError(f"{file} is damaged: {reason(e)}") from None


def read_finished(run: Path, name: str) -> Any:
    """The content of a file that a finished run has; a run without it is refused."""
    if not (run / name).exists():
        raise RunError(f"{run} is not finished: it has no {name}; `supernetic resume {run}` goes on")
    return read_json(run / name)


# --- fields -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kind(Generic[T]):
    """A kind of field: its rule in words, and how it is read; None if the value breaks the rule."""

    rule: str
    read: Callable[[Any], T | None]


@dataclass(frozen=True)
class _Fields:
    """The fields of a record, checked one by one."""

    record: Any
    place: str  # for error messages

    def __post_init__(self) -> None:
        if not isinstance(self.record, Mapping):
            raise RunError(f"{self.place} must be a table of fields, got {_shown(self.record)}")

    def required(self, name: str, kind: _Kind[T]) -> T:
        """A field that must be there."""
        value = kind.read(self.record.get(name))
        if value is None:
            raise RunError(f"{self.place}: {name} must be {kind.rule}, got {_shown(self.record.get(name))}")
        return value

    def get(self, name: str, kind: _Kind[T], missing: D) -> T | D:
        """A field that may be absent or null."""
        value = self.record.get(name)
        return missing if value is None or value == missing else self.required(name, kind)


def _shown(value: Any) -> str:
    text = "a number with many digits" if isinstance(value, int) and abs(value) > LARGEST else repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _is_number(value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST
    return whole or isinstance(value, float)


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and NAME.fullmatch(value) else None


def _count(value: Any) -> int | None:
    return int(value) if _is_number(value) and isfinite(value) and value >= 0 and value == int(value) else None


def _arch(value: Any) -> Arch | None:
    whole = isinstance(value, list | tuple) and all(isinstance(g, int) and not isinstance(g, bool) for g in value)
    return tuple(value) if whole else None


def _metrics(value: Any) -> MetricValues | None:
    good = isinstance(value, Mapping) and all(v is None or _is_number(v) for v in value.values())
    return value if good else None


def _latency(value: Any) -> Mapping[str, float | str] | None:
    good = isinstance(value, Mapping) and all(isinstance(v, str) or _is_number(v) for v in value.values())
    return value if good else None


def _positive(value: Any) -> float | None:
    return value if _is_number(value) and isfinite(value) and value > 0 else None


def _pair(value: Any) -> tuple[float, float] | None:
    good = isinstance(value, list | tuple) and len(value) == 2 and all(map(_is_number, value))
    return (value[0], value[1]) if good else None


def _triple(value: Any) -> tuple[float, float, float] | None:
    good = isinstance(value, list | tuple) and len(value) == 3 and all(map(_is_number, value))
    return (value[0], value[1], value[2]) if good else None


def _texts(value: Any) -> tuple[str, ...] | None:
    return tuple(value) if isinstance(value, list | tuple) and all(isinstance(v, str) for v in value) else None


def _names(value: Any) -> tuple[str, ...] | None:
    return tuple(value) if isinstance(value, list | tuple) and all(map(_name, value)) else None


def _tables(value: Any) -> tuple[Mapping[str, Any], ...] | None:
    return tuple(value) if isinstance(value, list | tuple) and all(isinstance(v, Mapping) for v in value) else None


def _png(value: Any) -> str | None:
    try:
        return value if base64.b64decode(value, validate=True).startswith(PNG_SIGNATURE) else None
    except (TypeError, ValueError, binascii.Error):
        return None


def _pictures(value: Any) -> int | None:
    return value if _count(value) is not None and 1 <= value <= MOST_PICTURES else None


TEXT = _Kind[str]("text", lambda value: value if isinstance(value, str) else None)
FLAG = _Kind[bool]("true or false", lambda value: value if isinstance(value, bool) else None)
TEXTS = _Kind("a list of texts", _texts)
NAMED = _Kind("a name of at most 200 letters and digits, with . + - or _ after the first", _name)
NAMES = _Kind("a list of names of letters and digits", _names)
COUNT = _Kind("a whole number, at least 0", _count)
NUMBER = _Kind[float]("a number", lambda value: value if _is_number(value) else None)
POSITIVE = _Kind("a number above 0", _positive)
PAIR = _Kind("two numbers", _pair)
TRIPLE = _Kind("three numbers", _triple)
ARCH = _Kind("a list of whole numbers", _arch)
METRICS = _Kind("a table of numbers", _metrics)
LATENCY = _Kind("a table of numbers with the engine's name", _latency)
EXPORTED = _Kind[str](f"{TRAINED} or {INHERITED}", lambda value: value if value in (TRAINED, INHERITED) else None)
TABLE = _Kind[Mapping[str, Any]]("a table", lambda value: value if isinstance(value, Mapping) else None)
TABLES = _Kind("a list of tables", _tables)
PNG = _Kind("a PNG in base64", _png)
PICTURES = _Kind(f"a whole number, 1 to {MOST_PICTURES}", _pictures)
