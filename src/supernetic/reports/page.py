"""The report of a run: one page that needs nothing but itself.

Its sections are listed here, in their order. Each gathers plain values from the run (`sections`), and its template
says how they look (`templates/section-NAME.html.j2`). A new section is a line in `SECTIONS`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..runs import files
from ..runs.view import RunView, read_run
from ..space import Space
from .recommendation import recommendation
from .rendering import fill, write_page
from .sections.diagnostics import diagnostics
from .sections.glossary import glossary
from .sections.int8 import int8
from .sections.models import models, paste
from .sections.networks import drawings, folds, layers
from .sections.results import results
from .sections.search import front, progress
from .sections.section import Section
from .sections.settings import again, augmentation, data
from .sections.training import training
from .sections.trust import comparison, trust
from .summary_text import STEPS, headline, listed, missing, status, title, typeset

REPORT = files.REPORT
SECTIONS = (  # what was found, then how far it may be believed, then how it came about
    Section("results", "Accuracy and cost", results),
    Section("models", "Models", models),
    Section("int8", "int8", int8),
    Section("comparison", "Controls", comparison),
    Section("diagnostics", "Right and wrong", diagnostics),
    Section("drawings", "Drawings", drawings),
    Section("front", "Search", front),
    Section("trust", "Trust", trust),
    Section("search", "Progress", progress),
    Section("training", "Training", training),
    Section("folds", "Folding", folds),
    Section("layers", "Layers", layers),
    Section("data", "Data", data),
    Section("augmentation", "Augmentation", augmentation),
    Section("glossary", "Words", glossary),
    Section("again", "Run it again", again),
    Section("paste", "To paste", paste),
)


def write_report(run: str | Path, space: Space | None = None) -> Path:
    """Write `report.html` into a run, from its files alone.

    Args:
        run: The run directory.
        space: Its space, where it is known: without it, trials cannot be drawn.

    Returns:
        The page.
    """
    record = read_run(run, space)
    file = record.path / REPORT
    write_page(file, fill("report.html.j2", page(record)))
    return file


def page(run: RunView) -> dict[str, Any]:
    """All that the template shows: what was done and found, then the sections that have something to say."""
    left = missing(run)
    model = run.recommended
    tested = model is not None and model.test is not None
    parts = [(section, section.html(run)) for section in SECTIONS]
    return {
        "title": title(run),
        "place": run.path.resolve().name,
        "status": status(run),
        "finished": not left,
        "to_come": listed([STEPS[s] for s in left[1:]]),
        "headline": headline(run),
        "take": model.name if model is not None and tested else "",
        "recommendation": [typeset(s) for s in recommendation(run.networks, run.trust)] if tested else [],
        "sections": [(section.name, section.link, html) for section, html in parts if html],
    }
