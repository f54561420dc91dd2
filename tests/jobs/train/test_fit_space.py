from __future__ import annotations

from supernetic.datasets import load
from supernetic.jobs.train.fit_space import fit_space
from supernetic.spaces.macro import Macro


def test_what_the_text_leaves_open_follows_from_the_data() -> None:
    data = load("embedded", limit=100)
    made, notes = fit_space("macro:channels=4", data)
    assert made == Macro(channels=4, resolution=28, in_channels=1)
    assert notes == ["from the data: in_channels=1, resolution=28"]
    assert fit_space("macro:in_channels=3,resolution=32", data) == (Macro(), [])
    assert fit_space(Macro(), data) == (Macro(), [])
