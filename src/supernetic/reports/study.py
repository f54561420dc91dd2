"""The page of a study: claims and what became of them, figures, tables, settings. It needs nothing but itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import RunError
from .page import REPORT, fill, flat, write_page
from .study_figures import figure_plots, legend
from .words import MINUS, SPACE, UNKNOWN, listed, signed

RECORD = "study.json"
FILES = {
    "measures.csv": "every number, by variant and seed",
    "summary.csv": "means and spreads over seeds",
    "claims.csv": "the claims",
    RECORD: "everything, for programs",
}
STYLES = {"held": "won", "did not hold": "lost", "not shown": "open"}
MOST = 12  # columns of a table on the page; the rest is in the files


def write_study(run: str | Path) -> Path:
    """Write `report.html` into the study, from its record alone."""
    path = Path(run)
    try:
        record = json.loads((path / RECORD).read_text())
    except (OSError, ValueError) as error:
        raise RunError(f"{path / RECORD} cannot be read: {error}") from None
    file = path / REPORT
    write_page(file, fill("study.html.j2", page(record, path.resolve().name)))
    return file


def page(record: Mapping[str, Any], place: str) -> dict[str, Any]:
    """All that the template shows."""
    verdicts = [c["verdict"] for c in record["claims"]]
    counts = [f"{verdicts.count(v)} {v}" for v in STYLES if v in verdicts]
    return {
        "title": record["title"],
        "place": place,
        "source": record["source"],
        "scale": record["scale"],
        "lead": _lead(record),
        "counts": listed(counts),
        "claims": [(c, STYLES[c["verdict"]], _claim(c)) for c in record["claims"]],
        "figures": [
            (f["title"], f["caption"], legend(record, f), figure_plots(record, f), table(record, f["variants"]))
            for f in record["figures"]
        ],
        "mistakes": [
            (f"{m['variant']}, seed {m['seed']}", m["details"]["mistakes"])
            for m in record["measured"]
            if m["details"].get("mistakes")
        ],
        "failed": list(record["failed"].items()),
        "settings": [(name, list(flat(s))) for name, s in record["settings"].items()],
        "measure": list(flat(record["measure"])),
        "runs": list(record["runs"].items()),
        "files": list(FILES.items()),
        "seeds": len(record["seeds"]),
        "trained": bool(record["trainings"]),
        "data_json": "{}",
    }


def _lead(record: Mapping[str, Any]) -> str:
    """How much stands behind the page."""
    variants = f"{len(record['variants'])} variant{'s' if len(record['variants']) > 1 else ''}"
    if not record["trainings"]:
        return f"{variants}, from a table: nothing was trained."
    seeds = f"{len(record['seeds'])} seed{'s' if len(record['seeds']) > 1 else ''}"
    on = f" on {Path(record['data']).name}"
    return f"{variants}, {seeds}, {record['trainings']} trainings{on}: {record['cpu_minutes']:.1f} CPU-minutes in all."


def _claim(claim: Mapping[str, Any]) -> str:
    """The numbers behind a verdict."""
    if not claim["n"]:
        return "not measured"
    other = claim["other"] if isinstance(claim["other"], str) else f"{claim['other']:g}"
    value = signed(f"{claim['value']:+.3f}") if claim["value"] is not None else UNKNOWN
    bounds = (
        f" [{signed(format(claim['low'], '+.3f'))}, {signed(format(claim['high'], '+.3f'))}]"
        if claim["low"] is not None
        else ", no interval"
    )
    seeds = f"{claim['n']}{SPACE}seed{'s' if claim['n'] > 1 else ''}"
    return f"{claim['metric']}, {claim['variant']} {MINUS} {other}: {value}{bounds}, {seeds}"


def table(record: Mapping[str, Any], variants: Sequence[str]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """(heads, rows of a figure): mean ± standard deviation over seeds of the metrics that the kind shows."""
    shown = [m for m in record["shown"] if any(m in record["table"].get(v, {}) for v in variants)][:MOST]
    rows = [(v, [_cell(record["table"].get(v, {}).get(m)) for m in shown]) for v in variants]
    return shown, rows


def _cell(numbers: Mapping[str, Any] | None) -> str:
    if not numbers or numbers["mean"] is None:
        return UNKNOWN
    spread = f"{SPACE}±{SPACE}{numbers['sd']:.3f}" if numbers["sd"] is not None else ""
    return signed(f"{numbers['mean']:.3f}") + spread
