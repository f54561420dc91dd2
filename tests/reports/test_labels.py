from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

from supernetic.reports.labels import TEXT_SIZES, Box, Name, mark_box, names, place
from supernetic.reports.rendering import TEMPLATES

BOUNDS = Box(44, 18, 560, 338)


@pytest.mark.parametrize("size", TEXT_SIZES.values())
@pytest.mark.parametrize("seed", range(5))
def test_no_name_lies_on_another_or_on_a_mark(size: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    wanted = [Name(float(x), float(y), f"candidate-{i}") for i, (x, y) in enumerate(rng.uniform(60, 330, (30, 2)))]
    marks = [mark_box(n.x, n.y) for n in wanted]
    boxes = [p.box for p in place(wanted, marks, BOUNDS, size) if p]
    assert len(boxes) >= 5
    assert all(a.overlap(b) == 0 for a, b in combinations(boxes, 2))
    assert all(box.overlap(mark) == 0 for box in boxes for mark in marks)
    assert all(box.inside(BOUNDS) for box in boxes)


def test_a_name_without_room_is_left_out_unless_it_must_be_shown() -> None:
    everywhere = [BOUNDS]
    assert place([Name(300, 200, "random-1")], everywhere, BOUNDS, 9) == [None]
    assert place([Name(300, 200, "model-1", must=True)], everywhere, BOUNDS, 9) != [None]


def test_at_the_border_it_stands_on_the_other_side() -> None:
    assert [p and p.anchor for p in place([Name(555, 200, "model-1")], [], BOUNDS, 9)] == ["end"]


def test_there_is_a_set_for_each_width_and_texts_are_escaped() -> None:
    made = names([Name(300, 200, "<b>, 3 epochs", "<b>")], [], BOUNDS)
    assert re.findall(r'class="names (\w+)"', made) == ["wide", "narrow"]
    assert made.count("&lt;b&gt;") == 2
    assert made.count("epochs") == 1


def test_the_sizes_are_those_of_the_style() -> None:
    style = (TEMPLATES / "style.css").read_text()
    assert f"svg text {{ font: {TEXT_SIZES['wide']:g}px" in style
    assert f"svg.plot text {{ font-size: {TEXT_SIZES['narrow']:g}px" in style
