"""What a scaling job has found, read from its run directory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import RunError
from ...objective import show_quantity
from ...ranking.sentences import trust_sentences
from ...result import Result
from ...runs.directory import read_records, read_settings
from ...runs.records import read_networks
from ...scaling.accounting import accounting
from ...text import columns, duration
from ..compare.comparison import NETWORKS, TRUST
from ..search.result import FoundModel, found_models
from .step import CHAIN, SCALE

REPORT = "report.html"
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
    networks: tuple[dict[str, Any], ...]
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
            *fits(self.scale),
            *(f"{a['what']}: {duration(a['seconds'])} ({a['how']})" for a in self.accounting),
            "",
            f"everything is in {self.run}, to be read in {self.report}",
        ]


@dataclass(frozen=True)
class PlannedFamily(Result):
    """What a scaling job would do."""

    budgets: tuple[float, ...]
    plan: dict[str, Any]
    text: tuple[str, ...]  # the plan for people

    def lines(self) -> list[str]:
        """A summary for people."""
        return [*self.text, "dry run: nothing was written"]


def fits(scale: Mapping[str, Any]) -> Iterator[str]:
    """The curves in words."""
    used = next(c for c in scale["curves"] if c["family"] == scale["curve"])
    known = [c for c in scale["curves"] if c["left_out"] is not None]
    yield f"stages beyond the searched ones follow {used['formula']}" + (
        "" if used["left_out"] is None else f"; a stage left out is missed by {100 * used['left_out']:.1f} %"
    )
    if known and known[0]["family"] != scale["curve"]:
        yield f"the least such error is that of {known[0]['formula']}: {100 * known[0]['left_out']:.1f} %"


def read_family(run: str | Path) -> Family:
    """The result of a job that came to its end."""
    path = Path(run)
    settings = read_settings(path)
    try:
        networks, scale, trust = (json.loads((path / name).read_text()) for name in (NETWORKS, SCALE, TRUST))
    except (OSError, ValueError) as error:
        raise RunError(f"{path} is not finished: {error}; `supernetic resume {path}` goes on") from None
    chain = tuple(read_records(path / CHAIN))
    spent = accounting(path, read_networks(path))
    name, data = settings["space"]["text"], settings["data"]["name"]
    return Family(str(path), name, data, scale["base"], tuple(networks), scale, chain, trust, spent, found_models(path))


def _row(r: Mapping[str, Any]) -> list[str]:
    return [
        r["name"],
        show_quantity(r["macs"]),
        show_quantity(r["params"]),
        _shown(r.get("trained"), "valid/accuracy"),
        _shown(r.get("test"), "test/accuracy"),
        r["label"].partition(" : ")[0],
    ]


def _shown(metrics: Mapping[str, float | None] | None, name: str) -> str:
    value = (metrics or {}).get(name)
    return "-" if value is None else f"{value:.2f}"
