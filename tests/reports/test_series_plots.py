from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from math import nan

from supernetic.reports.series_plots import COLOURS, Series, categories, matrix, scatter, style_of


def test_points_stand_where_they_should() -> None:
    series = [
        Series("a <b>", "v0", [0.0, 0.5, nan], [0.1, nan, nan]),
        Series("c", "v1", [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
    ]
    svg = categories(series, ["10", "25", "random"], "tau", zero=True)
    ET.fromstring(svg)
    assert svg.count("<circle") == 5
    assert "a &lt;b&gt;, 10\ntau 0.000 ± 0.100" in svg
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', svg)]
    assert heights[0] > heights[1] > heights[2]
    assert ">random</text>" in svg
    assert 'class="way"' in svg
    assert 'class="way"' not in categories(series, ["10", "25", "random"], "tau", zero=True, joined=False)


def test_matrices_and_scatters() -> None:
    svg = matrix([[1.0, -0.2], [0.25, 1.0]], ["skip", "<conv>"])
    ET.fromstring(svg)
    assert svg.count("<rect") == 4
    assert 'fill-opacity="0.250"' in svg
    assert 'fill-opacity="0.000"' in svg
    assert "&lt;conv&gt;" in svg
    ET.fromstring(scatter([[90.0, 10.0], [91.0, 12.0]], "accuracy", "v0"))


def test_more_variants_than_colours_are_dashed() -> None:
    assert style_of(1) == "v1"
    assert style_of(COLOURS + 1) == "v1 dashed"
