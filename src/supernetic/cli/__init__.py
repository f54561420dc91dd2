"""The command line: every command is a few lines over one function of `commands`, `jobs` or `lab`.

`--json` prints one JSON object on stdout and nothing else there; progress goes to stderr, or nowhere with `--quiet`.
Exit code 0 done, 1 failed, 2 bad input (one line that names the thing, the rule and the value), 130 interrupted.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from errno import ENOMEM
from itertools import pairwise
from typing import Annotated

import typer
from typer._completion_shared import Shells

from .. import __version__
from ..capacity import memory_in_use, memory_was_short
from ..errors import LONGEST_NAME, InputError, SupernetError, memory_line, memory_words
from ..parallel.world import launched, run_in_world
from ..text import printable
from . import commands, data, jobs, models
from .completion import INSTRUCTION, PROGRAM, install_completion, prepare_completion, show_completion
from .shared import Interrupted, app

__all__ = ["app", "commands", "data", "jobs", "main", "models"]

LOOP = "Symlink loop"  # how Python begins what it says of a link that leads to itself
TOGETHER = ("train", "derive", "search", "scale", "resume")  # commands that train one network by many processes


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code; in a process of `torchrun`, together with the others."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _open_streams()
    _print_anything()
    if launched():
        command = given[0] if given else ""
        if command not in TOGETHER:
            _leave(2, f"torchrun is for {', '.join(TOGETHER)}, got {command!r}; other work takes a --cluster")
        run_in_world(lambda: _main(given))
    else:
        _main(given)


def _main(given: list[str]) -> None:
    if INSTRUCTION in os.environ:
        prepare_completion()
    try:
        app(args=given, prog_name=PROGRAM, standalone_mode=False)
    except InputError as error:
        _leave(2, str(error))
    except SupernetError as error:
        _leave(1, str(error))
    except typer.TyperException as error:  # what the parser does not understand
        _leave(2, error.format_message() + _value(error, given))
    except typer.Exit as leaving:
        sys.exit(leaving.exit_code)
    except Interrupted as interruption:
        _leave(130, str(interruption))
    except (KeyboardInterrupt, typer.Abort):
        _leave(130, "interrupted")
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:  # what the file system refuses: a disk that is full, a name that is too long, ...
        if error.errno is None:
            raise
        if error.errno == ENOMEM:
            _leave(2, str(memory_words(error, memory_in_use())))
        _leave(2, f"{_shortened(error.filename)}: {error.strerror}" if error.filename else str(error.strerror))
    except Exception as error:
        words = str(error) if str(error).startswith(LOOP) else memory_words(error, memory_in_use())
        if words is None and memory_was_short():
            words = memory_line(f"it ended with {type(error).__name__}", memory_in_use())
        if words is None:
            raise
        _leave(2, words)


def _open_streams() -> None:
    """Put nothing in the place of streams that were closed: else a file of a run could get the number of stderr."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, number)
            if nowhere != number:
                os.close(nowhere)
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if number == 0 else "w", encoding="utf-8"))  # noqa: SIM115


def _print_anything() -> None:
    """Names from outside are printed whatever the locale can say."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _shortened(name: object) -> str:
    text = os.fsdecode(name) if isinstance(name, bytes) else str(name)
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}... ({len(text)} characters)"


def _value(error: typer.TyperException, given: list[str]) -> str:
    """The value that a malformed option was given, which the parser's own message leaves out."""
    options = getattr(getattr(error, "param", None), "opts", ())
    return next((f", got {v!r}" for o, v in pairwise(given) if o in options), "")


def _leave(code: int, message: str) -> None:
    with suppress(OSError, ValueError):  # stderr may be closed
        print("supernetic: " + printable(" ".join(message.split())), file=sys.stderr)
    sys.exit(code)


@app.callback(invoke_without_command=True)
def _supernetic(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version and exit.")] = False,
    install: Annotated[
        Shells | None, typer.Option("--install-completion", help="Install the completion of names for this shell.")
    ] = None,
    show: Annotated[
        Shells | None, typer.Option("--show-completion", help="Print the completion script for this shell.")
    ] = None,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit
    show_completion(show)
    install_completion(install)
    if context.invoked_subcommand is None:
        print(context.get_help())
