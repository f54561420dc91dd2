"""A space of one's own: stem, stages and head, declared in a few lines of TOML or Python.

Paper: none; the two that come with it, `deep-narrow` and `shallow-wide`, are for the comparison of spaces in appendix
D of AttentiveNAS (paper 001), whose second space is not published: ours are alike in spirit, not copies.

Wherever a list is given there is a choice; a single value is fixed and has no gene.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Literal, NamedTuple

from ..blueprint import Layer, halved
from ..errors import ArchError, InputError, UnknownNameError
from ..space import Arch, Choice, SequentialSpace, Space
from ..stabiliser import stabilise

DATA = Path(__file__).parent / "data"
MOST_OPTIONS = 127  # architectures are rows of 8-bit integers
STRICT = {"extra": "forbid", "strict": True}
Act = Literal["", "relu", "relu6", "hswish", "swish"]


class Block(NamedTuple):
    """What a block may be."""

    operation: str
    kernel: int = 1
    expansion: float = 1
    se: bool = False

    @property
    def label(self) -> str:
        """`MB6_K5_SE`, `CONV_K3` or `SKIP`, as layers are labelled."""
        if self.operation == "mbconv":
            return f"MB{self.expansion:g}_K{self.kernel}" + "_SE" * self.se
        return f"CONV_K{self.kernel}" if self.operation == "conv" else "SKIP"


SKIP = Block("skip")

# --- the declaration --------------------------------------------------------------------------------------------------
# Plain dataclasses; pydantic checks the types (it is imported only when something is declared), they check the values.


@dataclass(frozen=True)
class Stem:
    """The first convolution."""

    width: tuple[int, ...]
    kernel: int = 3
    stride: int = 2
    act: Act = ""  # the space's, unless given

    __pydantic_config__: ClassVar[Any] = STRICT

    def __post_init__(self) -> None:
        _require_options(self, "width")
        _require_geometry((self.kernel,), self.stride)


@dataclass(frozen=True)
class Stage:
    """Blocks of one width. The first has the stride; a block is any combination of the four lists that describe it."""

    width: tuple[int, ...]
    depth: tuple[int, ...] = (1,)
    operation: tuple[Literal["mbconv", "conv", "skip"], ...] = ("mbconv",)
    kernel: tuple[int, ...] = (3,)
    expansion: tuple[float, ...] = (6,)
    se: tuple[bool, ...] = (False,)
    stride: int = 1
    per: Literal["", "stage", "block"] = ""  # the space's, unless given
    act: Act = ""

    __pydantic_config__: ClassVar[Any] = STRICT

    def __post_init__(self) -> None:
        _require_options(self, "width", "depth", "operation", "kernel", "expansion", "se")
        _require_geometry(self.kernel, self.stride)
        if not min(self.expansion) >= 1:
            raise ValueError(f"expansion must be at least 1, got {min(self.expansion):g}")
        if len(self.blocks) > MOST_OPTIONS:
            raise ValueError(f"a block may have at most {MOST_OPTIONS} options, got {len(self.blocks)}")

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The options of a block."""
        options = {
            "mbconv": [Block("mbconv", k, e, se) for e, k, se in product(self.expansion, self.kernel, self.se)],
            "conv": [Block("conv", k) for k in self.kernel],
            "skip": [SKIP],
        }
        return tuple(block for operation in self.operation for block in options[operation])


@dataclass(frozen=True)
class Head:
    """A 1x1 convolution before pooling; none without a width."""

    width: tuple[int, ...] = ()
    act: Act = ""

    __pydantic_config__: ClassVar[Any] = STRICT

    def __post_init__(self) -> None:
        if self.width:
            _require_options(self, "width")


PARTS: Mapping[str, type] = {"stem": Stem, "stages": Stage, "head": Head}


