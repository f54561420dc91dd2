from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from supernetic.datasets import Dataset
from supernetic.datasets.augment import Augment, as_floats, cut_out, parse, random_crop, resize, shift_and_flip
from supernetic.errors import InputError


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def images(embedded: Dataset) -> Tensor:
    return torch.from_numpy(embedded.images[:200])


def test_shift_and_flip_is_one_of_162_windows(images: Tensor) -> None:
    colour = torch.stack([images[..., 0], images.flip(1)[..., 0], images.flip(2)[..., 0]], dim=3)
    made = shift_and_flip(colour, 4, True, generator())
    seen = set()
    for original, result in zip(colour.numpy(), made.numpy(), strict=True):
        padded = np.pad(original, ((4, 4), (4, 4), (0, 0)))
        found = {
            (y, x, flip)
            for y in range(9)
            for x in range(9)
            for flip in (1, -1)
            if np.array_equal(padded[y : y + 28, x : x + 28][:, ::flip], result)
        }
        assert found
        if len(found) == 1:  # a shirt may be its own mirror image
            seen |= found
    assert {y for y, _, _ in seen} == {x for _, x, _ in seen} == set(range(9))
    assert 0.3 < np.mean([flip == 1 for _, _, flip in seen]) < 0.7


@pytest.mark.parametrize(("resolution", "pixels"), [(1, 1), (4, 1), (28, 2), (48, 3)])
def test_light_shifts_follow_the_size_and_reflect_the_edges(resolution: int, pixels: int) -> None:
    rng = np.random.default_rng(0)
    originals = rng.integers(1, 256, (300, resolution, resolution, 3), dtype=np.uint8)
    made = parse("light")(torch.from_numpy(originals), resolution, generator())
    results = (made.permute(0, 2, 3, 1) * 255).round().byte().numpy()
    seen = set()
    for original, result in zip(originals, results, strict=True):
        padded = np.pad(original, ((pixels, pixels), (pixels, pixels), (0, 0)), mode="symmetric")
        found = {
            (y, x)
            for y in range(2 * pixels + 1)
            for x in range(2 * pixels + 1)
            if np.array_equal(padded[y : y + resolution, x : x + resolution], result)
        }
        assert found
        seen |= found
    assert seen == {(y, x) for y in range(2 * pixels + 1) for x in range(2 * pixels + 1)}
    assert results.min() > 0  # no black bars


def test_light_mirrors_only_if_told_to() -> None:
    one_side = torch.zeros(100, 16, 16, 1, dtype=torch.uint8)
    one_side[:, :, :4] = 255
    for text, share in {"light": 0.0, "light+flip": 0.5}.items():
        x = parse(text)(one_side, 16, generator())
        on_the_right = x[..., 8:].sum(dim=(1, 2, 3)) > x[..., :8].sum(dim=(1, 2, 3))
        assert on_the_right.float().mean() == pytest.approx(share, abs=0.15)


def test_cutout_is_one_square_of_the_mean_colour() -> None:
    x = torch.rand((2000, 3, 16, 20), generator=generator(1)).contiguous(memory_format=torch.channels_last)
    made = cut_out(x, 1 / 4, generator())
    changed = (made != x).any(dim=1)
    assert changed.sum(dim=(1, 2)).eq(4 * 5).all()
    assert changed.any(dim=2).sum(dim=1).eq(4).all()  # rows
    assert changed.any(dim=1).sum(dim=1).eq(5).all()  # columns
    assert changed.any(dim=0).all()  # everywhere in some image
    for original, result, square in zip(x[:20], made[:20], changed[:20], strict=True):
        assert torch.allclose(result[:, square], original.mean(dim=(1, 2))[:, None])


def test_neither_shift_nor_flip_changes_nothing(images: Tensor) -> None:
    assert torch.equal(shift_and_flip(images, 0, False, generator()), images)


