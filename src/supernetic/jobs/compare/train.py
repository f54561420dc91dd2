"""The step `compare`: chosen networks and their controls, scored by the supernet and trained in the same way.

networks/KEY/           each training, in a run of its own
inherited/NAME.safetensors    networks with the supernet's weights
trained.json            one record per network; written last
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import RunError
from ...objective import Metrics
from ...progress import Event, OnEvent
from ...runs.directory import Run, jsonable
from ...runs.files import INHERITED_WEIGHTS, NETWORK_TRAININGS, TRAINED_NETWORKS
from ...runs.records import CHOSEN, INHERITED, TRAINED, NetworkRecord, networks_text
from ...space import Arch
from .candidates import Candidate
from .comparison import COMPARE, Comparison

if TYPE_CHECKING:
    from ...derivation.fold import FoldReport
    from ...networks.pool import Trained
    from ...nn.network import Network


def train_networks(comparison: Comparison, run: Run, send: OnEvent) -> None:
    """Take the step `compare`; trainings that are finished are only read.

    Args:
        comparison: The networks, and how they are trained.
        run: The run.
        send: Receives progress.
    """
    entries, remarks = comparison.candidates(run)
    for remark in remarks:
        send(Event(COMPARE, remark))
    of_space = [c for c in entries if c.arch is not None]
    scores = dict(
        zip([c.name for c in of_space], comparison.scorer(run)([architecture(c) for c in of_space]), strict=True)
    )
    derived = _derive(comparison, run, entries)
    steps = comparison.lengths(run, entries) if comparison.lengths and comparison.trains else {}
    trained = _train(comparison, run, entries, steps, derived, send) if comparison.trains else {}
    records = [
        _record(
            comparison, c, scores.get(c.name), trained.get(c.name), steps.get(c.name, comparison.schedule.steps),
            derived.get(c.name),
        )
        for c in entries
    ]  # fmt: skip
    run.write(TRAINED_NETWORKS, networks_text(records))


def _derive(
    comparison: Comparison, run: Run, entries: Sequence[Candidate]
) -> dict[str, tuple[Network, FoldReport | None]]:
    """By name, networks with the supernet's weights: the chosen ones, and those whose training starts from there."""
    from ...derivation.derive import derive
    from ...training.checkpoint import write

    inherit = comparison.retrain in ("inherit", "none")
    needed = [c for c in entries if c.arch is not None and (c.role == CHOSEN or inherit)]
    if not needed or not comparison.derives or comparison.supernet is None:
        return {}
    supernet = comparison.supernet(run)
    derived = {
        c.name: derive(
            supernet, architecture(c), comparison.dataset, images=comparison.recalibration_images, seed=comparison.seed
        )
        for c in needed
    }
    (run.path / INHERITED_WEIGHTS).mkdir(exist_ok=True)
    for name, (network, _) in derived.items():
        weights = {n: t.detach().cpu().contiguous() for n, t in network.state_dict().items()}
        write(inherited_file(run.path, name), weights, {"blueprint": json.dumps(network.blueprint.to_json())})
    return derived


def architecture(candidate: Candidate) -> Arch:
    """The architecture of a candidate that has one."""
    assert candidate.arch is not None
    return candidate.arch


def inherited_file(run: Path, name: str) -> Path:
    """Where the supernet's weights for a network are."""
    return run / INHERITED_WEIGHTS / f"{name}.safetensors"


def load_inherited(run: Path, name: str) -> Network:
    """A network with the supernet's weights; the file says how it is built."""
    from ...blueprint import Blueprint
    from ...nn.network import with_weights
    from ...training.checkpoint import read

    file = inherited_file(run, name)
    weights, notes = read(file)
    try:
        return with_weights(Blueprint.from_json(json.loads(str(notes["blueprint"]))), weights)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise RunError(f"{file} holds no network that fits its blueprint: {str(error).splitlines()[0]}") from None


def _train(
    comparison: Comparison,
    run: Run,
    entries: Sequence[Candidate],
    steps: Mapping[str, int],
    derived: Mapping[str, tuple[Network, FoldReport | None]],
    send: OnEvent,
) -> dict[str, Trained]:
    """By name, the trainings of all networks."""
    from ...networks.pool import Training, train_all

    def training(c: Candidate) -> Training:
        start = inherited_file(run.path, c.name) if comparison.retrain == "inherit" and c.name in derived else None
        return comparison.training(c.network, steps.get(c.name), start)

    def report(i: int, done: int, steps: int) -> None:
        send(Event(COMPARE, item=entries[i].name, done=done, total=steps))

    done = train_all(
        [training(c) for c in entries], run.path / NETWORK_TRAININGS, workers=comparison.workers, progress=report
    )
    return dict(zip([c.name for c in entries], done, strict=True))


def _record(
    comparison: Comparison,
    candidate: Candidate,
    score: Metrics | None,
    trained: Trained | None,
    steps: int,
    derived: tuple[Network, FoldReport | None] | None,
) -> NetworkRecord:
    fold = derived[1] if derived else None
    exported = INHERITED if comparison.exports_supernet_weights else TRAINED
    return NetworkRecord(
        name=candidate.name,
        role=candidate.role,
        against=candidate.against,
        label=candidate.label,
        arch=candidate.arch,
        macs=candidate.macs,
        params=candidate.params,
        key=trained.key if trained else None,
        score=numbers(score),
        trained=numbers(trained.metrics) if trained else None,
        steps=steps if trained else None,
        failed=trained.reason if trained else "",
        fold=fold.to_json() if fold else None,
        weights=exported if candidate.role == CHOSEN else "",
        inherited_weights=derived is not None,
    )


def numbers(metrics: Metrics | None) -> dict[str, float | None] | None:
    """Metrics as JSON can hold them."""
    return None if metrics is None else {k: jsonable(v) for k, v in metrics.items()}
