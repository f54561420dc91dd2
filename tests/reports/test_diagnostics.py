from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supernetic.reports import write_report
from supernetic.reports.diagnostics import MATRIX_CLASSES, network_pages
from supernetic.runs.directory import read_settings
from supernetic.runs.predictions import Prediction, Predictions, mistakes_text
from supernetic.runs.records import read_networks
from supernetic.space import Space

from .conftest import NASTY, Make

PNG = (  # one pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)


def add_predictions(run: Path, classes: int = 10, images: int = 500) -> None:
    """Made-up predictions of all networks: three quarters are right."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, images)
    networks = {}
    for record in read_networks(run):
        predicted = np.where(rng.random(images) < 0.75, labels, (labels + rng.integers(1, 3, images)) % classes)
        confidence = rng.uniform(0.3, 1, images).astype(np.float32)
        networks[record.name] = Prediction(predicted, confidence, 1.3, confidence * np.float32(0.9))
    (run / "predictions.json").write_text(Predictions(labels, networks).text())
    (run / "mistakes.json").write_text(mistakes_text(dict.fromkeys(range(images), PNG)))


def with_classes(run: Path, classes: int) -> None:
    text = (run / "run.toml").read_text()
    names = json.dumps([f"class {i}" for i in range(classes)])
    (run / "run.toml").write_text(re.sub(r"classes = \[.*?\n\]", f"classes = {names}", text, flags=re.S))


@pytest.fixture
def run(make: Make) -> Path:
    made = make(race=True)
    add_predictions(made)
    return made


def test_the_recommended_model_is_shown_the_others_are_folded(run: Path, space: Space) -> None:
    pages = network_pages(run, read_settings(run), read_networks(run))
    assert [p.name for p in pages[:2]] == ["model-1", "model-2"]
    assert [p.recommended for p in pages] == [True, *[False] * (len(pages) - 1)]
    assert len(pages[0].matrix) == 10
    assert len(pages[0].gallery) == 24
    assert pages[0].curves
    assert not any(p.matrix or p.gallery or p.reliability for p in pages if not p.chosen)
    html = write_report(run, space).read_text()
    section = html[html.index('<section id="section-diagnostics"') :]
    section = section[: section.index("</section>")]
    assert section.index("<h3>model-1</h3>") < section.index("<details>")
    assert section.count("<details><summary><strong>") == len(pages) - 1


def test_a_matrix_adds_up_and_its_tips_say_it(run: Path) -> None:
    page = network_pages(run, read_settings(run), read_networks(run))[0]
    counts = [[int(c.text or 0) for c in cells] for _, cells in page.matrix]
    assert sum(map(sum, counts)) == 500
    assert [row[0] for row in page.rows] != [label for label, _ in page.matrix]  # sorted by F1
    for i, (label, cells) in enumerate(page.matrix):
        assert cells[i].right
        assert cells[i].tip.startswith(f"{label}, recognised\n{counts[i][i]} of {sum(counts[i])}")
        assert all(0 <= c.shade <= 85 and bool(c.text) == bool(c.tip) for c in cells)


def test_names_of_classes_cannot_speak(run: Path, space: Space) -> None:
    html = write_report(run, space).read_text()
    assert NASTY not in html
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 4


def test_of_many_classes_pairs_are_listed(make: Make, space: Space) -> None:
    run = make(race=True)
    with_classes(run, 120)
    add_predictions(run, classes=120)
    page = network_pages(run, read_settings(run), read_networks(run))[0]
    assert page.matrix == []
    assert len(page.pairs) == 12
    assert len(page.rows) + len(page.more_rows) == 120 > MATRIX_CLASSES
    html = write_report(run, space).read_text()
    assert "Most often confused" in html
    assert "108 more classes" in html


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_every_screen_and_asks_for_nothing(run: Path, browser: Any, width: int, dark: bool) -> None:
    write_report(run)
    browser.open(run / "report.html", width=width, dark=dark)
    assert browser.run("document.querySelectorAll('details').forEach(d => d.open = true); return 1") == 1
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.run("return [...document.images].every(i => i.complete && i.naturalWidth)")
    assert [e for e in browser.log("browser") if e["level"] == "SEVERE"] == []
    assert [a for a in browser.requests() if not a.startswith(("file:", "data:", "about:"))] == []
    cell = "getComputedStyle(document.querySelector('.confusion td.right'))"
    assert browser.run(f"return {cell}.backgroundColor") != browser.run(f"return {cell}.color")


def test_before_the_test_there_is_no_such_section(make: Make, space: Space) -> None:
    assert "section-diagnostics" not in write_report(make(until="compare"), space).read_text()


def test_the_diagram_has_a_bar_for_every_confidence_that_occurs(run: Path) -> None:
    page = network_pages(run, read_settings(run), read_networks(run))[0]
    assert page.reliability.count('class="bar') == 7  # from 30 to 100 %
    assert 'class="line warm"' in page.reliability
    assert "temperature 1.3" in page.calibration
