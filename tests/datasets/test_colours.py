from __future__ import annotations

import colorsys

import pytest
import torch

from supernetic.datasets.colours import ORDERS, RANGES, change, distort_colours


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_images_draw_for_themselves_and_stay_in_range() -> None:
    x = torch.rand((1, 3, 6, 5), generator=generator()).expand(40, -1, -1, -1)
    made = distort_colours(x, generator(1))
    assert made.shape == x.shape
    assert 0 <= float(made.min()) < float(made.max()) <= 1
    assert len({image.numpy().tobytes() for image in made}) == 40
    assert torch.equal(made, distort_colours(x, generator(1)))
    assert all(sorted(order) == sorted(RANGES) for order in ORDERS)
    assert made.is_contiguous(memory_format=torch.channels_last)


def test_gray_images_get_brightness_and_contrast() -> None:
    x = torch.rand((8, 1, 6, 6), generator=generator())
    made = distort_colours(x, generator())
    assert made.shape == x.shape
    assert not torch.allclose(made, x)


@pytest.mark.parametrize("name", RANGES)
def test_no_amount_changes_nothing(name: str) -> None:
    x = torch.rand((3, 3, 5, 5), generator=generator())
    assert torch.allclose(change(name, x, torch.zeros(3)), x, atol=1e-5)


def test_changes_are_those_of_the_colours_themselves() -> None:
    red, green, blue = 0.6, 0.3, 0.2
    x = torch.tensor([red, green, blue]).view(1, 3, 1, 1)
    hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
    for name, amount, expected in (
        ("brightness", 0.1, (0.7, 0.4, 0.3)),
        ("brightness", -0.25, (0.35, 0.05, 0.0)),
        ("saturation", 0.4, colorsys.hsv_to_rgb(hue, 1.4 * saturation, value)),
        ("hue", -0.15, colorsys.hsv_to_rgb((hue - 0.15) % 1, saturation, value)),
    ):
        assert change(name, x, torch.tensor([amount])).flatten().tolist() == pytest.approx(expected, abs=1e-5)
    pair = torch.tensor([[0.2, 0.6]]).view(1, 1, 1, 2)
    assert change("contrast", pair, torch.tensor([-0.5])).flatten().tolist() == pytest.approx([0.3, 0.5])
