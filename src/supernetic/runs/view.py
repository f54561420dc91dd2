"""All files of a run directory in one view, for reports.

Every file may be missing, since reports are written from the first minute on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import pareto
from ..blueprint import Blueprint
from ..errors import InputError, RunError
from ..metrics import is_cost
from ..objective import Objective, parse_objective
from ..space import Arch, Space
from .directory import naming_damage, read_records, read_settings
from .files import (
    AUGMENT,
    ENSEMBLE,
    FINISHED_NETWORKS,
    METRICS,
    MODEL_CARD,
    MODEL_INT8,
    MODEL_LABELS,
    MODEL_ONNX,
    MODEL_PROGRAM,
    MODEL_RECORD,
    MODEL_WEIGHTS,
    MODELS,
    NETWORK_TRAININGS,
    NETWORKS,
    RESULT,
    SEARCH,
    SETTINGS,
    SPLITS,
    TIMINGS,
    TRAINED_NETWORKS,
    TRIALS,
    TRUST,
)
from .records import (
    CANDIDATE,
    CHOSEN,
    INHERITED,
    AugmentRecord,
    FrontRecord,
    NetworkRecord,
    SearchRecord,
    int8_of,
    networks_of,
    read_json,
    recommended_network,
    trust_of,
)

MODEL_FILES = {  # what the page calls the files of a model
    MODEL_WEIGHTS: "weights",
    MODEL_ONNX: "ONNX",
    MODEL_INT8: "int8 ONNX",
    MODEL_PROGRAM: "torch.export",
    MODEL_RECORD: "blueprint",
    MODEL_CARD: "model card",
    MODEL_LABELS: "class names",
}
SUPERNET_CURVE = "supernet"  # the name of its training
DEFAULT_SCORE = "valid/cross_entropy"
PROGRESS_EVALUATIONS = 50  # between two points of progress where a search has no generations


@dataclass(frozen=True)
class Trial:
    """One evaluated architecture. `level` is 0 for most, 1 on the front, 2 if chosen."""

    arch: Arch
    metrics: Mapping[str, float]
    name: str = ""
    level: int = 0


@dataclass(frozen=True)
class Curve:
    """A training: the loss at its steps."""

    name: str
    steps: tuple[int, ...]
    losses: tuple[float, ...]


@dataclass(frozen=True)
class Model:
    """A network that was trained on its own: a model, a losing candidate, or a control. What is not known is empty."""

    name: str
    role: str
    label: str = ""
    against: str = ""  # the model that a control is compared with
    key: str = ""
    arch: Arch | None = None
    macs: int | None = None
    params: int | None = None
    latency: float | None = None  # milliseconds
    int8: Mapping[str, float] = field(default_factory=dict)  # what it is in 8-bit integers, as in `ranking.int8`
    score: Mapping[str, float] = field(default_factory=dict)  # what the search knew of it
    trained: Mapping[str, float] = field(default_factory=dict)
    steps: int | None = None  # of all its training
    went_on: bool = False  # whether it was trained beyond the first round
    first: Mapping[str, float] = field(default_factory=dict)  # after the first round, where all were trained alike
    first_test: Mapping[str, float] = field(default_factory=dict)
    recommended: bool = False
    inherited: Mapping[str, float] = field(default_factory=dict)  # with the supernet's own weights
    test: Mapping[str, float] = field(default_factory=dict)
    exported_weights: str = ""  # which weights of a chosen one are exported: trained, inherited
    failed: str = ""  # why its training did
    fold: Mapping[str, Any] | None = None
    blueprint: Blueprint | None = None
    files: tuple[str, ...] = ()  # that exist under models/NAME

    @property
    def chosen(self) -> bool:
        """Whether it is handed over as a model."""
        return self.role == CHOSEN

    @property
    def candidate(self) -> bool:
        """Whether it is a network of the search that lost the race."""
        return self.role == CANDIDATE

    @property
    def accuracy(self) -> float | None:
        """On test images, with the weights that are exported."""
        own = self.inherited if self.exported_weights == INHERITED else {}
        return own.get("test/accuracy", self.test.get("test/accuracy"))


@dataclass(frozen=True)
class RunView:
    """What the files of a run say together."""

    path: Path
    settings: Mapping[str, Any]
    space: Space | None
    search: SearchRecord  # or the result of a search on a table
    result: Mapping[str, Any]
    trust: Mapping[str, Any]
    proxies: Mapping[str, int]  # of a rank ensemble: how many reference networks each metric scored
    trials: tuple[Trial, ...]  # those that count, in the order of evaluation
    statuses: Mapping[str, int]
    first: int  # how many trials of any status began the search at random
    sampled: tuple[Trial, ...]  # those among them that count
    networks: tuple[NetworkRecord, ...]  # that were trained, as recorded
    models: tuple[Model, ...]
    curves: tuple[Curve, ...]  # the supernet's first
    trained: int  # networks whose training is finished
    seconds: Mapping[str, float]  # wall time of each step
    splits: Mapping[str, int]
    augment: AugmentRecord | None

    @property
    def job(self) -> str:
        """search, train, or nothing if the settings do not say."""
        return str(self.settings.get("job", ""))

    @property
    def asked(self) -> Mapping[str, Any]:
        """The request as it was given: what differs from the defaults."""
        return asked_of(self.settings)

    @cached_property
    def objectives(self) -> tuple[Objective, ...]:
        """What the search was for."""
        texts = self.settings.get("objectives") or self.search.objectives
        return tuple(parse_objective(text) for text in texts)

    @property
    def score(self) -> Objective:
        """The first objective that is no cost: what the vertical axis shows."""
        return next((o for o in self.objectives if not is_cost(o.name)), Objective(DEFAULT_SCORE, False))

    @property
    def cost(self) -> Objective:
        """The first objective that is a cost: what the horizontal axis shows."""
        return next((o for o in self.objectives if is_cost(o.name)), Objective("cost/macs", False))

    @property
    def chosen(self) -> tuple[Model, ...]:
        """The models that the search hands over."""
        return tuple(m for m in self.models if m.chosen)

    @property
    def controls(self) -> tuple[Model, ...]:
        """The networks that they are compared with."""
        return tuple(m for m in self.models if not m.chosen and not m.candidate)

    @property
    def recommended(self) -> NetworkRecord | None:
        """The model to take; None in a run that recommends none."""
        return recommended_network(self.networks)

    @property
    def supernet(self) -> bool:
        """Whether a supernet was trained."""
        return any(c.name == SUPERNET_CURVE for c in self.curves)

    def model(self, name: str) -> Model | None:
        """The model of that name."""
        return next((m for m in self.models if m.name == name), None)

    def blueprint(self, arch: Arch) -> Blueprint | None:
        """The network of an architecture, where the space is known."""
        try:
            return self.space.blueprint(self.space.check(arch)) if self.space is not None else None
        except InputError:
            return None

    @cached_property
    def generations(self) -> list[Mapping[str, Any]]:
        """How the search went on: as recorded, else counted again from the trials."""
        return list(self.search.generations) or list(self._recounted())

    def _recounted(self) -> Iterator[Mapping[str, Any]]:
        reference = self.search.reference
        if not reference or any(o.name not in reference for o in self.objectives) or not self.trials:
            return
        worst = [-reference[o.name] if o.maximise else reference[o.name] for o in self.objectives]
        points = pareto.points([t.metrics for t in self.trials], self.objectives)
        step = int(self.settings.get("searcher", {}).get("population", PROGRESS_EVALUATIONS))
        for number, n in enumerate([*range(step, len(points), step), len(points)], 1):
            best = float(points[:n, 0].min()) * (-1 if self.objectives[0].maximise else 1)
            front = len(pareto.front(points[:n]))
            volume = pareto.hypervolume(points[:n], worst)
            yield {"number": number, "evaluations": n, "front": front, "hypervolume": volume, "best": best}


def read_run(path: str | Path, space: Space | None = None) -> RunView:
    """Read what there is.

    Args:
        path: The run directory. One that is no run is refused; a file that is there but damaged is named.
        space: The run's space, where it is known: it gives architectures their names and blueprints.

    Returns:
        The view; what a missing file would hold is empty.
    """
    path = Path(path)
    if not path.is_dir():
        raise RunError(f"there is no run directory {path}")
    if not is_run(path):
        raise RunError(f"{path} is not a run: it has no {SETTINGS}")
    settings = read_settings(path) if (path / SETTINGS).exists() else {}
    result = _table(path / RESULT)
    recorded = _search(path, result)
    search = recorded or SearchRecord()
    trials = read_records(path / TRIALS)
    with naming_damage(path / TRIALS):
        kept = _trials(trials, settings, recorded, space)
    with naming_damage(path / SETTINGS):
        first = search.first or int(settings.get("searcher", {}).get("population") or 0)
    networks = _networks(path)
    models = tuple(_models(path, networks, search, space))
    with naming_damage(path / SPLITS):
        splits = {name: len(rows) for name, rows in _table(path / SPLITS).get("splits", {}).items()}
    with naming_damage(path / TIMINGS):
        seconds = step_seconds(read_records(path / TIMINGS))
    with naming_damage(path / ENSEMBLE):
        proxies = _references(_table(path / ENSEMBLE))
    return RunView(
        path=path,
        settings=settings,
        space=space,
        search=search,
        result=result,
        trust=trust_of(_json(path / TRUST, {}), path / TRUST),
        proxies=proxies,
        trials=tuple(kept),
        statuses={s: sum(t.get("status", "ok") == s for t in trials) for s in ("ok", "infeasible", "failed")},
        first=first,
        sampled=tuple(kept[: sum(t.get("status", "ok") == "ok" for t in trials[:first])]),
        networks=networks,
        models=models,
        curves=tuple(_curves(path, models)),
        trained=len(list(path.glob(f"{NETWORK_TRAININGS}/*/{RESULT}"))),
        seconds=seconds,
        splits=splits,
        augment=_augment(path / AUGMENT),
    )


def asked_of(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The request in the settings of a run; early versions called it `asked`."""
    found = settings.get("request") or settings.get("asked")
    return found if isinstance(found, Mapping) else {}


