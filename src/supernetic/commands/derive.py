"""`derive`: one network of a run's supernet as a model of its own, with the supernet's weights or trained anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SupernetError, UnknownNameError
from ..hardware import Hardware, settle_hardware
from ..jobs.compare.export import card_of
from ..jobs.compare.int8 import measured_int8, require_mode
from ..jobs.train.prepare import DEFAULT_RECIPE
from ..jobs.train.supernet_run import load_supernet
from ..objective import Metrics, show_quantity
from ..parallel.world import world_size
from ..progress import Event, OnEvent, ignore
from ..ranking.int8 import int8_sentences
from ..result import Result
from ..runs.directory import open_run, read_settings
from ..runs.files import MODELS, NETWORK_TRAININGS
from ..runs.records import CHOSEN, INHERITED, TRAINED, NetworkRecord
from ..runs.trust import opens_runs, require_name
from ..space import Arch, Space

if TYPE_CHECKING:
    from ..networks.pool import Trained
    from ..nn.network import Network
    from ..training.recipe import Recipe

RETRAIN_MODES = ("scratch", "inherit", "none")
DEFAULT_RETRAIN_MODES = {"choice": "scratch", "cell": "scratch", "elastic": "none", "scaled": "none"}  # by sharing


@dataclass(frozen=True)
class DeriveResult(Result):
    """The model, and what was measured on the validation images."""

    model: str  # its directory
    arch: str
    space: str
    retrain: str
    macs: int
    params: int
    score: Metrics  # with the weights of the supernet
    trained: Metrics | None  # with its own
    fold: dict[str, Any] | None  # what became of stabilisers
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """A summary for people."""
        weights = {"scratch": "trained from scratch", "inherit": "trained from the supernet's weights"}
        return [
            f"{self.arch} of {self.space}: {show_quantity(self.macs)} MACs, {show_quantity(self.params)} parameters",
            f"with the weights of the supernet: {_show(self.score)}",
            *([f"{weights[self.retrain]}: {_show(self.trained)}"] if self.trained else []),
            *(f"note: {note}" for note in self.notes),
            f"supernetic predict {self.model} IMAGE",
        ]


@opens_runs
def derive(
    run: str | Path,
    arch: str | Sequence[int],
    *,
    retrain: str | None = None,
    recipe: str | Path | Recipe | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    device: str = "auto",
    precision: str = "no",
    int8: str = "auto",
    trust_code: bool = False,
    on_event: OnEvent | None = None,
) -> DeriveResult:
    """Make a network of a run's supernet a model of its own, with the supernet's weights or trained anew.

    A training is kept in the run and never repeated.

    Args:
        run: A run that holds a trained supernet.
        arch: The architecture: a name, the paper's notation, or integers.
        retrain: `scratch`, `inherit` (from the supernet's weights) or `none`. The default is `none` where weights are
            shared elastically, because they are good as they are, and `scratch` elsewhere.
        recipe: Training settings. The default is the run's own recipe for networks, else a modest one.
        out: The directory in which the model directory is made; `RUN/models` by default.
        name: The name of the model; by default one that follows from the architecture.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto`: a GPU that CUDA knows, else the CPU.
        precision: Of the training: `no` (mixed precision), `fp16` or `bf16`.
        int8: Whether the model is quantised too: `auto` (where the extra `export` is installed) or `no`.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).
        on_event: Receives the steps of the training, as counts of the task `train`.

    Returns:
        Where the model is, what it costs, and its scores on the validation images.
    """
    if retrain is not None and retrain not in RETRAIN_MODES:
        raise UnknownNameError("way to retrain", retrain, RETRAIN_MODES)
    if name is not None:
        require_name(name)
    path = Path(run)
    settings = {k: v for k, v in read_settings(path).items() if k != "versions"}
    import torch

    from ..costs.macs import cost
    from ..derivation.derive import derive as derive_network
    from ..evaluators.supernet import shared_cells
    from ..exporters.model import save_model
    from ..exporters.onnx import NEEDED, have_onnx
    from ..networks.pool import evaluate
    from ..nn.network import Network

    quantises = require_mode(int8) and have_onnx()
    hardware = settle_hardware(device, precision)
    with open_run(path, settings):
        supernet, dataset = load_supernet(path, device=hardware.device)
        torch.set_num_threads(settings["threads"])
        space = shared_cells(supernet.space)
        genes = space.parse(arch) if isinstance(arch, str) else space.check(arch)
        network, fold = derive_network(supernet, genes, dataset, seed=settings["seed"])
        score = evaluate(network, dataset, "valid")[0]
        mode = retrain or DEFAULT_RETRAIN_MODES[space.sharing]
        label = space.name_of(genes)
        record = NetworkRecord(name or _name(space, genes), CHOSEN, label=label, score=score, weights=INHERITED)
        network_recipe = _recipe(recipe, settings)
        trained = None
        if mode != "none":
            send = _count_steps(record.name, on_event or ignore)
            training = _train(path, settings, network, dataset.fingerprint, network_recipe, mode, hardware, send)
            trained, loaded = training.metrics, training.load()
            assert isinstance(loaded, Network)
            network = loaded
            record = replace(record, key=training.key, trained=trained, weights=TRAINED)
        network.cpu()  # models are exported from there
        card = card_of(path, record, network)
        if trained:
            card = replace(card, recipe=", ".join(filter(None, (network_recipe.title, network_recipe.length))))
        target = Path(out or path / MODELS) / record.name
        quantised, reason = measured_int8(network, dataset, settings["seed"]) if quantises else (None, "")
        save_model(target, network, card, onnx=have_onnx(), int8=quantised)
    costs = cost(network.blueprint)
    notes = [] if fold is None else fold.lines()[-1:]
    if len(supernet.slice_sides) > 1:
        notes.append("the model has the left slices of the supernet, which was scored with left and right ones")
    notes += int8_sentences(record.name, quantised.facts) if quantised else [reason] if reason else []
    notes += [] if have_onnx() else [f"there is no ONNX file: {NEEDED}, then export again"]
    return DeriveResult(
        model=str(target),
        arch=record.label,
        space=space.name,
        retrain=mode,
        macs=costs.macs,
        params=costs.params,
        score=score,
        trained=trained,
        fold=None if fold is None else fold.to_json(),
        notes=tuple(notes),
    )


def _count_steps(name: str, on_event: OnEvent) -> Callable[[int, int, int], None]:
    """From the pool's callback to events; there is only one training, so that its number says nothing."""
    return lambda _, done, total: on_event(Event("train", item=name, done=done, total=total))


def _train(
    path: Path,
    settings: dict[str, Any],
    network: Network,
    data: str,
    recipe: Recipe,
    mode: str,
    hardware: Hardware,
    progress: Callable[[int, int, int], None],
) -> Trained:
    """The finished training of the network, from scratch or from its weights."""
    from ..networks.pool import Training, keep_weights, train_all

    directory = path / NETWORK_TRAININGS
    start = keep_weights(network, directory) if mode == "inherit" else None
    training = Training(
        network.blueprint, recipe, settings["seed"], settings["load"], start, data, world_size(),
        device=hardware.device, precision=hardware.precision,
    )  # fmt: skip
    (trained,) = train_all([training], directory, workers=1, progress=progress)
    if trained.reason:
        raise SupernetError(trained.reason)
    return trained


def _recipe(recipe: str | Path | Recipe | None, settings: dict[str, Any]) -> Recipe:
    """The recipe of the network: the given one, else the run's own for networks, else the modest one."""
    from ..training.recipe import Recipe, read_recipe
    from ..training.recipe import recipe as from_table

    if isinstance(recipe, Recipe):
        return recipe
    read = from_table(settings.get("retrain_recipe", DEFAULT_RECIPE)) if recipe is None else read_recipe(recipe)
    return replace(read, sampler=None)


def _name(space: Space, arch: Arch) -> str:
    """A name for a directory: the architecture's own where it has a short one, else a hash of it."""
    text = space.name_of(arch)
    if text in space.named:
        return text
    short = text if re.fullmatch(r"\w{1,40}", text) else sha256(text.encode()).hexdigest()[:8]
    return f"{space.name}-{short}"


def _show(metrics: Metrics) -> str:
    return f"{metrics['valid/accuracy']:.2f} % right, cross-entropy {metrics['valid/cross_entropy']:.4f} (validation)"
