"""The step `export`: the chosen networks as model directories, and the names of those that exist in `exported.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError, RunError, SupernetError
from ...progress import Event, OnEvent
from ...reports.finishes import finish_sentences
from ...runs.directory import Run, read_settings, require_settings
from ...runs.files import EXPORTED, MODELS, NETWORK_TRAININGS, SETTINGS, WEIGHTS
from ...runs.records import MetricValues, NetworkRecord, read_networks, read_trust
from ...runs.trust import require_name
from .comparison import EXPORT
from .int8 import stored_int8
from .train import load_inherited

if TYPE_CHECKING:
    from ...exporters.card import Card
    from ...exporters.int8 import Int8
    from ...nn.network import Network

CARD_NEEDS = {  # of the settings of a run
    "data.name": str,
    "data.classes": list,
    "data.images.train": int,
    "data.mean": list,
    "data.std": list,
    "data.resolution": int,
    "space.name": str,
}


def export_models(run: Run, send: OnEvent) -> None:
    """Export every chosen network to `models/`, whole and verified; an error if none has weights."""
    from ...exporters.onnx import NEEDED, have_onnx

    if not have_onnx():
        send(Event(EXPORT, f"the models have no ONNX file: {NEEDED}"))
    chosen = [record for record in read_networks(run.path) if record.chosen]
    exported: list[str] = []
    for i, record in enumerate(chosen, 1):
        if reason := missing_weights(run.path, record):
            send(Event(EXPORT, f"{record.name} is not exported: {reason}"))
        else:
            exported.append(export_network(run.path, record, int8=stored_int8(run.path, record)).name)
        send(Event(EXPORT, record.name, done=i, total=len(chosen)))
    if not exported:
        raise SupernetError(f"{run.path}: no chosen network could be trained; see networks/*/result.json")
    run.write(EXPORTED, json.dumps({"models": exported}) + "\n")


def export_network(
    run: Path,
    record: NetworkRecord,
    *,
    out: str | Path | None = None,
    int8: Int8 | None = None,
    program: bool = False,
) -> Path:
    """Export one network of a run as a model directory; if that was done before, it costs little.

    Args:
        run: The run directory.
        record: The network's record, which says which weights are exported.
        out: The directory in which the model directory is made; `RUN/models` by default.
        int8: The same network quantised, if the model is to have that too.
        program: Whether it is to have a file for torch.export too.

    Returns:
        The model directory.
    """
    from ...exporters.model import save_model
    from ...exporters.onnx import have_onnx

    network = read_network(run, record)
    target = Path(out or run / MODELS) / require_name(record.name)
    save_model(target, network, card_of(run, record, network), onnx=have_onnx(), int8=int8, program=program)
    return target


def read_network(run: Path, record: NetworkRecord) -> Network:
    """Load the network of a record.

    Args:
        run: The run directory.
        record: The network's record.

    Returns:
        The network in evaluation mode, with the weights that are exported.
    """
    from ...blueprint import Blueprint
    from ...networks.pool import training_settings
    from ...nn.network import with_weights
    from ...training.checkpoint import read

    if record.exports_inherited:
        return load_inherited(run, record.name)
    path = run / NETWORK_TRAININGS / str(record.key)
    settings = training_settings(path) if record.key else {}
    if record.key and "blueprint" not in settings:
        raise InputError(f"{record.name} is not a network of ours: only those with a blueprint can be exported")
    if reason := missing_weights(run, record):
        raise RunError(f"{record.name} cannot be exported: {reason}")
    try:
        return with_weights(Blueprint.from_json(settings["blueprint"]), read(path / WEIGHTS)[0])
    except RuntimeError:
        raise RunError(f"{path / WEIGHTS} does not fit the network that {path / SETTINGS} describes") from None


def card_of(run: Path, record: NetworkRecord, network: Network) -> Card:
    """Collect what a run knows about one of its networks.

    Args:
        run: The run directory.
        record: The network's record.
        network: The network itself.

    Returns:
        The model card.
    """
    from ...costs.macs import cost
    from ...exporters.card import Card

    settings = read_settings(run)
    require_settings(run, settings, CARD_NEEDS)
    inherited = record.exports_inherited
    data, space, blueprint, costs = settings["data"], settings["space"], network.blueprint, cost(network.blueprint)
    recipe = settings.get("recipe" if inherited else "retrain_recipe", {})
    training = settings if inherited else read_settings(run / NETWORK_TRAININGS / str(record.key))
    count = data["images"]["train"]
    return Card(
        name=record.name,
        task=f"Image classification: {data['name']}, {len(data['classes'])} classes, {count:,} training images.",
        classes=tuple(data["classes"]),
        resolution=blueprint.resolution,
        channels=blueprint.in_channels,
        mean=tuple(data["mean"]),
        std=tuple(data["std"]),
        arch=record.label or ("" if record.arch is None else str(list(record.arch))),
        space=space.get("text") or space["name"],
        macs=costs.macs,
        params=costs.params,
        metrics=_metrics(record),
        seeds=(training["seed"],) if "seed" in training else (),
        recipe=_recipe(recipe, record),
        notes=_notes(record, run),
        data_resolution=0 if data["resolution"] == blueprint.resolution else data["resolution"],
        licence=data.get("licence", ""),
    )


def missing_weights(run: Path, record: NetworkRecord) -> str:
    """Why a network has no weights.

    Args:
        run: The run directory.
        record: The network's record.

    Returns:
        The reason; empty if it has weights.
    """
    if record.exports_inherited:
        return ""
    if record.key and (run / NETWORK_TRAININGS / record.key / WEIGHTS).is_file():
        return ""
    return record.failed or "it has not been trained to the end"


def _metrics(record: NetworkRecord) -> dict[str, float]:
    """What was measured with the very weights that are exported."""
    latency: MetricValues = {k: v for k, v in (record.latency or {}).items() if not isinstance(v, str)}
    if record.exports_inherited:  # `test` is of the network that was trained for comparison, if there is one
        kinds = (record.score, record.exported_test, latency)
    else:
        kinds = (record.trained, record.test, latency)
    measured = {k: v for metrics in kinds for k, v in (metrics or {}).items()}
    return {k: v for k, v in measured.items() if v is not None and k.startswith(("valid/", "test/", "latency/"))}


def _recipe(recipe: Mapping[str, Any], record: NetworkRecord) -> str:
    """Title and length; a recipe does not know how long a network was trained by the clock, or in several rounds."""
    length = recipe.get("length")
    if record.steps is not None and not record.exports_inherited:
        length = f"{record.steps:,} steps" + (" in several rounds" if record.first_key else "")
    return ", ".join(str(text) for text in (recipe.get("title"), length) if text)


def _notes(record: NetworkRecord, run: Path) -> tuple[str, ...]:
    recommended = ("This is the model that the search recommends.",) if record.recommended else ()
    if record.exports_inherited:
        return (*recommended, "Its weights are those of the supernet; it was not trained on its own.")
    first = read_settings(run / NETWORK_TRAININGS / str(record.first_key or record.key))
    finishes = finish_sentences([record], read_trust(run)) if record.finishes else []
    if first.get("start", "scratch") != "scratch":
        return (*recommended, "Its training began with the weights of the supernet.", *finishes)
    return (*recommended, *finishes)
