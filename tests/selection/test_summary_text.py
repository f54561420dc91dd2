from __future__ import annotations

from dataclasses import replace

from supernetic.selection.agreement import contests
from supernetic.selection.decision import decide
from supernetic.selection.profiles import Profiles
from supernetic.selection.summary_text import sentences

from .conftest import Make

CROSSING = {"small": (0.6, 1.0), "large": (0.3, 6.0), "poor": (1.2, 2.0)}


def said(profiles: Profiles) -> list[str]:
    return sentences(profiles, decide(profiles), contests(profiles))


def test_what_is_shown_is_said_to_be(make: Make) -> None:
    text = said(make(CROSSING, noise=0.002))
    assert text[0].startswith("Take large: calibrated cross-entropy 0.51")
    assert "shown to be better than all others" in text[1]
    assert "From 400 images on" in text[2]
    assert "the error rate names it from 400 on" in text[2]
    assert "not shown to be closer" in text[3]
    assert "2 times the data would be worth" in text[4]
    assert "bits per label" in text[5]


def test_what_is_not_shown_is_said_too(make: Make) -> None:
    close = said(make({"a": (0.5, 4.0), "b": (0.501, 4.0), "c": (2.0, 4.0)}, noise=0.05))
    assert "is not shown: it is the best in" in close[1]
    alone = said(make(CROSSING, seeds=(1, 1, 1, 1), noise=0))
    assert "one seed only" in alone[1]
    p = make(CROSSING)
    short = said(replace(p, sizes=(100,), cells={k: v for k, v in p.cells.items() if k[1] == 100}))
    assert any("there is one size only" in s for s in short)
    assert any("a curve needs 3 sizes, got 1" in s for s in short)


def test_less_data_that_would_have_misled_is_named(make: Make) -> None:
    text = said(make({"small": (0.6, 1.0), "large": (0.3, 8.5)}, noise=0.001))
    assert text[0].startswith("Take large: ")
    assert text[2].startswith("No smaller size names it as the best, so less data would have misled")