def is_run(path: Path) -> bool:
    """Whether a directory holds files of a run; a run of an early version, or a part of one, may have no settings."""
    return any((path / name).exists() for name in (SETTINGS, TRIALS, METRICS, SEARCH, NETWORKS))


def _json(file: Path, missing: Any) -> Any:
    return read_json(file) if file.exists() else missing


def _table(file: Path) -> Mapping[str, Any]:
    """The content of a file that holds a table; empty if there is no such file."""
    content = _json(file, {})
    if not isinstance(content, Mapping):
        raise RunError(f"{file} is damaged: it must be a table of fields, got {type(content).__name__}")
    return content


def _references(ensemble: Mapping[str, Any]) -> dict[str, int]:
    """How many reference networks each metric of a rank ensemble scored; older records hold nothing but answers."""
    return {name: len(answers) for name, answers in ensemble.get("answers", ensemble).items()}


def _augment(file: Path) -> AugmentRecord | None:
    return AugmentRecord.from_json(read_json(file), file) if file.exists() else None


def _search(path: Path, result: Mapping[str, Any]) -> SearchRecord | None:
    """What the search found; nothing while it goes on."""
    if (path / SEARCH).exists():
        return SearchRecord.from_json(read_json(path / SEARCH), path / SEARCH)
    return SearchRecord.from_json(result, path / RESULT) if {"front", "chosen"} <= result.keys() else None


