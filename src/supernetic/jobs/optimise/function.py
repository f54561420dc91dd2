"""A user's function of an architecture, as an evaluator; and how a run knows it again."""

from __future__ import annotations

import hashlib
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from ...errors import InputError, UnknownNameError
from ...evaluators import Evaluator
from ...objective import Metrics
from ...space import Arch

SCORE = "score"  # the metric of a function that returns one number
SHOWN_CHARACTERS = 80  # of an answer that is no number
DIGEST_LENGTH = 16  # hexadecimal digits of a source's digest

Function: TypeAlias = Callable[[Arch], Any]  # returns a number, or numbers by name


@dataclass(eq=False)
class FunctionEvaluator:
    """One call per architecture. Metrics are those that a search needs; from the first answer on, all that it has."""

    function: Function
    required: tuple[str, ...]
    answered: tuple[str, ...] = field(default=(), init=False)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of what an answer holds."""
        return self.answered or self.required

    @property
    def test(self) -> frozenset[str]:
        """None: nothing tells test metrics from the others."""
        return frozenset()

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture."""
        return [self._record(self.function(arch)) for arch in archs]

    def _record(self, answer: Any) -> Metrics:
        """The answer as numbers; the first one shows whether the function fits, later ones may fail by themselves."""
        try:
            record = _numbers(answer)
        except TypeError as error:
            raise error if self.answered else InputError(str(error)) from None
        if not self.answered:
            for name in self.required:
                if name not in record:
                    raise UnknownNameError("metric", name, record)
            self.answered = tuple(record)
        return record


def _numbers(answer: Any) -> Metrics:
    values = answer if isinstance(answer, Mapping) else {SCORE: answer}
    try:
        return {str(name): float(value) for name, value in values.items()}
    except (TypeError, ValueError):
        shown = " ".join(repr(answer).split())[:SHOWN_CHARACTERS]
        raise TypeError(f"evaluate must return a number, or a dictionary of numbers, got {shown}") from None


def is_evaluator(evaluate: Function | Evaluator) -> bool:
    """Whether an object takes many architectures at a time and declares its metrics.

    Args:
        evaluate: what a user gave.

    Returns:
        True for evaluators, False for functions of one architecture.
    """
    return hasattr(evaluate, "metrics") and callable(evaluate)


def record_of(evaluate: Any) -> dict[str, Any]:
    """What tells a function from another one in a run's settings.

    Values that a function finds elsewhere (globals, closures, attributes) are not part of it.

    Args:
        evaluate: a function, a partial one, a bound method, or an object that can be called.

    Returns:
        `function` as `module:qualname`, `digest` of its source where there is one, and the plain `arguments` of a
        partial function.
    """
    arguments: dict[str, Any] = {}
    while isinstance(evaluate, partial):
        named = {str(i): value for i, value in enumerate(evaluate.args)} | evaluate.keywords
        arguments |= {k: v for k, v in named.items() if isinstance(v, bool | int | float | str)}
        evaluate = evaluate.func
    source = evaluate if inspect.isroutine(evaluate) else type(evaluate)
    name = f"{source.__module__}:{source.__qualname__}"
    return {"function": name, "digest": _digest(source), "arguments": arguments or None}


def _digest(source: Any) -> str | None:
    """Of the source text; None where there is none, as in a prompt."""
    try:
        text = textwrap.dedent(inspect.getsource(source))
    except (OSError, TypeError):
        return None
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]
