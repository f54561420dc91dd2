"""AutoAugment and RandAugment, each image on its own draw.

Paper: Cubuk et al., "AutoAugment", 2018, arXiv 1805.09501; Cubuk et al., "RandAugment", 2019, arXiv 1909.13719.

Differences: geometry is bilinear and about the centre, and what comes in from outside is black. Pixel operations and
the tables of policies are kornia's; its own driver is not used, because it draws one sub-policy for a whole batch and
reads the tables' magnitudes as places in a range from negative to positive. Here, as in the code released with the
paper, a magnitude is a strength from 0 to the range's end, and where a direction exists it is drawn.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

# Names of kornia's tables. Geometry first: those are one warp with different matrices.
GEOMETRY = ("shear_x", "shear_y", "translate_x", "translate_y", "rotate")
OPERATIONS = (
    *GEOMETRY, "color", "contrast", "brightness", "sharpness", "solarize", "posterize", "invert", "auto_contrast",
    "equalize",
)  # fmt: skip

LARGEST_MAGNITUDE = 9  # the tables' magnitudes are 0..9
RAND_OPERATIONS, RAND_MAGNITUDE = 2, 9 / 30 * LARGEST_MAGNITUDE  # N = 2, M = 9 of 30

# The strongest effect: a slope, a share of the image's width, or degrees.
STRONGEST_EFFECTS = {"shear_x": 0.3, "shear_y": 0.3, "translate_x": 150 / 331, "translate_y": 150 / 331, "rotate": 30.0}


def apply_policy(policy: str, x: Tensor, generator: torch.Generator) -> Tensor:
    """A policy on a batch; gray images are treated as colour ones and made gray again.

    Args:
        policy: one of `POLICIES`.
        x: N x C x H x W in 0..1.
        generator: of the draws.

    Returns:
        Images of the same shape.
    """
    gray = x.shape[1] == 1
    if gray:
        x = x.expand(-1, 3, -1, -1)
    for operation, applied, magnitude in _draw(policy, len(x), generator):
        x = apply_operations(x, torch.where(applied, operation, -1), magnitude, generator)
    x = x[:, :1] if gray else x  # all operations treat three equal channels alike
    return x.contiguous(memory_format=torch.channels_last)


def apply_operations(x: Tensor, operation: Tensor, magnitude: Tensor, generator: torch.Generator) -> Tensor:
    """One operation on each image.

    Args:
        x: N x 3 x H x W in 0..1.
        operation: its number in `OPERATIONS` for each image; -1: none.
        magnitude: 0 to 9 for each image.
        generator: of the directions.

    Returns:
        Images of the same shape.
    """
    sign = torch.where(torch.rand(len(x), generator=generator) < 0.5, -1.0, 1.0)
    x = x.clone(memory_format=torch.contiguous_format)
    strength = magnitude / LARGEST_MAGNITUDE
    warped = (operation >= 0) & (operation < len(GEOMETRY))
    if warped.any():
        rows = warped.nonzero()[:, 0]
        at = rows.to(x.device)
        x[at] = _warp(x[at], operation[rows], strength[rows], sign[rows])
    for i in sorted(set(operation.tolist())):
        if i >= len(GEOMETRY):
            rows = (operation == i).nonzero()[:, 0]
            at = rows.to(x.device)
            x[at] = _enhance(OPERATIONS[i], x[at], strength[rows], sign[rows])
    return x


@lru_cache
def _table(policy: str) -> tuple[Tensor, Tensor, Tensor]:
    """Operation, probability and magnitude of kornia's table, each sub-policies x 2."""
    from kornia.augmentation.auto.autoaugment import autoaugment

    table = {"autoaugment-cifar10": autoaugment.cifar10_policy, "autoaugment-imagenet": autoaugment.imagenet_policy}
    rows = table[policy]
    return (
        torch.tensor([[OPERATIONS.index(name) for name, _, _ in row] for row in rows]),
        torch.tensor([[float(p) for _, p, _ in row] for row in rows]),
        torch.tensor([[float(m or 0) for _, _, m in row] for row in rows]),
    )


def _draw(policy: str, n: int, generator: torch.Generator) -> list[tuple[Tensor, Tensor, Tensor]]:
    """For each step of the policy: operation, whether it is applied, and magnitude, per image."""
    if policy == "randaugment":
        listed = torch.tensor([-1, *(i for i, name in enumerate(OPERATIONS) if name != "invert")])  # -1: identity
        operations = listed[torch.randint(0, len(listed), (RAND_OPERATIONS, n), generator=generator)]
        return [(o, torch.ones(n, dtype=torch.bool), torch.full((n,), RAND_MAGNITUDE)) for o in operations]
    operation, probability, magnitude = _table(policy)
    chosen = torch.randint(0, len(operation), (n,), generator=generator)
    gate = torch.rand((2, n), generator=generator)
    return [(operation[chosen, k], gate[k] < probability[chosen, k], magnitude[chosen, k]) for k in range(2)]


def _warp(x: Tensor, operation: Tensor, strength: Tensor, sign: Tensor) -> Tensor:
    """All geometric operations at once: where each output pixel comes from, in coordinates -1..1."""
    amount = strength * sign * torch.tensor([STRONGEST_EFFECTS[name] for name in GEOMETRY])[operation]
    shear_x, shear_y, move_x, move_y, turn = (torch.where(operation == i, amount, 0.0) for i in range(5))
    angle = torch.deg2rad(turn)
    cos, sin = angle.cos(), angle.sin()
    rows = [torch.stack([cos, sin + shear_x, 2 * move_x], 1), torch.stack([shear_y - sin, cos, 2 * move_y], 1)]
    grid = affine_grid(torch.stack(rows, 1).to(x.device), list(x.shape), align_corners=False)
    return grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def _enhance(name: str, x: Tensor, strength: Tensor, sign: Tensor) -> Tensor:
    from kornia import enhance

    shape = (-1, 1, 1, 1)
    factor = (1 + 0.9 * strength * sign).to(x.device)  # 1 leaves an image alone, 0 is all gray, all dark, blurred
    match name:
        case "color":
            return _blend(x, _gray(x), factor)
        case "contrast":
            return _blend(x, _gray(x).mean((2, 3), keepdim=True), factor)
        case "brightness":
            return (x * factor.view(shape)).clamp(0, 1)
        case "sharpness":
            return enhance.sharpness(x, factor).clamp(0, 1)
        case "solarize":
            return torch.where(x < (1 - strength).to(x.device).view(shape), x, 1 - x)
        case "posterize":
            return enhance.posterize(x, (8 - (strength * 4).round()).int().to(x.device))
        case "invert":
            return 1 - x
        case "auto_contrast":
            low, high = x.amin((2, 3), keepdim=True), x.amax((2, 3), keepdim=True)
            return torch.where(high > low, (x - low) / (high - low).clamp_min(1e-6), x)
        case _:
            return enhance.equalize(x)


def _blend(x: Tensor, towards: Tensor, factor: Tensor) -> Tensor:
    return (towards + factor.view(-1, 1, 1, 1) * (x - towards)).clamp(0, 1)


def _gray(x: Tensor) -> Tensor:
    return (x * x.new_tensor([0.299, 0.587, 0.114]).view(3, 1, 1)).sum(1, keepdim=True)
