"""The words of the page, for those who meet them for the first time; only those that this run needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ... import metrics
from ...runs.view import RunView
from ..glossary import NOTATIONS, PROXIES, TERMS, block_names
from .section import Fact, some_went_on

RANK_ENSEMBLE = "proxy/rank_ensemble"


def glossary(run: RunView) -> dict[str, Any]:
    """Terms, proxies, blocks and names of architectures that the page has used."""
    proxies = [name for name in _scores(run) if name in PROXIES]
    groups = [
        ("Terms", [(term, TERMS[term]) for term in sorted(_terms(run, bool(proxies)))]),
        ("Zero-cost proxies of the score", [(metrics.label(name), PROXIES[name]) for name in proxies]),
        ("Blocks", block_names(layer.label for m in run.models if m.blueprint for layer in m.blueprint)),
        ("Names of architectures", _notation(run)),
    ]
    known = [(title, entries) for title, entries in groups if entries]
    return {"groups": known} if run.models or run.trials else {}


def _scores(run: RunView) -> list[str]:
    """Scores that the search used, those inside a rank ensemble included."""
    names = [*run.proxies, *(o.name for o in run.objectives), *(k for m in run.models for k in m.score)]
    return list(dict.fromkeys(metrics.find(name).name for name in names))


def _terms(run: RunView, proxies: bool) -> Iterator[str]:
    yield "MACs"
    if run.trials:
        yield "Front"
    if run.controls:
        yield "Control"
    if some_went_on(run):
        yield "Round"
    if run.trust.get("tau"):
        yield "Tau"
    if run.trust:
        yield "Significant"
    if run.supernet:
        yield "Supernet"
    if run.proxies or run.score.name == RANK_ENSEMBLE:
        yield "Rank ensemble"
    if proxies or run.proxies:
        yield "Zero-cost proxy"


def _notation(run: RunView) -> list[Fact]:
    space = run.settings.get("space")
    name = space.get("name") if isinstance(space, Mapping) else run.search.space
    return [NOTATIONS[name]] if isinstance(name, str) and name in NOTATIONS else []