def _trials(
    records: Sequence[Mapping[str, Any]], settings: Mapping[str, Any], search: SearchRecord | None, space: Space | None
) -> list[Trial]:
    """Trials that satisfy the constraints, with those on the front marked: as recorded, else found here."""
    good = [r for r in records if r.get("status", "ok") == "ok"]
    archs = [tuple(r["arch"]) for r in good]
    metrics = [_numbers(r["metrics"]) for r in good]
    front = {r.arch for r in search.front} if search else _front(archs, metrics, settings)
    chosen = {r.arch for r in search.chosen} if search else set()
    names = {a: space.name_of(a) for a in archs} if space is not None else {}
    names |= {r.arch: r.name for r in search.front} if search else {}
    return [Trial(a, m, names.get(a, ""), (a in front) + (a in chosen)) for a, m in zip(archs, metrics, strict=True)]


def _front(archs: Sequence[Arch], metrics: Sequence[dict[str, float]], settings: Mapping[str, Any]) -> set[Arch]:
    objectives = [parse_objective(o) for o in settings.get("objectives", ())]
    return {archs[i] for i in pareto.front(pareto.points(metrics, objectives))} if objectives else set()


def _networks(path: Path) -> tuple[NetworkRecord, ...]:
    """The networks of a run: tested, else trained to the end, else trained alike."""
    files = (path / name for name in (NETWORKS, FINISHED_NETWORKS, TRAINED_NETWORKS))
    file = next((f for f in files if f.exists()), None)
    return () if file is None else networks_of(read_json(file), file)


def _models(
    path: Path, networks: Sequence[NetworkRecord], search: SearchRecord, space: Space | None
) -> Iterator[Model]:
    """The networks of a run; before they are trained, and for tables, the chosen architectures."""
    metrics = {r.arch: _numbers(r.metrics) for r in search.front}
    for record in networks or [_untrained(i, r) for i, r in enumerate(search.chosen, 1)]:
        yield _model(path, record, metrics.get(record.arch or (), {}), space)


