"""One bad input, tried: a command in a process of its own, what it said, what it left behind, how long it took.

A process is forked from this one, which has imported the package (and, for most cases, torch) before: a case costs
milliseconds, cannot spoil the next one, and can be killed if it hangs.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

REFUSED, ANSWERED = "refused", "answered"
HANGS_S = 120.0  # of wall time, on a machine that does other things too
CPU_S = 25  # after which the system ends a case
LIGHT_CPU_S = 1.0  # of a mistake that needs no torch
MEMORY_BYTES = 12 * 10**9  # of addresses: what would fill the memory fails instead

Prepare = Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """A command that cannot do what it is asked for.

    Args:
        kind: What is wrong.
        arguments: The command line; `{kept}` stands for the folder of finished runs and data.
        prepare: Makes what the command is given, in the folder that it runs in.
        expects: `refused`: one line on stderr, exit code 2, nothing on stdout, nothing written; `answered`: the same,
            or the command does its work, because it did not need what is broken.
        says: A part of the line.
        light: Whether the answer needs no torch.
        needs: Runs that have to be there, by name.
        name: Tells it from others of its kind with the same command line.
    """

    kind: str
    arguments: tuple[str, ...]
    prepare: Prepare | None = None
    expects: str = REFUSED
    says: str = ""
    light: bool = False
    needs: tuple[str, ...] = ()
    name: str = ""

    @property
    def title(self) -> str:
        """In words, as short as they tell it apart."""
        shown = " ".join(a if len(a) <= 60 else f"{a[:50]}...({len(a)})" for a in self.arguments)
        return f"{self.kind}: {self.name + ': ' if self.name else ''}{shown}"


@dataclass(frozen=True)
class Outcome:
    """What became of a case; it held if `faults` is empty."""

    case: Case
    code: int | None  # None: it was killed
    out: str
    err: str
    cpu: float
    faults: tuple[str, ...] = field(default=())
    alone: bool = False  # whether it was a process that nobody prepared

    @property
    def held(self) -> bool:
        """Whether everything was as it should be."""
        return not self.faults


def try_case(case: Case, scratch: Path, kept: Path) -> Outcome:
    """Run a case.

    Args:
        case: The case.
        scratch: A folder for it, which is emptied first.
        kept: Finished runs and data.

    Returns:
        What became of it.
    """
    arguments, earlier = prepared(case, scratch, kept)
    streams = scratch.parent / "out", scratch.parent / "err"
    code, cpu, loaded = forked(arguments, scratch, *streams)
    out, err = (s.read_text(encoding="utf-8", errors="backslashreplace") for s in streams)
    return Outcome(case, code, out, err, cpu, tuple(verdict(case, code, out, err, cpu, loaded, earlier, scratch)))


def prepared(case: Case, scratch: Path, kept: Path) -> tuple[list[str], dict[str, object]]:
    """Make what a case is given; its command line, and all that is there before it runs."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    if case.prepare is not None:
        before = Path.cwd()
        os.chdir(scratch)
        try:
            case.prepare(scratch)
        finally:
            os.chdir(before)
    earlier = snapshot(scratch)
    arguments = [a.replace("{kept}", str(kept)) for a in case.arguments]
    return arguments, earlier


def verdict(
    case: Case, code: int | None, out: str, err: str, cpu: float, loaded: bool, earlier: Mapping[str, object],
    scratch: Path,
) -> list[str]:  # fmt: skip
    """What is wrong with what a command did; nothing if the case held."""
    if code is None:
        return ["it hung or was killed"]
    if "Traceback" in err:
        return [f"a traceback, exit code {code}"]
    if case.expects == ANSWERED and code == 0:
        return []
    found = []
    lines = err.splitlines()
    if code != 2:
        found.append(f"exit code {code} in place of 2")
    if len(lines) != 1 or not lines[-1].startswith("supernetic: "):
        found.append(f"{len(lines)} lines in place of one")
    if case.says and not any(case.says in line for line in lines):
        found.append(f"the line does not say {case.says!r}")
    if out:
        found.append("something on stdout")
    if any(not c.isprintable() for line in lines for c in line):
        found.append("control characters on the terminal")
    now = snapshot(scratch)
    if changed := sorted(k for k in earlier.keys() | now.keys() if earlier.get(k) != now.get(k)):
        found.append(f"changed on disk: {', '.join(changed[:3])}")
    if case.light and (loaded or cpu > LIGHT_CPU_S):
        found.append(f"{cpu:.1f} CPU-seconds{', torch was imported' if loaded else ''}")
    return found


def forked(
    arguments: list[str], cwd: Path, out: Path, err: Path, *, limits: bool = True
) -> tuple[int | None, float, bool]:
    """Run the command line in a process that is forked from this one.

    Args:
        arguments: The command line.
        cwd: Where it runs.
        out: What it prints goes here,
        err: and here.
        limits: Whether its time and memory are limited.

    Returns:
        The exit code (None if it had to be killed), its CPU-seconds, and whether it imported torch by itself.
    """
    mark = out.with_name("torch")
    mark.unlink(missing_ok=True)
    had_torch = "torch" in sys.modules
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _run_here(arguments, cwd, out, err, None if had_torch else mark, limits)
    until = time.monotonic() + (HANGS_S if limits else 600)
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
            _, status, usage = os.wait4(child, 0)
            break
        time.sleep(0.003)
    code = os.waitstatus_to_exitcode(status)
    return (None if code < 0 else code), usage.ru_utime + usage.ru_stime, mark.exists()


def _run_here(arguments: list[str], cwd: Path, out: Path, err: Path, mark: Path | None, limits: bool) -> None:
    """What the forked process does; it does not return."""
    code = 70
    try:
        os.setpgid(0, 0)
        if limits:
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        for number, path in ((1, out), (2, err)):
            with open(path, "wb") as file:
                os.dup2(file.fileno(), number)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        os.chdir(cwd)
        from supernetic.cli import main

        try:
            main(arguments)
            code = 0
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 0 if leaving.code is None else 1
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
        code = 70
    finally:
        try:
            if mark is not None and "torch" in sys.modules:
                mark.touch()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def snapshot(folder: Path) -> dict[str, object]:
    """Everything below a folder: what it is, its size and when it was changed; locks are not looked at."""
    found: dict[str, object] = {}
    for root, folders, files in os.walk(os.fsencode(folder)):
        for name in (*folders, *files):
            path = os.path.join(root, name)
            status = os.lstat(path)
            if name != b".lock":
                kept = (status.st_size, status.st_mtime_ns) if name in files else ()
                found[os.fsdecode(os.path.relpath(path, os.fsencode(folder)))] = (status.st_mode, *kept)
    return found
