"""The space of a job: kept in a run's settings, and made again from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import catalog
from ..errors import InputError, RunError
from ..space import Space
from ..spaces.declared import DeclaredSpace, declare, run_python
from ..spaces.scaled import Product, Strategies
from .request import CLASS, object_from_record, object_record
from .trust import class_name, kept_code

OBJECT = "space"  # what it is among a job's arguments


def space_record(asked: str | Space, space: Space) -> dict[str, Any]:
    """Enough to make the space again.

    Args:
        asked: the space as the job was given it: its text, or an object.
        space: what was made of it.
    """
    record: dict[str, Any] = {"name": space.name, "fingerprint": space.fingerprint}
    if isinstance(space, Product):
        of = space_record(space.of, space.of)
        base = declare(**of["declaration"]) if "declaration" in of else space.of
        record["fingerprint"] = Product(base, space.by).fingerprint
        return {**record, "text": f"{space.of.name}, scaled", "of": of, "by": dataclasses.asdict(space.by)}
    if isinstance(space, DeclaredSpace):
        declaration = dataclasses.asdict(space)
        again = declare(**declaration).fingerprint  # numbers may read 6.0 in place of 6, which is the same space
        return {**record, "declaration": declaration, "fingerprint": again}
    if not isinstance(asked, str) and not _is_in_catalogue(space):
        return {**record, **(object_record(OBJECT, space) or {CLASS: class_name(type(space))})}
    text = asked if isinstance(asked, str) else space.name
    if text.endswith(".py"):
        text = str(Path(text).resolve())
    made: Any = space
    names = [f.name for f in dataclasses.fields(made)] if dataclasses.is_dataclass(made) else []
    return {**record, "text": text, "settings": {name: getattr(space, name) for name in names}}


def space_of(path: Path, settings: Mapping[str, Any]) -> Space:
    """The space that a run's settings describe, stabiliser included.

    One from a Python file, or of a class of the user's own, needs trust: see `runs.trust`.
    """
    try:
        record = settings["space"]
        space = _made(path, record)
        if space.fingerprint != record["fingerprint"]:
            now = record.get("text") or record.get(CLASS, "it")
            raise RunError(f"{path} was trained on another {record['name']} than {now} is now")
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(f"{path} describes no space: {type(error).__name__}: {error}") from None
    return space


def _made(path: Path, record: Mapping[str, Any]) -> Space:
    if "of" in record:
        by = record["by"]
        factors, pixels = (tuple(map(tuple, by[k])) for k in ("factors", "pixels"))
        return Product(_made(path, record["of"]), Strategies(factors, pixels, by["rule"], by["spatial"]))
    if "declaration" in record:
        return declare(**record["declaration"])
    if CLASS in record:
        own: Space = object_from_record(OBJECT, record)
        return own
    text = str(record["text"])
    space: Any = run_python(kept_code(path, text), path / text) if text.endswith(".py") else catalog.space(text)
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in record["settings"].items()}
    made: Space = dataclasses.replace(space, **values) if values else space
    return made


def _is_in_catalogue(space: Space) -> bool:
    """Whether the space's name leads to its class."""
    known = catalog.SPACES.get(space.name)
    return known is not None and type(catalog.space(space.name)) is type(space)
