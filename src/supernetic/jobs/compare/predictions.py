"""What networks say of the test images, gathered while they are tested and stored with pictures of the surest mistakes.

Temperatures are fitted on the images of the split `calibrate`, for the models that are handed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...calibration import safe_temperature
from ...classification import softmax
from ...diagnostics import surest_mistakes
from ...runs.directory import Run
from ...runs.files import MISTAKES, PREDICTIONS
from ...runs.predictions import MOST_MISTAKES, Prediction, Predictions, mistakes_text
from ...runs.records import INHERITED, MetricValues, NetworkRecord
from .comparison import NetworkTrainings
from .train import numbers

if TYPE_CHECKING:
    from torch import nn

SHOWN_MISTAKES = 24  # of each model
CALIBRATE = "calibrate"  # the split of images that temperatures are fitted on

Logits = npt.NDArray[np.float32]


class PredictionsOfTest:
    """Tests networks, and keeps what they say with the weights that are handed over.

    Args:
        comparison: The data, and where networks run.
    """

    def __init__(self, comparison: NetworkTrainings) -> None:
        self.comparison, self.dataset = comparison, comparison.dataset
        self.labels = self.dataset.labels[self.dataset.splits["test"]]
        self.networks: dict[str, Prediction] = {}
        self.models: list[str] = []  # those that are handed over

    def tested(
        self, record: NetworkRecord, field: str, network: nn.Module
    ) -> tuple[MetricValues | None, npt.NDArray[np.bool_]]:
        """Test a network.

        Args:
            record: Its record.
            field: The field of the record that gets the metrics: `test`, `first_test` or `inherited`.
            network: The network itself, with the weights that the field is about.

        Returns:
            Its metrics, and which test images it classifies correctly.
        """
        from ...networks.pool import metrics_of, split_logits

        network = network.to(self.comparison.hardware.device)
        logits = split_logits(network, self.dataset, "test")
        if np.isfinite(logits).all() and field == (INHERITED if _hands_over_inherited(record) else "test"):
            self.networks[record.name] = self._prediction(record, network, logits)
            self.models += [record.name] if record.chosen else []
        return numbers(metrics_of(logits, self.labels, "test")), logits.argmax(axis=1) == self.labels

    def write(self, run: Run) -> None:
        """Store the predictions, and pictures of the surest mistakes of the models."""
        from ...networks.thumbnails import thumbnails

        run.write(PREDICTIONS, Predictions(self.labels, self.networks).text())
        mistakes = (i for name in self.models for i in self._surest_mistakes(name))
        images = list(dict.fromkeys(mistakes))[:MOST_MISTAKES]
        pictures = thumbnails(self.dataset, self.dataset.splits["test"][images])
        run.write(MISTAKES, mistakes_text(dict(zip(images, pictures, strict=True))))

    def _surest_mistakes(self, name: str) -> list[int]:
        return surest_mistakes(self.labels, self.networks[name], SHOWN_MISTAKES)

    def _prediction(self, record: NetworkRecord, network: nn.Module, logits: Logits) -> Prediction:
        predicted = logits.argmax(axis=1)
        temperature = self._temperature(network) if record.chosen else None
        calibrated = None if temperature is None else _confidence(logits, temperature)
        return Prediction(predicted, _confidence(logits), temperature, calibrated)

    def _temperature(self, network: nn.Module) -> float | None:
        from ...networks.pool import split_logits

        rows = self.dataset.splits[CALIBRATE]
        logits = split_logits(network, self.dataset, CALIBRATE) if len(rows) else None
        if logits is None or not np.isfinite(logits).all():
            return None
        return safe_temperature(logits, self.dataset.labels[rows])


def _hands_over_inherited(record: NetworkRecord) -> bool:
    """Whether the supernet's weights are handed over although the network was trained too."""
    return record.exports_inherited and record.key is not None


def _confidence(logits: Logits, temperature: float = 1.0) -> npt.NDArray[np.float32]:
    confidence: npt.NDArray[np.float32] = softmax(logits, temperature).max(axis=1).astype(np.float32)
    return confidence
