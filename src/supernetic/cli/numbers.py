"""Options that are numbers: checked before the parser reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from ..errors import InputError
from ..numerals import real_number, whole_number

READERS: dict[str, Callable[[str], float]] = {
    "int": whole_number,
    "int | None": whole_number,
    "float": real_number,
    "float | None": real_number,
}


def require_numbers(parameters: Sequence[Any], arguments: Sequence[str]) -> None:
    """Refuse an option that should be a number and is none.

    Args:
        parameters: Of the command.
        arguments: The command line.
    """
    readers = {name: reader for p in parameters if (reader := _reader(p)) is not None for name in p.opts}
    for name, value in _given(arguments):
        if name in readers:
            try:
                readers[name](value)
            except ValueError as error:
                raise InputError(f"{name} {error}, got {value!r}") from None


def _reader(parameter: Any) -> Callable[[str], float] | None:
    kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    return READERS.get(kind.__name__ if isinstance(kind, type) else str(kind))


def _given(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names and values: `--seed 3` and `--seed=3`."""
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if equals and name.startswith("--"):
            yield name, value
    yield from pairwise(arguments)
