"""`derive`: one network of a run's supernet as a model of its own, with the supernet's weights or trained anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SupernetError, UnknownNameError
from ..jobs.compare.export import MODELS, NETWORKS, card_of
from ..jobs.train.prepare import DEFAULT
from ..jobs.train.supernet_run import load_supernet
from ..objective import Metrics, show_quantity
from ..result import Result
from ..runs.directory import open_run, read_settings
from ..runs.trust import opens_runs, require_name
from ..space import Arch, Space

if TYPE_CHECKING:
    from ..networks.pool import Trained
    from ..nn.network import Network
    from ..training.recipe import Recipe

RETRAIN = ("scratch", "inherit", "none")
USUAL = {"choice": "scratch", "cell": "scratch", "elastic": "none", "scaled": "none"}  # by the space's sharing


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
            f"with the weights of the supernet: {_told(self.score)}",
            *([f"{weights[self.retrain]}: {_told(self.trained)}"] if self.trained else []),
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
    progress: Callable[[int, int], None] | None = None,
    trust_code: bool = False,
) -> DeriveResult:
    """Derive a network of a run that holds a supernet and write it to `OUT/NAME`, by default `RUN/models/NAME`.

    `retrain` is `scratch`, `inherit` or `none`; by default `none` where weights are shared elastically, so that they
    are good as they are, else `scratch`. It follows the run's own recipe for that, if there is one and none is given.
    A training is kept in the run and never repeated. `progress` gets its steps done and its steps in all. A space that
    is code of the run needs `trust_code`.
    """
    import torch

    from ..costs.macs import cost
    from ..derivation.derive import derive as derive_network
    from ..evaluators.supernet import shared_cells
    from ..exporters.model import save_model
    from ..exporters.onnx import NEEDED, have_onnx
    from ..networks.pool import evaluate
    from ..nn.network import Network

    if retrain is not None and retrain not in RETRAIN:
        raise UnknownNameError("way to retrain", retrain, RETRAIN)
    if name is not None:
        require_name(name)
    path = Path(run)
    settings = {k: v for k, v in read_settings(path).items() if k != "versions"}
    with open_run(path, settings):
        supernet, dataset = load_supernet(path)
        torch.set_num_threads(settings["threads"])
        space = shared_cells(supernet.space)
        genes = space.parse(arch) if isinstance(arch, str) else space.check(arch)
        network, fold = derive_network(supernet, genes, dataset, seed=settings["seed"])
        score = evaluate(network, dataset, "valid")[0]
        how = retrain or USUAL[space.sharing]
        record: dict[str, Any] = {
            "name": name or _name(space, genes),
            "label": space.name_of(genes),
            "key": None,
            "score": score,
            "weights": "inherited",
        }
        settled = _recipe(recipe, settings)
        trained = None
        if how != "none":
            done = _train(path, settings, network, dataset.fingerprint, settled, how, progress)
            trained, loaded = done.metrics, done.load()
            assert isinstance(loaded, Network)
            network = loaded
            record |= {"key": done.key, "trained": trained, "weights": "trained"}
        card = card_of(path, record, network)
        if trained:
            card = replace(card, recipe=", ".join(filter(None, (settled.title, settled.length))))
        target = Path(out or path / MODELS) / record["name"]
        save_model(target, network, card, onnx=have_onnx())
    costs = cost(network.blueprint)
    notes = [] if fold is None else fold.lines()[-1:]
    notes += ["the left side of the supernet, which was scored with both"] if len(supernet.slice_sides) > 1 else []
    notes += [] if have_onnx() else [f"there is no ONNX file: {NEEDED}, then export again"]
    return DeriveResult(
        model=str(target),
        arch=record["label"],
        space=space.name,
        retrain=how,
        macs=costs.macs,
        params=costs.params,
        score=score,
        trained=trained,
        fold=None if fold is None else fold.to_json(),
        notes=tuple(notes),
    )


def _train(
    path: Path,
    settings: dict[str, Any],
    network: Network,
    data: str,
    recipe: Recipe,
    how: str,
    progress: Callable[[int, int], None] | None,
) -> Trained:
    """The finished training of the network, from scratch or from its weights."""
    from ..networks.pool import Training, keep_weights, train_all

    directory = path / NETWORKS
    start = keep_weights(network, directory) if how == "inherit" else None
    asked = Training(network.blueprint, recipe, settings["seed"], settings["load"], start, data)
    watch = (lambda _, done, steps: progress(done, steps)) if progress else None
    (done,) = train_all([asked], directory, workers=1, progress=watch)
    if done.reason:
        raise SupernetError(done.reason)
    return done


def _recipe(asked: str | Path | Recipe | None, settings: dict[str, Any]) -> Recipe:
    """For networks: what is asked for, else the run's own, else the modest one."""
    from ..training.recipe import Recipe, read_recipe
    from ..training.recipe import recipe as from_table

    if isinstance(asked, Recipe):
        return asked
    found = from_table(settings.get("retrain_recipe", DEFAULT)) if asked is None else read_recipe(asked)
    return replace(found, sampler=None)


def _name(space: Space, arch: Arch) -> str:
    """A name for a directory: the architecture's own where it has a short one, else a hash of it."""
    text = space.name_of(arch)
    if text in space.named:
        return text
    short = text if re.fullmatch(r"\w{1,40}", text) else sha256(text.encode()).hexdigest()[:8]
    return f"{space.name}-{short}"


def _told(metrics: Metrics) -> str:
    return f"{metrics['valid/accuracy']:.2f} % right, cross-entropy {metrics['valid/cross_entropy']:.4f} (validation)"
