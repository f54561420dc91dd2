"""Features of the choices of one layer: do they look alike, as weight sharing needs them to?

Paper: Chu et al., "SCARLET-NAS", arXiv 1908.06022, sections 3.2 and 6.1, figures 1, 4 and 11.
Differences: the paper does not say how feature vectors are projected to a plane; `project` says how it is done here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..errors import InputError, UnknownNameError
from ..nn.norm import batch_statistics
from ..space import Arch, SequentialSpace
from ..supernets.supernet import Supernet

Features = Mapping[str, Tensor]  # by the option's label: images x channels x height x width
Array = npt.NDArray[np.float64]


@torch.no_grad()
def choice_features(supernet: Supernet, x: Tensor, arch: Arch, slot: int, layer: str = "") -> dict[str, Tensor]:
    """What each option of a slot makes of the same input.

    Args:
        supernet: The supernet.
        x: Images.
        arch: How the layers before the slot are chosen.
        slot: The slot.
        layer: The layer whose output is taken; by default the slot's last. In cell spaces, where a slot has a layer in
            every cell, name one of the first cell: behind it, the options do not see the same input any more.

    Returns:
        The output of the layer, by the option's label.
    """
    space = supernet.stabilised
    if not isinstance(space, SequentialSpace):
        raise InputError(f"{space.name}: only the layers of a sequential space have options with the same input")
    if not 0 <= slot < len(space.slots):
        raise InputError(f"{space.name}: slot must lie in 0..{len(space.slots) - 1}, got {slot}")
    arch, genes = space.check(arch), space.slots[slot]
    state = space.start()[1]
    for i in range(slot):
        taken = space.step(i, state, tuple(arch[g] for g in space.slots[i]))
        assert taken is not None  # since the architecture is valid
        state = taken[1]
    features = {}
    for options in product(*(range(int(space.radices[g])) for g in genes)):
        taken = space.step(slot, state, options)
        if taken is None:
            continue
        if not taken[0]:
            raise InputError(f"{space.name}: slot {slot} has no layer to look at")
        sibling = list(arch)
        for g, option in zip(genes, options, strict=True):
            sibling[g] = option
        label = " ".join(str(space.choices[g].options[o]) for g, o in zip(genes, options, strict=True))
        name = layer or taken[0][-1].name
        features[label] = feature_maps(supernet, x, tuple(sibling), [name])[name]
    return features


@torch.no_grad()
def feature_maps(supernet: Supernet, x: Tensor, arch: Arch, layers: Iterable[str]) -> dict[str, Tensor]:
    """The outputs of the named layers, such as a low and a high one; BN by the statistics of these images."""
    asked = dict.fromkeys(layers)
    names = [layer.name for layer in supernet.blueprint(arch)]
    for name in asked:
        if name not in names:
            raise UnknownNameError("layer", name, names)
    maps: dict[str, Tensor] = {}
    with batch_statistics(supernet):
        for layer, y in supernet.trace(x, arch):
            if layer.name in asked:
                maps[layer.name] = y
            if len(maps) == len(asked):
                break
    return maps


def similarity(features: Features) -> Array:
    """Cosine similarity of every two options, for each channel of each image, averaged."""
    flat = torch.nn.functional.normalize(_stack(features), dim=-1)
    return torch.einsum("ancp,bncp->ab", flat, flat).numpy() / (flat.shape[1] * flat.shape[2])


def mean_similarity(matrix: Array) -> float:
    """The average over pairs of different options."""
    n = len(matrix)
    return float((matrix.sum() - matrix.trace()) / (n * (n - 1)))


def project(features: Features, reference: str = "") -> Array:
    """A point in the plane for each option: along the reference option's feature vector, and away from it.

    The reference, the first option unless named, lies at (1, 0). Angles and ratios of lengths to it are true.
    """
    if reference and reference not in features:
        raise UnknownNameError("option", reference, features)
    vectors = _stack(features).flatten(1).numpy()
    axis = vectors[list(features).index(reference) if reference else 0]
    along = vectors @ axis / (axis @ axis)
    away = np.linalg.norm(vectors - along[:, None] * axis, axis=1) / np.linalg.norm(axis)
    return np.stack([along, away], axis=1)


def angles(points: Array) -> Array:
    """The angle of each point of `project` to the reference, in degrees."""
    return np.degrees(np.arctan2(points[:, 1], points[:, 0]))


def _stack(features: Features) -> Tensor:
    """Options x images x channels x pixels. A skip may be narrower than the others: all are cut to its channels."""
    if len(features) < 2:
        raise InputError(f"comparing takes the features of at least two options, got {len(features)}")
    sizes = {tuple(f.shape[2:]) for f in features.values()}
    if len(sizes) > 1:
        raise InputError(f"features of different options must have the same height and width, got {sorted(sizes)}")
    width = min(f.shape[1] for f in features.values())
    return torch.stack([f[:, :width].flatten(2) for f in features.values()]).detach().double().cpu()
