"""Text for people and for spreadsheets: durations, aligned columns, CSV, text from outside made harmless."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

from .numerals import real_number

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet would compute


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `1.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def columns(rows: list[list[str]]) -> list[str]:
    """Cells right-aligned, the last column left-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(c.rjust(w) for c, w in zip(r[:-1], widths, strict=False)) + "  " + r[-1] for r in rows]


def number(value: float) -> str:
    """Six digits; nothing for what is undefined."""
    return f"{value:.6g}" if isfinite(value) else ""


def csv_text(head: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """A table as text, one line below its heading for each row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_harmless_cell(cell) for cell in line] for line in lines)
    return text.getvalue()


def _harmless_cell(cell: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets a quote in front; numbers stay as they are."""
    if not isinstance(cell, str) or not cell.startswith(FORMULA):
        return cell
    try:
        real_number(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def printable(text: str) -> str:
    r"""Text for a terminal: line ends stay, other control characters are shown as `\x1b`.

    Names of classes, files and runs come from outside. What they hold must not clear the screen or hide anything.
    """
    return "".join(c if c.isprintable() or c in "\n\t" else _shown(c) for c in text)


def _shown(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
