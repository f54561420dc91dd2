"""The table of models, candidates and controls, on the page and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from ...ranking.sentences import show_epochs
from ...ranking.trust import wilson
from ...runs import files
from ...runs.view import MODEL_FILES, Model, RunView
from ..diagnostics import deciding_columns
from ..paste import bibtex, markdown
from ..recommendation import epochs_of
from ..summary_text import UNKNOWN, percent, score_label, show
from .section import Fact, some_went_on

TEST = "test/accuracy"
INTERVAL = "95 % interval"

Row = tuple[Model, list[str]]


def models(run: RunView) -> dict[str, Any]:
    """The table of models."""
    head, rows = model_table(run)
    if not rows:
        return {}
    under = head.index(INTERVAL) if INTERVAL in head else None  # it stands under the accuracy, in no column of its own
    bounds = {m.name: "" if under is None or cells[under] == UNKNOWN else cells[under] for m, cells in rows}
    kept = [i for i in range(len(head)) if i != under]
    return {
        "raced": run.recommended is not None and run.recommended.test is not None,
        "table_head": [head[i] for i in kept],
        "table_rows": [(m, what_it_is(m, run), _links(m), [cells[i] for i in kept]) for m, cells in rows],
        "intervals": bounds,
    }


def paste(run: RunView) -> dict[str, Any]:
    """The same table as Markdown, and how to cite the package."""
    head, rows = model_table(run)
    return {"markdown": _markdown(head, rows), "bibtex": bibtex()} if rows else {}


def model_table(run: RunView) -> tuple[list[str], list[Row]]:
    """The heads of the columns, and for each model its cells; columns about which nothing is known are left out."""
    score = (run.trust.get("tau") or {}).get("score") or run.score.name
    columns = {  # what matters most comes first, where a narrow screen shows it beside the name
        **_test(run),
        "MACs": [show("cost/macs", m.macs) for m in run.models],
        "parameters": [show("cost/params", m.params) for m in run.models],
        "latency": [show("latency/ms", m.latency) for m in run.models],
        "steps": [UNKNOWN if m.steps is None else f"{m.steps:,}" for m in run.models],
        "epochs": [UNKNOWN if (e := epochs_of(m.steps, run.trust)) is None else show_epochs(e) for m in run.models],
        "validation": [percent(m.trained.get("valid/accuracy")) for m in run.models],
        **deciding_columns(run),
        **_first_round(run),
        score_label(run, score): [show(score, m.score.get(score)) for m in run.models],
    }
    known = {head: cells for head, cells in columns.items() if any(c != UNKNOWN for c in cells)}
    return list(known), [(m, [cells[i] for cells in known.values()]) for i, m in enumerate(run.models)]


def _test(run: RunView) -> dict[str, list[str]]:
    """Test accuracies, apart for weights of a network's own training and for the supernet's."""
    own = [None if supernet_alone(m) else m.test.get(TEST) for m in run.models]
    inherited = [m.test.get(TEST) if supernet_alone(m) else m.inherited.get(TEST) for m in run.models]
    return {
        "test": [percent(v) for v in own],
        INTERVAL: [_bounds(v, run) for v in own],
        "test, supernet's weights": [percent(v) for v in inherited],
    }


def supernet_alone(m: Model) -> bool:
    """Whether a network was tested with the supernet's weights, since it has no others."""
    return bool(m.test) and not m.key


def _bounds(accuracy: float | None, run: RunView) -> str:
    images = run.trust.get("test_images") or run.splits.get("test")
    if accuracy is None or not images or not 0 <= accuracy <= 100:
        return UNKNOWN
    low, high = wilson(accuracy / 100, images)
    return f"{100 * low:.1f} to {100 * high:.1f}"


def _first_round(run: RunView) -> dict[str, list[str]]:
    """What all networks reached in the first round, if some of them went on."""
    if not some_went_on(run):
        return {}
    return {
        "first round, validation": [percent(m.first.get("valid/accuracy")) for m in run.models],
        "first round, test": [percent(m.first_test.get("test/accuracy")) for m in run.models],
    }


def what_it_is(m: Model, run: RunView) -> str:
    """A few words under a model's name."""
    if m.failed:
        return f"training failed: {m.failed}"
    alike = m.against and run.recommended is None  # a race compares all controls with the recommended model
    roles = {
        "random": f"random, as many MACs as {m.against}" if alike else "random, within the limits",
        "candidate": f"lost the race: {m.label}",
        "largest": "the largest within the limits",
        "mobilenet": "MobileNetV2 within the budget",
    }
    return roles.get(m.role, m.label or m.role)


def _links(model: Model) -> list[Fact]:
    """(address, what it is) of the files that exist."""
    return [(f"{files.MODELS}/{quote(model.name)}/{quote(name)}", MODEL_FILES[name]) for name in model.files]


def _markdown(head: Sequence[str], rows: Sequence[Row]) -> str:
    return markdown(["model", *head], [[m.name, *cells] for m, cells in rows])
