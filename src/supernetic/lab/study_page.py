"""The page of a study: claims and what became of them, figures, tables, settings. It needs nothing but itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..errors import RunError
from ..reports.page import REPORT, TEMPLATES, fill, flat, write_page
from ..reports.summary_text import MINUS, SPACE, UNKNOWN, listed, signed
from .study_figures import figure_plots, legend

RECORD, FIGURES = "study.json", "figures"
FILES = {
    "measures.csv": "every number, by variant and seed",
    "summary.csv": "means and spreads over seeds",
    "claims.csv": "the claims",
    f"{FIGURES}/": "the plots as SVG",
    RECORD: "everything, for programs",
}
STYLES = {"held": "won", "did not hold": "lost", "not shown": "open"}
ROW = 16  # of the legend of a plot that stands alone, whose text does not grow on narrow screens
ALONE = "svg.plot text { font-size: 10.5px; } svg.plot .odd { display: inline; } svg { background: var(--bg); }\n"
MOST = 12  # columns of a table on the page; the rest is in the files


def write_study(run: str | Path) -> Path:
    """Write `report.html`, and every plot as a file, into the study, from its record alone."""
    path = Path(run)
    try:
        record = json.loads((path / RECORD).read_text())
    except (OSError, ValueError) as error:
        raise RunError(f"{path / RECORD} cannot be read: {error}") from None
    values = page(record, path.resolve().name)
    (path / FIGURES).mkdir(exist_ok=True)
    for i, (_, _, names, plots, _) in enumerate(values["figures"], 1):
        for j, plot in enumerate(plots, 1):
            write_page(path / FIGURES / f"{i}-{j}.svg", standalone(plot.svg, names))
    file = path / REPORT
    write_page(file, fill("study.html.j2", values))
    return file


def standalone(svg: str, names: Sequence[tuple[str, str]]) -> str:
    """A plot as a file of its own: with the page's style inside, and the names of its colours below."""
    style = "".join((TEMPLATES / name).read_text("utf-8") for name in ("style.css", "study.css"))
    width, height = map(int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', svg)[0])
    tall = height + ROW * len(names) + ROW // 2
    head, _, body = svg.replace(f'viewBox="0 0 {width} {height}"', f'viewBox="0 0 {width} {tall}"', 1).partition(">")
    legend = "".join(
        f'<g class="series {s}" transform="translate(16 {height + ROW * i + ROW // 2})">'
        f'<circle r="3.4"/><text x="10" y="3.5">{escape(name)}</text></g>'
        for i, (s, name) in enumerate(names)
    )
    return (
        f'{head} xmlns="http://www.w3.org/2000/svg">\n<style><![CDATA[\n{style}{ALONE}]]></style>'
        f"{body.removesuffix('</svg>')}{legend}</svg>\n"
    )


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