def _require_options(part: Any, *keys: str) -> None:
    for key in keys:
        options = getattr(part, key)
        if not 1 <= len(options) <= MOST_OPTIONS or len(set(options)) < len(options):
            raise ValueError(f"{key} must list 1..{MOST_OPTIONS} different options, got {list(options)}")
        if key in ("width", "depth", "resolution") and min(options) < 1:
            raise ValueError(f"{key} must be positive, got {min(options)}")


def _require_geometry(kernels: Sequence[int], stride: int) -> None:
    for kernel in kernels:
        if kernel < 1 or kernel % 2 == 0:
            raise ValueError(f"kernel must be odd and positive, got {kernel}")
    if stride not in (1, 2, 4):
        raise ValueError(f"stride must be 1, 2 or 4, got {stride}")


# --- the space --------------------------------------------------------------------------------------------------------


class Item(NamedTuple):
    """One thing to decide on the way through the network; a gene if it has several options."""

    kind: str  # resolution, stem, width, depth, block, head
    stage: int  # 0 outside the stages
    block: int  # within its stage, where each block is chosen by itself, else -1
    options: tuple[Any, ...]

    @property
    def name(self) -> str:
        """The gene's name."""
        if self.kind in ("resolution", "stem", "head"):
            return self.kind if self.kind == "resolution" else f"{self.kind}.width"
        return f"stage{self.stage}." + (self.kind if self.block < 0 else str(self.block))


class Place(NamedTuple):
    """The automaton's state: the map at hand, and what is decided about the stage at hand (0 between stages)."""

    channels: int
    resolution: int
    nominal: int = 0  # width that the map would have without skipped blocks; hidden widths are multiples of it
    width: int = 0
    depth: int = 0


