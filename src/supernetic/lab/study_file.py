"""The file of a study: what all trainings share, a grid of what they differ in, figures and claims, in TOML.

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

Several axes are multiplied; the name of a variant joins the names of its options. A text replaces a setting, a table
changes it: `space = { cells = 5 }`, `recipe = { warmup = "5 epochs" }`. Recipes are tables, or paths relative to the
file. A measure with a kind replaces the earlier one, a measure without a kind changes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from ..errors import InputError, UnknownNameError
from ..reading import read_toml, reason
from .claims import Claim, Condition, read_claim, read_condition

TRAINING_TYPES = {  # arguments of a training, and the types that each may have
    "space": (str, dict),
    "without": (list,),
    "sampler": (str, dict),
    "stabiliser": (str,),
    "recipe": (str, dict),
    "steps": (int,),
    "limit": (int,),
    "image_size": (int,),
    "valid": (int, float),
    "calibrate": (int, float),
    "split_seed": (int,),
    "snapshots": (str, list),
    "device": (str,),
    "precision": (str,),
}
TYPE_NAMES = {str: "text", dict: "a table", list: "a list", int: "a number", float: "a share"}
TABLE_KEYS, LIST_KEYS = ("base", "measure", "grid"), ("figures", "claims")
TEXT_KEYS = ("title", "source", "scale", "data")
STUDY_KEYS = ("from", "seeds", "condition", *TEXT_KEYS, *TABLE_KEYS, *LIST_KEYS)
FIGURE_KEYS = ("title", "variants", "metrics", "caption")
MAX_NESTED_FILES = 5
MOST_VARIANTS = 10_000
LARGEST_SEED = 2**63 - 1
REPLACES = " replaces"  # marks a recipe that replaces the earlier one; nobody writes such a key in TOML

Record = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """A supernet that is trained once per seed: arguments of `train` without the seed. Masks are part of the space."""

    name: str
    training: Record


@dataclass(frozen=True)
class Figure:
    """Variants that are drawn together."""

    title: str
    variants: tuple[str, ...]
    metrics: tuple[str, ...] = ()  # by default those of the measure
    caption: str = ""


@dataclass(frozen=True)
class Study:
    """The content of a study file."""

    name: str  # of the file
    title: str
    source: str  # paper and figure
    scale: str  # a few words on how large and how long the trainings are
    data: str
    seeds: tuple[int, ...]
    measure: Record  # its kind, and that kind's settings
    variants: tuple[Variant, ...]
    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim, ...] = field(default=())
    condition: Condition | None = None  # without which no claim is judged


def read_study(path: str | Path, data: str | None = None, training: Mapping[str, Any] | None = None) -> Study:
    """Read a study file, and the files that it builds on.

    Args:
        path: The file.
        data: Images, in place of those that the file names.
        training: Arguments of every training, in place of the file's.

    Returns:
        The study.
    """
    path = Path(path)
    try:
        return _study(path.stem, read_merged(path), data, training or {})
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(str(path)) else f"{path}: {text}") from None


def read_merged(path: Path, depth: int = 0) -> Record:
    """The content of a file, on top of that of the files it names under `from`."""
    if depth > MAX_NESTED_FILES:
        raise InputError(f"{path}: at most {MAX_NESTED_FILES} files may read one another in a row")
    try:
        own = read_toml(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not readable as TOML: {reason(error)}") from None
    if unknown := [key for key in own if key not in STUDY_KEYS]:
        raise InputError(f"{path}: {UnknownNameError('key of a study', unknown[0], STUDY_KEYS)}")
    for key in (*TABLE_KEYS, "condition"):
        _require(f"{key} must be a table", own.get(key, {}), dict)
    own = _with_recipes(own, path.parent)
    before = own.pop("from", [])
    whole: Record = {}
    before = [before] if isinstance(before, str) else before
    if not isinstance(before, list) or not all(isinstance(other, str) for other in before):
        raise InputError(f"{path}: from must be the name of a file or a list of names, got {before!r}")
    for other in before:
        whole = _join(whole, read_merged(path.parent / other, depth + 1))
    return _join(whole, own)


def _with_recipes(table: Record, folder: Path) -> Record:
    """Read every recipe that is given as a path; such a recipe replaces the earlier one instead of changing it."""
    result = {}
    for key, value in table.items():
        if key == "recipe" and isinstance(value, str):
            file = folder / value
            try:
                result[key] = {**read_toml(file), REPLACES: True}
            except (OSError, ValueError) as error:
                raise InputError(f"recipe {file}: not readable as TOML: {reason(error)}") from None
        else:
            result[key] = _with_recipes(value, folder) if isinstance(value, dict) else value
    return result


def _join(below: Record, above: Record) -> Record:
    """Merge tables and replace other values; an option of the grid, or a sampler, is replaced as a whole."""
    joined = {**below, **above}
    for key in TABLE_KEYS:
        if key in below and key in above:
            joined[key] = {**below[key], **above[key]}
    if isinstance(above.get("measure"), dict) and "kind" in above["measure"]:
        joined["measure"] = above["measure"]
    if "base" in below and "base" in above:
        joined["base"] = apply_change(below["base"], above["base"])
    for axis in below.get("grid", {}).keys() & above.get("grid", {}).keys():
        joined["grid"][axis] = {**below["grid"][axis], **above["grid"][axis]}
    return joined


def apply_change(training: Mapping[str, Any], change: Mapping[str, Any]) -> Record:
    """Change the arguments of a training.

    Args:
        training: The arguments.
        change: New ones; a table changes single settings of a space or a recipe, everything else is replaced.

    Returns:
        The changed arguments.
    """
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
    """The name and the settings of a text such as `name:key=value,...`."""
    name, _, settings = text.partition(":")
    pairs = (item.partition("=") for item in filter(None, settings.split(",")))
    return name, {key: value for key, _, value in pairs}


def space_text(name: str, settings: Mapping[str, Any]) -> str:
    """The text of a space with its settings in alphabetical order, so that equal spaces have equal texts."""

    def text_of(value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return "+".join(map(str, value)) if isinstance(value, list) else str(value)

    items = ",".join(f"{key}={text_of(settings[key])}" for key in sorted(settings))
    return f"{name}:{items}" if items else name


# --- the content ------------------------------------------------------------------------------------------------------


def _study(name: str, table: Record, data: str | None, given: Mapping[str, Any]) -> Study:
    for key in TEXT_KEYS:
        _require(f"{key} must be text", table.get(key, ""), str)
    if not table.get("title"):
        raise InputError("a study needs a title, got none")
    kind = table.get("measure", {}).get("kind")
    if not isinstance(kind, str):
        raise InputError("measure must have a kind, such as kind = 'ranking'")
    seeds = table.get("seeds", [0])
    if not isinstance(seeds, list) or not seeds or any(type(s) is not int or not 0 <= s <= LARGEST_SEED for s in seeds):
        raise InputError(f"seeds must be a list of whole numbers, 0 or more, of 64 bits; got {seeds!r}")
    if len(set(seeds)) < len(seeds):
        raise InputError(f"seeds must be different, got {', '.join(map(str, seeds))}")
    variants = tuple(
        replace(v, training={**v.training, **given}) for v in _variants(table.get("base", {}), table.get("grid", {}))
    )
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
        claims=tuple(read_claim(c, names) for c in _tables("claims", table)),
        condition=read_condition(table.get("condition", {}), names),
    )


def _tables(key: str, table: Record) -> list[Record]:
    tables = table.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise InputError(f"{key} must be tables, each under [[{key}]]")
    return tables


def _variants(base: Record, grid: Record) -> Sequence[Variant]:
    _check_training("base", base)
    for axis, options in grid.items():
        _require(f"the axis {axis!r} of the grid must be a table of options", options, dict)
        for option, change in options.items():
            _require(f"the option {option!r} of {axis!r} must be a table", change, dict)
            _check_training(option, change)
        if not options:
            raise InputError(f"the axis {axis!r} of the grid has no option")
    count = prod(map(len, grid.values()))
    if count > MOST_VARIANTS:
        raise InputError(f"the grid has {count:,} variants, more than {MOST_VARIANTS:,}: name fewer axes or options")
    variants = []
    for combination in product(*(options.items() for options in grid.values())):
        training = base
        for _, change in combination:
            training = apply_change(training, change)
        variants.append(Variant(", ".join(name for name, _ in combination) or "all", training_arguments(training)))
    names = [v.name for v in variants]
    if twice := [n for n in names if names.count(n) > 1]:
        raise InputError(f"variants must have different names, got {twice[0]!r} twice")
    return variants


def training_arguments(training: Record) -> Record:
    """The arguments of `train`: the space as one text, with its masks, and the recipe without its internal mark."""
    result = {k: v for k, v in training.items() if k != "without"}
    if not isinstance(result.get("space"), str):
        raise InputError("base must name the space that is trained, such as space = 'macro'")
    if not result["space"].endswith((".toml", ".py")):
        name, settings = settings_of_space(result["space"])
        masked = sorted({*filter(None, str(settings.pop("without", "")).split("+")), *training.get("without", ())})
        result["space"] = space_text(name, {**settings, "without": masked} if masked else settings)
    elif training.get("without"):
        raise InputError(f"operations of a declared space cannot be masked, got {result['space']}")
    if "recipe" in result:
        unused = (REPLACES, "title", "source")
        result["recipe"] = {k: v for k, v in result["recipe"].items() if k not in unused}
    return result


def _check_training(what: str, table: Record) -> None:
    for key, value in table.items():
        if key not in TRAINING_TYPES:
            raise UnknownNameError(f"argument of a training in {what!r}:", key, TRAINING_TYPES)
        if type(value) not in TRAINING_TYPES[key]:
            kinds = " or ".join(TYPE_NAMES[k] for k in TRAINING_TYPES[key])
            raise InputError(f"{what}: {key} must be {kinds}, got {value!r}")


def _figure(table: Record, names: Sequence[str]) -> Figure:
    for key in table:
        if key not in FIGURE_KEYS:
            raise UnknownNameError("key of a figure", key, FIGURE_KEYS)
    chosen: list[str] = []
    patterns = table.get("variants", ["*"])
    if not isinstance(patterns, list) or not all(isinstance(p, str) for p in patterns):
        raise InputError(f"variants of a figure must be a list of names, got {patterns!r}")
    for pattern in patterns:
        matching = [n for n in names if n == pattern or fnmatchcase(n, pattern)]
        if not matching:
            raise UnknownNameError("variant in a figure", pattern, names)
        chosen += matching
    metrics = table.get("metrics", [])
    _require("metrics of a figure must be a list", metrics, list)
    return Figure(
        str(table.get("title", "")), tuple(dict.fromkeys(chosen)), tuple(metrics), str(table.get("caption", ""))
    )


def _require(rule: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise InputError(f"{rule}, got {value!r}")
