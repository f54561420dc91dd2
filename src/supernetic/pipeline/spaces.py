"""The space of a job: completed from the data, kept in a run's settings, and made again from them."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import catalog
from ..errors import InputError, RunError
from ..space import Space
from ..spaces.declared import DeclaredSpace, declare
from ..spaces.scaled import Product, Strategies

if TYPE_CHECKING:
    from ..datasets import Dataset

FITTED = ("classes", "in_channels", "side")  # settings of spaces that follow from the data


def fit_space(space: str | Space, dataset: Dataset) -> tuple[Space, list[str]]:
    """The space with what the data say about classes, channels and side, where its text leaves them open; and notes."""
    made: Any = catalog.space(space)
    if isinstance(space, Space):
        return made, []
    known = {"classes": len(dataset.classes), "in_channels": dataset.channels, "side": dataset.side}
    said = said_in(space)
    names = {f.name for f in dataclasses.fields(made)} if dataclasses.is_dataclass(made) else set()
    open_ = {k: known[k] for k in FITTED if k in names - said and getattr(made, k) != known[k]}
    if not open_:
        return made, []
    filled = ", ".join(f"{k}={v}" for k, v in open_.items())
    return dataclasses.replace(made, **open_), [f"from the data: {filled}"]


def said_in(text: str) -> set[str]:
    """The settings that a space's text gives."""
    if text.endswith(".py"):
        return set(FITTED)
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


def space_record(asked: str | Space, space: Space) -> dict[str, Any]:
    """Enough to make the space again."""
    record: dict[str, Any] = {"name": space.name, "fingerprint": space.fingerprint}
    if isinstance(space, Product):
        of = space_record(space.of, space.of)
        record["fingerprint"] = Product(_made(of), space.by).fingerprint
        return {**record, "text": f"{space.of.name}, scaled", "of": of, "by": dataclasses.asdict(space.by)}
    if isinstance(space, DeclaredSpace):
        declaration = dataclasses.asdict(space)
        again = declare(**declaration).fingerprint  # numbers may read 6.0 in place of 6, which is the same space
        return {**record, "declaration": declaration, "fingerprint": again}
    text = asked if isinstance(asked, str) else space.name
    if text.endswith(".py"):
        text = str(Path(text).resolve())
    made: Any = space
    names = [f.name for f in dataclasses.fields(made)] if dataclasses.is_dataclass(made) else []
    return {**record, "text": text, "settings": {name: getattr(space, name) for name in names}}


def space_of(path: Path, settings: Mapping[str, Any]) -> Space:
    """The space that a run's settings describe, stabiliser included."""
    record = settings["space"]
    space = _made(record)
    if space.fingerprint != record["fingerprint"]:
        raise RunError(f"{path} was trained on another {record['name']} than {record.get('text', 'it')} is now")
    return space


def _made(record: Mapping[str, Any]) -> Space:
    if "of" in record:
        by = record["by"]
        factors, pixels = (tuple(map(tuple, by[k])) for k in ("factors", "pixels"))
        return Product(_made(record["of"]), Strategies(factors, pixels, by["rule"], by["spatial"]))
    if "declaration" in record:
        return declare(**record["declaration"])
    space: Any = catalog.space(record["text"])
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in record["settings"].items()}
    made: Space = dataclasses.replace(space, **values) if values else space
    return made
