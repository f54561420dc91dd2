import pytest

from supernetic import catalog
from supernetic.datasets import load
from supernetic.errors import InputError
from supernetic.jobs.scale.space import scaled_space
from supernetic.spaces.macro import Macro
from supernetic.spaces.scaled import Product
from supernetic.spaces.scalenet import ScaleNet

DATA = load("embedded", limit=100)


def test_small_images_take_macro_blocks_and_lists_made_for_them() -> None:
    space, budgets, notes = scaled_space("auto", DATA, 2, None)
    assert isinstance(space, Product)
    assert isinstance(space.base, Macro)
    assert (space.base.resolution, space.base.in_channels) == (19, 1)
    assert len(space.strategies.factors) == len(budgets.targets) == 3
    assert "for images of 28 pixels" in notes[0]
    assert any("x base" in line for line in notes)


def test_the_largest_searched_images_are_about_the_datas_own() -> None:
    space, _, _ = scaled_space("auto", DATA, 3, None)
    assert isinstance(space, Product)
    assert space.strategies.pixels[3][0] <= DATA.resolution <= space.strategies.pixels[3][-1]


def test_scalenet_is_filled_in_where_the_text_leaves_it_open() -> None:
    text, _, notes = scaled_space("scalenet", DATA, 1, None)
    made = catalog.space(text)
    assert isinstance(made, ScaleNet)
    assert (made.stages, made.width) == (1, 0.25)
    assert 28 <= made.resolution <= 37
    assert f"images of {made.resolution} pixels" in notes[1]


def test_what_is_said_is_kept() -> None:
    text, budgets, notes = scaled_space("scalenet:width=0.5,resolution=64", DATA, 2, 9e6)
    assert text == "scalenet:width=0.5,resolution=64,stages=2"
    assert budgets.targets == (9e6, 18e6, 36e6)
    assert notes == ["budgets 9M, 18M, 36M MACs (as given)"]


def test_cells_are_refused() -> None:
    with pytest.raises(InputError, match=r"nasbench201 cannot be scaled: only chains of blocks can be scaled"):
        scaled_space("nasbench201", DATA, 2, None)
