"""`export`: the networks that a search chose as model directories; or a model directory anew, with its ONNX file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, RunError, UnknownNameError
from ..objective import show_quantity
from ..run import SETTINGS, open_run, read_settings
from .told import Told

if TYPE_CHECKING:
    from ..exporters.card import Card
    from ..nn.network import Network

MODELS, NETWORKS, WEIGHTS = "models", "networks", "weights.safetensors"
CHOSEN = "chosen"  # the role of networks that are exported unless others are named


@dataclass(frozen=True)
class Exported:
    """One model directory."""

    name: str
    path: str
    macs: int
    params: int
    bytes: int  # of all its files
    deviation: float | None  # of the ONNX file's logits, relative to the largest; none without such a file


@dataclass(frozen=True)
class ExportResult(Told):
    """What was written, and what could not be."""

    models: tuple[Exported, ...]
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """One line per model."""
        return [*map(_line, self.models), *(f"note: {note}" for note in self.notes)]


def export(source: str | Path, *, out: str | Path | None = None, name: str | None = None) -> ExportResult:
    """Export all chosen networks of a search's run, or one by `name`; or a model directory again.

    Models go to `OUT/NAME`, by default `RUN/models/NAME`. A model directory is verified and written in place, or to
    `OUT` or under another `name`; it gets the ONNX file if it had none.
    """
    from ..exporters.model import is_model, load_model, read_card, save_model

    if name is not None and (not name or name != Path(name).name or name.startswith(".")):
        raise InputError(f"a model's name must be one for a directory, got {name!r}")
    path = Path(source)
    if is_model(path):
        network, card = load_model(path), read_card(path)
        target = path if out is None and name is None else Path(out or path.resolve().parent) / (name or card.name)
        save_model(target, network, replace(card, name=name or card.name))
        return ExportResult((_told(target),))
    if not (path / SETTINGS).is_file():
        raise RunError(f"{path} is neither a run (it has no {SETTINGS}) nor a model directory")
    settings = {k: v for k, v in read_settings(path).items() if k != "versions"}
    with open_run(path, settings) if out is None else nullcontext():
        return export_run(path, out=out, name=name)


def export_run(run: str | Path, *, out: str | Path | None = None, name: str | None = None) -> ExportResult:
    """All chosen networks of a run, or any one by `name`; for callers that hold the run's lock."""
    from ..exporters.onnx import NEEDED, have_onnx

    path = Path(run)
    records = read_networks(path)
    if name is not None and name not in {r["name"] for r in records}:
        raise UnknownNameError("model", name, [r["name"] for r in records])
    wanted = [r for r in records if (r["role"] == CHOSEN if name is None else r["name"] == name)]
    if not wanted:
        raise RunError(f"{path} has chosen no network yet")
    notes = [] if have_onnx() else [f"there are no ONNX files: {NEEDED}, then export again"]
    if name is None:
        notes += [f"{r['name']} was left out: {reason}" for r in wanted if (reason := _reason(path, r))]
        wanted = [r for r in wanted if not _reason(path, r)]
    derived = _derived(path, [r for r in wanted if _is_inherited(r)])
    paths = [export_network(path, r, network=derived.get(r["name"]), out=out) for r in wanted]
    return ExportResult(tuple(map(_told, paths)), tuple(notes))


def export_network(
    run: str | Path,
    record: Mapping[str, Any],
    *,
    network: Network | None = None,
    out: str | Path | None = None,
) -> Path:
    """One network of a run, by its record in `networks.json`, as `RUN/models/NAME`; done already, it costs little.

    The network is read from `networks/KEY` or derived from the supernet, as the record says, unless it is given.
    Without onnxruntime there is no ONNX file.
    """
    from ..exporters.model import save_model
    from ..exporters.onnx import have_onnx

    path = Path(run)
    made = network or read_network(path, record)
    target = Path(out or path / MODELS) / str(record["name"])
    save_model(target, made, card_of(path, record, made), onnx=have_onnx())
    return target


def read_networks(run: Path) -> list[dict[str, Any]]:
    """The records of `networks.json`."""
    file = run / f"{NETWORKS}.json"
    try:
        records: list[dict[str, Any]] = json.loads(file.read_text())
        if not all({"name", "role", "key"} <= r.keys() for r in records):
            raise ValueError("a network has no name, role or key")
    except FileNotFoundError:
        raise RunError(f"{run} holds no finished search: it has no {file.name}") from None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise RunError(f"{file} cannot be read: {error}") from None
    return records


