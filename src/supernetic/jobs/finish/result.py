"""The result of a finish, read from its directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...metrics import label
from ...reports.finishes import finish_sentence
from ...result import Result
from ...runs.files import MODELS, REPORT
from ...runs.records import MetricValues, NetworkRecord, read_networks, read_trust, recommended_network
from ..compare.comparison import ACCURACY
from ..search.result import show_metric
from .outcome import read_outcome
from .place import run_of
from .plan import FinishPlan

if TYPE_CHECKING:
    from ...nn.network import Network


@dataclass(frozen=True)
class FinishResult(Result):
    """A network that was trained further, or that stays as it was.

    Args:
        run: The run that it is of.
        model: Its name.
        path: Its model directory.
        replaced: Whether the new weights are kept.
        steps: Updates of this finish.
        before: Validation and test metrics of the weights that it began with.
        tried: Validation metrics after its training; empty if that diverged.
        network: The record of the network that is kept, as in `networks.json`.
        test_images: Their number.
        decides: The validation metric that decided which weights are kept.
        notes: What else a reader should know.
        planned: After a dry run, what would be done; the rest is then as it is before.
    """

    run: str
    model: str
    path: str
    replaced: bool
    steps: int
    before: MetricValues
    tried: MetricValues
    network: NetworkRecord
    test_images: int | None = None
    decides: str = ACCURACY
    notes: tuple[str, ...] = ()
    planned: FinishPlan | None = None

    @property
    def report(self) -> Path:
        """The page about the run."""
        return Path(self.run) / REPORT

    def load(self) -> Network:
        """The model that is kept, as a plain module."""
        from ...exporters.model import load_model

        return load_model(Path(self.path))

    def lines(self) -> list[str]:
        """A summary for people."""
        if self.planned is not None:
            return self.planned.lines()
        notes = [f"note: {note}" for note in self.notes]
        if not self.replaced:
            return [self._why_not(), *notes, f"{self.path} and the report are unchanged"]
        return [
            finish_sentence(self.network, self.test_images),
            *notes,
            "",
            f"supernetic predict {self.path} IMAGE",
            f"weights, ONNX file and card are in {self.path}, the report is {self.report}",
        ]

    def _why_not(self) -> str:
        if not self.tried:
            return f"{self.model} stays as it was: the training diverged, see networks/*/result.json"
        was, now = (show_metric(metrics, self.decides) for metrics in (self.before, self.tried))
        return (
            f"{self.model} stays as it was: after {self.steps:,} more steps {label(self.decides)} would be {now} %, "
            f"and it is {was} %"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain records: that of the network is as in `networks.json`."""
        return {**super().to_json(), "network": self.network.to_json(), "report": str(self.report)}


def read_finish(place: str | Path) -> FinishResult:
    """Read the result of a finish.

    Args:
        place: Its directory, `RUN/finishes/1`.

    Returns:
        The result. A finish that has not come to its end is refused.
    """
    run, place = run_of(Path(place))
    outcome = read_outcome(place)
    name = outcome.network.name
    trust = read_trust(run)
    decides = str(trust.get("decides", ACCURACY))
    return FinishResult(
        str(run), name, str(run / MODELS / name), outcome.replaced, outcome.steps, outcome.before,
        outcome.tried, outcome.network, trust.get("test_images"), decides,
        tuple(_notes(run, outcome.network, decides)),
    )  # fmt: skip


def _notes(run: Path, network: NetworkRecord, decides: str) -> list[str]:
    """Another network than the recommended one may have become the better one."""
    best = recommended_network(read_networks(run))
    if best is None or best.name == network.name:
        return []
    theirs, mine = (best.trained or {}).get(decides), (network.trained or {}).get(decides)
    if theirs is None or mine is None or mine <= theirs:
        return []
    better = f"{network.name} is now better than the recommended {best.name}"
    return [f"on validation images {better}: {mine:.2f} %, {theirs:.2f} %"]
