"""Why work in another process ended early: as a text, and as the error to raise."""

from __future__ import annotations

import signal
from enum import IntEnum
from time import monotonic
from typing import NamedTuple

from ..errors import SupernetError

FAULT_ADVICE = "that is a fault in compiled code, such as torch's: please report it, with the name of the processor"
SIGNAL_ADVICE = {
    "SIGKILL": "systems do that when memory runs out: fewer workers, smaller batches or smaller images need less",
    "SIGILL": "the processor lacks an instruction: set ATEN_CPU_CAPABILITY=default and ONEDNN_MAX_CPU_ISA=SSE41",
    **dict.fromkeys(("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE"), FAULT_ADVICE),
    **dict.fromkeys(("SIGTERM", "SIGINT", "SIGHUP"), "another program asked it to end"),
}


class Cause(IntEnum):
    """What a failure was. Of several failures, the lowest cause is the one that made the others fail."""

    OURS = 0  # an error that this package raises on purpose
    ENDED = 1  # the process ended without a word
    UNEXPECTED = 2  # any other exception; usually another process is gone


class Failure(NamedTuple):
    """An error in another process."""

    cause: Cause
    at: float  # seconds, on a clock that all processes of a machine share
    kind: type[SupernetError]
    message: str
    note: str = ""  # the traceback in that process

    def error(self) -> SupernetError:
        """The error to raise in this process."""
        error = self.kind.__new__(self.kind, self.message)  # some kinds make their message when they are initialised
        if self.note:
            error.add_note(self.note)
        return error


def ending(code: int) -> str:
    """How a process ended, and what that may mean.

    Args:
        code: Its exit code; minus the number of the signal that ended it.

    Returns:
        The end of a sentence that begins with the name of the process.
    """
    if code >= 0:
        return f"ended with exit code {code} before its work was done"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"was ended by signal {-code}"
    return f"was ended by signal {-code} ({name})" + (f"; {SIGNAL_ADVICE[name]}" if name in SIGNAL_ADVICE else "")


def lost(name: str, code: int) -> Failure:
    """The failure of a process that ended without an error message."""
    return Failure(Cause.ENDED, monotonic(), SupernetError, f"{name} {ending(code)}")
