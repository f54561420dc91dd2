"""What happens to training images, on the device and a batch at a time; every image draws for itself.

Written as names joined by `+`, in any order: `shift` (pad by 4 pixels and cut out again) or `light` (shift by up to
1/16 of the width, edges reflected), `flip` (left and right), `zoom` or `crop` (a random part of random aspect, resized:
most of the image, or any part), one policy (`autoaugment-cifar10`, `autoaugment-imagenet`, `randaugment`), and `cutout`
(a square of the mean colour). They are applied in that order. `inception` is the preprocessing of Inception, which many
papers name: `crop`, `flip`, and then random colours. `none` stands alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample, interpolate, pad

from ..errors import InputError, UnknownNameError
from .augment_names import AUGMENTATIONS as AUGMENTATIONS
from .augment_names import INCEPTION, POLICIES, augment_names
from .augment_names import NONE as NONE
from .colours import distort_colours
from .policies import apply_policy

LIGHT_SHIFT = 1 / 16  # of the width: 2 pixels of CIFAR-10's 32, 14 of ImageNet's 224
CUTOUT_SIDE = 1 / 4  # of the image's side
SMALLEST_CROP, SMALLEST_ZOOM = 0.08, 0.35  # share of the area that is kept at least
CROP_ATTEMPTS = 10  # at a crop that fits, before the centre is taken
CROP_ASPECT_RATIOS = (3 / 4, 4 / 3)  # of a crop's width to its height


@dataclass(frozen=True)
class Augment:
    """Random changes to a batch of images; the defaults are none."""

    shift: int = 0  # pixels of padding (black) on each side before an image of the same size is cut out
    flip: bool = False
    crop: float = 0.0  # the smallest share of the area that a crop keeps (ImageNet: .08); 0: no crop
    policy: str = ""
    light_shift: float = 0.0  # the largest shift as a share of the width, at least a pixel, edges reflected; 0: none
    cutout: float = 0.0  # side of the gray square as a share of the image's; 0: none
    colours: bool = False  # whether brightness, saturation, hue and contrast change

    def __post_init__(self) -> None:
        if self.policy and self.policy not in POLICIES:
            raise UnknownNameError("augmentation policy", self.policy, POLICIES)
        if self.shift < 0 or not 0 <= self.crop <= 1:
            raise InputError(f"shift must be 0 or more and crop 0 to 1, got {self.shift} and {self.crop}")
        if not 0 <= self.light_shift <= 1 or not 0 <= self.cutout <= 1:
            raise InputError(f"light_shift and cutout must be 0 to 1, got {self.light_shift} and {self.cutout}")
        if self.shift and self.light_shift:
            raise InputError("one shift at a time, got shift and light")

    def __call__(self, images: Tensor, resolution: int, generator: torch.Generator) -> Tensor:
        """Bytes N x H x W x C to floats in 0..1, N x C x `resolution` x `resolution`, channels last."""
        if self.light_shift:
            pixels = max(1, round(images.shape[2] * self.light_shift))
            images = shift_and_flip(images, pixels, self.flip, generator, reflect=True)
        elif self.shift or self.flip:
            images = shift_and_flip(images, self.shift, self.flip, generator)
        x = as_floats(images)
        x = random_crop(x, resolution, self.crop, generator) if self.crop else resize(x, resolution)
        x = distort_colours(x, generator) if self.colours else x
        x = apply_policy(self.policy, x, generator) if self.policy else x
        return cut_out(x, self.cutout, generator) if self.cutout else x


def parse(text: str) -> Augment:
    """An `Augment` from its names, with the customary sizes: a shift of 4 pixels, crops from 8 % of the area on.

    Args:
        text: names joined by `+`; `none` or no name at all for no augmentation.

    Returns:
        The augmentation.
    """
    names = augment_names(text)
    return Augment(
        shift=4 if "shift" in names else 0,
        flip="flip" in names or INCEPTION in names,
        crop=SMALLEST_ZOOM if "zoom" in names else SMALLEST_CROP if "crop" in names or INCEPTION in names else 0.0,
        policy="".join(name for name in names if name in POLICIES),
        light_shift=LIGHT_SHIFT if "light" in names else 0.0,
        cutout=CUTOUT_SIDE if "cutout" in names else 0.0,
        colours=INCEPTION in names,
    )


def as_floats(images: Tensor) -> Tensor:
    """Bytes as floats in 0..1.

    Args:
        images: N x H x W x C.

    Returns:
        N x C x H x W, channels last in memory.
    """
    return images.permute(0, 3, 1, 2).float().mul_(1 / 255)


def resize(x: Tensor, resolution: int) -> Tensor:
    """Resize, bicubic with antialiasing; images of that size stay as they are.

    Args:
        x: N x C x H x W in 0..1.
        resolution: pixels.

    Returns:
        N x C x `resolution` x `resolution`.
    """
    if x.shape[2:] == (resolution, resolution):
        return x
    return interpolate(x, (resolution, resolution), mode="bicubic", antialias=True).clamp(0, 1)


def shift_and_flip(
    images: Tensor, shift: int, flip: bool, generator: torch.Generator, *, reflect: bool = False
) -> Tensor:
    """Shift and mirror each image at random, in one gather of pixels.

    What comes in from outside is black, or the image itself, reflected at its edge. Black bars tell a network the shift
    and are in no image that it will see later; reflections leave none. Repeated edges would leave streaks.

    Args:
        images: N x H x W x C.
        shift: the most pixels, in each direction; reflected, no more than the image has.
        flip: whether half of the images are mirrored.
        generator: of the draws.
        reflect: whether edges are reflected.

    Returns:
        Images of the same shape.
    """
    n, height, width, channels = images.shape
    device = images.device
    offsets = torch.randint(0, 2 * shift + 1, (2, n, 1), generator=generator).to(device)
    mirrored = (torch.rand((n, 1), generator=generator) < 0.5).to(device) & flip
    columns = torch.arange(width, device=device)
    columns = torch.where(mirrored, width - 1 - columns, columns) + offsets[1]
    rows = torch.arange(height, device=device) + offsets[0]
    if reflect:
        rows, columns = _reflected(rows - shift, height), _reflected(columns - shift, width)
    else:
        images = pad(images, (0, 0, shift, shift, shift, shift))
    rows = rows + torch.arange(n, device=device)[:, None] * images.shape[1]
    pixels = rows[:, :, None] * images.shape[2] + columns[:, None, :]
    return images.reshape(-1, channels).index_select(0, pixels.view(-1)).view(n, height, width, channels)


def _reflected(positions: Tensor, size: int) -> Tensor:
    """Positions outside 0..size - 1 as what a mirror at the edge shows there; the edge itself occurs twice."""
    positions = torch.where(positions < 0, -1 - positions, positions)
    return torch.where(positions >= size, 2 * size - 1 - positions, positions)


def cut_out(x: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """A square of each image, at a random place, replaced by the image's mean colour.

    Paper: DeVries and Taylor, "Improved Regularization of Convolutional Neural Networks with Cutout", 2017, arXiv
    1708.04552. Differences: the square lies inside the image, and has its mean colour, not the data set's.

    Args:
        x: N x C x H x W in 0..1.
        share: the square's side as a share of the image's; at least a pixel.
        generator: of the draws.

    Returns:
        Images of the same shape.
    """
    n, _, height, width = x.shape
    inside = []
    for size in (height, width):
        side = max(1, round(share * size))
        start = torch.randint(0, size - side + 1, (n, 1), generator=generator).to(x.device)
        positions = torch.arange(size, device=x.device)
        inside.append((positions >= start) & (positions < start + side))
    square = inside[0][:, None, :, None] & inside[1][:, None, None, :]
    return torch.where(square, x.mean(dim=(2, 3), keepdim=True), x).contiguous(memory_format=torch.channels_last)


def random_crop(x: Tensor, resolution: int, smallest: float, generator: torch.Generator) -> Tensor:
    """A part of each image of random area, aspect and place, resized (bilinear) to `resolution`.

    Paper: Szegedy et al., "Going deeper with convolutions", 2015, arXiv 1409.4842, section 6.

    Args:
        x: N x C x H x W in 0..1.
        resolution: pixels of the result.
        smallest: the smallest share of the area that a crop keeps.
        generator: of the draws.

    Returns:
        N x C x `resolution` x `resolution`.
    """
    n, _, height, width = x.shape
    area = torch.empty(CROP_ATTEMPTS, n).uniform_(smallest, 1, generator=generator)
    aspects = log(CROP_ASPECT_RATIOS[0]), log(CROP_ASPECT_RATIOS[1])
    ratio = torch.empty(CROP_ATTEMPTS, n).uniform_(*aspects, generator=generator).exp()
    sizes = torch.stack([(area * ratio * height / width).sqrt(), (area / ratio * width / height).sqrt()], dim=2)
    fits = (sizes <= 1).all(dim=2)  # sizes are shares of width and height
    first = fits.int().argmax(dim=0)
    chosen = torch.where(fits.any(dim=0)[:, None], sizes[first, torch.arange(n)], torch.ones(2))
    centre = (torch.rand((n, 2), generator=generator) * 2 - 1) * (1 - chosen)
    matrix = torch.zeros(n, 2, 3)
    matrix[:, [0, 1], [0, 1]] = chosen
    matrix[:, :, 2] = centre
    grid = affine_grid(matrix.to(x.device), [n, x.shape[1], resolution, resolution], align_corners=False)
    cut = grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=False)
    return cut.contiguous(memory_format=torch.channels_last)
