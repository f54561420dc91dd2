from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from supernetic.reports.sections.models import models
from supernetic.reports.sections.section import Section, legend
from supernetic.runs.view import read_run

Make = Callable[..., Path]


def test_a_section_without_values_is_left_out(make: Make) -> None:
    section = Section("models", "Models", models)
    assert section.html(read_run(make("early", until="plan"))) == ""
    assert section.html(read_run(make("late"))).startswith('<section id="section-models">')


def test_roles_have_names_and_unknown_ones_their_own() -> None:
    assert [(style, name) for style, _, name in legend(("plain", "new"))] == [("plain", "plain stack"), ("new", "new")]
