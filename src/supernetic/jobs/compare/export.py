"""The networks that a search chose, as model directories."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError, RunError
from ...runs.directory import SETTINGS, read_settings
from ...runs.trust import require_name

if TYPE_CHECKING:
    from ...exporters.card import Card
    from ...nn.network import Network


MODELS, NETWORKS, WEIGHTS = "models", "networks", "weights.safetensors"


CHOSEN = "chosen"  # the role of networks that are exported unless others are named


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
    from ...exporters.model import save_model
    from ...exporters.onnx import have_onnx

    path = Path(run)
    made = network or read_network(path, record)
    target = Path(out or path / MODELS) / require_name(record["name"])
    save_model(target, made, card_of(path, record, made), onnx=have_onnx())
    return target


def read_networks(run: Path) -> list[dict[str, Any]]:
    """The records of `networks.json`."""
    file = run / f"{NETWORKS}.json"
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
    """The network of a record, with the weights that are to be handed over."""
    from ...blueprint import Blueprint
    from ...networks.pool import training_settings
    from ...nn.network import Network
    from ...training.checkpoint import read

    name = record["name"]
    if _is_inherited(record):
        return _derived(run, [record])[name]
    path = run / NETWORKS / str(record["key"])
    settings = training_settings(path) if record["key"] else {}
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
    from ...costs.macs import cost
    from ...exporters.card import Card

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

    from ...derivation.derive import derive
    from ..train.supernet_run import load_supernet

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
