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
from ..search.steps import MODELS, NETWORKS, TRUST
from .steps import CHAIN, SCALE

REPORT = "report.html"
HEADINGS = ["network", "MACs", "params", "valid %", "test %", "strategy"]


@dataclass(frozen=True)
class Family(Result):
    """A finished job: the family, what it was compared with, and what it cost."""

    run: str
    space: str
    data: str
    base: str
    networks: tuple[dict[str, Any], ...]
    scale: dict[str, Any]
    chain: tuple[dict[str, Any], ...]
    trust: dict[str, Any]
    accounting: tuple[dict[str, Any], ...]
    models: dict[str, str] = field(default_factory=dict)

    @property
    def report(self) -> Path:
        """The page about this run."""
        return Path(self.run) / REPORT

    def lines(self) -> list[str]:
        """A summary for people."""
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
class Planned(Result):
    """A dry run: what would be done."""

    space: str
    data: str
    budgets: tuple[float, ...]
    plan: dict[str, Any]
    told: tuple[str, ...]

    def lines(self) -> list[str]:
        """A summary for people."""
        return [*self.told, "dry run: nothing was written"]


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
    models = {p.parent.name: str(p.parent) for p in sorted((path / MODELS).glob("*/model.json"))}
    chain = tuple(read_records(path / CHAIN))
    spent = accounting(path, read_networks(path))
    name, data = settings["space"]["text"], settings["data"]["name"]
    return Family(str(path), name, data, scale["base"], tuple(networks), scale, chain, trust, spent, models)


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
