"""What one pastes elsewhere: the command that was run, a Markdown table, BibTeX."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from .. import __version__
from ..runs.view import RunView

POSITIONAL = {"search": ("data",), "train": ("space", "data")}
OPTIONS = {"objectives": "objective", "baselines": "baseline"}  # keywords whose option has another name
TITLE = "supernetic: weight-sharing neural architecture search with exact budgets and honest rankings"
AUTHORS, YEAR, LICENCE = "The supernetic authors", "2026", "Apache-2.0"


def command(run: RunView) -> str:
    """The command line again, from the arguments as they were given; nothing where the run, or text, cannot say."""
    asked = run.asked
    if not asked or not run.job or any(isinstance(v, Mapping) or str(v).startswith("object ") for v in asked.values()):
        return ""
    first = [name for name in POSITIONAL.get(run.job, ()) if name in asked]
    words = ["supernetic", run.job, *(str(asked[name]) for name in first)]
    for name, value in asked.items():
        if name not in first:
            words += _option(str(OPTIONS.get(name, name)), value)
    return shlex.join(words)


def _option(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return [flag] if value else []
    if isinstance(value, list | tuple):
        return [word for v in value for word in _option(name, v)]
    return [flag, f"{value:g}" if isinstance(value, float) else str(value)]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table: the first column to the left, the others to the right."""
    cells = [[c.replace("|", "\\|").replace("\N{NO-BREAK SPACE}", " ") for c in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = ["| " + " | ".join(_aligned(row, widths)) + " |" for row in cells]
    rule = "|" + "|".join(("-" * (w + 2)) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]


def bibtex() -> str:
    """The package, to be cited; the facts are those of CITATION.cff."""
    fields = {
        "title": "{" + TITLE + "}",  # doubled braces keep its case
        "author": "{" + AUTHORS + "}",
        "year": YEAR,
        "version": __version__,
        "note": f"Licence {LICENCE}",
    }
    body = ",\n".join(f"  {k:<7} = {{{v}}}" for k, v in fields.items())
    return f"@software{{supernetic,\n{body}\n}}"
