"""A space of your own: stem, stages and head, declared in a few lines of TOML or Python.

Paper: none; the two bundled spaces, `deep-narrow` and `shallow-wide`, are for the comparison of spaces in appendix D of
AttentiveNAS. Its second space is not published: ours follow its idea, they are not copies.

A list is a choice among its items; a single value is fixed and has no gene.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Literal, NamedTuple

from ..blueprint import Layer, halved, make_divisible
from ..errors import ArchError, InputError, UnknownNameError
from ..reading import exists, read_text, read_toml, reason
from ..space import Arch, Choice, SequentialSpace, Space
from ..stabiliser import stabilise

DATA_DIR = Path(__file__).parent / "data"
MAX_OPTIONS = 127  # architectures are rows of 8-bit integers
LARGEST = {"width": 65_536, "depth": 1_000, "resolution": 4_096}  # beyond them no network could be computed
LARGEST_KERNEL, LARGEST_EXPANSION, MOST_BLOCKS, MOST_TIMES_WIDER = 255, 64, 1_000, 100
STRICT_CONFIG = {"extra": "forbid", "strict": True}
Act = Literal["", "relu", "relu6", "hswish", "swish"]


class Block(NamedTuple):
    """One option of a block."""

    operation: str
    kernel: int = 1
    expansion: float = 1
    se: bool = False

    @property
    def label(self) -> str:
        """The label that its layer has: `MB6_K5_SE`, `CONV_K3` or `SKIP`."""
        if self.operation == "mbconv":
            return f"MB{self.expansion:g}_K{self.kernel}" + "_SE" * self.se
        return f"CONV_K{self.kernel}" if self.operation == "conv" else "SKIP"


SKIP = Block("skip")

# --- the declaration --------------------------------------------------------------------------------------------------
# Plain dataclasses that check their values; pydantic checks the types, and is imported only when a space is declared.


@dataclass(frozen=True)
class Stem:
    """The first convolution of every network."""

    width: tuple[int, ...]
    kernel: int = 3
    stride: int = 2
    act: Act = ""  # "" for the activation of the space

    __pydantic_config__: ClassVar[Any] = STRICT_CONFIG

    def __post_init__(self) -> None:
        _require_options(self, "width")
        _require_geometry((self.kernel,), self.stride)


@dataclass(frozen=True)
class Stage:
    """Blocks of one width, the first of which has the stride.

    A block is any combination of the four lists `operation`, `kernel`, `expansion` and `se`; of a `conv` only the
    kernel counts, of a `skip` nothing.
    """

    width: tuple[int, ...]
    depth: tuple[int, ...] = (1,)
    operation: tuple[Literal["mbconv", "conv", "skip"], ...] = ("mbconv",)
    kernel: tuple[int, ...] = (3,)
    expansion: tuple[float, ...] = (6,)
    se: tuple[bool, ...] = (False,)
    stride: int = 1
    per: Literal["", "stage", "block"] = ""  # "" for the setting of the space
    act: Act = ""  # "" for the activation of the space

    __pydantic_config__: ClassVar[Any] = STRICT_CONFIG

    def __post_init__(self) -> None:
        _require_options(self, "width", "depth", "operation", "kernel", "expansion", "se")
        _require_geometry(self.kernel, self.stride)
        if not (min(self.expansion) >= 1 and max(self.expansion) <= LARGEST_EXPANSION):
            wrong = next(e for e in self.expansion if not 1 <= e <= LARGEST_EXPANSION)
            raise ValueError(f"expansion must be 1 to {LARGEST_EXPANSION}, got {wrong:g}")
        if len(self.blocks) > MAX_OPTIONS:
            raise ValueError(f"a block may have at most {MAX_OPTIONS} options, got {len(self.blocks)}")

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The options of each block of the stage."""
        options = {
            "mbconv": [Block("mbconv", k, e, se) for e, k, se in product(self.expansion, self.kernel, self.se)],
            "conv": [Block("conv", k) for k in self.kernel],
            "skip": [SKIP],
        }
        return tuple(block for operation in self.operation for block in options[operation])