def test_crops_have_the_areas_and_aspects_asked_for() -> None:
    resolution, n = 64, 400
    axis = (torch.arange(resolution) + 0.5) / resolution
    x = torch.stack([axis.expand(resolution, resolution), axis[:, None].expand(resolution, resolution)]).expand(
        n, 2, resolution, resolution
    )
    crops = random_crop(x, 32, 0.08, generator())  # pixel values say where they came from
    middle = crops[:, :, 8:-8, 8:-8]  # away from the border, where values are clamped
    width = (middle[:, 0, 0, -1] - middle[:, 0, 0, 0]) * 32 / 15
    height = (middle[:, 1, -1, 0] - middle[:, 1, 0, 0]) * 32 / 15
    area, ratio = width * height, width / height
    assert area.min() > 0.079
    assert area.max() < 1.001
    assert area.mean() == pytest.approx(0.5, abs=0.06)  # large, oblong crops do not fit and are drawn again
    assert ratio.min() > 0.749
    assert ratio.max() < 1.334
    assert ratio.log().mean() == pytest.approx(0, abs=0.03)
    centre = middle[:, 0, 0, :].mean(1)
    assert (centre - width / 2 > -1e-4).all()
    assert (centre + width / 2 < 1 + 1e-4).all()


def test_a_crop_of_everything_is_everything(images: Tensor) -> None:
    x = as_floats(images)
    assert torch.allclose(random_crop(x, 28, 1.0, generator()), x, atol=1e-5)


def test_resize_keeps_range_and_mean(images: Tensor) -> None:
    x = as_floats(images)
    assert resize(x, 28) is x
    small = resize(x, 14)
    assert small.shape == (200, 1, 14, 14)
    assert (small.min() >= 0) & (small.max() <= 1)
    assert small.mean() == pytest.approx(float(x.mean()), abs=0.01)


@pytest.mark.parametrize(
    "text",
    [
        "shift+flip",
        "crop+flip",
        "shift+flip+autoaugment-cifar10",
        "randaugment",
        "light",
        "light+flip+cutout",
        "none",
        "",
    ],
)
def test_output_is_floats_of_the_side_asked_for_and_depends_on_the_generator_alone(images: Tensor, text: str) -> None:
    augment = parse(text)
    before = torch.get_rng_state()
    first, again, other = (augment(images, 20, generator(s)) for s in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert first.shape == (200, 1, 20, 20)
    assert first.dtype == torch.float32
    assert first.is_contiguous(memory_format=torch.channels_last)
    assert (first.min() >= 0) & (first.max() <= 1)
    assert torch.equal(first, again)
    assert torch.equal(first, other) == (text in ("none", ""))


def test_names() -> None:
    assert parse("flip+shift") == Augment(shift=4, flip=True)
    assert parse("none") == parse("") == Augment()
    assert parse("light+flip") == Augment(light_shift=1 / 16, flip=True)
    assert parse("cutout+light") == Augment(light_shift=1 / 16, cutout=1 / 4)
    assert parse("crop+randaugment") == Augment(crop=0.08, policy="randaugment")
    assert parse("zoom+flip") == Augment(crop=0.35, flip=True)
    for text, message in {
        "shfit": "unknown augmentation 'shfit': did you mean 'shift'?",
        "randaugment+autoaugment-cifar10": "one policy at a time, got randaugment and autoaugment-cifar10",
        "none+flip": "none must stand alone, got none+flip",
        "shift+light": "one shift at a time, got shift and light",
    }.items():
        with pytest.raises(InputError) as caught:
            parse(text)
        assert str(caught.value) == message
    with pytest.raises(InputError, match="did you mean 'randaugment'"):
        Augment(policy="randaug")
    with pytest.raises(InputError, match="one crop at a time, got zoom and crop"):
        parse("zoom+crop")
    with pytest.raises(InputError, match="crop 0 to 1, got 0 and 2"):
        Augment(crop=2)
    with pytest.raises(InputError, match=r"light_shift and cutout must be 0 to 1, got 0\.0 and -1"):
        Augment(cutout=-1)
