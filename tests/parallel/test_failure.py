from __future__ import annotations

import signal

import pytest

from supernetic.errors import DataError, SupernetError, UnknownNameError
from supernetic.parallel.failure import Cause, Failure, ending, lost


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (3, "ended with exit code 3 before its work was done"),
        (0, "ended with exit code 0 before its work was done"),
        (-signal.SIGKILL, "was ended by signal 9 (SIGKILL); systems do that when memory runs out"),
        (-signal.SIGSEGV, "was ended by signal 11 (SIGSEGV); that is a fault in compiled code"),
        (-signal.SIGABRT, "was ended by signal 6 (SIGABRT); that is a fault in compiled code"),
        (-signal.SIGILL, "was ended by signal 4 (SIGILL); the processor lacks an instruction"),
        (-signal.SIGTERM, "was ended by signal 15 (SIGTERM); another program asked it to end"),
        (-signal.SIGUSR1, "was ended by signal 10 (SIGUSR1)"),
        (-99, "was ended by signal 99"),
    ],
)
def test_advice_fits_the_signal(code: int, words: str) -> None:
    assert ending(code).startswith(words)
    assert ("memory" in ending(code)) == (code == -signal.SIGKILL)


def test_an_error_is_raised_as_it_was() -> None:
    there = UnknownNameError("space", "macr", ["macro"])
    here = Failure(Cause.OURS, 0.0, UnknownNameError, str(there)).error()
    assert type(here) is UnknownNameError
    assert str(here) == str(there)
    noted = Failure(Cause.UNEXPECTED, 0.0, SupernetError, "m", note="Traceback ...").error()
    assert noted.__notes__ == ["Traceback ..."]


def test_our_own_error_is_the_cause_before_those_who_miss_it() -> None:
    ours = Failure(Cause.OURS, 9.0, DataError, "cat.png")
    unexpected = Failure(Cause.UNEXPECTED, 1.0, SupernetError, "connection closed")
    assert min([unexpected, lost("a worker", -9), ours], key=lambda f: (f.cause, f.at)) is ours