def read_network(run: Path, record: Mapping[str, Any]) -> Network:
    """The network of a record, with the weights that are to be handed over."""
    from ..blueprint import Blueprint
    from ..nn.network import Network
    from ..training.checkpoint import read

    name = record["name"]
    if _is_inherited(record):
        return _derived(run, [record])[name]
    path = run / NETWORKS / str(record["key"])
    settings = read_settings(path) if record["key"] else {}
    if record["key"] and "blueprint" not in settings:
        raise InputError(f"{name} is not a network of ours: only those with a blueprint can be exported")
    reason = _reason(run, record)
    if reason:
        raise RunError(f"{name} cannot be exported: {reason}")
    network = Network(Blueprint.from_json(settings["blueprint"]))
    try:
        network.load_state_dict(read(path / WEIGHTS)[0])
    except RuntimeError:
        raise RunError(f"{path / WEIGHTS} does not fit the network that {path / SETTINGS} describes") from None
    return network.eval()


def card_of(run: Path, record: Mapping[str, Any], network: Network) -> Card:
    """What a run knows about one of its networks."""
    from ..costs.macs import cost
    from ..exporters.card import Card

    settings = read_settings(run)
    inherited = _is_inherited(record)
    data, space, blueprint, costs = settings["data"], settings["space"], network.blueprint, cost(network.blueprint)
    recipe = settings.get("recipe" if inherited else "retrain_recipe", {})
    trained = settings if inherited else read_settings(run / NETWORKS / record["key"])
    count = data["images"]["train"]
    return Card(
        name=record["name"],
        task=f"Image classification: {data['name']}, {len(data['classes'])} classes, {count:,} training images.",
        classes=tuple(data["classes"]),
        side=blueprint.side,
        channels=blueprint.in_channels,
        mean=tuple(data["mean"]),
        std=tuple(data["std"]),
        arch=record.get("label") or str(record.get("arch") or ""),
        space=space.get("text") or space["name"],
        macs=costs.macs,
        params=costs.params,
        metrics=_metrics(record),
        seeds=(trained["seed"],) if "seed" in trained else (),
        recipe=", ".join(str(recipe[k]) for k in ("title", "length") if recipe.get(k)),
        notes=_notes(record, trained),
        data_side=0 if data["side"] == blueprint.side else data["side"],
        licence=data.get("licence", ""),
    )


def _is_inherited(record: Mapping[str, Any]) -> bool:
    """Whether the weights to be handed over are the supernet's."""
    return record.get("weights") == "inherited"


def _metrics(record: Mapping[str, Any]) -> dict[str, float]:
    """What was measured with the very weights that are handed over."""
    if _is_inherited(record):  # `test` is of the network that was trained for comparison, if there is one
        kinds = ("score", "inherited" if record.get("trained") else "test", "latency")
    else:
        kinds = ("trained", "test", "latency")
    found = {k: v for kind in kinds for k, v in (record.get(kind) or {}).items()}
    return {k: v for k, v in found.items() if v is not None and k.startswith(("valid/", "test/", "latency/"))}


def _notes(record: Mapping[str, Any], trained: Mapping[str, Any]) -> tuple[str, ...]:
    if _is_inherited(record):
        return ("Its weights are those of the supernet; it was not trained on its own.",)
    if trained.get("start", "scratch") != "scratch":
        return ("Its training began with the weights of the supernet.",)
    return ()


def _derived(run: Path, records: Sequence[Mapping[str, Any]]) -> dict[str, Network]:
    """By name: networks with the supernet's weights, as they were measured."""
    if not records:
        return {}
    import torch

    from ..derivation.derive import derive
    from .trained import load_supernet

    settings = read_settings(run)
    torch.set_num_threads(settings["threads"])
    supernet, dataset = load_supernet(run)
    return {r["name"]: derive(supernet, tuple(r["arch"]), dataset, seed=settings["seed"])[0] for r in records}


def _reason(run: Path, record: Mapping[str, Any]) -> str:
    """Why a network has no weights; nothing if it has."""
    if _is_inherited(record):
        return ""
    path = run / NETWORKS / str(record["key"])
    if (path / WEIGHTS).is_file():
        return ""
    return str(record.get("failed") or "it has not been trained to the end")


def _told(path: Path) -> Exported:
    from ..exporters.model import read_record

    record = read_record(path)
    size = sum(p.stat().st_size for p in path.iterdir())
    deviation = record["onnx"]["deviation"] if record["onnx"] else None
    return Exported(record["name"], str(path), record["macs"], record["params"], size, deviation)


def _line(model: Exported) -> str:
    onnx = "no ONNX file" if model.deviation is None else f"ONNX differs by {model.deviation:.0e}"
    costs = f"{show_quantity(model.macs)} MACs, {show_quantity(model.params)} parameters"
    return f"{model.path}  {costs}, {show_quantity(model.bytes)}B, {onnx}"
