"""Networks of timm (PyTorch Image Models), where it is installed, in our layers.

    timm:resnet18               with the weights that timm has for it, downloaded once or from its cache
    timm:resnet18@weights.pth   with those of a file: a state dict of that network, as torch or safetensors wrote it
    timm:resnet18@fresh         with random ones

`translate` says which networks these are: ResNets, MobileNets, EfficientNet-Lite, RegNets and others that are made of
convolutions, BN and the usual activations. Only names of timm's own registry are taken, and of files only tensors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from ..errors import InputError, UnknownNameError
from ..nn.network import Network
from ..nn.timm_package import FRESH, NEEDED, PREFIX, create, have_timm, timm
from ..reading import require_plain
from .attentive import read_state
from .translate import translate

FRESH_SEED = 0  # of random weights
COLOURS = 3
RESOLUTION = 224  # of a network that does not say
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # likewise


def read_timm(text: str, resolution: int | None = None) -> tuple[Network, tuple[float, ...], tuple[float, ...], str]:
    """A network of timm's in our layers.

    Args:
        text: `timm:NAME`, `timm:NAME@FILE` or `timm:NAME@fresh`.
        resolution: Of its images; by default what timm says.

    Returns:
        The network, mean and deviation of the pixels it wants, and the licence of its weights as far as timm knows it.
    """
    name, _, weights = text.removeprefix(PREFIX).partition("@")
    if not have_timm():
        raise InputError(f"{text} {NEEDED}")
    module = _created(name, weights)
    config: dict[str, Any] = dict(getattr(module, "pretrained_cfg", None) or {})
    own = config.get("input_size") or (COLOURS, RESOLUTION, RESOLUTION)
    network = translate(f"{PREFIX}{name}", module, COLOURS, resolution or int(own[-1]))
    mean, std = (tuple(float(v) for v in config.get(k) or usual) for k, usual in (("mean", MEAN), ("std", STD)))
    licence = "" if weights else f"weights: timm's {name}, {config.get('license') or 'licence not stated'}"
    return network, mean, std, licence


def _created(name: str, weights: str) -> nn.Module:
    package = timm()
    if not name.replace(".", "").replace("_", "").isalnum() or not package.is_model(name.partition(".")[0]):
        raise UnknownNameError("network of timm", name, package.list_models())
    advice = f"give a file of them ({PREFIX}{name}@FILE) or begin with random ones (@{FRESH})"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(FRESH_SEED)
        module = create(name, pretrained=not weights, advice=advice)
    if weights in ("", FRESH):
        return module
    state = _stored(Path(weights))
    classifier = state.get(f"{getattr(module, 'pretrained_cfg', {}).get('classifier')}.weight")
    if classifier is not None and len(classifier) != getattr(module, "num_classes", 0):
        module.reset_classifier(len(classifier))  # type: ignore[operator]
    try:
        module.load_state_dict(state)
    except RuntimeError as error:
        line = str(error).splitlines()[-1].strip()[:160]
        raise InputError(f"{weights} does not hold the weights of {name}: {line}") from None
    return module


def _stored(path: Path) -> dict[str, Tensor]:
    """Tensors of a file by name."""
    if path.suffix != ".safetensors":
        return read_state(path)
    try:
        require_plain(path)
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path} holds no weights that can be read: {' '.join(str(error).split())[:160]}") from None
