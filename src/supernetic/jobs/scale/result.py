"""The result of a scaling job, read from its run directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...diagnostics import AllDiagnostics, read_diagnostics
from ...ranking.sentences import trust_sentences
from ...reports.finishes import finish_sentences
from ...result import Result
from ...runs.directory import read_records, read_settings
from ...runs.files import CHAIN, REPORT, SCALE
from ...runs.records import NetworkRecord, read_finished, read_networks, read_trust
from ...scaling.accounting import accounting
from ...text import columns, duration
from ..request_text import dry_run_line
from ..search.result import FoundModel, found_models, show_cost, show_metric

HEADINGS = ["network", "MACs", "params", "valid %", "test %", "strategy"]


@dataclass(frozen=True)
class Family(Result):
    """A finished job: the family, what it was compared with, and what it cost.

    After a dry run there is only the plan, and `run` is empty.
    """

    run: str
    space: str
    data: str
    base: str
    networks: tuple[NetworkRecord, ...]
    scale: dict[str, Any]
    chain: tuple[dict[str, Any], ...]
    trust: dict[str, Any]
    accounting: tuple[dict[str, Any], ...]
    models: Mapping[str, FoundModel] = field(default_factory=dict)
    planned: PlannedFamily | None = None

    @property
    def report(self) -> Path:
        """The page about this run."""
        return Path(self.run) / REPORT

    @property
    def diagnostics(self) -> AllDiagnostics:
        """By the name of each tested network: confusions, figures of each class, calibration, mistakes."""
        return read_diagnostics(self.run)

    def lines(self) -> list[str]:
        """A summary for people."""
        if self.planned is not None:
            return self.planned.lines()
        return [
            f"a family of {len(self.models)} models in {self.space}, trained on {self.data}; base: {self.base}",
            "",
            *columns([HEADINGS, *map(_row, self.networks)]),
            "",
            *trust_sentences(self.trust),
            *finish_sentences(self.networks, self.trust),
            *fits(self.scale),
            *(f"{a['what']}: {duration(a['seconds'])} ({a['how']})" for a in self.accounting),
            "",
            f"everything is in {self.run}, to be read in {self.report}",
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain records: those of the networks are as in the run's files."""
        return {**super().to_json(), "networks": [n.to_json() for n in self.networks]}


@dataclass(frozen=True)
class PlannedFamily(Result):
    """What a scaling job would do."""

    budgets: tuple[float, ...]
    plan: dict[str, Any]
    text: tuple[str, ...]  # the plan for people
    saved: str = ""  # the file that the request was written into

    def lines(self) -> list[str]:
        """A summary for people."""
        return [*self.text, dry_run_line(self.saved)]


def fits(scale: Mapping[str, Any]) -> Iterator[str]:
    """The curves in words."""
    used = next(c for c in scale["curves"] if c["family"] == scale["curve"])
    with_error = [c for c in scale["curves"] if c["left_out"] is not None]
    yield f"stages beyond the searched ones follow {used['formula']}" + (
        "" if used["left_out"] is None else f"; a stage left out is missed by {100 * used['left_out']:.1f} %"
    )
    if with_error and with_error[0]["family"] != scale["curve"]:
        yield f"the least such error is that of {with_error[0]['formula']}: {100 * with_error[0]['left_out']:.1f} %"


def read_family(run: str | Path) -> Family:
    """Read the result of a finished run.

    Args:
        run: The run directory.

    Returns:
        The family. A run that is not finished is refused.
    """
    path = Path(run)
    settings = read_settings(path)
    scale, trust, networks = read_finished(path, SCALE), read_trust(path), read_networks(path)
    chain = tuple(read_records(path / CHAIN))
    name, data = settings["space"]["text"], settings["data"]["name"]
    return Family(
        str(path), name, data, scale["base"], networks, scale, chain, trust, accounting(path, networks),
        found_models(path),
    )  # fmt: skip


def _row(r: NetworkRecord) -> list[str]:
    return [
        r.name,
        show_cost(r.macs),
        show_cost(r.params),
        show_metric(r.trained, "valid/accuracy"),
        show_metric(r.test, "test/accuracy"),
        r.label.partition(" : ")[0],
    ]
