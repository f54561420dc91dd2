"""What a search on images has found so far, read from its run directory."""

from __future__ import annotations

import json
from collections.abc import Sequence, Sized
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import RunError, UnknownNameError
from ...objective import show_quantity
from ...ranking.sentences import trust_sentences
from ...result import Result
from ...runs.directory import read_settings
from ...text import columns
from .steps import MODELS, NETWORKS, SEARCH, TRUST

if TYPE_CHECKING:
    from ...nn.network import Network

REPORT = "report.html"


@dataclass(frozen=True)
class Found(Result):
    """A finished search: the front, the models that were handed over, their controls, and how far to trust it all."""

    run: str
    space: str
    data: str
    front: tuple[dict[str, Any], ...]
    networks: tuple[dict[str, Any], ...]  # the chosen and their controls
    trust: dict[str, Any]
    models: dict[str, str] = field(default_factory=dict)  # directories by name
    notes: tuple[str, ...] = ()

    @property
    def report(self) -> Path:
        """The page about this run."""
        return Path(self.run) / REPORT

    @property
    def score(self) -> str:
        """The metric that networks were searched by."""
        return str((self.trust.get("tau") or {}).get("score", "valid/cross_entropy"))

    def load(self, name: str) -> Network:
        """A model as a plain module, ready for use."""
        from ...exporters.model import load_model

        if name not in self.models:
            raise UnknownNameError("model", name, self.models)
        return load_model(Path(self.models[name]))

    def lines(self) -> list[str]:
        """A summary for people."""
        return [
            f"{self.space} on {self.data}: {_count(self.front, 'network')} on the front, "
            f"{_count(self.models, 'model')}",
            "",
            *columns([HEADINGS, *_rows(self.networks, self.score)]),
            "",
            *trust_sentences(self.trust),
            *(f"note: {n}" for n in self.notes),
            "",
            *(f"supernetic predict {path} IMAGE" for path in list(self.models.values())[-1:]),
            f"everything is in {self.run}, to be read in {self.report}",
        ]

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in _rows(self.networks, self.score))
        rows = "".join(f"<tr>{row}</tr>" for row in cells)
        heads = "".join(f"<th>{escape(h)}</th>" for h in HEADINGS)
        said = "".join(f"<p>{escape(s)}</p>" for s in trust_sentences(self.trust))
        return f"<table><tr>{heads}</tr>{rows}</table>{said}"


HEADINGS = ["network", "MACs", "params", "score", "valid %", "test %", "architecture"]


def _rows(networks: Sequence[dict[str, Any]], score: str) -> list[list[str]]:
    return [
        [
            r["name"],
            show_quantity(r["macs"]),
            show_quantity(r["params"]),
            _shown(r.get("score"), score, 3),
            _shown(r.get("trained"), "valid/accuracy", 2),
            _shown(r.get("test"), "test/accuracy", 2),
            r["label"],
        ]
        for r in networks
    ]


def _count(things: Sized, what: str) -> str:
    return f"{len(things)} {what}" + ("" if len(things) == 1 else "s")


def _shown(metrics: dict[str, float | None] | None, name: str, digits: int) -> str:
    value = (metrics or {}).get(name)
    return "-" if value is None else f"{value:.{digits}f}"


def read_found(run: str | Path, notes: tuple[str, ...] = ()) -> Found:
    """The result of a run that came to its end."""
    path = Path(run)
    settings = read_settings(path)
    try:
        search, networks, trust = (json.loads((path / name).read_text()) for name in (SEARCH, NETWORKS, TRUST))
    except (OSError, ValueError) as error:
        raise RunError(f"{path} is not finished: {error}; `supernetic resume {path}` goes on") from None
    models = {p.parent.name: str(p.parent) for p in sorted((path / MODELS).glob("*/model.json"))}
    name, data = search["space"], settings["data"]["name"]
    return Found(str(path), name, data, tuple(search["front"]), tuple(networks), trust, models, notes)
