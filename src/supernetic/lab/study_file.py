"""A study in a TOML file: what all trainings share, a grid of what they differ in, figures and claims.

    title = "Which operations make ranking hard?"
    from = ["settings/small.toml"]      # other files, read first; tables are merged, ours win
    seeds = [0, 1]
    [base]                              # arguments of `train`, for every training
    space = "nasbench201:cells=2,channels=8,resolution=16"
    [measure]
    kind = "ranking"
    [grid.mask]                         # an axis: options by name, each with what it changes
    all = {}
    "no zero" = { without = ["none"] }
    [[figures]]
    variants = ["all", "no *"]
    [[claims]]
    text = "masking zero lowers tau_a"
    metric = "tau_a"
    variant = "no zero"
    below = "all"

Several axes are multiplied; a variant's name is that of its options. Text replaces what is there, a table changes it:
`space = { cells = 5 }`, `recipe = { warmup = "5 epochs" }`. Recipes are tables, or paths from the file's folder. A
measure with a kind replaces the one before, one without changes it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

from ..errors import InputError, UnknownNameError
from .claims import Claim, claim

TRAINING = {
    "space": (str, dict),
    "without": (list,),
    "sampler": (str, dict),
    "stabiliser": (str,),
    "recipe": (str, dict),
    "steps": (int,),
    "limit": (int,),
    "snapshots": (str, list),
    "device": (str,),
    "precision": (str,),
}
WORDS = {str: "text", dict: "a table", list: "a list", int: "a number"}
TABLES, LISTS = ("base", "measure", "grid"), ("figures", "claims")
TEXTS = ("title", "source", "scale", "data")
KEYS = ("from", "seeds", *TEXTS, *TABLES, *LISTS)
DEEPEST = 5  # files that read one another

Record = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """A supernet, trained once per seed: arguments of `train`, without a seed. `without` is in the space's text."""

    name: str
    training: Record


@dataclass(frozen=True)
class Figure:
    """Variants that are drawn together."""

    title: str
    variants: tuple[str, ...]
    metrics: tuple[str, ...] = ()  # those that its kind of measure draws, unless said
    caption: str = ""


@dataclass(frozen=True)
class Study:
    """All that a file says."""

    name: str  # of the file
    title: str
    source: str  # paper and figure
    scale: str  # in a few words: how large, how long
    data: str
    seeds: tuple[int, ...]
    measure: Record  # its kind, and that kind's settings
    variants: tuple[Variant, ...]
    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim, ...] = field(default=())


def read_study(path: str | Path, data: str | None = None) -> Study:
    """The study of a file, with what it takes from others; `data` in place of the file's own."""
    path = Path(path)
    try:
        return _study(path.stem, merged(path), data)
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(str(path)) else f"{path}: {text}") from None


def merged(path: Path, depth: int = 0) -> Record:
    """A file's content on top of that of the files it names."""
    if depth > DEEPEST:
        raise InputError(f"{path}: more than {DEEPEST} files read one another")
    try:
        own = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not readable as TOML: {error}") from None
    if unknown := [key for key in own if key not in KEYS]:
        raise InputError(f"{path}: {UnknownNameError('key of a study', unknown[0], KEYS)}")
    for key in TABLES:
        _require(f"{key} must be a table", own.get(key, {}), dict)
    own = _with_recipes(own, path.parent)
    before = own.pop("from", [])
    whole: Record = {}
    for other in [before] if isinstance(before, str) else before:
        whole = _join(whole, merged(path.parent / other, depth + 1))
    return _join(whole, own)


def _with_recipes(table: Record, folder: Path) -> Record:
    """Every recipe that is a path, read: a table that replaces the one before, not one that changes it."""
    found = {}
    for key, value in table.items():
        if key == "recipe" and isinstance(value, str):
            file = folder / value
            try:
                found[key] = {**tomllib.loads(file.read_text(encoding="utf-8")), REPLACES: True}
            except (OSError, ValueError) as error:
                raise InputError(f"recipe {file}: not readable as TOML: {error}") from None
        else:
            found[key] = _with_recipes(value, folder) if isinstance(value, dict) else value
    return found


REPLACES = " replaces"  # no key of TOML that anyone writes


def _join(below: Record, above: Record) -> Record:
    """Tables merged, other values replaced; an option of the grid, or a sampler, is replaced as a whole."""
    joined = {**below, **above}
    for key in TABLES:
        if key in below and key in above:
            joined[key] = {**below[key], **above[key]}
    if "kind" in above.get("measure", {}):
        joined["measure"] = above["measure"]
    if "base" in below and "base" in above:
        joined["base"] = changed(below["base"], above["base"])
    for axis in below.get("grid", {}).keys() & above.get("grid", {}).keys():
        joined["grid"][axis] = {**below["grid"][axis], **above["grid"][axis]}
    return joined


def changed(training: Mapping[str, Any], change: Mapping[str, Any]) -> Record:
    """Arguments of a training after a change: spaces and recipes by their settings, the rest as a whole."""
    result = {**training, **change}
    old, new = training.get("recipe"), change.get("recipe")
    if isinstance(old, dict) and isinstance(new, dict) and REPLACES not in new:
        result["recipe"] = {**old, **new}
    if isinstance(change.get("space"), dict):
        before = training.get("space", "")
        settings = settings_of_space(before)[1] if isinstance(before, str) else dict(before)
        joined = {**settings, **change["space"]}
        result["space"] = space_text(settings_of_space(before)[0], joined) if isinstance(before, str) else joined
    return result


