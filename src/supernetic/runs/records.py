"""A run directory as plain records. Every file may be missing: reports are written from the first minute on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import pareto
from ..blueprint import Blueprint
from ..errors import InputError, RunError
from ..objective import Objective, parse_objective
from ..space import Arch, Space
from .directory import SETTINGS, TIMINGS, TRIALS, read_records, read_settings

FILES = {  # of a model, and what the page calls them
    "model.safetensors": "weights",
    "model.onnx": "ONNX",
    "model.json": "settings",
    "README.md": "card",
    "labels.txt": "labels",
}
SCORES = ("valid/cross_entropy", "valid/accuracy")
LOWER = ("cross_entropy", "loss", "error", "time", "seconds")  # ends of metric names for which less is better
CHUNK = 50  # evaluations between two points of progress where a search has no generations


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
    """A network that was trained on its own: a chosen one or a control. What is not known yet is empty."""

    name: str
    role: str
    label: str = ""
    against: str = ""  # the chosen one that a control is compared with
    key: str = ""
    arch: Arch | None = None
    macs: int | None = None
    params: int | None = None
    latency: float | None = None  # milliseconds
    score: Mapping[str, float] = field(default_factory=dict)  # by the supernet
    trained: Mapping[str, float] = field(default_factory=dict)
    inherited: Mapping[str, float] = field(default_factory=dict)  # with the supernet's own weights
    test: Mapping[str, float] = field(default_factory=dict)
    hands_over: str = ""  # which weights a chosen one has: trained, inherited
    failed: str = ""  # why its training did
    fold: Mapping[str, Any] | None = None
    blueprint: Blueprint | None = None
    files: tuple[str, ...] = ()  # that exist under models/NAME

    @property
    def chosen(self) -> bool:
        """Whether the search found it; the others are controls."""
        return self.role == "chosen"

    @property
    def accuracy(self) -> float | None:
        """On test images, with the weights that are handed over."""
        own = self.inherited if self.hands_over == "inherited" else {}
        return own.get("test/accuracy", self.test.get("test/accuracy"))


@dataclass(frozen=True)
class Record:
    """All that the files of a run say."""

    path: Path
    settings: Mapping[str, Any]
    space: Space | None
    search: Mapping[str, Any]  # search.json, or the result of a search on a table
    result: Mapping[str, Any]
    trust: Mapping[str, Any]
    voters: Mapping[str, int]  # where the score is a vote: on how many reference networks each metric was asked
    trials: tuple[Trial, ...]  # those that count, in the order asked
    statuses: Mapping[str, int]
    first: int  # how many trials of any status began the search at random
    sampled: tuple[Trial, ...]  # those among them that count
    models: tuple[Model, ...]
    curves: tuple[Curve, ...]  # the supernet's first
    trained: int  # networks whose training is finished
    seconds: Mapping[str, float]  # wall time of each step
    splits: Mapping[str, int]

    @property
    def job(self) -> str:
        """search, train, or nothing if the settings do not say."""
        return str(self.settings.get("job", ""))

    @cached_property
    def objectives(self) -> tuple[Objective, ...]:
        """What the search was for."""
        said = self.settings.get("objectives") or self.search.get("objectives") or ()
        return tuple(parse_objective(o) for o in said)

    @property
    def score(self) -> Objective:
        """The first objective that is no cost: what the vertical axis shows."""
        return next((o for o in self.objectives if not is_cost(o.name)), Objective(SCORES[0], False))

    @property
    def cost(self) -> Objective:
        """The first objective that is a cost: what the horizontal axis shows."""
        return next((o for o in self.objectives if is_cost(o.name)), Objective("cost/macs", False))

    @property
    def chosen(self) -> tuple[Model, ...]:
        """The models that the search found."""
        return tuple(m for m in self.models if m.chosen)

    @property
    def controls(self) -> tuple[Model, ...]:
        """The networks that they are compared with."""
        return tuple(m for m in self.models if not m.chosen)

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
        recorded: list[Mapping[str, Any]] = list(self.search.get("generations") or ())
        return recorded or list(self._recounted())

    def _recounted(self) -> Iterator[Mapping[str, Any]]:
        reference = self.search.get("reference") or {}
        if not reference or any(o.name not in reference for o in self.objectives) or not self.trials:
            return
        worst = [-reference[o.name] if o.maximise else reference[o.name] for o in self.objectives]
        points = pareto.points([t.metrics for t in self.trials], self.objectives)
        step = int(self.settings.get("searcher", {}).get("population", CHUNK))
        for number, n in enumerate([*range(step, len(points), step), len(points)], 1):
            best = float(points[:n, 0].min()) * (-1 if self.objectives[0].maximise else 1)
            front = len(pareto.front(points[:n]))
            volume = pareto.hypervolume(points[:n], worst)
            yield {"number": number, "evaluations": n, "front": front, "hypervolume": volume, "best": best}


def is_cost(name: str) -> bool:
    """Whether a metric says what a network costs, not how good it is."""
    return name.startswith(("cost/", "latency/"))


def lower_is_better(name: str) -> bool:
    """The direction of a metric that is no objective."""
    return is_cost(name) or name.endswith(LOWER)


def read_run(path: str | Path, space: Space | None = None) -> Record:
    """What there is. A directory that is no run is refused; a file that is there but damaged is named."""
    path = Path(path)
    if not path.is_dir():
        raise RunError(f"there is no run directory {path}")
    known = (SETTINGS, TRIALS, "metrics.jsonl", "search.json", "networks.json")
    if not any((path / name).exists() for name in known):
        raise RunError(f"{path} is not a run: it has no {SETTINGS}")
    settings = read_settings(path) if (path / SETTINGS).exists() else {}
    result = _json(path / "result.json", {})
    search = _json(path / "search.json", {}) or (result if "front" in result else {})
    trials = read_records(path / TRIALS)
    kept = _trials(trials, settings, search, space)
    first = int(search.get("first") or settings.get("searcher", {}).get("population") or 0)
    models = tuple(_models(path, search, space))
    splits = _json(path / "splits.json", {}).get("splits", {})
    return Record(
        path=path,
        settings=settings,
        space=space,
        search=search,
        result=result,
        trust=_json(path / "trust.json", {}),
        voters={name: len(answers) for name, answers in _json(path / "ballot.json", {}).items()},
        trials=tuple(kept),
        statuses={s: sum(t.get("status", "ok") == s for t in trials) for s in ("ok", "infeasible", "failed")},
        first=first,
        sampled=tuple(kept[: sum(t.get("status", "ok") == "ok" for t in trials[:first])]),
        models=models,
        curves=tuple(_curves(path, models)),
        trained=len(list(path.glob("networks/*/result.json"))),
        seconds=_seconds(path),
        splits={name: len(rows) for name, rows in splits.items()},
    )


def _json(file: Path, missing: Any) -> Any:
    if not file.exists():
        return missing
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as e:
        raise RunError(f"{file} is damaged: {e}") from None


def _trials(
    records: Sequence[Mapping[str, Any]], settings: Mapping[str, Any], search: Mapping[str, Any], space: Space | None
) -> list[Trial]:
    """Trials that satisfy the constraints, with those on the front marked: as recorded, else found here."""
    good = [r for r in records if r.get("status", "ok") == "ok"]
    archs = [tuple(r["arch"]) for r in good]
    metrics = [{k: v for k, v in r["metrics"].items() if v is not None} for r in good]
    chosen = {tuple(r["arch"]) for r in search.get("chosen", ())}
    front = {tuple(r["arch"]) for r in search.get("front", ())}
    names = {tuple(r["arch"]): str(r.get("name", "")) for r in search.get("front", ())}
    objectives = [parse_objective(o) for o in settings.get("objectives", ())]
    if "front" not in search and objectives:
        front = {archs[i] for i in pareto.front(pareto.points(metrics, objectives))}
    if space is not None:
        names = {a: space.name_of(a) for a in archs} | names
    return [Trial(a, m, names.get(a, ""), (a in front) + (a in chosen)) for a, m in zip(archs, metrics, strict=True)]


def _models(path: Path, search: Mapping[str, Any], space: Space | None) -> Iterator[Model]:
    """The networks of a run; before they are trained, and for tables, the chosen architectures."""
    networks = _json(path / "networks.json", [])
    if not networks:
        networks = [
            {
                "name": f"model-{i}",
                "role": "chosen",
                "arch": r["arch"],
                "label": r.get("name", ""),
                "found": r["metrics"],
            }
            for i, r in enumerate(search.get("chosen", ()), 1)
        ]
    found = {tuple(r["arch"]): r.get("metrics", {}) for r in search.get("front", ())}
    for r in networks:
        arch = tuple(r["arch"]) if r.get("arch") else None
        metrics = r.get("metrics") or found.get(arch or (), {})
        directory = path / "models" / r["name"]
        card = _json(directory / "model.json", {})
        score = r.get("score") or metrics
        yield Model(
            name=r["name"],
            role=r.get("role", ""),
            label=r.get("label") or "",
            against=r.get("against") or "",
            key=r.get("key") or "",
            arch=arch,
            macs=_first(r.get("macs"), metrics.get("cost/macs")),
            params=_first(r.get("params"), metrics.get("cost/params")),
            latency=_latency(r, metrics, card),
            score={k: v for k, v in _numbers(score).items() if not is_cost(k)},
            trained=_numbers(r.get("trained")),
            inherited=_numbers(r.get("inherited")),
            test=_numbers(r.get("test")),
            hands_over=r.get("weights") or "",
            failed=r.get("failed") or "",
            fold=r.get("fold"),
            blueprint=_blueprint(card, path / "networks" / str(r.get("key")), arch, space),
            files=tuple(name for name in FILES if (directory / name).exists()),
        )


def _numbers(record: Any) -> dict[str, float]:
    return {k: v for k, v in (record or {}).items() if isinstance(v, int | float)}


def _first(*values: Any) -> Any:
    return next((v for v in values if v is not None), None)


def _latency(record: Mapping[str, Any], metrics: Mapping[str, float], card: Mapping[str, Any]) -> float | None:
    """Milliseconds, wherever they are written; measured ones first."""
    places = (record, record.get("test"), card.get("metrics"), record.get("score"), metrics)
    found = _first(*(p.get("latency/ms") for p in places if isinstance(p, Mapping)))
    return None if found is None else float(found)


def _blueprint(card: Mapping[str, Any], training: Path, arch: Arch | None, space: Space | None) -> Blueprint | None:
    """From the model's own file, else from its training, else from the space."""
    there = read_settings(training) if (training / SETTINGS).exists() else {}
    layers = card.get("blueprint") or there.get("blueprint")
    try:
        if layers:
            return Blueprint.from_json(layers)
        return space.blueprint(space.check(arch)) if space is not None and arch is not None else None
    except (InputError, TypeError):
        return None


