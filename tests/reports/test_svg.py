from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from supernetic.reports import svg as plots


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.2, 7.9), (1e6, 1.4e6), (0.7, 1.1), (1e-5, 3e-5), (99.9, 100)])
def test_ticks_are_round_even_and_inside(low: float, high: float) -> None:
    found = plots.ticks(low, high)
    assert 3 <= len(found) <= 9
    assert all(low - 1e-9 <= t <= high + 1e-9 for t in found)
    steps = {round((b - a) / (high - low), 6) for a, b in pairwise(found)}
    assert len(steps) == 1
    assert re.fullmatch(r"[125]\.0+e[-+]\d+", f"{found[1] - found[0]:.4e}")


def test_ticks_of_an_axis_have_as_many_decimals() -> None:
    made = plots.axis([0.7, 1.1], pad=0)
    assert [made.show(t) for t in made.ticks] == ["0.7", "0.8", "0.9", "1.0", "1.1"]


@pytest.mark.parametrize("values", [[], [3.0], [0.0, 0.0], [float("nan"), 1.0]])
def test_an_axis_needs_no_spread(values: list[float]) -> None:
    made = plots.axis(values)
    assert made.low < made.high
    assert made.ticks


def test_a_turned_axis_runs_the_other_way() -> None:
    plain, descending = plots.axis([0, 1], pad=0), plots.axis([0, 1], pad=0, descending=True)
    assert [plain.share(0.25), descending.share(0.25)] == [0.25, 0.75]


def test_values_lie_between_the_margins() -> None:
    frame = plots.Frame(plots.axis([10, 20], pad=0), plots.axis([0, 5], pad=0))
    assert (frame.px(10), frame.px(20)) == (plots.LEFT, frame.width - plots.RIGHT)
    assert (frame.py(0), frame.py(5)) == (frame.height - plots.BOTTOM, plots.TOP)


NASTY = "<b>\"x\" & 'y'</b>"


def test_every_plot_is_well_formed_and_escaped() -> None:
    frame = plots.Frame(plots.axis([0, 1], NASTY), plots.axis([0, 1], NASTY))
    dots = plots.dots(frame, [plots.Dot(0.5, 0.5, NASTY, "chosen", NASTY), plots.Dot(1, 1, NASTY, NASTY)])
    made = [
        frame.svg(dots + plots.cloud(frame, [(0, 0), (1, 1)]) + plots.stairs(frame, [(0, 0), (1, 1)]), NASTY, NASTY),
        plots.lines([plots.Line(NASTY, [1, 2, 3], [3.0, float("nan"), 1.0], NASTY)], NASTY, NASTY, NASTY),
        plots.histogram([0.1, 0.2, 0.2, 0.5], NASTY, NASTY, [(0.3, NASTY)], descending=True),
        plots.intervals([plots.Difference(NASTY, NASTY, 1, -1, 3, "open", NASTY)], NASTY, NASTY),
    ]
    for svg in made:
        ElementTree.fromstring(svg)
        assert "<b>" not in svg


def test_bars_hold_every_value_once() -> None:
    values = [0.01 * i * i for i in range(50)]
    tips = re.findall(r'data-tip="(\d+) networks?', plots.histogram(values, "score", "scores"))
    assert sum(map(int, tips)) == 50


def test_multiples_that_are_equally_frequent_have_bars_of_one_height() -> None:
    values = [20 + 0.2 * i for i in range(37)] * 9  # accuracies on 500 images, which 40 bars would cut unevenly
    tips = re.findall(r'data-tip="(\d+) networks?', plots.histogram(values, "accuracy", "accuracies"))
    assert sum(map(int, tips)) == 333
    assert len(set(tips[:-1])) == 1  # the last may have room for more than there are


def test_histograms_can_have_one_axis() -> None:
    ticks = [
        re.findall(r'class="tick mid[^>]*>([^<]+)<', plots.histogram(values, "", "", reach=[0, 1.7]))
        for values in ([0.1, 0.2], [1.5, 1.7])
    ]
    assert ticks[0] == ticks[1] != []


def test_stairs_go_around_what_is_dominated() -> None:
    frame = plots.Frame(plots.axis([0, 2], pad=0), plots.axis([0, 2], pad=0))
    path = re.search(r' d="([^"]+)"', plots.stairs(frame, [(0, 0), (1, 1), (2, 2)]))
    assert path is not None
    assert (
        path[1] == f"M{frame.px(0):g} {frame.py(0):g}H{frame.px(1):g}V{frame.py(1):g}H{frame.px(2):g}V{frame.py(2):g}"
    )


def test_a_long_line_answers_at_some_points_and_at_its_end() -> None:
    svg = plots.lines([plots.Line("a", range(1000), [float(x) for x in range(1000)])], "step", "loss", "x")
    tips = re.findall(r'data-tip="([^"]+)"', svg)
    assert len(tips) <= plots.HOVER + 1
    assert tips[-1] == "a\nstep 999\nloss 999"


def test_groups_of_intervals_are_named_once() -> None:
    rows = [plots.Difference("m", c, 1, 0.5, 1.5, "won", c) for c in "abc"]
    svg = plots.intervals(rows, "points", "x")
    assert svg.count(">m</text>") == 1
    assert [svg.count(f">{c}</text>") for c in "abc"] == [1, 1, 1]
