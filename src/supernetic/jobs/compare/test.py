"""The steps `test` and `judge`: every network on the test split, once, and what may be believed.

correct.json     which test images each network gets right, packed: `networks` after the first round, in which all were
                 trained alike, `finished` after all training, for those that were trained any further, `int8` for
                 quantised models
predictions.json what each network says of every test image, for diagnostics; mistakes.json has pictures of some
networks.json    the records of the trained networks with test metrics and latency; written last, by `test`
trust.json       facts for the verdict, from these files alone, by `judge`
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from ...runs.directory import Run, read_settings
from ...runs.files import CORRECT, DECISIONS, NETWORK_TRAININGS, NETWORKS, TRAINED_NETWORKS, TRUST, WEIGHTS
from ...runs.records import (
    MetricValues,
    NetworkRecord,
    networks_of,
    networks_text,
    read_json,
    read_networks,
    read_trained_networks,
)
from ...space import Space
from .comparison import ACCURACY, TEST, Comparison
from .int8 import LATENCY_S, test_int8
from .predictions import PredictionsOfTest
from .train import load_inherited

if TYPE_CHECKING:
    from torch import nn

MILLISECONDS = "latency/ms"

Bools = npt.NDArray[np.bool_]


# --- test -------------------------------------------------------------------------------------------------------------


def test_networks(comparison: Comparison, run: Run, send: OnEvent) -> None:
    """Take the step `test`: evaluate every network. No other step sees the test split.

    Args:
        comparison: The data and the user's own networks.
        run: The run.
        send: Receives progress.
    """
    trained = read_trained_networks(run.path)
    records: list[NetworkRecord] = []
    alike: dict[str, Bools] = {}
    finished: dict[str, Bools] = {}
    predictions = PredictionsOfTest(comparison)
    quantised: dict[str, Bools] = {}
    for i, record in enumerate(trained, 1):
        tested: dict[str, Any] = {}
        rights: dict[str, Bools] = {}
        for field, network in _networks(comparison, run, record):
            tested[field], right = predictions.tested(record, field, network)
            rights[field] = right
            if field == "test" and record.first_key:
                finished[record.name] = right
            else:  # the first of them: the supernet's weights are compared only where there are no others
                alike.setdefault(record.name, right)
            if record.chosen and "latency" not in tested:  # one second each: too long for all the others
                tested["latency"] = measured_latency(network)
        exported = "inherited" if record.exports_inherited and "inherited" in rights else "test"
        if record.chosen and exported in rights:
            found = test_int8(comparison, run, record, rights[exported], tested.get("latency"))
            if found is not None:
                tested["int8"], quantised[record.name] = found
        records.append(replace(record, **tested))
        send(Event(TEST, record.name, done=i, total=len(trained)))
    images = len(comparison.dataset.splits["test"])
    correct = {"networks": _packed(alike), "finished": _packed(finished), "int8": _packed(quantised)}
    run.write(CORRECT, json.dumps({"images": images, **correct}) + "\n")
    predictions.write(run)
    run.write(NETWORKS, networks_text(records))


def _packed(correct: Mapping[str, Bools]) -> dict[str, str]:
    return {name: np.packbits(right).tobytes().hex() for name, right in correct.items()}


def _networks(comparison: Comparison, run: Run, record: NetworkRecord) -> Iterator[tuple[str, nn.Module]]:
    """The field of the record that gets the metrics, and the network: after each training, with each kind of weights.

    `test` is of the network's own training, where there was one; then the supernet's weights have another field.
    """
    if record.key is not None and not record.failed:
        if record.first_key:
            yield "first_test", load_trained(comparison, run, record, record.first_key)
        yield "test", load_trained(comparison, run, record)
    if record.inherited_weights:
        yield "inherited" if record.key else "test", load_inherited(run.path, record.name)


def load_trained(comparison: Comparison, run: Run, record: NetworkRecord, key: str | None = None) -> nn.Module:
    """Load a network with the weights of its own training.

    Args:
        comparison: Knows the user's own networks, which no blueprint describes.
        run: The run.
        record: The network's record.
        key: Of the training; by default that of the last one.

    Returns:
        The network in evaluation mode.
    """
    from ...networks.pool import read_trained
    from ...training.checkpoint import read

    path, baseline = run.path / NETWORK_TRAININGS / str(key or record.key), comparison.baselines.get(record.name)
    if baseline is None:
        return read_trained(path).load()
    network = baseline.build()
    network.load_state_dict(read(path / WEIGHTS)[0])
    return network.eval()


def measured_latency(network: nn.Module) -> dict[str, Any] | None:
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
    rounds = sum(str(r["decision"]).startswith("round-") for r in run.read(DECISIONS))
    steps_per_epoch = len(comparison.dataset.splits["train"]) / comparison.recipe.batch_size
    seconds = read_settings(run.path)["plan"]["rounds"][0] if rounds else None
    footing = _Footing(_first_steps(run, records), steps_per_epoch, seconds)
    correct = _correct(run, "networks")
    if comparison.compares_finished and (finished := _correct(run, "finished")):
        steps = {r.name: r.steps for r in records if r.steps is not None and r.name in finished}
        footing, correct = _Footing(steps, steps_per_epoch, None), finished
    contests = list(_contests(records, correct, footing))
    trust = {
        "tau": _agreement(comparison.score, comparison.decides, records).to_json(),
        "comparisons": [c.to_json() for c in contests],
        "beaten": sum(c.won for c in contests),
        "of": len(contests),
        "table": _in_table(comparison.space, comparison.dataset.name, records),
        "rounds": rounds,
        "steps_per_epoch": steps_per_epoch,
        "test_images": len(comparison.dataset.splits["test"]),
        **({} if comparison.decides == ACCURACY else {"decides": comparison.decides}),
    }
    run.write(TRUST, json.dumps(trust, indent=1) + "\n")


@dataclass(frozen=True)
class _Footing:
    """How long networks were trained before they were compared."""

    steps: Mapping[str, int]  # by name
    steps_per_epoch: float
    seconds: float | None  # of each of them; None if steps were equal, not times

    def of(self, model: str, control: str) -> dict[str, Any]:
        """The facts for a comparison; none for networks that were not trained on their own."""
        if model not in self.steps or control not in self.steps:
            return {}
        steps = self.steps[model], self.steps[control]
        epochs = tuple(round(s / self.steps_per_epoch, 2) for s in steps)
        return {"steps": steps, "epochs": epochs, "seconds": self.seconds}


def _first_steps(run: Run, records: Sequence[NetworkRecord]) -> dict[str, int]:
    """Steps of the training in which all networks were trained alike, by name."""
    first = networks_of(read_json(run.path / TRAINED_NETWORKS), run.path / TRAINED_NETWORKS)
    steps = {r.key: r.steps for r in first if r.key is not None}
    known = {r.name: steps.get(r.first_key or r.key or "") for r in records}
    return {name: n for name, n in known.items() if n is not None}


def _correct(run: Run, when: str) -> dict[str, Bools]:
    """Which test images each network gets right: after the first round (`networks`), or after more (`finished`)."""
    stored = read_json(run.path / CORRECT)
    n = int(stored["images"])
    packed = {name: np.frombuffer(bytes.fromhex(text), np.uint8) for name, text in stored[when].items()}
    return {name: np.unpackbits(bits, count=n).astype(bool) for name, bits in packed.items()}


def _agreement(score: str, decides: str, records: Sequence[NetworkRecord]) -> verdict.Agreement:
    """Between the score and what decides after a training that was alike, over the networks of the space."""
    pairs = [
        (quality(score, _floats(r.score)), _floats(r.first_trained)[decides])
        for r in records
        if r.score and r.first_trained
    ]
    return verdict.agreement(score, f"{decides} after training", [x for x, _ in pairs], [y for _, y in pairs])


def _floats(metrics: MetricValues) -> dict[str, float]:
    return {k: float("nan") if v is None else v for k, v in metrics.items()}


def _contests(
    records: Sequence[NetworkRecord], correct: Mapping[str, Bools], footing: _Footing
) -> Iterator[verdict.Comparison]:
    for r in records:
        if r.against and r.name in correct and r.against in correct:
            contest = verdict.compare(r.against, r.name, r.role, correct[r.against], correct[r.name])
            yield replace(contest, **footing.of(r.against, r.name))


def _in_table(space: Space, data: str, records: Sequence[NetworkRecord]) -> dict[str, Any] | None:
    """Where the models stand in the space's benchmark, if it has one and both networks and images are of its kind."""
    if space.name not in catalog.TABLES:
        return None
    table = catalog.table(space.name)
    column = next((n for n, c in table.columns.items() if c.is_test and c.unit == "%" and _same(c.dataset, data)), "")
    if table.space.choices != space.choices or not column:
        return None
    table = table.unique()
    values = table[column].values
    places = list(_places(space, table, column, [r for r in records if r.chosen and r.arch is not None]))
    if not places:
        return None
    first = min(places, key=lambda p: p["rank"])
    about = {"column": column, "dataset": table[column].dataset}
    return {**about, "of": len(values), "best": float(np.nanmax(values)), **first, "models": places}


def _same(dataset: str, data: str) -> bool:
    """Whether a table's data set is the run's: `CIFAR-10` is `cifar10`."""
    return dataset.replace("-", "").lower() == data.replace("-", "").lower()


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
