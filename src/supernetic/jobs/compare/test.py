"""The steps `test` and `judge`: every network on the test split, once, and what may be believed.

correct.json     which test images each network gets right, packed
networks.json    the records of `trained.json` with test metrics and latency; written last, by `test`
trust.json       facts for the verdict, from these files alone, by `judge`
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ... import catalog
from ...benchmarks.table import ABSENT, Table
from ...blueprint import Blueprint
from ...costs import costs_of
from ...progress import Event, OnEvent
from ...ranking import verdict
from ...ranking.ensemble import quality
from ...runs.directory import Run
from ...runs.files import CORRECT, NETWORK_TRAININGS, NETWORKS, TRUST, WEIGHTS
from ...runs.records import MetricValues, NetworkRecord, networks_text, read_json, read_networks, read_trained_networks
from ...space import Space
from .comparison import TEST, Comparison
from .train import load_inherited, numbers

if TYPE_CHECKING:
    from torch import nn

ACCURACY, MILLISECONDS = "valid/accuracy", "latency/ms"
LATENCY_S = 1.0  # that the latency of one network is measured for

Bools = npt.NDArray[np.bool_]


# --- test -------------------------------------------------------------------------------------------------------------


def test_networks(comparison: Comparison, run: Run, send: OnEvent) -> None:
    """Take the step `test`: evaluate every network once. No other step sees the test split.

    Args:
        comparison: The data and the user's own networks.
        run: The run.
        send: Receives progress.
    """
    trained = read_trained_networks(run.path)
    records: list[NetworkRecord] = []
    correct: dict[str, Bools] = {}
    for i, record in enumerate(trained, 1):
        for inherited, network in _networks(comparison, run, record):
            metrics, right = _tested(comparison, network)
            record = _with_test(record, metrics, inherited)
            correct.setdefault(record.name, right)
            record = replace(record, latency=record.latency or _latency(network))
        records.append(record)
        send(Event(TEST, record.name, done=i, total=len(trained)))
    packed = {name: np.packbits(right).tobytes().hex() for name, right in correct.items()}
    images = len(comparison.dataset.splits["test"])
    run.write(CORRECT, json.dumps({"images": images, "networks": packed}) + "\n")
    run.write(NETWORKS, networks_text(records))


def _networks(comparison: Comparison, run: Run, record: NetworkRecord) -> Iterator[tuple[bool, nn.Module]]:
    """Whether the weights are the supernet's, and the network; the first one is compared with others."""
    if record.key is not None and not record.failed:
        yield False, load_trained(comparison, run, record)
    if record.inherited_weights:
        yield True, load_inherited(run.path, record.name)


def _with_test(record: NetworkRecord, metrics: MetricValues | None, inherited: bool) -> NetworkRecord:
    """`test` is of the network's own training, where there was one; then the supernet's weights have another field."""
    return replace(record, inherited=metrics) if inherited and record.key else replace(record, test=metrics)


def load_trained(comparison: Comparison, run: Run, record: NetworkRecord) -> nn.Module:
    """Load a network with the weights of its own training.

    Args:
        comparison: Knows the user's own networks, which no blueprint describes.
        run: The run.
        record: The network's record.

    Returns:
        The network in evaluation mode.
    """
    from ...networks.pool import read_trained
    from ...training.checkpoint import read

    path, baseline = run.path / NETWORK_TRAININGS / str(record.key), comparison.baselines.get(record.name)
    if baseline is None:
        return read_trained(path).load()
    network = baseline.build()
    network.load_state_dict(read(path / WEIGHTS)[0])
    return network.eval()


def _tested(comparison: Comparison, network: nn.Module) -> tuple[MetricValues | None, Bools]:
    from ...networks.pool import evaluate

    metrics, correct = evaluate(network, comparison.dataset, "test")
    return numbers(metrics), correct