# --- spaces as text ---------------------------------------------------------------------------------------------------


def settings_of_space(text: str) -> tuple[str, Record]:
    """(name, settings) of `name:key=value,...`."""
    name, _, settings = text.partition(":")
    pairs = (item.partition("=") for item in filter(None, settings.split(",")))
    return name, {key: value for key, _, value in pairs}


def space_text(name: str, settings: Mapping[str, Any]) -> str:
    """The text of a space, with its settings in the order of their names: equal for equal spaces."""

    def shown(value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return "+".join(map(str, value)) if isinstance(value, list) else str(value)

    items = ",".join(f"{key}={shown(settings[key])}" for key in sorted(settings))
    return f"{name}:{items}" if items else name


# --- what it says -----------------------------------------------------------------------------------------------------


def _study(name: str, table: Record, data: str | None) -> Study:
    for key in TEXTS:
        _require(f"{key} must be text", table.get(key, ""), str)
    if not table.get("title"):
        raise InputError("a study needs a title")
    kind = table.get("measure", {}).get("kind")
    if not isinstance(kind, str):
        raise InputError("measure must have a kind, such as kind = 'ranking'")
    seeds = table.get("seeds", [0])
    if not isinstance(seeds, list) or not seeds or any(type(s) is not int or s < 0 for s in seeds):
        raise InputError(f"seeds must be a list of whole numbers, got {seeds!r}")
    if len(set(seeds)) < len(seeds):
        raise InputError(f"a seed is given twice: {', '.join(map(str, seeds))}")
    variants = tuple(_variants(table.get("base", {}), table.get("grid", {})))
    names = [v.name for v in variants]
    return Study(
        name=name,
        title=table["title"],
        source=table.get("source", ""),
        scale=table.get("scale", ""),
        data=data or table.get("data", "embedded"),
        seeds=tuple(seeds),
        measure=table["measure"],
        variants=variants,
        figures=tuple(_figure(f, names) for f in _tables("figures", table)) or (Figure("", tuple(names)),),
        claims=tuple(claim(c, names) for c in _tables("claims", table)),
    )


def _tables(key: str, table: Record) -> list[Record]:
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(t, dict) for t in found):
        raise InputError(f"{key} must be tables, each under [[{key}]]")
    return found


def _variants(base: Record, grid: Record) -> Sequence[Variant]:
    _training("base", base)
    for axis, options in grid.items():
        _require(f"the axis {axis!r} of the grid must be a table of options", options, dict)
        for option, change in options.items():
            _require(f"the option {option!r} of {axis!r} must be a table", change, dict)
            _training(option, change)
        if not options:
            raise InputError(f"the axis {axis!r} of the grid has no option")
    variants = []
    for combination in product(*(options.items() for options in grid.values())):
        training = base
        for _, change in combination:
            training = changed(training, change)
        variants.append(Variant(", ".join(name for name, _ in combination) or "all", settled(training)))
    names = [v.name for v in variants]
    if twice := [n for n in names if names.count(n) > 1]:
        raise InputError(f"two variants are called {twice[0]!r}")
    return variants


def settled(training: Record) -> Record:
    """The arguments of `train`: the space as one text, masks included, and a recipe without our marks."""
    result = {k: v for k, v in training.items() if k != "without"}
    if not isinstance(result.get("space"), str):
        raise InputError("base must say which space is trained, such as space = 'macro'")
    if not result["space"].endswith((".toml", ".py")):
        name, settings = settings_of_space(result["space"])
        masked = sorted({*filter(None, str(settings.pop("without", "")).split("+")), *training.get("without", ())})
        result["space"] = space_text(name, {**settings, "without": masked} if masked else settings)
    elif training.get("without"):
        raise InputError(f"the declared space {result['space']} has no operations to mask")
    if "recipe" in result:
        kept = {k: v for k, v in result["recipe"].items() if k not in (REPLACES, "title", "source")}
        result["recipe"] = kept
    return result


def _training(what: str, table: Record) -> None:
    for key, value in table.items():
        if key not in TRAINING:
            raise UnknownNameError(f"argument of a training in {what!r}:", key, TRAINING)
        if type(value) not in TRAINING[key]:
            kinds = " or ".join(WORDS[k] for k in TRAINING[key])
            raise InputError(f"{what}: {key} must be {kinds}, got {value!r}")


def _figure(table: Record, names: Sequence[str]) -> Figure:
    known = ("title", "variants", "metrics", "caption")
    for key in table:
        if key not in known:
            raise UnknownNameError("key of a figure", key, known)
    chosen: list[str] = []
    for pattern in table.get("variants", ["*"]):
        found = [n for n in names if n == pattern or fnmatchcase(n, pattern)]
        if not found:
            raise UnknownNameError("variant in a figure", pattern, names)
        chosen += found
    metrics = table.get("metrics", [])
    _require("metrics of a figure must be a list", metrics, list)
    return Figure(
        str(table.get("title", "")), tuple(dict.fromkeys(chosen)), tuple(metrics), str(table.get("caption", ""))
    )


def _require(rule: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise InputError(f"{rule}, got {value!r}")
