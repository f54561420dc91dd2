"""The TOML file of a request, for `--dry-run --save FILE`: every setting with its meaning, and what was settled for it.

The file says the very request that the options did. What a dry run settled on the way (the space that was chosen, the
lengths of trainings, recipes) stands beside it in comments. To pin one of them, remove the `#` in front of it.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import tomli_w

from .. import __version__
from ..catalog import SEARCHERS
from ..errors import InputError
from ..runs.directory import plain, write_atomically
from ..runs.request import CLASS, OBJECT
from .request import Request
from .request_file import JOB, toml_kinds, typed

WIDTH = 100  # of comments


class Settled(NamedTuple):
    """What a dry run settled for a setting; the value is None if there is none that says the same."""

    value: Any = None
    reason: str = ""


def require_savable(file: str | Path, dry_run: bool) -> None:
    """Refuse a file that cannot be written or is there already, before anything is measured."""
    path = Path(file)
    if not dry_run:
        raise InputError(f"save={str(file)!r} writes down what a dry run settles: give --dry-run too")
    if path.exists():
        raise InputError(f"{path} exists: choose another name for the file of this request")
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no directory {path.parent}")


def dry_run_line(saved: str) -> str:
    """Return the last line of a dry run: what was written, and how the job is begun."""
    return f"dry run: only {saved} was written" if saved else "dry run: nothing was written"


def recipe_table(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a recipe as a file would hold them, without those that a request says elsewhere."""
    return {key: value for key, value in settings.items() if key != "sampler" and value not in ("", [], None)}


def saver(
    file: str | Path | None,
    dry_run: bool,
    job: str,
    function: Callable[..., Any],
    settle: Callable[[Any, Any], Mapping[str, Settled]],
) -> Callable[[Any, Any], None] | None:
    """Return what writes the request at the end of a dry run; None if no file was named.

    Args:
        file: The file.
        dry_run: Whether this is one; without it a file is refused.
        job: The command.
        function: The job's function.
        settle: From a prepared job and its plan, what was settled by setting.
    """
    if file is None:
        return None
    require_savable(file, dry_run)
    return lambda prepared, plan: save_request(file, job, prepared.request, function, settle(prepared, plan))


def save_request(
    file: str | Path, job: str, request: Request, function: Callable[..., Any], settled: Mapping[str, Settled]
) -> None:
    """Write the file of a request; what is not the same request when it is read again is not written.

    Args:
        file: The file.
        job: The command.
        request: What was asked for.
        function: The job's function, whose docstring explains the settings.
        settled: What a dry run settled, by setting.
    """
    text = request_text(job, request, function, settled)
    again = {key: value for key, value in tomllib.loads(text).items() if key != JOB}
    if plain(type(request)(**again).record()) != plain(request.record()):
        raise InputError(f"{file} would not say this request again: it holds objects from Python")
    write_atomically(Path(file), text)


def request_text(job: str, request: Request, function: Callable[..., Any], settled: Mapping[str, Settled]) -> str:
    """Return the text of the file; see `save_request` for the arguments."""
    record, hints = request.record(), get_type_hints(type(request))
    explained = {**argument_texts(function), **_file_words()}
    defaults = {f.name: f.default for f in dataclasses.fields(request)}
    names = [name for name in (*explained, *defaults) if name in defaults and toml_kinds(hints[name])]
    _refuse_objects({**dict.fromkeys(defaults, ()), **{name: toml_kinds(hints[name]) for name in names}}, record)
    lines: list[str] = [_comment(_head(job)), tomli_w.dumps({JOB: job})]
    tables: list[str] = []
    for name in dict.fromkeys(names):
        value = plain(record[name]) if name in record else plain_default(defaults[name])
        found, is_default = settled.get(name, Settled()), getattr(request, name) == defaults[name]
        block = "\n".join(_setting(name, value, is_default, explained.get(name, ""), found))
        is_table = isinstance(found.value if value is None else value, Mapping)
        (tables if is_table else lines).append(block + "\n")
    return "\n".join([*lines, *tables])


def argument_texts(function: Callable[..., Any]) -> dict[str, str]:
    """Return what the docstring of a function says of each argument."""
    _, _, section = (inspect.getdoc(function) or "").partition("\nArgs:\n")
    section = section.partition("\n\n")[0]
    entries = re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}


def _file_words() -> dict[str, str]:
    """Explanations of settings that Python can give in more ways than a file can."""
    return {
        "data": "Images: the name of a data set, a folder, an .npz file or an archive.",
        "space": "Search space: a name with settings such as 'macro:channels=8', a file that declares one, or 'auto'.",
        "searcher": f"Search method: {', '.join(SEARCHERS)}; settings follow a colon, as in 'local:improve=best'.",
        "sampler": "How the supernet's paths are drawn: a name with settings such as 'attentive:k=5', or a table.",
        "recipe": "Training settings of the supernet: the name of a TOML file, or a table of what it would hold.",
        "retrain_recipe": "Training settings of finished networks, likewise.",
        "population": "Population size of searchers that have one.",
        "generations": "Number of generations of searchers that have them.",
        "evaluations": "Number of architectures to evaluate at most.",
        "seed": "Seed of all randomness.",
        "limit": "Number of images to use, a random subset.",
    }


def plain_default(value: Any) -> Any:
    """A default as TOML has it; None where there is nothing to write."""
    return None if value is None or value == () else plain(value)


def _head(job: str) -> str:
    return (
        f"The request of a {job}, written by supernetic {__version__}. Run it with: supernetic {job} THIS_FILE "
        "(options of the command come before what is said here). 'Settled' is what a dry run made of a setting that "
        "was left open, on the machine where this was written. To pin a setting that is not set, remove its '#'."
    )


def _setting(name: str, value: Any, is_default: bool, explanation: str, settled: Settled) -> Iterator[str]:
    """Lines of a setting: what it means, its value, and what was settled if it was left open."""
    yield from filter(None, [_comment(explanation.replace("`", "'"))])
    reason = " ".join(settled.reason.split()).rstrip(".")
    if value is None:
        told = f" ({reason})" if reason else ""
        if settled.value is None:
            yield _comment(f"Not set{told}.")
        else:
            yield _comment(f"Not set. Settled{told}:")
            yield _commented({name: settled.value})
        return
    yield tomli_w.dumps({name: value}).rstrip("\n")
    if is_default and (reason or settled.value not in (None, value)):
        known = [] if settled.value is None else [tomli_w.dumps({name: settled.value}).partition(" = ")[2].strip()]
        yield _comment(f"Settled: {'; '.join([*known, *([reason] if reason else [])])}.")


def _comment(text: str) -> str:
    return "\n".join(f"# {line}" for line in textwrap.wrap(text, WIDTH))


def _commented(table: Mapping[str, Any]) -> str:
    return "\n".join(f"#{line}" if line else "#" for line in tomli_w.dumps(plain(table)).rstrip("\n").split("\n"))


def _refuse_objects(kinds: Mapping[str, tuple[Any, ...]], record: Mapping[str, Any]) -> None:
    for name, value in record.items():
        try:
            typed(name, value, kinds[name])
        except InputError:
            known = False
        else:
            known = not (isinstance(value, Mapping) and CLASS in value) and not str(value).startswith(OBJECT)
        if not known:
            raise InputError(f"{name} was given as an object from Python, which a file cannot say")