def _untrained(number: int, chosen: FrontRecord) -> NetworkRecord:
    return NetworkRecord(f"model-{number}", CHOSEN, label=chosen.name, arch=chosen.arch)


def _model(path: Path, record: NetworkRecord, metrics: Mapping[str, float], space: Space | None) -> Model:
    """A network with all that is known about it; `metrics` are those of its trial."""
    directory = path / MODELS / record.name
    exported = _table(directory / MODEL_RECORD)
    return Model(
        name=record.name,
        role=record.role,
        label=record.label,
        against=record.against,
        key=record.key or "",
        arch=record.arch,
        macs=_first(record.macs, metrics.get("cost/macs")),
        params=_first(record.params, metrics.get("cost/params")),
        latency=_latency(record, metrics, exported),
        int8=_numbers({**(record.int8 or {}), **(int8_of(exported, directory / MODEL_RECORD) or {})}),
        score={k: v for k, v in _numbers(record.score or metrics).items() if not is_cost(k)},
        trained=_numbers(record.trained),
        steps=record.steps,
        went_on=record.first_key is not None,
        first=_numbers(record.first_trained),
        first_test=_numbers(record.first_test or record.test),
        recommended=bool(record.recommended),
        inherited=_numbers(record.inherited),
        test=_numbers(record.test),
        exported_weights=record.weights,
        failed=record.failed,
        fold=record.fold,
        blueprint=_blueprint(exported, path / NETWORK_TRAININGS / str(record.key), record.arch, space),
        files=tuple(name for name in MODEL_FILES if (directory / name).exists()),
    )


def _numbers(record: Any) -> dict[str, float]:
    return {k: v for k, v in (record or {}).items() if isinstance(v, int | float)}


def _first(*values: Any) -> Any:
    return next((v for v in values if v is not None), None)


def _latency(record: NetworkRecord, metrics: Mapping[str, float], exported: Mapping[str, Any]) -> float | None:
    """Milliseconds, wherever they are written; measured ones first."""
    places = (record.latency, record.test, exported.get("metrics"), record.score, metrics)
    milliseconds = _first(*(p.get("latency/ms") for p in places if isinstance(p, Mapping)))
    return None if milliseconds is None else float(milliseconds)


def _blueprint(exported: Mapping[str, Any], training: Path, arch: Arch | None, space: Space | None) -> Blueprint | None:
    """From the model's own file, else from its training, else from the space."""
    settings = read_settings(training) if (training / SETTINGS).exists() else {}
    layers = exported.get("blueprint") or settings.get("blueprint")
    try:
        if layers:
            return Blueprint.from_json(layers)
        return space.blueprint(space.check(arch)) if space is not None and arch is not None else None
    except (InputError, TypeError):
        return None


def _curves(path: Path, models: Sequence[Model]) -> Iterator[Curve]:
    """The supernet's training and those of the networks."""
    own = _curve(SUPERNET_CURVE, read_records(path / METRICS))
    if own.steps:
        yield own
    keys = [m.key for m in models if m.key] or sorted(
        p.parent.name for p in path.glob(f"{NETWORK_TRAININGS}/*/{METRICS}")
    )
    names = {m.key: m.name for m in models}
    for key in keys:
        records = read_records(path / NETWORK_TRAININGS / key / METRICS)
        curve = _curve(names.get(key, f"network {key[:6]}"), records)
        if curve.steps:
            yield curve


def _curve(name: str, records: Sequence[Mapping[str, Any]]) -> Curve:
    points = {int(r["step"]): float(r["loss"]) for r in records if r.get("loss") is not None and "step" in r}
    return Curve(name, tuple(points), tuple(points.values()))


def step_seconds(timings: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Seconds of each step, from the records of `timings.jsonl`.

    A step that was resumed has several records. One that is under way is the sum of its parts.
    """
    whole: dict[str, float] = {}
    parts: dict[str, float] = {}
    for r in timings:
        task, seconds = r.get("task"), float(r.get("seconds") or 0)
        if "evaluations" in r:
            parts["search"] = parts.get("search", 0.0) + seconds
        elif task and "step" in r:
            parts["train"] = parts.get("train", 0.0) + seconds
        elif task:
            whole[task] = whole.get(task, 0.0) + seconds
    return {**parts, **whole}
