"""The result of a transfer, read from its run directory; and a table of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...objective import show_quantity
from ...ranking.trust import wilson
from ...result import Result
from ...runs.directory import read_settings
from ...runs.files import HEAD, MODELS, RATES, REPORT, TRANSFER
from ...runs.records import NetworkRecord, read_json, read_networks
from ...text import columns
from .plan import TransferPlan

if TYPE_CHECKING:
    from ...nn.network import Network

TEST = "test/accuracy"


@dataclass(frozen=True)
class TransferResult(Result):
    """A pretrained network that was fine-tuned on other data.

    Args:
        run: The run directory; empty after a dry run.
        model: What it began with.
        data: The name of the data.
        resolution: Of its images, in pixels.
        kept: Which weights are handed over: `head` (the pretrained ones with a new head), `all` or `gradual`.
        steps: Of the final training.
        tried: Learning rates and weight decays that were tried, with accuracies on the held-out fifth.
        head: Accuracy on the held-out fifth with a new head alone.
        mirroring: Whether images were mirrored, and why, in one sentence; empty if a recipe decided.
        network: The record of the network, as in `networks.json`; None after a dry run.
        test_images: Their number.
        notes: What else a reader should know.
        planned: After a dry run, what would be done.
    """

    run: str
    model: str
    data: str
    resolution: int
    kept: str = ""
    steps: int = 0
    tried: tuple[dict[str, Any], ...] = ()
    head: float | None = None
    mirroring: str = ""
    network: NetworkRecord | None = None
    test_images: int = 0
    notes: tuple[str, ...] = ()
    planned: TransferPlan | None = None

    @property
    def accuracy(self) -> float | None:
        """On test images, in percent."""
        return None if self.network is None else (self.network.test or {}).get(TEST)

    @property
    def path(self) -> Path:
        """The model directory."""
        return Path(self.run) / MODELS / (self.network.name if self.network else "")

    @property
    def report(self) -> Path:
        """The page about this run."""
        return Path(self.run) / REPORT

    def load(self) -> Network:
        """The model as a plain module, ready for use."""
        from ...exporters.model import load_model

        return load_model(self.path)

    def sentence(self) -> str:
        """What came of it."""
        accuracy = self.accuracy
        if accuracy is None:
            return f"{self.model} on {self.data}: the logits on test images are not finite"
        low, high = wilson(accuracy / 100, self.test_images)
        how = {"head": "with a new head", "all": "with all layers", "gradual": "with layers freed from the end"}
        length = f" trained for {self.steps:,} steps" if self.steps else ""
        return (
            f"{self.model} on {self.data}: {accuracy:.1f} % of {self.test_images:,} test images right "
            f"({100 * low:.1f} to {100 * high:.1f}), {how[self.kept]}{length}"
        )

    def lines(self) -> list[str]:
        """A summary for people."""
        if self.planned is not None:
            return [*self.planned.lines(), "nothing was written: a dry run"]
        return [
            self.sentence(),
            *([f"held-out images: {self.head:.1f} % with a new head alone"] if self.head is not None else []),
            *_trial_lines(self.tried),
            *([self.mirroring] if self.mirroring else []),
            *(f"note: {note}" for note in self.notes),
            "",
            f"supernetic predict {self.path} IMAGE",
            f"everything is in {self.run}, to be read in {self.report}",
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain records."""
        network = None if self.network is None else self.network.to_json()
        return {**super().to_json(), "network": network, "accuracy": self.accuracy}


def _trial_lines(tried: Sequence[dict[str, Any]]) -> list[str]:
    if not tried:
        return []
    rows = [[f"{t['lr']:g}", f"{t['weight_decay']:g}", _percent(t.get("valid/accuracy"))] for t in tried]
    return ["", *columns([["learning rate", "weight decay", "held-out %"], *rows])]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


@dataclass(frozen=True)
class TransferTable(Result):
    """Several models on several data sets, as the papers' tables of transfer have them."""

    folder: str
    results: tuple[TransferResult, ...]

    def lines(self) -> list[str]:
        """The table, models by data sets."""
        return [*columns(self.rows()), "", f"the runs are in {self.folder}"]

    def rows(self) -> list[list[str]]:
        """Headings, then a row for each model: MACs, parameters, test accuracy by data set."""
        data = list(dict.fromkeys(r.data for r in self.results))
        models = list(dict.fromkeys(r.model for r in self.results))
        found = {(r.model, r.data): r for r in self.results}
        rows = [["model", "MACs", "params", *(f"{d} %" for d in data)]]
        for model in models:
            mine = [found[model, d] for d in data if (model, d) in found]
            network = next((r.network for r in mine if r.network), None)
            costs = [show_quantity(c) if c else "-" for c in ((network.macs, network.params) if network else (0, 0))]
            cells = [_percent(found[model, d].accuracy) if (model, d) in found else "-" for d in data]
            rows.append([model, *costs, *cells])
        return rows

    def to_json(self) -> dict[str, Any]:
        """Plain records."""
        return {**super().to_json(), "results": [r.to_json() for r in self.results], "table": self.rows()}


def read_transfer(run: str | Path) -> TransferResult:
    """Read the result of a finished transfer.

    Args:
        run: The run directory. One that is not finished is refused.

    Returns:
        The result.
    """
    path = Path(run)
    settings, record = read_settings(path), read_json(path / TRANSFER)
    found = read_json(path / RATES)
    (network,) = [r for r in read_networks(path) if r.chosen]
    head = read_json(path / HEAD)
    return TransferResult(
        str(path), settings["model"], settings["data"]["name"], settings["resolution"], record["kept"],
        record["steps"], tuple(found["tried"]), head["best"]["valid/accuracy"],
        str(head.get("mirror_test", "")), network,
        settings["data"]["images"]["test"], tuple(n for n in (*settings["notes"], record["reason"]) if n),
    )  # fmt: skip
