import pytest

from supernetic import catalog
from supernetic.datasets import load
from supernetic.errors import InputError
from supernetic.pipeline.scale.space import scaled_space
from supernetic.spaces.scalenet import ScaleNet


def test_fills_in_what_the_text_leaves_open() -> None:
    text, notes = scaled_space("scalenet", load("embedded", limit=100), 1)
    made = catalog.space(text)
    assert isinstance(made, ScaleNet)
    assert (made.stages, made.width) == (1, 0.25)
    assert 28 <= made.side <= 37
    assert f"images of {made.side} pixels" in notes[1]


def test_keeps_what_is_said() -> None:
    text, notes = scaled_space("scalenet:width=0.5,side=64", load("embedded", limit=100), 2)
    assert text == "scalenet:width=0.5,side=64,stages=2"
    assert notes == []


def test_other_spaces_are_refused() -> None:
    with pytest.raises(InputError, match=r"scale searches scalenet, with settings .*; got 'scarlet-s1'"):
        scaled_space("scarlet-s1", load("embedded", limit=100), 2)
