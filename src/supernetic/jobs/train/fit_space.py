"""The space of a job, completed by what the data say."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import catalog
from ...errors import InputError
from ...space import Space

if TYPE_CHECKING:
    from ...datasets import Dataset


DATA_SETTINGS = ("classes", "in_channels", "resolution")  # settings of spaces that follow from the data


def fit_space(space: str | Space, dataset: Dataset) -> tuple[Space, list[str]]:
    """The space with what the data say about classes, channels and side, where its text leaves them open; and notes."""
    made: Any = catalog.space(space)
    if isinstance(space, Space):
        return made, []
    known = {"classes": len(dataset.classes), "in_channels": dataset.channels, "resolution": dataset.resolution}
    said = given_settings(space)
    names = {f.name for f in dataclasses.fields(made)} if dataclasses.is_dataclass(made) else set()
    open_ = {
        k: known[k]
        for k in DATA_SETTINGS
        if k in names - said and isinstance(getattr(made, k), int) and getattr(made, k) != known[k]
    }
    if not open_:
        return made, []
    filled = ", ".join(f"{k}={v}" for k, v in open_.items())
    return dataclasses.replace(made, **open_), [f"from the data: {filled}"]


def given_settings(text: str) -> set[str]:
    """The settings that a space's text gives."""
    if text.endswith(".py"):
        return set(DATA_SETTINGS)
    if text.endswith(".toml"):
        return set(tomllib.loads(Path(text).read_text(encoding="utf-8")))
    return {item.partition("=")[0] for item in text.partition(":")[2].split(",")}


def stabilised(space: Space, stabiliser: str) -> Space:
    """The space with its skips replaced, if that is asked for."""
    kind = stabiliser.partition(":")[0]
    if not kind:
        return space
    plain: Any = space
    if not hasattr(plain, "stabiliser"):
        raise InputError(f"{space.name} has no skips to stabilise, got stabiliser={stabiliser!r}")
    made: Space = dataclasses.replace(plain, stabiliser=kind)
    return made
