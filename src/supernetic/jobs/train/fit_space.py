"""The space of a job, completed by what the data say."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ... import catalog
from ...errors import InputError
from ...hardware import AUTO
from ...reading import read_toml
from ...space import Space

if TYPE_CHECKING:
    from ...datasets import Dataset


DATA_SETTINGS = ("classes", "in_channels", "resolution")  # settings of spaces that follow from the data


def fit_space(space: str | Space, dataset: Dataset) -> tuple[Space, list[str]]:
    """Complete a space by the data.

    Args:
        space: A space, which is left as it is, or its text.
        dataset: The images.

    Returns:
        The space, with the classes, channels and resolution of the data where its text does not set them; and notes.
    """
    parsed: Any = catalog.space(space)
    if isinstance(space, Space):
        return parsed, []
    from_data = {"classes": len(dataset.classes), "in_channels": dataset.channels, "resolution": dataset.resolution}
    names = {f.name for f in dataclasses.fields(parsed)} if dataclasses.is_dataclass(parsed) else set()
    missing = names - given_settings(space)
    changes = {
        k: from_data[k]
        for k in DATA_SETTINGS
        if k in missing and isinstance(getattr(parsed, k), int) and getattr(parsed, k) != from_data[k]
    }
    if not changes:
        return parsed, []
    filled = ", ".join(f"{k}={v}" for k, v in changes.items())
    return dataclasses.replace(parsed, **changes), [f"from the data: {filled}"]


def given_settings(text: str) -> set[str]:
    """The settings that a space's text gives."""
    if text.endswith(".py"):
        return set(DATA_SETTINGS)
    if text.endswith(".toml"):
        return set(read_toml(text))
    return {item.partition("=")[0] for item in text.partition(":")[2].split(",")}


def check_stabiliser(space: object, stabiliser: str) -> None:
    """Refuse a stabiliser that a space does not have, if that is named; a Python file is left alone."""
    if isinstance(space, str) and space != AUTO and not space.endswith(".py"):
        stabilised(catalog.space(space), stabiliser)


def stabilised(space: Space, stabiliser: str) -> Space:
    """Replace the skips of a space.

    Args:
        space: The space.
        stabiliser: `KIND` or `KIND:identity`; empty: none.

    Returns:
        The space with stabilisers. One without skips is refused.
    """
    kind = stabiliser.partition(":")[0]
    if not kind:
        return space
    plain: Any = space
    if not hasattr(plain, "stabiliser"):
        raise InputError(f"{space.name} has no skips to stabilise, got stabiliser={stabiliser!r}")
    with_stabilisers: Space = dataclasses.replace(plain, stabiliser=kind)
    return with_stabilisers
