"""What can go wrong, as a tree. The command line turns every one of these into a single line.

SupernetError               exit 1: the work itself failed
├── DivergedError           a training whose loss is not finite
└── InputError              exit 2: what was asked for cannot be done; names the thing, the rule and the value
    ├── UnknownNameError    a space, metric, operation, column, ... that does not exist, with a suggestion
    ├── ArchError           an architecture that does not fit its space
    ├── BudgetError         a cost window that holds no architecture, with the nearest feasible costs
    ├── TableError          a benchmark table or data file that is missing, truncated or malformed
    ├── DataError           images or labels that cannot be used, with the file
    └── RunError            a run directory that cannot be used: foreign settings, locked, not writable
        └── TrustError      code that a run names, and that the user has not allowed
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

LONGEST_NAME = 80  # characters of a wrong name in a message
SYNONYMS = {  # what people call things elsewhere
    "flops": "macs",
    "mflops": "macs",
    "gflops": "macs",
    "madds": "macs",
    "multadds": "macs",
    "parameters": "params",
    "weights": "params",
    "memory": "peak",
    "activations": "peak",
    "acc": "accuracy",
    "top1": "accuracy",
    "loss": "cross_entropy",
    "time": "latency",
    "gpu": "cuda",
    "nvidia": "cuda",
    "metal": "mps",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "no",
}


class SupernetError(Exception):
    """Anything this package raises on purpose."""


class DivergedError(SupernetError):
    """The loss of a training is not finite."""


class InputError(SupernetError):
    """The user asked for something that cannot be done."""


class UnknownNameError(InputError):
    """A name that is not in its list."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        hint = _meant(name[:LONGEST_NAME].lower(), names)
        if hint is not None:
            help_ = f"did you mean {hint!r}?"
        elif names:
            shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
            help_ = f"choose from {shown}"
        else:
            help_ = f"there is no {kind} here"
        shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
        super().__init__(f"unknown {kind} {shown!r}: {help_}")


def _meant(name: str, names: list[str]) -> str | None:
    """The one of the names that somebody probably means."""
    if SYNONYMS.get(name) in names:
        return SYNONYMS[name]
    near = difflib.get_close_matches(name, [n.lower() for n in names], n=1, cutoff=0.5)
    return next((n for n in names if near and n.lower() == near[0]), None)


class ArchError(InputError):
    """An architecture that does not belong to the space."""


class BudgetError(InputError):
    """No architecture satisfies the constraints."""


class TableError(InputError):
    """A table that cannot be read."""


class DataError(InputError):
    """Images or labels that cannot be used."""


class RunError(InputError):
    """A run directory that cannot be used."""


class TrustError(RunError):
    """Code that a run directory names, and that the user has not allowed."""


# --- memory -----------------------------------------------------------------------------------------------------------

REFUSED_MEMORY = re.compile(  # how numpy, torch and the system say it, with the size where they know it
    r"Unable to allocate ([\d.]+ [KMGTPE]?i?B)|you tried to allocate (\d+) bytes|std::bad_alloc"
    r"|[Cc]annot allocate memory|failed to map segment|out of memory|can't start new thread"
    r"|could not (?:create|execute) a primitive(?! descriptor)"  # oneDNN: it has no room for code or for numbers
    r"|returned NULL without setting an exception"  # Python itself had no room for the error
)
LOWER = "lower the batch size, --image-size, --limit or --workers, or choose a smaller space"


def memory_words(error: BaseException, in_use: str = "") -> str | None:
    """One line about an error that says that memory ran out, with the figures that are known; None for any other.

    Args:
        error: What was raised, perhaps because of another error.
        in_use: How much memory there was, in words.
    """
    found = REFUSED_MEMORY.search(str(error))
    if found is None and not isinstance(error, MemoryError):
        reason = error.__cause__ or error.__context__
        return None if reason is None else memory_words(reason, in_use)
    size = next((s for s in found.groups() if s), "") if found else ""
    if size.isdecimal():
        size = f"{int(size) / 1e9:,.1f} GB" if int(size) >= 1e9 else f"{int(size) / 1e6:,.1f} MB"
    return memory_line(f"{size} more were asked for" if size else "", in_use)


def memory_line(*figures: str) -> str:
    """The line about memory that ran out, with all figures that are known."""
    known = ", ".join(filter(None, figures))
    return f"not enough memory{known and ': '}{known}; {LOWER}. What was done is kept: the same command goes on"
