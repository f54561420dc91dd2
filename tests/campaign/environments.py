"""Hostile surroundings: locales, variables, closed streams, little room. Commands do their work or say why not.

python tests/campaign/environments.py [--sample N]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

from keepsakes import TINY, images, make

TRAIN: tuple[str, ...] = ("train", TINY, "{kept}/images", "--steps", "1", "--threads", "1", "--out", "run")
CHECK: tuple[str, ...] = ("data", "check", "{kept}/images")
COST: tuple[str, ...] = ("cost", "macro", "macro-best")
SAMPLE: tuple[str, ...] = ("sample", "macro", "-n", "3", "--where", "macs<=20M")
TABLE: tuple[str, ...] = ("search", "--table", "nasbench201", "--evaluations", "20", "--out", "run")
LONG_S = 300


@dataclass(frozen=True)
class Surroundings:
    """One hostile environment and a command in it.

    Args:
        name: What is hostile.
        command: The command line.
        variables: Environment variables; None removes one.
        limits: Limits of the system, by their number in `resource`.
        streams: `closed` or `full`, by `stdin`, `stdout`, `stderr`.
        prepare: Changes the folder that the command runs in, and returns the one to run in.
        codes: Exit codes that are right.
    """

    name: str
    command: tuple[str, ...]
    variables: Mapping[str, str | None] = field(default_factory=dict)
    limits: Mapping[int, int] = field(default_factory=dict)
    streams: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[Path], Path] | None = None
    codes: tuple[int, ...] = (0,)


def every_environment() -> Iterator[Surroundings]:
    """All of them."""
    for locale in ("C", "POSIX", "xx_XX.UTF-8", "de_DE.ISO-8859-1", ""):
        for command in (("data", "check", "photos"), (*TRAIN[:2], "photos", *TRAIN[3:])):
            plain: Mapping[str, str | None] = {"LC_ALL": locale, "LANG": locale, "PYTHONUTF8": "0",
                                               "PYTHONCOERCECLOCALE": "0"}  # fmt: skip
            yield Surroundings(f"locale {locale!r}", command, plain, prepare=_unicode_classes)
    for encoding in ("ascii", "latin-1", "utf-16", "cp037"):
        yield Surroundings(f"PYTHONIOENCODING={encoding}", CHECK, {"PYTHONIOENCODING": encoding})
    for name, value in (
        ("HOME", None), ("HOME", "/nonexistent"), ("HOME", "/dev/null"), ("TMPDIR", "/nonexistent"), ("TERM", None),
        ("TERM", "dumb"), ("TERM", "xterm-bogus"), ("COLUMNS", "1"), ("COLUMNS", "0"), ("COLUMNS", "-5"),
        ("COLUMNS", "many"), ("LINES", "0"), ("NO_COLOR", "1"), ("FORCE_COLOR", "1"), ("TZ", "Nowhere/At_All"),
        ("PYTHONHASHSEED", "12345"), ("PYTHONOPTIMIZE", "2"), ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONUNBUFFERED", "1"), ("PYTHONFAULTHANDLER", "1"), ("XDG_CACHE_HOME", "/nonexistent"),
        ("SUPERNETIC_CACHE", "/nonexistent"), ("SUPERNETIC_DATA", "/nonexistent:::/dev/null"),
        ("SUPERNETIC_IMAGE_CACHE", "/proc/nowhere"), ("SUPERNETIC_LOADERS", "0"), ("OMP_NUM_THREADS", "0"),
        ("OMP_NUM_THREADS", "many"), ("MKL_NUM_THREADS", "-1"), ("CUDA_VISIBLE_DEVICES", "bogus"),
        ("CUDA_VISIBLE_DEVICES", "-1"), ("PATH", None),
    ):  # fmt: skip
        command = TRAIN if name.startswith(("OMP", "MKL", "CUDA", "SUPERNETIC", "TMP", "XDG", "PYTHONO")) else CHECK
        yield Surroundings(f"{name}={value}", command, {name: value})
    for name, value in (("SUPERNETIC_LOADERS", "many"), ("SUPERNETIC_IMAGE_MEMORY", "lots")):
        yield Surroundings(f"{name}={value}", TRAIN, {name: value}, codes=(0, 2))
    for stream in ("stdin", "stdout", "stderr"):
        for command in (COST, TRAIN):
            yield Surroundings(f"{stream} closed", command, streams={stream: "closed"}, codes=(0, 2))
    yield Surroundings("stdout full", SAMPLE, streams={"stdout": "full"}, codes=(2,))
    yield Surroundings("stderr full", TRAIN, streams={"stderr": "full"}, codes=(0, 2))
    for place in (_with_spaces, _with_line_feed, _unicode_place, _deep_place, _linked_place):
        yield Surroundings(f"folder {place.__name__.strip('_')}", TRAIN, prepare=place)
    yield Surroundings("folder deleted", COST, prepare=_deleted, codes=(0, 2))
    yield Surroundings("run is a file", TABLE, prepare=_run_is_file, codes=(2,))
    for size in (2000, 20_000):
        for command in (TRAIN, TABLE):
            yield Surroundings(f"files of {size:,} bytes at most", command, limits={resource.RLIMIT_FSIZE: size},
                               codes=(0, 2))  # fmt: skip
    yield Surroundings("24 open files", TRAIN, limits={resource.RLIMIT_NOFILE: 24}, codes=(0, 2))
    for gigabytes in (1, 2, 3):
        for command in (TRAIN, TABLE):
            yield Surroundings(f"{gigabytes} GB of addresses", command,
                               limits={resource.RLIMIT_AS: gigabytes * 10**9}, codes=(0, 2))  # fmt: skip


def _unicode_classes(here: Path) -> Path:
    """Images of classes whose names are not ASCII."""
    images(here / "photos")
    for old, new in (("class0", "Bäume"), ("class1", "写真")):
        os.rename(os.fsencode(here / "photos" / old), os.path.join(os.fsencode(here / "photos"), new.encode()))
    return here


def _inside(here: Path, *names: str) -> Path:
    place = here.joinpath(*names)
    place.mkdir(parents=True)
    return place


def _with_spaces(here: Path) -> Path:
    return _inside(here, "a folder with spaces", "and 'quotes\"")


def _with_line_feed(here: Path) -> Path:
    return _inside(here, "a\nb")


def _unicode_place(here: Path) -> Path:
    return _inside(here, "Übergröße", "写真")


def _deep_place(here: Path) -> Path:
    return _inside(here, *["d" * 50] * 20)


def _linked_place(here: Path) -> Path:
    real = _inside(here, "real")
    (here / "link").symlink_to(real)
    return here / "link"


def _deleted(here: Path) -> Path:
    return _inside(here, "deleted")


def _run_is_file(here: Path) -> Path:
    (here / "run").write_text("x", encoding="utf-8")
    return here


def try_environment(case: Surroundings, folder: Path, kept: Path) -> str:
    """Run a command in its surroundings; what is wrong with what it did, or nothing."""
    here = folder / f"e{time.monotonic_ns()}"
    here.mkdir(parents=True)
    place = case.prepare(here) if case.prepare else here
    environment = {**os.environ, **{k: v for k, v in case.variables.items() if v is not None}}
    for name, value in case.variables.items():
        if value is None:
            environment.pop(name, None)

    def limit() -> None:
        for number, most in case.limits.items():
            resource.setrlimit(number, (most, most))
        for name, state in case.streams.items():
            number = ("stdin", "stdout", "stderr").index(name)
            if state == "full":
                os.dup2(os.open("/dev/full", os.O_WRONLY), number)
            else:
                os.close(number)
        if case.name == "folder deleted":
            with suppress(OSError):
                os.rmdir(place)

    command = [sys.executable, "-m", "supernetic.cli", *(a.replace("{kept}", str(kept)) for a in case.command)]
    try:
        done = subprocess.run(
            command, cwd=place, env=environment, preexec_fn=limit, capture_output=True, timeout=LONG_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"it hung for {LONG_S} s"
    err = done.stderr.decode(errors="backslashreplace")
    last = (err.strip().splitlines() or [""])[-1]
    if done.returncode not in case.codes:
        return f"exit code {done.returncode}: {last[:200]}"
    return f"a traceback: {last[:200]}" if "Traceback" in err else ""


def main() -> None:
    """The tool."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory(prefix="environments-") as name:
        folder = Path(name).resolve()
        make(folder / "kept")
        cases = [c for c in every_environment() if given.only in c.name][given.first :: given.sample]
        for case in cases:
            if fault := try_environment(case, folder, folder / "kept"):
                failures.append(f"{case.name}, {case.command[0]}: {fault}")
                print(f"- {failures[-1]}", flush=True)
    print(json.dumps({"environments": len(cases), "failures": failures}))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
