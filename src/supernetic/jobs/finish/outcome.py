"""The step `test` of a finish: validation images decide which weights are kept, and new ones meet the test split once.

int8/NAME.onnx, quantised.json     the network in 8-bit integers, made before it meets the test split
predictions.json, mistakes.json    what it says of the test images
finish.json                        the decision, and the record of the network that is kept; written last
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import RunError, SupernetError
from ...ranking.verdict import compare
from ...runs.directory import Run
from ...runs.files import CORRECT, FINISH, NETWORK_TRAININGS, QUANTISED, TRAINED_NETWORKS
from ...runs.records import FinishRecord, MetricValues, NetworkRecord, networks_of, read_finished, read_json
from ..compare.comparison import NetworkTrainings
from ..compare.int8 import keep_int8, quantise_network, test_int8
from ..compare.predictions import PredictionsOfTest
from ..compare.train import numbers
from .subject import Subject

METRICS = ("valid/accuracy", "valid/cross_entropy", "valid/balanced_accuracy", "valid/f1")

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Outcome:
    """What a finish led to.

    Args:
        replaced: Whether the new weights are kept.
        steps: Updates of the finish.
        before: Validation and test metrics of the weights that it began with.
        tried: Validation metrics after its training; empty if every training diverged.
        network: The record of the network that is kept; of a network that got better, with test metrics.
        correct: Which test images it gets right, packed in hexadecimal digits; empty if it is the old one.
        correct_int8: The same in 8-bit integers; empty if there is no such file.
    """

    replaced: bool
    steps: int
    before: MetricValues
    tried: MetricValues
    network: NetworkRecord
    correct: str = ""
    correct_int8: str = ""

    def to_json(self) -> dict[str, Any]:
        """The content of `finish.json`."""
        return {
            "replaced": self.replaced,
            "steps": self.steps,
            "before": dict(self.before),
            "tried": dict(self.tried),
            "network": self.network.to_json(),
            "correct": self.correct,
            "correct_int8": self.correct_int8,
        }


def read_outcome(place: Path) -> Outcome:
    """What a finish led to.

    Args:
        place: Its directory.

    Returns:
        The content of `finish.json`. A finish without it is refused.
    """
    file, record = place / FINISH, read_finished(place, FINISH)
    try:
        (network,) = networks_of([record["network"]], file)
        correct, correct_int8 = record["correct"], record["correct_int8"]
        bytes.fromhex(correct + correct_int8)
        before, tried = (_metrics(record[name]) for name in ("before", "tried"))
        return Outcome(bool(record["replaced"]), int(record["steps"]), before, tried, network, correct, correct_int8)
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"{file} is damaged: {type(error).__name__}: {error}") from None


def _metrics(record: Any) -> dict[str, float | None]:
    return {str(k): None if v is None else float(v) for k, v in dict(record).items()}


def settle(subject: Subject, trainings: NetworkTrainings, run: Run, number: int, recipe: str) -> None:
    """Take the step `test`.

    Args:
        subject: The network as it was before.
        trainings: Has the data.
        run: The directory of the finish.
        number: Of the finish.
        recipe: The title of a recipe that is not the run's own.
    """
    trained = networks_of(read_json(run.path / TRAINED_NETWORKS), run.path / TRAINED_NETWORKS)
    before = _before(subject, trainings)
    if not trained:
        outcome = Outcome(False, 0, before, {}, subject.record)
    else:
        (new,) = trained
        steps = (new.steps or 0) - (subject.steps or 0)
        if _value(new.trained, trainings.decides) < _value(before, trainings.decides):
            outcome = Outcome(False, steps, before, new.trained or {}, subject.record)
        else:
            tested, right, right_int8 = _tested(subject, trainings, run, new)
            finish = FinishRecord(number, steps, before, subject.steps, _difference(subject, right), recipe)
            kept = _with_test(subject.record, replace(tested, finishes=(*new.finishes, finish)))
            outcome = Outcome(True, steps, before, new.trained or {}, kept, _packed(right), _packed(right_int8))
    run.write(FINISH, json.dumps(outcome.to_json(), indent=1) + "\n")


def _value(metrics: MetricValues | None, name: str) -> float:
    value = (metrics or {}).get(name)
    return -inf if value is None else value


def _packed(right: Bools | None) -> str:
    return "" if right is None else np.packbits(right).tobytes().hex()


def _before(subject: Subject, trainings: NetworkTrainings) -> dict[str, float | None]:
    """Validation and test metrics of the weights that the finish began with."""
    record = subject.record
    if record.exports_inherited:  # a record has other numbers of these: by the supernet's evaluator
        from ...networks.training import measure

        network = subject.network.to(trainings.hardware.device)
        valid: Mapping[str, float | None] = (
            numbers(measure(network, network.blueprint.resolution, trainings.dataset, METRICS)) or {}
        )
    else:
        valid = record.trained or {}
    return {**valid, **(record.exported_test or {})}


def _tested(
    subject: Subject, trainings: NetworkTrainings, run: Run, new: NetworkRecord
) -> tuple[NetworkRecord, Bools, Bools | None]:
    """The record with test metrics, and which test images are right, in floats and in 8-bit integers."""
    from ...networks.pool import read_trained

    network: Any = read_trained(subject.run / NETWORK_TRAININGS / str(new.key)).load()
    if trainings.int8:
        _quantise(network, subject, trainings, run)
    predictions = PredictionsOfTest(trainings)
    metrics, right = predictions.tested(new, "test", network)
    predictions.write(run)
    found = test_int8(trainings, run, new, right, new.latency)
    facts, right_int8 = (None, None) if found is None else found
    return replace(new, test=metrics, int8=facts), right, right_int8


def _quantise(network: Any, subject: Subject, trainings: NetworkTrainings, run: Run) -> None:
    """Make the int8 file, if that can be done here; a model without one is a model too."""
    from ...exporters.onnx import have_onnx

    name = subject.record.name
    if not have_onnx():
        return
    try:
        made = quantise_network(network, trainings.dataset, int(subject.settings["seed"]))
    except SupernetError:
        return
    run.write(QUANTISED, json.dumps({name: keep_int8(run.path, name, made)}, indent=1) + "\n")


def _with_test(before: NetworkRecord, new: NetworkRecord) -> NetworkRecord:
    """What was tested before stays in the record, under the name of the weights that it is of."""
    if before.key is None:  # there were only the supernet's weights
        return replace(new, inherited=before.inherited or before.test)
    return replace(new, first_test=before.first_test or before.test)


def _difference(subject: Subject, right: Bools) -> tuple[float, float, float] | None:
    """Points of test accuracy gained, over the same images; None if it is not known which were right before."""
    old = _right_before(subject)
    if old is None or len(old) != len(right):
        return None
    contest = compare("after", "before", "", right, old)
    return round(contest.difference, 4), round(contest.low, 4), round(contest.high, 4)


def _right_before(subject: Subject) -> Bools | None:
    record = subject.record
    if record.exports_inherited and record.key is not None:  # what is known is of its own training
        return None
    try:
        stored = read_json(subject.run / CORRECT)
        text = stored["finished"].get(record.name) or stored["networks"][record.name]
        bits = np.frombuffer(bytes.fromhex(text), np.uint8)
        return np.unpackbits(bits, count=int(stored["images"])).astype(bool)
    except (RunError, KeyError, TypeError, ValueError, AttributeError):
        return None
