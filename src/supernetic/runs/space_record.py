"""The space of a job: completed from the data, kept in a run's settings, and made again from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import catalog
from ..errors import RunError
from ..space import Space
from ..spaces.declared import DeclaredSpace, declare
from ..spaces.scaled import Product, Strategies

if TYPE_CHECKING:
    pass


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
