"""Models by name, for images of any shape.

    mlp, resnet:depth=32            a model of a family
    nb101-3, attentive-a0           an architecture that has a name in a paper
    nasbench201:cells=2/ARCH        any architecture of a space
    runs/demo/models/model-1        the architecture of an exported model, with fresh weights
    pretrained:efficientnet-lite0   with weights from elsewhere: what `pretrained.load_pretrained` takes, timm's too
    timm:resnet18@fresh             a network of timm's with fresh weights
    mine.py, mine.py:wide           a function build(classes, in_channels, resolution), or `wide`, in a Python file

The first three have their CPU size, unless the text says `size=full`. A setting with several numbers, as in
`mlp:width=64+256,depth=1+2`, stands for several models.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from itertools import product
from os.path import isdir, isfile, join  # these take a text that is no path for one that does not exist
from typing import Any, NamedTuple

from . import catalog
from .blueprint import Blueprint
from .errors import InputError, UnknownNameError
from .families import CandidateModel
from .settings import with_settings
from .space import Space
from .strategy import parse_scaling, scale

FAMILIES = {
    "logistic": "supernetic.families.dense:Logistic",
    "mlp": "supernetic.families.dense:MLP",
    "convnet": "supernetic.families.convnet:ConvNet",
    "resnet": "supernetic.families.resnet:ResNet",
    "inception": "supernetic.families.inception:Inception",
    **{f"efficientnet-lite{i}": f"supernetic.families.efficientnet_lite:Lite{i}" for i in range(5)},
    "s3ta": "supernetic.lab.s3ta:S3TA",
}
# The five cells of "Small Data, Big Decisions".
NB101_CELLS = {f"nb101-{i}": ("nasbench101", f"small-data-{i}") for i in range(1, 6)}
MODEL_FILE = "model.json"
PRETRAINED, TIMM = "pretrained:", "timm:"
MODEL_NAMES = (*FAMILIES, *NB101_CELLS)
MODEL_SIZES = ("cpu", "full")
CPU_SETTINGS: dict[str, dict[str, Any]] = {  # by space: the settings of its CPU size
    "nasbench101": {"channels": 16, "cells": 1},
    "nasbench101-chain": {"channels": 16, "cells": 1},
    "nasbench201": {"channels": 8, "cells": 1},
    "macro": {"channels": 8, "head": 320},
    "scarlet-s1": {"width": 0.25},
    "scarlet-s2": {"width": 0.25},
    "attentive": {"width": 0.25},
    "scalenet": {"width": 0.25},
    "scalenet-base": {"width": 0.25},
}


class Shape(NamedTuple):
    """What the data require of a model."""

    classes: int
    in_channels: int
    resolution: int


def parse_model(text: str, classes: int, in_channels: int, resolution: int, size: str = "cpu") -> CandidateModel:
    """The one model that a text names; `parse_models` says what the arguments are."""
    models = parse_models(text, classes, in_channels, resolution, size)
    if len(models) > 1:
        raise InputError(f"{text} must name one model, got {len(models)}")
    return models[0]


def parse_models(text: str, classes: int, in_channels: int, resolution: int, size: str = "cpu") -> list[CandidateModel]:
    """The models that a text names: one, or several if a setting lists several numbers.

    Args:
        text: A name, as at the head of this module.
        classes: The number of classes of the data.
        in_channels: Channels of the images.
        resolution: Side of the images in pixels.
        size: `cpu` or `full`, for a text that does not say `size=`.

    Returns:
        The models.
    """
    shape = Shape(classes, in_channels, resolution)
    if re.search(r"\.py(:\w+)?$", text):
        from .networks.baselines import baseline

        return [CandidateModel(text, baseline(text, *shape))]
    if text.startswith(PRETRAINED):
        from .pretrained.member import pretrained_member

        return [CandidateModel(text, pretrained_member(text.removeprefix(PRETRAINED), *shape))]
    if text.startswith(TIMM):
        return [CandidateModel(text, _of_timm(text, shape))]
    if isfile(join(text, MODEL_FILE)):
        return [CandidateModel(text, _of_run(text, shape))]
    where, slash, arch = text.rpartition("/")
    if slash and isdir(text):
        raise InputError(f"{text} is not a model: the directory of an exported model has a {MODEL_FILE}")
    name, _, settings = (where if slash else text).partition(":")
    items = [item for item in settings.split(",") if item]
    sizes = [item.removeprefix("size=") for item in items if item.startswith("size=")]
    size = sizes[-1] if sizes else size
    kind, arch = (name, arch) if slash else _look_up(name)
    base = _in_size(kind, size)
    models = []
    for chosen in _sweep(base, [item for item in items if not item.startswith("size=")]):
        one: Any = with_settings(base, name, ",".join(chosen))
        network = _of_space(one, arch, chosen, shape, size) if isinstance(one, Space) else one.network(*shape)
        shown = ",".join([*chosen, *(f"size={s}" for s in sizes)])
        models.append(CandidateModel(name + (f":{shown}" if shown else "") + (f"/{arch}" if slash else ""), network))
    return models


def _look_up(name: str) -> tuple[str, str]:
    """(family, ""), or (space, architecture) for an architecture that has a name."""
    if name in FAMILIES:
        return name, ""
    if name in NB101_CELLS:
        return NB101_CELLS[name]
    spaces = {text: catalog.space(text) for text in catalog.SPACES}
    named = {n: text for text, space in reversed(spaces.items()) for n in (*space.named, *space.upscaled)}
    if name.lower() in named:
        return named[name.lower()], name
    raise UnknownNameError("model", name, [*MODEL_NAMES, *named])


def _in_size(kind: str, size: str) -> Any:
    """A family or a space in one of its sizes."""
    if size not in MODEL_SIZES:
        raise UnknownNameError("size", size, MODEL_SIZES)
    if kind in FAMILIES:
        base = catalog.load("family", FAMILIES, kind)()
        smaller = base.cpu
    else:
        base = catalog.space(kind)
        smaller = CPU_SETTINGS.get(kind, {})
    return dataclasses.replace(base, **smaller) if size == "cpu" and smaller else base


def _sweep(base: Any, items: Sequence[str]) -> list[list[str]]:
    """All combinations of settings; `+` separates several values of a number."""
    ways = []
    for item in items:
        key, equals, values = item.partition("=")
        number = isinstance(getattr(base, key, None), int | float)
        ways.append([f"{key}={v}" for v in values.split("+")] if equals and number else [item])
    return [list(way) for way in product(*ways)]


def _of_space(space: Any, arch: str, settings: Sequence[str], shape: Shape, size: str) -> Blueprint:
    """The network of an architecture, for the classes and the images of the data unless its settings say otherwise.

    Where the resolution is a choice, networks of full size keep theirs; in the CPU size every option is the data's.
    """
    base, scaling = space.upscaled.get(arch.lower(), (arch, ""))
    genes = space.parse(base)
    given = {item.partition("=")[0] for item in settings}
    fields = {f.name for f in dataclasses.fields(space)} - given
    listed = {k for k in ("resolutions", "resolution") if isinstance(getattr(space, k, None), tuple)}
    fit: dict[str, Any] = {k: v for k, v in shape._asdict().items() if k in fields - listed}
    if size == "cpu":
        fit |= {k: (shape.resolution,) * len(getattr(space, k)) for k in listed & fields}
    blueprint: Blueprint = dataclasses.replace(space, **fit).blueprint(genes)
    return _require(arch, scale(blueprint, parse_scaling(scaling)) if scaling else blueprint, shape)


def _of_run(path: str, shape: Shape) -> Blueprint:
    """The architecture of an exported model, with a classifier for the classes of the data."""
    from .exporters.model import verify

    *layers, last = Blueprint.from_json(verify(path)["blueprint"])
    return _require(path, Blueprint((*layers, last._replace(c_out=shape.classes))), shape)


def _of_timm(text: str, shape: Shape) -> Blueprint:
    """A network of timm's without its weights, for the images of the data."""
    from .nn.timm_package import is_fresh
    from .pretrained import load_pretrained

    if not is_fresh(text):
        raise InputError(f"say {PRETRAINED}{text} for its weights, or {text.partition('@')[0]}@fresh for random ones")
    first, *layers, last = load_pretrained(text, shape.resolution).network.blueprint
    layers = [first._replace(c_in=shape.in_channels), *layers]
    return _require(text, Blueprint((*layers, last._replace(c_out=shape.classes))), shape)


def _require(name: str, blueprint: Blueprint, shape: Shape) -> Blueprint:
    """Refuse a network for other data; its resolution may differ, because images are resized."""
    for what in ("classes", "in_channels"):
        if getattr(blueprint, what) != getattr(shape, what):
            rule = f"{what} must be {getattr(shape, what)}, as in the data"
            raise InputError(f"{name}: {rule}, got {getattr(blueprint, what)}")
    return blueprint