@dataclass(frozen=True)
class Head:
    """A 1x1 convolution before pooling; without a width there is none."""

    width: tuple[int, ...] = ()
    act: Act = ""

    __pydantic_config__: ClassVar[Any] = STRICT_CONFIG

    def __post_init__(self) -> None:
        if self.width:
            _require_options(self, "width")


PARTS: Mapping[str, type] = {"stem": Stem, "stages": Stage, "head": Head}


def _require_options(part: Any, *keys: str) -> None:
    for key in keys:
        options = getattr(part, key)
        if not 1 <= len(options) <= MAX_OPTIONS or len(set(options)) < len(options):
            raise ValueError(f"{key} must list 1..{MAX_OPTIONS} different options, got {list(options)}")
        if key in LARGEST and min(options) < 1:
            raise ValueError(f"{key} must be positive, got {min(options)}")
        if key in LARGEST and max(options) > LARGEST[key]:
            raise ValueError(f"{key} must be at most {LARGEST[key]:,}, got {max(options)}")


def _require_geometry(kernels: Sequence[int], stride: int) -> None:
    for kernel in kernels:
        if kernel < 1 or kernel % 2 == 0:
            raise ValueError(f"kernel must be odd and positive, got {kernel}")
        if kernel > LARGEST_KERNEL:
            raise ValueError(f"kernel must be at most {LARGEST_KERNEL}, got {kernel}")
    if stride not in (1, 2, 4):
        raise ValueError(f"stride must be 1, 2 or 4, got {stride}")


# --- the space --------------------------------------------------------------------------------------------------------


class Item(NamedTuple):
    """One decision on the way through the network; a gene if it has several options."""

    kind: str  # resolution, stem, width, depth, block, head
    stage: int  # 0 outside the stages
    block: int  # number within its stage if each block is chosen separately, else -1
    options: tuple[Any, ...]

    @property
    def name(self) -> str:
        """The gene's name."""
        if self.kind in ("resolution", "stem", "head"):
            return self.kind if self.kind == "resolution" else f"{self.kind}.width"
        return f"stage{self.stage}." + (self.kind if self.block < 0 else str(self.block))


class MapState(NamedTuple):
    """The state of the automaton: the current feature map, and width and depth of the stage (0 between stages)."""

    channels: int
    resolution: int
    nominal: int = 0  # width of the map if no block had been skipped; hidden widths are multiples of it
    width: int = 0
    depth: int = 0


