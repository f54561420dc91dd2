"""Weights of AttentiveNAS's released supernet, in our elastic one.

The file is a state dict of the release's dynamic modules, as `torch.save` wrote it: alone, or under `state_dict` beside
other tensors. Its names and shapes are facts of the public code (facebookresearch/AttentiveNAS). Only tensors are read.
BN statistics of the release mean nothing (it computes them anew for every network), and so they do here: `derive` and
`extract` recalibrate them.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import InputError
from ..reading import require_plain
from ..spaces.attentive import STAGES, Attentive
from ..supernets.supernet import Supernet

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, which the release normalises by
PARTS = {  # of a block
    "expand": ("inverted_bottleneck.conv.conv", "inverted_bottleneck.bn.bn"),
    "depthwise": ("depth_conv.conv.conv", "depth_conv.bn.bn"),
    "squeeze": ("depth_conv.se.fc.reduce", ""),
    "excite": ("depth_conv.se.fc.expand", ""),
    "project": ("point_linear.conv.conv", "point_linear.bn.bn"),
}
ENDS = {
    "stem.conv.conv": ("first_conv.conv.conv", "first_conv.bn.bn"),
    "head.expand.conv.conv": ("last_conv.final_expand_layer.conv.conv", "last_conv.final_expand_layer.bn.bn"),
    "head.conv.conv.conv": ("last_conv.feature_mix_layer.conv.conv", ""),
    "classifier.linear.linear": ("classifier.linear.linear", ""),
}
# tensors of the release that no network needs: counters, statistics of two networks, shortcuts that are identities
UNUSED = re.compile(r"num_batches_tracked$|\.bn_tracking\.|^blocks\.\d+\.shortcut\.conv\.conv\.weight$")


def convert(path: str | Path) -> Supernet:
    """Our supernet with the weights of a file.

    Args:
        path: The state dict of the release.

    Returns:
        A supernet of `attentive`, for as many classes as the file has; in evaluation mode.
    """
    stored = read_state(Path(path))
    classifier = stored.get("classifier.linear.linear.bias")
    if classifier is None or classifier.ndim != 1:
        raise InputError(f"{path} is not of AttentiveNAS's supernet: it has no tensor classifier.linear.linear.bias")
    supernet = Supernet(Attentive(classes=len(classifier)), seed=0)
    filled, left = {}, dict(stored)
    for name, tensor in supernet.state_dict().items():
        if name.endswith("num_batches_tracked"):
            filled[name] = tensor
            continue
        theirs = their_name(name)
        if theirs not in stored:
            raise InputError(f"{path} has no tensor {theirs}, which {name} needs")
        value = left.pop(theirs)
        if value.shape != tensor.shape:
            raise InputError(f"{path}: {theirs} must have the shape {tuple(tensor.shape)}, got {tuple(value.shape)}")
        filled[name] = value.float().contiguous()
    unknown = sorted(n for n in left if not UNUSED.search(n))
    if unknown:
        raise InputError(f"{path} has a tensor that AttentiveNAS's supernet lacks: {unknown[0]}")
    supernet.load_state_dict(filled)
    return supernet.eval()


def read_state(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by name; whatever would run code is refused."""
    try:
        require_plain(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except (OSError, RuntimeError, EOFError, ValueError, KeyError, pickle.UnpicklingError) as error:
        why = " ".join(str(error).split())[:160]
        advice = "only tensors are read; if the file holds more, save its state_dict alone"
        raise InputError(f"{path} holds no state dict that can be read: {advice} ({why})") from None
    if isinstance(content, Mapping) and isinstance(content.get("state_dict"), Mapping):
        content = content["state_dict"]
    if not isinstance(content, Mapping) or not all(isinstance(t, Tensor) for t in content.values()):
        raise InputError(f"{path} must hold a state dict, tensors by name, got {_described(content)}")
    return {str(name).removeprefix("module."): tensor for name, tensor in content.items()}


def their_name(name: str) -> str:
    """The release's name of one of our supernet's tensors, such as `mb2.0.mbconv.expand.op.weight`."""
    unit, kind, field = name.rsplit(".", 2)
    if unit in ENDS:
        op, norm = ENDS[unit]
    else:
        stage, block, _, role = unit.split(".")
        number = BLOCKS[int(stage.removeprefix("mb")) - 1] + int(block)
        if role == "shortcut":
            op, norm = f"blocks.{number}.shortcut.conv.conv", ""
        else:
            op, norm = (f"blocks.{number}.mobile_inverted_conv.{p}" for p in PARTS[role])
    return f"{op if kind == 'op' else norm}.{field}"


def _first_blocks() -> Iterator[int]:
    """The number of each stage's first block among all blocks."""
    number = 0
    for stage in STAGES:
        yield number
        number += max(stage.depths)


BLOCKS = tuple(_first_blocks())


def _described(content: Any) -> str:
    if isinstance(content, Mapping):
        other = next((k for k, v in content.items() if not isinstance(v, Tensor)), "")
        return f"a table in which {other!r} is {type(content.get(other)).__name__}"
    return type(content).__name__
