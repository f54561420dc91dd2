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
from collections.abc import Iterable


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
        near = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1, cutoff=0.5)
        hint = next((n for n in names if near and n.lower() == near[0]), None)
        if hint is not None:
            help_ = f"did you mean {hint!r}?"
        elif names:
            shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
            help_ = f"choose from {shown}"
        else:
            help_ = f"there is no {kind} here"
        super().__init__(f"unknown {kind} {name!r}: {help_}")


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