@dataclass(frozen=True)
class DeclaredSpace(SequentialSpace):
    """A space of stem, stages and head, as `declare` and `read` make it.

    Args:
        name: What users type, and what errors say.
        stem: The first convolution.
        stages: The body of the network.
        head: A 1x1 convolution before pooling.
        resolution: Image resolutions in pixels to choose from.
        classes: Number of classes.
        in_channels: Channels of the images.
        width: Multiplies all channels, for reduced variants; genes keep the widths that were declared.
        act: Activation of all layers that do not name another.
        per: "stage" if all blocks of a stage are the same, "block" if each is chosen separately.
        sharing: Weights of a supernet: "choice" for separate weights per option, "elastic" for slices of the largest.
        stabiliser: In supernets, a linear map to the width of the stage that replaces skips (SCARLET-NAS).
        paper: Where the space comes from.
    """

    name: str  # type: ignore[misc]  # every other space has one name for all its instances
    stem: Stem
    stages: tuple[Stage, ...]
    head: Head = Head()
    resolution: tuple[int, ...] = (224,)
    classes: int = 1000
    in_channels: int = 3
    width: float = field(default=1.0, repr=False)
    act: Act = "relu"
    per: Literal["stage", "block"] = "stage"
    sharing: Literal["choice", "elastic"] = "choice"  # type: ignore[misc]
    stabiliser: Literal["", "skip", "relu"] = ""
    paper: str = ""  # type: ignore[misc]

    __pydantic_config__: ClassVar[Any] = STRICT_CONFIG

    def __post_init__(self) -> None:
        _require_options(self, "resolution")
        for key in ("classes", "in_channels"):
            if not 1 <= getattr(self, key) <= LARGEST["width"]:
                raise ValueError(f"{key} must be 1 to {LARGEST['width']:,}, got {getattr(self, key)}")
        if not 0 < self.width <= MOST_TIMES_WIDER:
            raise ValueError(f"width must be above 0 and at most {MOST_TIMES_WIDER}, got {self.width:g}")
        if not self.stages:
            raise ValueError("stages must list at least one stage, got none")
        widest = max([*self.stem.width, *self.head.width, *(c for stage in self.stages for c in stage.width)])
        if self.width != 1 and widest * self.width > LARGEST["width"]:
            raise ValueError(
                f"channels times width must be at most {LARGEST['width']:,}, got {widest:,} times {self.width:g}"
            )
        if (blocks := sum(max(stage.depth) for stage in self.stages)) > MOST_BLOCKS:
            raise ValueError(f"all stages together may have at most {MOST_BLOCKS} blocks, got {blocks:,}")

    @cached_property
    def fingerprint(self) -> str:
        """As of any space, but the whole width is left out: runs from before there was a width stay valid."""
        whole: str = super().fingerprint
        return whole if self.width == 1 else hashlib.sha256(f"{whole}|{self.width!r}".encode()).hexdigest()[:16]

    @cached_property
    def _items(self) -> tuple[Item, ...]:
        """All decisions, including those with a single option, in the order of the network."""
        return tuple(self._decisions())

    def _decisions(self) -> Iterator[Item]:
        yield Item("resolution", 0, -1, self.resolution)
        yield Item("stem", 0, -1, self.stem.width)
        for s, stage in enumerate(self.stages, 1):
            yield Item("width", s, -1, stage.width)
            yield Item("depth", s, -1, stage.depth)
            blocks = range(max(stage.depth)) if self._blockwise(stage) else (-1,)
            yield from (Item("block", s, b, stage.blocks) for b in blocks)
        if self.head.width:
            yield Item("head", 0, -1, self.head.width)

    def _blockwise(self, stage: Stage) -> bool:
        return (stage.per or self.per) == "block"

    @cached_property
    def _genes(self) -> tuple[int, ...]:
        """Positions of the items that are genes."""
        return tuple(i for i, item in enumerate(self._items) if len(item.options) > 1)

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """One gene for each list of options; genes of blocks that a smaller depth leaves out are 0."""
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
        """Write `224px 16 | 24: MB4_K3 x3 | 32: MB3_K3 SKIP MB6_K5 | 1280`: stem, stages, head."""
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
        """Move skipped blocks, except the first of a stage, to its end, where a smaller depth leaves them out."""
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

    def start(self) -> tuple[Sequence[Layer], MapState]:
        """Return the layers in front of the first gene."""
        return self._fixed(0, MapState(self.in_channels, 0))

    def step(self, i: int, state: MapState, genes: Arch) -> tuple[Sequence[Layer], MapState] | None:
        """Return the layers that gene `i` decides, and the fixed ones between it and the next gene."""
        here = self._genes[i]
        item = self._items[here]
        if genes[0] and state.depth <= item.block:  # a block that the depth leaves out
            return None
        layers, state = self._decide(item, item.options[genes[0]], state)
        more, state = self._fixed(here + 1, state)
        return [*layers, *more], state

    def finish(self, state: MapState) -> Sequence[Layer]:
        """Return pooling and classifier."""
        c = state.channels
        return [
            Layer("head.pool", "gap", c, c, state.resolution, 1),
            Layer("classifier", "linear", c, self.classes, 1, 1),
        ]

    def _fixed(self, first: int, state: MapState) -> tuple[list[Layer], MapState]:
        """Return the layers of the items from `first` up to the next gene."""
        layers: list[Layer] = []
        for item in self._items[first:]:
            if len(item.options) > 1:
                break
            more, state = self._decide(item, item.options[0], state)
            layers += more
        return layers, state

    def _decide(self, item: Item, value: Any, state: MapState) -> tuple[list[Layer], MapState]:
        match item.kind:
            case "resolution":
                return [], state._replace(resolution=value)
            case "width":
                return [], state._replace(width=self._channels(value))
            case "depth":
                return [], state._replace(depth=value)
            case "block":
                return self._stage(item, value, state)
        stem = item.kind == "stem"
        kernel, stride = (self.stem.kernel, self.stem.stride) if stem else (1, 1)
        resolution, act = halved(state.resolution, stride), (self.stem if stem else self.head).act or self.act
        name = "stem" if stem else "head.conv"
        width = self._channels(value)
        layer = Layer(name, "conv", state.channels, width, state.resolution, resolution, kernel, stride, act=act)
        return [layer], MapState(width, resolution, width)

    def _channels(self, declared: int) -> int:
        return declared if self.width == 1 else make_divisible(declared * self.width)

    def _stage(self, item: Item, block: Block, state: MapState) -> tuple[list[Layer], MapState]:
        """Return the block that the item decides, or all blocks of its stage."""
        depth, layers = state.depth, []
        for b in range(depth) if item.block < 0 else range(item.block, min(item.block + 1, depth)):
            layer = self._block(item.stage, b, block, state)
            layers.append(layer)
            state = state._replace(channels=layer.c_out, resolution=layer.resolution_out, nominal=state.width)
        ends = item.block in (-1, max(self.stages[item.stage - 1].depth) - 1)
        return layers, state._replace(width=0, depth=0) if ends else state

    def _block(self, s: int, b: int, block: Block, state: MapState) -> Layer:
        stage = self.stages[s - 1]
        c_in, resolution, stride = state.channels, state.resolution, 1 if b else stage.stride
        c_out = c_in if block.operation == "skip" else state.width
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
            return stabilise(layer, self.stabiliser, state.width) if self.stabiliser else layer
        layer = layer._replace(act=stage.act or self.act)
        if block.operation == "conv":
            return layer
        hidden = c_in if block.expansion == 1 else round(state.nominal * block.expansion)
        return layer._replace(
            expansion=block.expansion,
            hidden=hidden,
            se=max(1, hidden // 4) if block.se else 0,
            shortcut="identity" if stride == 1 and c_in == c_out else "",
        )


# --- reading ----------------------------------------------------------------------------------------------------------


def declare(**settings: Any) -> DeclaredSpace:
    """Declare a space: `declare(name="mine", stem={"width": 16}, stages=[{"width": [24, 32], "depth": [2, 3]}])`.

    Args:
        **settings: The fields of `DeclaredSpace`. Stem, head and each stage are dictionaries of the fields of `Stem`,
            `Head` and `Stage`. A list where a value is expected makes a choice; a single value makes none.

    Returns:
        The space, ready to be searched; an `InputError` names the first setting that is wrong.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        # By way of JSON: strict about types there, yet a list is good enough for a tuple and 6 for 6.0.
        return TypeAdapter(DeclaredSpace).validate_json(json.dumps(_listed(DeclaredSpace, settings), default=str))
    except ValidationError as error:
        # A misspelt key is also a missing one: the former helps more.
        errors = sorted(error.errors(), key=lambda e: e["type"] != "unexpected_keyword_argument")
        raise InputError(_line(errors[0])) from None


def _listed(part: type, settings: Any) -> Any:
    """Return the settings of a part, with a list of one item wherever a list is expected and a single value given."""
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
    """Return one line for an error of pydantic: where, the rule, the value."""
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
    """Write a path as `stages[2].width`, with stages counted from 1 as in the names of genes."""
    text = ""
    for i, step in enumerate(path):
        if isinstance(step, str):
            text += f".{step}" if i else step
        elif i == 1 and path[0] == "stages":
            text += f"[{step + 1}]"
    return text


def read(path: Path) -> Space:
    """Read the space that a TOML file declares, or that a Python file assigns to the name `space`."""
    if not exists(path):
        raise InputError(f"the space file {path} does not exist")
    try:
        return _run_python(read_text(path), path) if path.suffix == ".py" else _read_toml(path)
    except (InputError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {reason(error)}") from None


def run_python(text: str, path: Path) -> Space:
    """The space that Python code assigns to `space`; `path` is the file that it is of, for messages."""
    try:
        return _run_python(text, path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _read_toml(path: Path) -> Space:
    try:
        settings = read_toml(path)
    except (OSError, ValueError) as error:
        raise InputError(f"not readable as TOML: {reason(error)}") from None
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
    """Return a bundled space of many thin blocks, in the manner of AttentiveNAS."""
    return read(DATA_DIR / "deep-narrow.toml")


@cache
def shallow_wide() -> Space:
    """Return a bundled space of few wide blocks, which stands in for BigNAS's."""
    return read(DATA_DIR / "shallow-wide.toml")