def _latency(network: nn.Module) -> dict[str, Any] | None:
    """Milliseconds for one image on this machine; None for a module that has no blueprint."""
    from ...exporters.onnx import have_onnx
    from ...timing.measure import time_network

    blueprint = getattr(network, "blueprint", None)
    if not isinstance(blueprint, Blueprint):
        return None
    engine = "onnx" if have_onnx() else "eager"
    timing = time_network(
        blueprint, resolution=blueprint.resolution, channels=blueprint.in_channels, engine=engine,
        seconds=LATENCY_S,
    )  # fmt: skip
    return {MILLISECONDS: timing.ms, "low": timing.low, "high": timing.high, "engine": engine}


# --- judge ------------------------------------------------------------------------------------------------------------


def judge(comparison: Comparison, run: Run) -> None:
    """Take the step `judge`: how far the result can be trusted. `ranking.sentences` puts these facts into words.

    Args:
        comparison: The space and the score.
        run: The run.
    """
    records = read_networks(run.path)
    tau = _agreement(comparison.score, records)
    contests = list(_contests(records, _correct(run)))
    trust = {
        "tau": tau.to_json(),
        "comparisons": [c.to_json() for c in contests],
        "beaten": sum(c.won for c in contests),
        "of": len(contests),
        "table": _in_table(comparison.space, records),
    }
    run.write(TRUST, json.dumps(trust, indent=1) + "\n")


def _correct(run: Run) -> dict[str, Bools]:
    """Which test images each network gets right."""
    stored = read_json(run.path / CORRECT)
    n = int(stored["images"])
    packed = {name: np.frombuffer(bytes.fromhex(text), np.uint8) for name, text in stored["networks"].items()}
    return {name: np.unpackbits(bits, count=n).astype(bool) for name, bits in packed.items()}


def _agreement(score: str, records: Sequence[NetworkRecord]) -> verdict.Agreement:
    """Between the score and the accuracy after training, over the networks of the space."""
    pairs = [(quality(score, _floats(r.score)), _floats(r.trained)[ACCURACY]) for r in records if r.score and r.trained]
    return verdict.agreement(score, f"{ACCURACY} after training", [x for x, _ in pairs], [y for _, y in pairs])


def _floats(metrics: MetricValues) -> dict[str, float]:
    return {k: float("nan") if v is None else v for k, v in metrics.items()}


def _contests(records: Sequence[NetworkRecord], correct: Mapping[str, Bools]) -> Iterator[verdict.Comparison]:
    for r in records:
        if r.against and r.name in correct and r.against in correct:
            yield verdict.compare(r.against, r.name, r.role, correct[r.against], correct[r.name])


def _in_table(space: Space, records: Sequence[NetworkRecord]) -> dict[str, Any] | None:
    """Where the chosen stand in the space's benchmark, if it has one and the networks are of the same kind."""
    if space.name not in catalog.TABLES:
        return None
    table = catalog.table(space.name)
    column = next((n for n, c in table.columns.items() if c.is_test and c.unit == "%"), "")
    if table.space.choices != space.choices or not column:
        return None
    table = table.unique()
    values = table[column].values
    places = list(_places(space, table, column, [r for r in records if r.chosen]))
    if not places:
        return None
    first = min(places, key=lambda p: p["rank"])
    about = {"column": column, "dataset": table[column].dataset}
    return {**about, "of": len(values), "best": float(np.nanmax(values)), **first, "models": places}


def _places(space: Space, table: Table, column: str, chosen: Sequence[NetworkRecord]) -> Iterator[dict[str, Any]]:
    """Ranks in the table. A small network cannot be among the best of all; among those no larger than it, it can."""
    values, macs = table[column].values, costs_of(space, table.archs)
    for r in chosen:
        assert r.arch is not None
        row = int(table.find(np.array([space.canonical(r.arch)], dtype=np.int8))[0])
        if row != ABSENT and isfinite(values[row]):
            better, no_larger = values > values[row], macs <= macs[row]
            rank, best = int((better & no_larger).sum()) + 1, float(np.nanmax(values[no_larger]))
            smaller = {"rank": rank, "of": int(no_larger.sum()), "best": best}
            yield {
                "model": r.name, "rank": int(better.sum()) + 1, "value": float(values[row]), "no_larger": smaller,
            }  # fmt: skip
