from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from supernetic.errors import RunError
from supernetic.reports import write_report
from supernetic.reports.augment_preview import preview
from supernetic.runs.records import AugmentRecord
from supernetic.space import Space

Make = Callable[..., Path]


def record(**changes: Any) -> dict[str, Any]:
    file = io.BytesIO()
    Image.new("RGB", (40, 24), "red").save(file, "PNG")
    sheet = base64.b64encode(file.getvalue()).decode()
    whole = {"augment": "light+flip", "reason": "Since <b> & b.", "columns": 5, "rows": 3, "resolution": 8}
    return {**whole, "sheet": sheet, **changes}


def test_every_picture_is_a_window_on_one_sheet() -> None:
    html = preview(AugmentRecord.from_json(record()))
    windows = re.findall(r'<svg x="([\d.]+)" y="([\d.]+)" width="1" height="1" viewBox="(\d) (\d) 1 1">', html)
    assert [(int(column), int(row)) for _, _, column, row in windows] == [(c, r) for r in range(3) for c in range(5)]
    assert html.count("data:image/png;base64,") == 1
    width, height = (float(v) for v in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', html)[0])
    right, bottom = (max(float(w[i]) + 1 for w in windows) for i in (0, 1))
    assert (right, bottom) == pytest.approx((width, height))


def test_a_run_with_the_file_shows_it_and_others_do_not(make: Make, space: Space) -> None:
    path = make()
    without = write_report(path, space).read_text()
    assert "Augmentation" not in without
    (path / "augment.json").write_text(json.dumps(record()))
    text = write_report(path, space).read_text()
    assert re.findall(r'<section id="section-(\w+)"', text)[-5:-2] == ["data", "augmentation", "glossary"]
    assert '<a href="#section-augmentation">Augmentation</a>' in text
    assert '<span class="code">light+flip</span>. Since &lt;b&gt; &amp; b.' in text
    assert record()["sheet"] in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sheet": 'x" onload="alert(1)'}, "sheet must be a PNG in base64"),
        ({"sheet": base64.b64encode(b"<svg onload=alert(1)>").decode()}, "sheet must be a PNG in base64"),
        ({"sheet": None}, "sheet must be a PNG in base64, got None"),
        ({"columns": 10**9}, "columns must be a whole number, 1 to 32, got 1000000000"),
        ({"rows": 0}, "rows must be a whole number, 1 to 32, got 0"),
        ({"reason": 3}, "reason must be text, got 3"),
    ],
)
def test_a_wrong_field_is_named(make: Make, changes: dict[str, Any], words: str) -> None:
    path = make()
    (path / "augment.json").write_text(json.dumps(record(**changes)))
    with pytest.raises(RunError, match=re.escape(f"augment.json: {words}")):
        write_report(path)
