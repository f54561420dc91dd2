"""A whole request in one TOML file, read by `search` and `scale` in place of options.

    data = "photos/"                # keys are the parameters of the function
    where = ["macs<=20M"]
    minutes = 60
    searcher = "nsga2"
    sampler = { name = "sandwich", n = 3 }
    [retrain_recipe]                # what a recipe's file would hold, or the file's name
    length = "30 epochs"

Files are named relative to this one. The file is data: it is checked, and nothing in it is executed. A Python file that
it names as a space or a baseline is run as if the user had named it, because the user gave the file; unless the file
lies in a run or model directory, which someone else may have written (docs/received-runs.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ..catalog import TABLES
from ..errors import InputError, TrustError, UnknownNameError
from ..reading import read_toml, reason
from ..runs.files import MODEL_RECORD, SETTINGS
from .request import Request

SUFFIX = ".toml"
JOB = "job"  # the key that says which command the file is for
NOT_IN_FILES = ("out", "dry_run", "save", "quiet", "json", "trust_code", "image_cache")  # of one call, not of a request
PATHS, RECIPES = ("data", "space", "table"), ("recipe", "retrain_recipe")
PLAIN_TYPES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
OF_SPACES = {"stem", "stages"}  # keys of a declared space


def read_request_file(
    file: str | Path, job: str, kinds: Mapping[str, type[Request]], *, trust_code: bool = False
) -> dict[str, Any]:
    """Read a request.

    Args:
        file: The TOML file.
        job: The job that it should be for.
        kinds: Requests that it may hold, by the key that tells them apart; that of "" is the usual one.
        trust_code: Whether a file in a run directory may name Python code.

    Returns:
        Arguments of the job's function: those that the file gives, checked, files by their full paths.
    """
    path = Path(file)
    try:
        table = read_toml(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not readable as TOML: {reason(error)}") from None
    try:
        _require_job(table.pop(JOB, job), job)
        kind = next((kind for key, kind in kinds.items() if key and key in table), kinds[""])
        arguments = {key: _argument(key, value, kind) for key, value in table.items()}
        _check_parts(arguments)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    arguments = {key: _with_full_path(key, value, path.resolve().parent) for key, value in arguments.items()}
    if not trust_code:
        _refuse_code(path, arguments)
    return arguments


def _require_job(named: object, job: str) -> None:
    if named != job:
        raise InputError(f"the file is for the job {named!r}, not for {job!r}")


def _argument(key: str, value: Any, kind: type[Request]) -> Any:
    names = [f.name for f in dataclasses.fields(kind)]
    if key in NOT_IN_FILES:
        raise InputError(f"{key} is said with the command, not in a file: --{key.replace('_', '-')}")
    if key in OF_SPACES and key not in names:
        raise InputError(f"{key} is a key of a declared space: give such a file with --space")
    kinds = toml_kinds(get_type_hints(kind)[key]) if key in names else ()
    if not kinds:  # objects from Python cannot be said in a file
        hints = get_type_hints(kind)
        raise UnknownNameError("key", key, [JOB, *(n for n in names if toml_kinds(hints[n]))])
    return typed(key, value, kinds)


# --- types ------------------------------------------------------------------------------------------------------------


def toml_kinds(hint: Any) -> tuple[Any, ...]:
    """Return those of a parameter's types that TOML can say: plain ones, `dict`, and `list[...]` of plain ones."""
    kinds: list[Any] = []
    for part in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        origin = get_origin(part) or part
        if part in PLAIN_TYPES:
            kinds.append(part)
        elif origin is Mapping:
            kinds.append(dict)
        elif origin is Sequence:
            kinds += [list[item] for item in toml_kinds(get_args(part)[0])]  # type: ignore[valid-type]
    return tuple(k for k in kinds if k is not NoneType)


def typed(key: str, value: Any, kinds: Sequence[Any]) -> Any:
    """The value, with whole numbers as numbers where these are meant."""
    if type(value) in kinds:
        return value
    if type(value) is int and float in kinds:
        return float(value)
    for kind in kinds:
        if get_origin(kind) is list:
            (item,) = get_args(kind)
            listed = value if isinstance(value, list) else [value]
            if all(type(v) is item or (item is float and type(v) is int) for v in listed):
                return [item(v) for v in listed]
    raise InputError(f"{key} must be {' or '.join(map(_words, kinds))}, got {value!r}")


def _words(kind: Any) -> str:
    if kind is dict:
        return "a table"
    return f"a list of {PLAIN_TYPES[get_args(kind)[0]].removeprefix('a ')}s" if get_args(kind) else PLAIN_TYPES[kind]


# --- parts that are tables, files ------------------------------------------------------------------------------------


def _check_parts(arguments: Mapping[str, Any]) -> None:
    """Samplers and recipes that are tables are checked now: the line names this file."""
    if isinstance(arguments.get("sampler"), dict):
        from ..samplers.named import sampler

        sampler(arguments["sampler"])
    for key in RECIPES:
        if isinstance(arguments.get(key), dict):
            from ..training.recipe import recipe

            try:
                recipe(arguments[key])
            except InputError as error:
                raise InputError(f"{key}: {error}") from None


def _with_full_path(key: str, value: Any, folder: Path) -> Any:
    """A file is meant by data and tables that are there, by recipes always, by what has the suffix of one elsewhere."""
    if key == "baselines":
        return [_with_full_path("baseline", v, folder) for v in value]
    if not isinstance(value, str) or key not in (*PATHS, *RECIPES, "baseline"):
        return value
    there = folder / Path(value).expanduser()
    is_file = key in RECIPES or value.endswith((SUFFIX, ".py")) or "/" in value
    is_found = key in ("data", "table") and value not in TABLES and there.exists()
    return str(there) if is_file or is_found else value


def _refuse_code(file: Path, arguments: Mapping[str, Any]) -> None:
    """A file inside a run or a model directory is not the user's own words."""
    received = (f for f in file.resolve().parents if (f / SETTINGS).exists() or (f / MODEL_RECORD).exists())
    run = next(received, None)
    named: Iterable[Any] = (arguments.get("space"), *arguments.get("baselines", ()))
    code = [text for text in named if isinstance(text, str) and text.endswith(".py")]
    if run is not None and code:
        what = f"{file} lies in the directory of a run or model, {run}, and names the Python file {code[0]}"
        raise TrustError(f"{what}: read it, then allow it with --trust-code")
