"""The page of a study: claims with their verdicts, figures, tables, settings, in one file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..errors import RunError
from ..reading import read_json
from ..reports.rendering import TEMPLATES, fill, flat, write_page
from ..reports.summary_text import MINUS, SPACE, UNKNOWN, listed, signed
from ..runs.directory import naming_damage
from ..runs.files import REPORT
from .claims import DID_NOT_HOLD, HELD, NOT_MEASURED, NOT_SIGNIFICANT, UNDECIDED
from .study_figures import figure_plots, legend

RECORD_FILE, FIGURES_FOLDER = "study.json", "figures"
FILE_CONTENTS = {
    "measures.csv": "all numbers, by variant and seed",
    "summary.csv": "means and intervals over seeds",
    "claims.csv": "the claims",
    f"{FIGURES_FOLDER}/": "the plots as SVG",
    RECORD_FILE: "everything, for programs",
}
VERDICT_STYLES = {
    HELD: "won",
    DID_NOT_HOLD: "lost",
    NOT_SIGNIFICANT: "open",
    "not shown": "open",  # what records of earlier versions say for not significant
    NOT_MEASURED: "open",
    UNDECIDED: "open",
}
LEGEND_ROW_HEIGHT = 16  # pixels, in a plot that is a file of its own
STANDALONE_STYLE = (
    "svg.plot text { font-size: 10.5px; } svg.plot .odd { display: inline; } svg { background: var(--bg); }\n"
)
MAX_TABLE_COLUMNS = 12  # on the page; the files have all metrics


def write_study(run: str | Path) -> Path:
    """Write the page of a study, and every plot as a file, from its record alone.

    Args:
        run: The directory of the study.

    Returns:
        The page, `report.html`.
    """
    path = Path(run)
    try:
        record = read_json(path / RECORD_FILE)
    except (OSError, ValueError) as error:
        raise RunError(f"{path / RECORD_FILE} cannot be read: {error}") from None
    with naming_damage(path / RECORD_FILE):
        values = page(record, path.resolve().name)
        html = fill("study.html.j2", values)
    (path / FIGURES_FOLDER).mkdir(exist_ok=True)
    for i, (_, _, names, plots, _) in enumerate(values["figures"], 1):
        for j, plot in enumerate(plots, 1):
            write_page(path / FIGURES_FOLDER / f"{i}-{j}.svg", standalone(plot.svg, names))
    file = path / REPORT
    write_page(file, html)
    return file


def standalone(svg: str, names: Sequence[tuple[str, str]]) -> str:
    """A plot as a file of its own, with the style of the page inside and a legend below.

    Args:
        svg: The plot.
        names: The style and the name of each series.

    Returns:
        The SVG file.
    """
    style = "".join((TEMPLATES / name).read_text("utf-8") for name in ("style.css", "study.css"))
    width, height = map(int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', svg)[0])
    tall = height + LEGEND_ROW_HEIGHT * len(names) + LEGEND_ROW_HEIGHT // 2
    head, _, body = svg.replace(f'viewBox="0 0 {width} {height}"', f'viewBox="0 0 {width} {tall}"', 1).partition(">")
    legend = "".join(
        f'<g class="series {s}" transform="translate(16 {height + LEGEND_ROW_HEIGHT * i + LEGEND_ROW_HEIGHT // 2})">'
        f'<circle r="3.4"/><text x="10" y="3.5">{escape(name)}</text></g>'
        for i, (s, name) in enumerate(names)
    )
    return (
        f'{head} xmlns="http://www.w3.org/2000/svg">\n<style><![CDATA[\n{style}{STANDALONE_STYLE}]]></style>'
        f"{body.removesuffix('</svg>')}{legend}</svg>\n"
    )


def page(record: Mapping[str, Any], place: str) -> dict[str, Any]:
    """The values of the page's template.

    Args:
        record: The content of `study.json`.
        place: The name of the study's directory.

    Returns:
        Values by name.
    """
    verdicts = [c["verdict"] for c in record["claims"]]
    counts = [f"{verdicts.count(v)} {v}" for v in VERDICT_STYLES if v in verdicts]
    return {
        "title": record["title"],
        "place": place,
        "source": record["source"],
        "scale": record["scale"],
        "lead": _lead(record),
        "counts": listed(counts),
        "claims": [(c, VERDICT_STYLES[c["verdict"]], _claim(c)) for c in record["claims"]],
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
        "files": list(FILE_CONTENTS.items()),
        "seeds": len(record["seeds"]),
        "trained": bool(record["trainings"]),
    }


def _lead(record: Mapping[str, Any]) -> str:
    """How many variants, seeds and trainings the page is based on."""
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
    because = f". {claim['reason']}" if claim.get("reason") else ""
    return f"{claim['metric']}, {claim['variant']} {MINUS} {other}: {value}{bounds}, {seeds}{because}"


def table(record: Mapping[str, Any], variants: Sequence[str]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """(heads, rows) of the table of a figure: mean ± standard deviation over seeds of the metrics of the measure."""
    shown = [m for m in record["shown"] if any(m in record["table"].get(v, {}) for v in variants)][:MAX_TABLE_COLUMNS]
    rows = [(v, [_cell(record["table"].get(v, {}).get(m)) for m in shown]) for v in variants]
    return shown, rows


def _cell(numbers: Mapping[str, Any] | None) -> str:
    if not numbers or numbers["mean"] is None:
        return UNKNOWN
    spread = f"{SPACE}±{SPACE}{numbers['sd']:.3f}" if numbers["sd"] is not None else ""
    return signed(f"{numbers['mean']:.3f}") + spread