def _curves(path: Path, models: Sequence[Model]) -> Iterator[Curve]:
    """The supernet's training and those of the networks."""
    own = _curve("supernet", read_records(path / "metrics.jsonl"))
    if own.steps:
        yield own
    keys = [m.key for m in models if m.key] or sorted(p.parent.name for p in path.glob("networks/*/metrics.jsonl"))
    names = {m.key: m.name for m in models}
    for key in keys:
        curve = _curve(names.get(key, f"network {key[:6]}"), read_records(path / "networks" / key / "metrics.jsonl"))
        if curve.steps:
            yield curve


def _curve(name: str, records: Sequence[Mapping[str, Any]]) -> Curve:
    points = {int(r["step"]): float(r["loss"]) for r in records if r.get("loss") is not None and "step" in r}
    return Curve(name, tuple(points), tuple(points.values()))


def _seconds(path: Path) -> dict[str, float]:
    """Seconds of each step; one that was resumed has several records. Steps under way are told by their parts."""
    whole: dict[str, float] = {}
    parts: dict[str, float] = {}
    for r in read_records(path / TIMINGS):
        task, seconds = r.get("task"), float(r.get("seconds") or 0)
        if "evaluations" in r:
            parts["search"] = parts.get("search", 0.0) + seconds
        elif task and "step" in r:
            parts["train"] = parts.get("train", 0.0) + seconds
        elif task:
            whole[task] = whole.get(task, 0.0) + seconds
    return {**parts, **whole}
