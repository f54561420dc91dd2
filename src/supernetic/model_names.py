"""Models by name, for images of any shape: what is to be compared before a search, or trained beside one.

    mlp, resnet:depth=32            a member of a family
    nb101-3, attentive-a0           an architecture that a paper named
    nasbench201:cells=2/ARCH        any architecture of a space
    runs/demo/models/model-1        a finished model's architecture, with fresh weights
    mine.py, mine.py:wide           a function build(classes, in_channels, resolution), or `wide`, in a Python file

The first three come in a CPU size, unless `size=full` is asked for. Where a setting lists several numbers
(`mlp:width=64+256,depth=1+2`) they are several models.
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
    "s3ta": "supernetic.lab.s3ta:S3TA",
}
CELLS = {f"nb101-{i}": ("nasbench101", f"small-data-{i}") for i in range(1, 6)}  # the five of paper 000
RECORD = "model.json"
NAMES = (*FAMILIES, *CELLS)
SIZES = ("cpu", "full")
CPU: dict[str, dict[str, Any]] = {  # the CPU size of a space's networks
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
    """What the data say about a model."""

    classes: int
    in_channels: int
    resolution: int


def parse_model(text: str, classes: int, in_channels: int, resolution: int, size: str = "cpu") -> CandidateModel:
    """The one model that a text stands for."""
    found = parse_models(text, classes, in_channels, resolution, size)
    if len(found) > 1:
        raise InputError(f"{text}: one model is wanted, got {len(found)}")
    return found[0]


def parse_models(text: str, classes: int, in_channels: int, resolution: int, size: str = "cpu") -> list[CandidateModel]:
    """The models that a text stands for, one unless it is a sweep; `size` holds where the text names none."""
    shape = Shape(classes, in_channels, resolution)
    if re.search(r"\.py(:\w+)?$", text):
        from .networks.baselines import baseline

        return [CandidateModel(text, baseline(text, *shape))]
    if isfile(join(text, RECORD)):
        return [CandidateModel(text, _of_run(text, shape))]
    where, slash, arch = text.rpartition("/")
    if slash and isdir(text):
        raise InputError(f"{text} is no model: a finished one is a directory with a {RECORD}")
    name, _, settings = (where if slash else text).partition(":")
    items = [item for item in settings.split(",") if item]
    sizes = [item.removeprefix("size=") for item in items if item.startswith("size=")]
    size = sizes[-1] if sizes else size
    kind, arch = (name, arch) if slash else _look_up(name)
    base = _in_size(kind, size)
    made = []
    for chosen in _sweep(base, [item for item in items if not item.startswith("size=")]):
        one: Any = with_settings(base, name, ",".join(chosen))
        network = _of_space(one, arch, chosen, shape, size) if isinstance(one, Space) else one.network(*shape)
        told = ",".join([*chosen, *(f"size={s}" for s in sizes)])
        made.append(CandidateModel(name + (f":{told}" if told else "") + (f"/{arch}" if slash else ""), network))
    return made


def _look_up(name: str) -> tuple[str, str]:
    """(family, nothing), or (space, architecture) by the name that a paper gave it."""
    if name in FAMILIES:
        return name, ""
    if name in CELLS:
        return CELLS[name]
    spaces = {text: catalog.space(text) for text in catalog.SPACES}
    known = {n: text for text, space in reversed(spaces.items()) for n in (*space.named, *space.upscaled)}
    if name.lower() in known:
        return known[name.lower()], name
    raise UnknownNameError("model", name, [*NAMES, *known])


def _in_size(kind: str, size: str) -> Any:
    """A family or a space in one of its sizes."""
    if size not in SIZES:
        raise UnknownNameError("size", size, SIZES)
    if kind in FAMILIES:
        base = catalog.load("family", FAMILIES, kind)()
        smaller = base.cpu
    else:
        base = catalog.space(kind)
        smaller = CPU.get(kind, {})
    return dataclasses.replace(base, **smaller) if size == "cpu" and smaller else base


def _sweep(base: Any, items: Sequence[str]) -> list[list[str]]:
    """All combinations of settings, where `+` lists the values of a number."""
    ways = []
    for item in items:
        key, equals, values = item.partition("=")
        number = isinstance(getattr(base, key, None), int | float)
        ways.append([f"{key}={v}" for v in values.split("+")] if equals and number else [item])
    return [list(way) for way in product(*ways)]


def _of_space(space: Any, arch: str, said: Sequence[str], shape: Shape, size: str) -> Blueprint:
    """An architecture's network for the data, which fill in what its settings leave open.

    Where the resolution is a gene, networks of full size keep theirs; in the CPU size all options are the data's.
    """
    base, scaling = space.upscaled.get(arch.lower(), (arch, ""))
    genes = space.parse(base)
    told = {item.partition("=")[0] for item in said}
    fields = {f.name for f in dataclasses.fields(space)} - told
    listed = {k for k in ("resolutions", "resolution") if isinstance(getattr(space, k, None), tuple)}
    fit: dict[str, Any] = {k: v for k, v in shape._asdict().items() if k in fields - listed}
    if size == "cpu":
        fit |= {k: (shape.resolution,) * len(getattr(space, k)) for k in listed & fields}
    blueprint: Blueprint = dataclasses.replace(space, **fit).blueprint(genes)
    return _require(arch, scale(blueprint, parse_scaling(scaling)) if scaling else blueprint, shape)


def _of_run(path: str, shape: Shape) -> Blueprint:
    """The architecture of a finished model, with a classifier for the data's classes."""
    from .exporters.model import verify

    *layers, last = Blueprint.from_json(verify(path)["blueprint"])
    return _require(path, Blueprint((*layers, last._replace(c_out=shape.classes))), shape)


def _require(name: str, blueprint: Blueprint, shape: Shape) -> Blueprint:
    """Refuse a network for other images; the resolution may be another, images are resized."""
    for what in ("classes", "in_channels"):
        if getattr(blueprint, what) != getattr(shape, what):
            rule = f"{what} must be {getattr(shape, what)}, as the data have it"
            raise InputError(f"{name}: {rule}, got {getattr(blueprint, what)}")
    return blueprint