@dataclass(frozen=True)
class DeclaredSpace(SequentialSpace):
    """What `declare` and `read` return."""

    name: str  # type: ignore[misc]  # every other space has one name for all its instances
    stem: Stem
    stages: tuple[Stage, ...]
    head: Head = Head()
    resolution: tuple[int, ...] = (224,)
    classes: int = 1000
    in_channels: int = 3
    act: Act = "relu"
    per: Literal["stage", "block"] = "stage"  # blocks of a stage alike, or each chosen by itself
    # of a supernet's weights: per option, or slices of the largest
    sharing: Literal["choice", "elastic"] = "choice"  # type: ignore[misc]
    stabiliser: Literal["", "skip", "relu"] = ""  # in supernets: a linear map to the stage's width in place of skips
    paper: str = ""  # type: ignore[misc]

    __pydantic_config__: ClassVar[Any] = STRICT

    def __post_init__(self) -> None:
        _require_options(self, "resolution")
        for key in ("classes", "in_channels"):
            if getattr(self, key) < 1:
                raise ValueError(f"{key} must be positive, got {getattr(self, key)}")
        if not self.stages:
            raise ValueError("there must be at least one stage")

    @cached_property
    def _items(self) -> tuple[Item, ...]:
        """Everything there is to decide, fixed or not, in the order of the network."""
        return tuple(self._walk())

    def _walk(self) -> Iterator[Item]:
        yield Item("resolution", 0, -1, self.resolution)
        yield Item("stem", 0, -1, self.stem.width)
        for s, stage in enumerate(self.stages, 1):
            yield Item("width", s, -1, stage.width)
            yield Item("depth", s, -1, stage.depth)
            places = range(max(stage.depth)) if self._blockwise(stage) else (-1,)
            yield from (Item("block", s, b, stage.blocks) for b in places)
        if self.head.width:
            yield Item("head", 0, -1, self.head.width)

    def _blockwise(self, stage: Stage) -> bool:
        return (stage.per or self.per) == "block"

    @cached_property
    def _genes(self) -> tuple[int, ...]:
        """The items that are genes."""
        return tuple(i for i, item in enumerate(self._items) if len(item.options) > 1)

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """A gene for each list of options; the genes of blocks that a smaller depth leaves out are 0."""
        choices: list[Choice] = []
        for i in self._genes:
            item = self._items[i]
            depths = self.stages[item.stage - 1].depth if item.stage else ()
            labels = tuple(o.label for o in item.options) if item.kind == "block" else item.options
            if item.kind == "depth":
                depth_gene = len(choices)
            choice = Choice(item.name, labels)
            if item.block >= 0 and item.block >= min(depths):
                allowed = tuple(len(labels) if item.block < d else 1 for d in depths)
                choice = choice._replace(parent=depth_gene, allowed=allowed)
            choices.append(choice)
        return tuple(choices)

    # --- notation -----------------------------------------------------------------------------------------------------

    def _values(self, arch: Arch) -> list[Any]:
        """The option taken at each item."""
        genes = dict(zip(self._genes, arch, strict=True))
        return [item.options[genes.get(i, 0)] for i, item in enumerate(self._items)]

    def format(self, arch: Arch) -> str:
        """`224px 16 | 24: MB4_K3 x3 | 32: MB3_K3 SKIP MB6_K5 | 1280`: stem, stages, head."""
        words: dict[int, list[str]] = {s: [] for s in range(len(self.stages) + 2)}
        depth = 0
        for item, value in zip(self._items, self._values(arch), strict=True):
            if item.kind == "depth":
                depth = value
            elif item.kind == "block":
                labels = [value.label] * (item.block < depth) if item.block >= 0 else [value.label, f"x{depth}"]
                words[item.stage] += labels
            else:
                text = {"resolution": f"{value}px", "width": f"{value}:"}.get(item.kind, str(value))
                words[len(self.stages) + 1 if item.kind == "head" else item.stage].append(text)
        return " | ".join(" ".join(w) for w in words.values() if w)

    def _parse(self, text: str) -> Arch | None:
        parts = [p.split() for p in text.split("|")]
        if len(parts) != len(self.stages) + 1 + bool(self.head.width) or len(parts[0]) != 2:
            return None
        given: dict[tuple[str, int, int], str] = {
            ("resolution", 0, -1): parts[0][0].removesuffix("px"),
            ("stem", 0, -1): parts[0][1],
            ("head", 0, -1): " ".join(parts[-1]),
        }
        for s, (stage, words) in enumerate(zip(self.stages, parts[1:], strict=False), 1):
            if len(words) < 2 or not words[0].endswith(":"):
                return None
            blocks = dict(enumerate(words[1:])) if self._blockwise(stage) else {-1: words[1]}
            depth = str(len(blocks)) if self._blockwise(stage) else words[-1].removeprefix("x")
            given |= {("width", s, -1): words[0].removesuffix(":"), ("depth", s, -1): depth}
            given |= {("block", s, b): label for b, label in blocks.items()}
        genes = []
        for i, item in enumerate(self._items):
            options = [o.label if item.kind == "block" else str(o) for o in item.options]
            value = given.get(item[:3], options[0])  # the blocks that the depth leaves out are not given
            if value not in options:
                raise ArchError(f"{self.name}: {item.name} must be one of {', '.join(options)}, got {value}")
            if i in self._genes:
                genes.append(options.index(value))
        return tuple(genes)

    def canonical(self, arch: Arch) -> Arch:
        """Skipped blocks that do not open their stage move to its end, where a smaller depth leaves them out."""
        taken = dict(zip(self._genes, arch, strict=True))
        for s, stage in enumerate(self.stages, 1):
            if SKIP not in stage.blocks:
                continue
            skip = stage.blocks.index(SKIP)
            depth, *blocks = (i for i, item in enumerate(self._items) if item.stage == s and item.kind != "width")
            alive = stage.depth[taken.get(depth, 0)]
            options = [taken.get(i, 0) for i in blocks]
            if not self._blockwise(stage):
                alive = min(stage.depth) if options == [skip] else alive
            else:
                kept = options[:1] + [o for o in options[1:alive] if o != skip]
                alive = min(d for d in stage.depth if d >= len(kept))
                kept += [skip] * (alive - len(kept))
                options = kept + [0] * (len(blocks) - alive)
            taken |= {depth: stage.depth.index(alive), **dict(zip(blocks, options, strict=True))}
        return tuple(taken[i] for i in self._genes)

    # --- the network --------------------------------------------------------------------------------------------------

    def start(self) -> tuple[Sequence[Layer], Place]:
        """All that is fixed before the first gene."""
        return self._fixed(0, Place(self.in_channels, 0))

    def step(self, i: int, state: Place, genes: Arch) -> tuple[Sequence[Layer], Place] | None:
        """What gene `i` decides, and all that is fixed between it and the next."""
        here = self._genes[i]
        item = self._items[here]
        if genes[0] and state.depth <= item.block:  # a block that the depth leaves out
            return None
        layers, place = self._decide(item, item.options[genes[0]], state)
        more, place = self._fixed(here + 1, place)
        return [*layers, *more], place

    def finish(self, state: Place) -> Sequence[Layer]:
        """Pooling and classifier."""
        c = state.channels
        return [
            Layer("head.pool", "gap", c, c, state.resolution, 1),
            Layer("classifier", "linear", c, self.classes, 1, 1),
        ]

    def _fixed(self, first: int, place: Place) -> tuple[list[Layer], Place]:
        """Items from `first` up to the next gene."""
        layers: list[Layer] = []
        for item in self._items[first:]:
            if len(item.options) > 1:
                break
            more, place = self._decide(item, item.options[0], place)
            layers += more
        return layers, place

    def _decide(self, item: Item, value: Any, place: Place) -> tuple[list[Layer], Place]:
        match item.kind:
            case "resolution":
                return [], place._replace(resolution=value)
            case "width":
                return [], place._replace(width=value)
            case "depth":
                return [], place._replace(depth=value)
            case "block":
                return self._stage(item, value, place)
        stem = item.kind == "stem"
        kernel, stride = (self.stem.kernel, self.stem.stride) if stem else (1, 1)
        resolution, act = halved(place.resolution, stride), (self.stem if stem else self.head).act or self.act
        name = "stem" if stem else "head.conv"
        layer = Layer(name, "conv", place.channels, value, place.resolution, resolution, kernel, stride, act=act)
        return [layer], Place(value, resolution, value)

    def _stage(self, item: Item, block: Block, place: Place) -> tuple[list[Layer], Place]:
        """The block that the item is about, or all blocks of the stage."""
        depth, layers = place.depth, []
        for b in range(depth) if item.block < 0 else range(item.block, min(item.block + 1, depth)):
            layer = self._block(item.stage, b, block, place)
            layers.append(layer)
            place = place._replace(channels=layer.c_out, resolution=layer.resolution_out, nominal=place.width)
        ends = item.block in (-1, max(self.stages[item.stage - 1].depth) - 1)
        return layers, place._replace(width=0, depth=0) if ends else place

    def _block(self, s: int, b: int, block: Block, place: Place) -> Layer:
        stage = self.stages[s - 1]
        c_in, resolution, stride = place.channels, place.resolution, 1 if b else stage.stride
        c_out = c_in if block.operation == "skip" else place.width
        layer = Layer(
            f"stage{s}.{b}",
            block.operation,
            c_in,
            c_out,
            resolution,
            halved(resolution, stride),
            block.kernel,
            stride,
            stage=s,
        )
        if block.operation == "skip":
            return stabilise(layer, self.stabiliser, place.width) if self.stabiliser else layer
        layer = layer._replace(act=stage.act or self.act)
        if block.operation == "conv":
            return layer
        hidden = c_in if block.expansion == 1 else round(place.nominal * block.expansion)
        return layer._replace(
            expansion=block.expansion,
            hidden=hidden,
            se=max(1, hidden // 4) if block.se else 0,
            shortcut="identity" if stride == 1 and c_in == c_out else "",
        )


# --- reading ----------------------------------------------------------------------------------------------------------


def declare(**settings: Any) -> DeclaredSpace:
    """The space that these settings describe: `declare(name=..., stem={...}, stages=[{...}, ...], ...)`."""
    from pydantic import TypeAdapter, ValidationError

    try:
        # By way of JSON: strict about types there, yet a list is good enough for a tuple and 6 for 6.0.
        return TypeAdapter(DeclaredSpace).validate_json(json.dumps(_listed(DeclaredSpace, settings), default=str))
    except ValidationError as error:
        # A misspelt key is also a missing one: the former helps more.
        errors = sorted(error.errors(), key=lambda e: e["type"] != "unexpected_keyword_argument")
        raise InputError(_line(errors[0])) from None


def _listed(part: type, settings: Any) -> Any:
    """The settings of a part with single values made lists of one, where there may be several."""
    if not isinstance(settings, Mapping):
        return settings
    many = {f.name for f in fields(part) if str(f.type).startswith("tuple")}
    listed = {k: [v] if k in many and not isinstance(v, list | tuple) else v for k, v in settings.items()}
    for key, inner in PARTS.items():
        if part is DeclaredSpace and key in listed:
            value = listed[key]
            listed[key] = [_listed(inner, v) for v in value] if key == "stages" else _listed(inner, value)
    return listed


def _line(error: Any) -> str:
    """One line for one of pydantic's errors: where, the rule, the value."""
    path, last = list(error["loc"]), error["loc"][-1] if error["loc"] else ""
    if error["type"] == "unexpected_keyword_argument":
        part = PARTS.get(str(path[0]), DeclaredSpace) if len(path) > 1 else DeclaredSpace
        where = _where(path[:-1])
        return (where and f"{where}: ") + str(UnknownNameError("key", str(last), [f.name for f in fields(part)]))
    where = _where(path)
    if error["type"] == "missing":
        return f"{where} is missing"
    if error["type"] == "value_error":
        return (where and f"{where}: ") + str(error["ctx"]["error"])
    rule = re.sub("^Input should be ", "must be ", error["msg"])
    return f"{where} {rule}, got {error['input']!r}"


def _where(path: Sequence[str | int]) -> str:
    """`stages[2].width`, with stages counted from 1 as in the names of genes."""
    text = ""
    for i, step in enumerate(path):
        if isinstance(step, str):
            text += f".{step}" if i else step
        elif i == 1 and path[0] == "stages":
            text += f"[{step + 1}]"
    return text


def read(path: Path) -> Space:
    """The space that a TOML file declares, or that a Python file assigns to `space`."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file to declare a space")
    try:
        return _run_python(path.read_text("utf-8"), path) if path.suffix == ".py" else _read_toml(path)
    except (InputError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None


def run_python(text: str, path: Path) -> Space:
    """The space that Python code assigns to `space`; `path` is the file that it is of, for messages."""
    try:
        return _run_python(text, path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _read_toml(path: Path) -> Space:
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"not readable as TOML: {error}") from None
    return declare(**{"name": path.stem, **settings})


def _run_python(text: str, path: Path) -> Space:
    module = ModuleType("<space>")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look there for the module of a class
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
        space = module.__dict__.get("space")
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        line = lines[-1] if lines else getattr(error, "lineno", "?")
        raise InputError(f"line {line}: {type(error).__name__}: {error}") from None
    finally:
        sys.modules.pop(module.__name__, None)
    if not isinstance(space, Space):
        raise InputError(f"a Python file must assign a space to the name `space`, got {space!r}")
    return space


@cache
def deep_narrow() -> Space:
    """Many thin blocks, as in AttentiveNAS's space."""
    return read(DATA / "deep-narrow.toml")


@cache
def shallow_wide() -> Space:
    """Few wide blocks, as in BigNAS's space."""
    return read(DATA / "shallow-wide.toml")
