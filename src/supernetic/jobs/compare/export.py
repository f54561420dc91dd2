"""The step `export`: the chosen networks as model directories, and which of them there are in `exported.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError, RunError, SupernetError
from ...progress import Event, OnEvent
from ...runs.directory import SETTINGS, Run, read_settings
from ...runs.trust import require_name
from .candidates import CHOSEN
from .comparison import EXPORT, EXPORTED, MODELS, NETWORKS, TRAININGS
from .train import load_inherited

if TYPE_CHECKING:
    from ...exporters.card import Card
    from ...nn.network import Network

WEIGHTS = "weights.safetensors"  # of a trained network


def export_models(run: Run, send: OnEvent) -> None:
    """Put every chosen network into `models/`, whole and verified; an error if none has weights."""
    from ...exporters.onnx import NEEDED, have_onnx

    if not have_onnx():
        send(Event(EXPORT, f"the models have no ONNX file: {NEEDED}"))
    chosen = [r for r in read_networks(run.path) if r["role"] == CHOSEN]
    exported: list[str] = []
    for i, record in enumerate(chosen, 1):
        if reason := missing_weights(run.path, record):
            send(Event(EXPORT, f"{record['name']} is not exported: {reason}"))
        else:
            exported.append(export_network(run.path, record).name)
        send(Event(EXPORT, record["name"], done=i, total=len(chosen)))
    if not exported:
        raise SupernetError(f"{run.path}: no chosen network could be trained; see networks/*/result.json")
    run.write(EXPORTED, json.dumps({"models": exported}) + "\n")


def export_network(run: Path, record: Mapping[str, Any], *, out: str | Path | None = None) -> Path:
    """One network of a run as a model directory; done already, it costs little.

    Args:
        run: The run directory.
        record: The network's record in `networks.json`, which says which weights are exported.
        out: Where `NAME` goes; `RUN/models` by default.
    """
    from ...exporters.model import save_model
    from ...exporters.onnx import have_onnx

    network = read_network(run, record)
    target = Path(out or run / MODELS) / require_name(record["name"])
    save_model(target, network, card_of(run, record, network), onnx=have_onnx())
    return target


def read_networks(run: Path) -> list[dict[str, Any]]:
    """The records of `networks.json`."""
    file = run / NETWORKS
    try:
        records: list[dict[str, Any]] = json.loads(file.read_text())
        if not all({"name", "role", "key"} <= r.keys() for r in records):
            raise ValueError("a network has no name, role or key")
        for record in records:
            require_name(record["name"], f"the name of a network in {file}")
            if record["key"] is not None:
                require_name(record["key"], f"the key of a network in {file}")
    except FileNotFoundError:
        raise RunError(f"{run} holds no finished search: it has no {file.name}") from None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise RunError(f"{file} cannot be read: {error}") from None
    return records


def read_network(run: Path, record: Mapping[str, Any]) -> Network:
    """The network of a record, with the weights that are exported."""
    from ...blueprint import Blueprint
    from ...networks.pool import training_settings
    from ...nn.network import Network
    from ...training.checkpoint import read

    name = record["name"]
    if is_inherited(record):
        return load_inherited(run, name)
    path = run / TRAININGS / str(record["key"])
    settings = training_settings(path) if record["key"] else {}
    if record["key"] and "blueprint" not in settings:
        raise InputError(f"{name} is not a network of ours: only those with a blueprint can be exported")
    if reason := missing_weights(run, record):
        raise RunError(f"{name} cannot be exported: {reason}")
    network = Network(Blueprint.from_json(settings["blueprint"]))
    try:
        network.load_state_dict(read(path / WEIGHTS)[0])
    except RuntimeError:
        raise RunError(f"{path / WEIGHTS} does not fit the network that {path / SETTINGS} describes") from None
    return network.eval()


def card_of(run: Path, record: Mapping[str, Any], network: Network) -> Card:
    """What a run knows about one of its networks."""
    from ...costs.macs import cost
    from ...exporters.card import Card

    settings = read_settings(run)
    inherited = is_inherited(record)
    data, space, blueprint, costs = settings["data"], settings["space"], network.blueprint, cost(network.blueprint)
    recipe = settings.get("recipe" if inherited else "retrain_recipe", {})
    trained = settings if inherited else read_settings(run / TRAININGS / record["key"])
    count = data["images"]["train"]
    return Card(
        name=record["name"],
        task=f"Image classification: {data['name']}, {len(data['classes'])} classes, {count:,} training images.",
        classes=tuple(data["classes"]),
        resolution=blueprint.resolution,
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
        data_resolution=0 if data["resolution"] == blueprint.resolution else data["resolution"],
        licence=data.get("licence", ""),
    )


def is_inherited(record: Mapping[str, Any]) -> bool:
    """Whether the supernet's weights are exported."""
    return record.get("weights") == "inherited"


def missing_weights(run: Path, record: Mapping[str, Any]) -> str:
    """Why a network has no weights; empty if it has."""
    if is_inherited(record):
        return ""
    if record["key"] and (run / TRAININGS / str(record["key"]) / WEIGHTS).is_file():
        return ""
    return str(record.get("failed") or "it has not been trained to the end")


def _metrics(record: Mapping[str, Any]) -> dict[str, float]:
    """What was measured with the very weights that are exported."""
    if is_inherited(record):  # `test` is of the network that was trained for comparison, if there is one
        kinds = ("score", "inherited" if record.get("trained") else "test", "latency")
    else:
        kinds = ("trained", "test", "latency")
    measured = {k: v for kind in kinds for k, v in (record.get(kind) or {}).items()}
    return {k: v for k, v in measured.items() if v is not None and k.startswith(("valid/", "test/", "latency/"))}


def _notes(record: Mapping[str, Any], trained: Mapping[str, Any]) -> tuple[str, ...]:
    if is_inherited(record):
        return ("Its weights are those of the supernet; it was not trained on its own.",)
    if trained.get("start", "scratch") != "scratch":
        return ("Its training began with the weights of the supernet.",)
    return ()
