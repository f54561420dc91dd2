"""Answers of workers on other machines as plain data: nothing that is unpickled can come back from them.

None, truth values, numbers, texts, bytes, lists and tables; numpy's numbers become Python's, tuples become lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import SupernetError


def encode(answer: Any) -> bytes:
    """An answer as bytes (msgpack); what is not plain data is refused."""
    import msgpack

    packed: bytes = msgpack.packb(_plain(answer))
    return packed


def decode(data: bytes) -> Any:
    """The answer that `encode` got."""
    import msgpack

    return msgpack.unpackb(data, strict_map_key=False)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, Mapping):
        return {_plain(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):  # a number of numpy or torch
        return _plain(value.item())
    raise SupernetError(f"a worker on a cluster answers with plain data, got {type(value).__name__}")
