"""The end of a transfer: the network in 8-bit integers, on the test images, and as a model directory."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...blueprint import Blueprint
from ...costs.macs import cost
from ...errors import RunError, SupernetError
from ...progress import Event, OnEvent
from ...runs.directory import Run
from ...runs.files import EXPORTED, MODELS, NETWORKS, QUANTISED, TRANSFER
from ...runs.records import CHOSEN, TRAINED, NetworkRecord, networks_text, read_json, read_networks
from ..compare.comparison import QUANTISE, NetworkTrainings
from ..compare.int8 import keep_int8, quantise_network, stored_int8, test_int8
from ..compare.predictions import PredictionsOfTest
from ..compare.test import measured_latency

if TYPE_CHECKING:
    from ...exporters.card import Card
    from ...nn.network import Network


def trained_network(blueprint: Blueprint, run: Run) -> Network:
    """The network that is handed over, in evaluation mode."""
    from ...nn.network import with_weights
    from ...training.checkpoint import read

    file = run.path / str(read_json(run.path / TRANSFER)["weights"])
    if not file.resolve().is_relative_to(run.path.resolve()):
        raise RunError(f"{run.path / TRANSFER} names weights outside of the run: {file}")
    try:
        return with_weights(blueprint, read(file)[0])
    except RuntimeError:
        raise RunError(f"{file} does not fit the network of the run") from None


def quantise(trainings: NetworkTrainings, blueprint: Blueprint, run: Run, send: OnEvent) -> None:
    """Take the step `quantise`: ranges of activations come from training images."""
    from ...exporters.onnx import NEEDED, have_onnx

    entries: dict[str, Any] = {}
    name = str(run.settings["plan"]["model"])
    if not have_onnx():
        send(Event(QUANTISE, f"the model has no int8 file: {NEEDED}"))
    else:
        try:
            made = quantise_network(trained_network(blueprint, run), trainings.dataset, trainings.seed)
            entries[name] = keep_int8(run.path, name, made)
        except SupernetError as error:
            send(Event(QUANTISE, f"{name} has no int8 file: {error}"))
            entries[name] = {"failed": str(error)}
    run.write(QUANTISED, json.dumps(entries, indent=1) + "\n")


def test(trainings: NetworkTrainings, blueprint: Blueprint, name: str, run: Run) -> None:
    """Take the step `test`, the only one that reads the test split."""
    outcome, costs = read_json(run.path / TRANSFER), cost(blueprint)
    keys = outcome.get("keys", [])
    network = trained_network(blueprint, run)
    record = NetworkRecord(
        name, CHOSEN, label=str(run.settings["model"]), macs=costs.macs, params=costs.params,
        key=keys[-1] if keys else None, steps=outcome["steps"] or None, recommended=True, weights=TRAINED,
        latency=measured_latency(network),
    )  # fmt: skip
    predictions = PredictionsOfTest(trainings)
    metrics, right = predictions.tested(record, "test", network)
    found = test_int8(trainings, run, record, right, record.latency)
    predictions.write(run)
    done = replace(record, test=metrics, int8=None if found is None else found[0])
    run.write(NETWORKS, networks_text([done]))


def export(blueprint: Blueprint, run: Run) -> None:
    """Take the step `export`: the model directory."""
    from ...exporters.model import save_model
    from ...exporters.onnx import have_onnx

    (record,) = read_networks(run.path)
    network = trained_network(blueprint, run)
    target = run.path / MODELS / record.name
    save_model(target, network, _card(run, record, network), onnx=have_onnx(), int8=stored_int8(run.path, record))
    run.write(EXPORTED, json.dumps({"models": [record.name]}) + "\n")


def _card(run: Run, record: NetworkRecord, network: Network) -> Card:
    from ...exporters.card import Card

    settings, outcome, blueprint = run.settings, read_json(run.path / TRANSFER), network.blueprint
    data = settings["data"]
    latency = {k: v for k, v in (record.latency or {}).items() if not isinstance(v, str)}
    metrics = {k: v for k, v in {**(record.test or {}), **latency}.items() if v is not None}
    kept = metrics.keys() - {"low", "high"}
    how = "a new head" if outcome["kept"] == "head" else f"{outcome['steps']:,} steps, learning rate {outcome['lr']:g}"
    return Card(
        name=record.name,
        task=f"Image classification: {data['name']}, {len(data['classes'])} classes, "
        f"{data['images']['train']:,} training images.",
        classes=tuple(data["classes"]),
        resolution=blueprint.resolution,
        channels=blueprint.in_channels,
        mean=tuple(data["mean"]),
        std=tuple(data["std"]),
        arch=record.label,
        space="pretrained",
        macs=record.macs or 0,
        params=record.params or 0,
        metrics={k: float(v) for k, v in metrics.items() if k in kept},
        seeds=(int(settings["seed"]),),
        recipe=f"{settings['retrain_recipe'].get('title', '')}: {how}".strip(": "),
        notes=(f"Fine-tuned from {settings['model']}. {settings['licence']}".strip(),),
        data_resolution=0 if data["resolution"] == blueprint.resolution else data["resolution"],
        licence=data.get("licence", ""),
    )
