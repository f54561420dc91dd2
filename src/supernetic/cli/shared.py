"""What all commands share: the application, options, and how results are told."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..errors import InputError


class Interrupted(Exception):
    """Ctrl-C, with what is to be said about it; the parser would swallow a `KeyboardInterrupt`."""


class Commands(TyperGroup):
    """All commands, so that an interruption of any of them reaches `main`."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            raise Interrupted("; ".join(["interrupted", *getattr(interruption, "__notes__", ())])) from None


app = typer.Typer(
    cls=Commands,
    name="supernetic",
    help="Weight-sharing neural architecture search with exact budgets and honest rankings.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

TrustCode = Annotated[bool, typer.Option("--trust-code", help="Run Python code that a run names, too.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Seed = Annotated[int, typer.Option(help="Seed of all randomness.", callback=lambda seed: _require_seed(seed))]
Where = Annotated[
    list[str], typer.Option(help="NAME (<=|>=|<|>) VALUE or NAME in A..B, with units K, M, G, ms, %. Repeatable.")
]


def _require_seed(seed: int) -> int:
    if seed < 0:
        raise InputError(f"a seed must not be negative, got {seed}")
    return seed


def tell(result: Any, as_json: bool) -> None:
    """A result that can be told either way."""
    if as_json:
        print_json(result.to_json())
    else:
        print(result)


def print_json(record: Any) -> None:
    """One object on stdout."""
    print(json.dumps(record, allow_nan=False))


def say(line: object) -> None:
    """Progress, which is never mixed with results."""
    print(line, file=sys.stderr, flush=True)
