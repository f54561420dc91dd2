"""A search space: which architectures there are, how they are written, and which network each one stands for.

An architecture is a tuple of small integers, at each choice the option taken. It has no behaviour of its own; whatever
concerns all spaces (costs, sampling at a budget, mutation, correlation) is a function elsewhere: `Space` stays closed.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from .blueprint import Blueprint, Layer
from .errors import LONGEST_NAME, ArchError

LONGEST_TEXT = 10_000  # characters of an architecture
Arch = tuple[int, ...]
Archs = npt.NDArray[np.int8]  # one row per architecture
State = Hashable


class Choice(NamedTuple):
    """One gene of an architecture: a name, the options, and optionally a parent that limits them.

    With a parent, only the first `allowed[o]` options are valid when the parent takes option `o`. Two things need one:
    blocks that a smaller depth leaves out (allowed 1, so that their gene is 0), and lists whose length depends on
    another choice (ScaleNet's scaling stages).

    Args:
        name: Unique within the space, such as `stage2.depth`.
        options: What a gene of 0, 1, ... stands for; at most 127. Their `str` is what users read and write.
        parent: Position of another choice without a parent of its own, before this one; -1 for none.
        allowed: For each option of the parent, how many of these options are valid.
    """

    name: str
    options: tuple[Any, ...]
    parent: int = -1
    allowed: tuple[int, ...] = ()


class Space(ABC):
    """A set of architectures, and the network that each one stands for.

    A space of your own is a frozen dataclass that derives from `SequentialSpace` (see there) or, if its networks cannot
    be built from left to right, from `Space`. Its fields are the parameters of the space (resolution, classes, ...);
    with their defaults the space should be the one of the paper. `supernetic.testing.check_space` tests the contract.

    Every space has:

    - `name` and `paper`, class attributes: what users type, and where the space comes from ("" if it is yours);
    - `choices`, the genes;
    - `blueprint(arch)`, the network (`SequentialSpace` derives it from your steps).

    A space may also have:

    - `named`, architectures with names of their own;
    - `canonical`, if several encodings stand for the same network;
    - `format` and `_parse`, a notation other than integers separated by commas;
    - `_invalid_reason`, if there are rules that `Choice.allowed` cannot express. It returns the rule that an
      architecture breaks, or "". Then override `size` and `sample` too: the defaults do not know these rules.

    `sharing` says how a supernet shares weights among the networks; "" means that the space has no supernet:

    - "choice": each option of each layer has weights of its own (SPOS, FairNAS, SCARLET-NAS);
    - "cell": the same, for spaces of cells in which a layer may have several widths (NAS-Bench-101 and 201);
    - "elastic": all options of a layer are slices of its largest option (AttentiveNAS);
    - "scaled": like "choice", but widths are slices of the widest, from either end (ScaleNet).

    Weights are shared by layer name. Two layers share weights only if their names are equal, so give a layer the same
    name in every network in which it has the same role: `stage2.0` is the first block of the second stage, whatever its
    kernel. Under "scaled", blocks must be called `stage<s>.<b>`, and `stage<s>.<b>.<n>` is the n-th copy of a block.
    Within one network all names differ. `supernets.sharing` has the exact rules.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    sharing: ClassVar[str] = ""

    @property
    @abstractmethod
    def choices(self) -> tuple[Choice, ...]:
        """The genes, in the order in which an architecture lists them."""

    @abstractmethod
    def blueprint(self, arch: Arch) -> Blueprint:
        """Return the finished network that `arch` stands for."""

    @property
    def named(self) -> Mapping[str, Arch]:
        """Architectures that have a name in the papers."""
        return {}

    @property
    def upscaled(self) -> Mapping[str, tuple[str, str]]:
        """Scaled versions of named architectures: (name, scaling as `strategy.parse_scaling` reads it)."""
        return {}

    def canonical(self, arch: Arch) -> Arch:
        """Return the encoding that represents all encodings of the same network."""
        return arch

    @cached_property
    def radices(self) -> npt.NDArray[np.int64]:
        """Number of options of each choice."""
        return np.array([len(c.options) for c in self.choices], dtype=np.int64)

    @property
    def size(self) -> int:
        """Number of valid encodings, as an exact integer."""
        return prod(sum(counts) for counts in self._families().values())

    def _families(self) -> dict[int, list[int]]:
        """For each choice without a parent, by its option: in how many ways its children can be set."""
        ways = {i: [1] * len(c.options) for i, c in enumerate(self.choices) if c.parent < 0}
        for c in self.choices:
            if c.parent >= 0:
                ways[c.parent] = [w * a for w, a in zip(ways[c.parent], c.allowed, strict=True)]
        return ways

    # --- validity -----------------------------------------------------------------------------------------------------

    def check(self, arch: Iterable[int]) -> Arch:
        """Return `arch` as a tuple of plain integers; an `ArchError` names the first invalid gene or broken rule."""
        genes = tuple(int(g) for g in arch)
        if len(genes) != len(self.choices):
            raise ArchError(f"an architecture of {self.name} has {len(self.choices)} integers, got {len(genes)}")
        for g, c in zip(genes, self.choices, strict=True):
            limit = len(c.options) if c.parent < 0 else c.allowed[genes[c.parent]]
            if not 0 <= g < limit:
                why = "" if c.parent < 0 else f" when {self.choices[c.parent].name} is {genes[c.parent]}"
                raise ArchError(f"{self.name}: choice {c.name} must lie in 0..{limit - 1}{why}, got {g}")
        reason = self._invalid_reason(genes)
        if reason:
            raise ArchError(f"{self.name}: {reason}, got {self.format(genes)}")
        return genes

    def _invalid_reason(self, arch: Arch) -> str:
        """Return the rule that `arch` breaks although each gene is in range; "" if it is valid."""
        return ""

    def sample(self, rng: np.random.Generator, n: int, *, depth_uniform: bool = False) -> Archs:
        """Draw random architectures.

        Args:
            rng: The source of randomness.
            n: How many to draw, with replacement.
            depth_uniform: Draw choice by choice, every allowed option equally likely (the usual way to draw from a
                supernet with elastic depth). Otherwise all valid encodings are equally likely, and deeper networks
                are drawn more often because there are more of them.

        Returns:
            One architecture per row, as 8-bit integers.
        """
        archs = np.zeros((n, len(self.choices)), dtype=np.int8)
        for i, counts in self._families().items():
            if depth_uniform or len(set(counts)) == 1:
                archs[:, i] = rng.integers(len(counts), size=n)
            else:
                share = np.array([c / sum(counts) for c in counts])
                archs[:, i] = rng.choice(len(counts), size=n, p=share)
        for i, c in enumerate(self.choices):
            if c.parent >= 0:
                archs[:, i] = rng.integers(np.array(c.allowed)[archs[:, c.parent]])
        return archs

    # --- text ---------------------------------------------------------------------------------------------------------

    def parse(self, text: str) -> Arch:
        """Read an architecture: its name, integers separated by commas, or the notation of the paper."""
        text = text.strip()
        if text.lower() in self.named:
            return self.named[text.lower()]
        if len(text) <= LONGEST_TEXT and re.fullmatch(r"[\[(]?\s*-?[0-9]+(\s*,\s*-?[0-9]+)+\s*,?\s*[\])]?", text):
            return self.check(int(g) for g in re.findall(r"-?[0-9]+", text))
        arch = self._parse(text) if len(text) <= LONGEST_TEXT else None
        if arch is None:
            names = f", one of {', '.join(self.named)}" if self.named else ""
            example = next(iter(self.named.values()), (0,) * len(self.choices))
            shown = text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}..."
            raise ArchError(
                f"{self.name}: an architecture is {len(self.choices)} integers separated by commas{names}, "
                f"or the paper's notation such as {self.format(example)!r}; got {shown!r}"
            )
        return self.check(arch)

    def format(self, arch: Arch) -> str:
        """Return the architecture in the notation of the paper; `parse` reads it back."""
        return ",".join(str(g) for g in arch)

    def _parse(self, text: str) -> Arch | None:
        """Read the notation of the paper; None if `text` is not in it."""
        return None

    def name_of(self, arch: Arch) -> str:
        """Return the name of this architecture if it has one, else its notation."""
        return next((n for n, a in self.named.items() if a == arch), self.format(arch))

    @cached_property
    def fingerprint(self) -> str:
        """Changes whenever the meaning of an encoding changes; stored with runs."""
        text = f"{self.name}|{self!r}|{[tuple(c) for c in self.choices]!r}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class SequentialSpace(Space):
    """A space whose networks are built from left to right, by a small automaton.

    A subclass writes `choices` and three methods:

    - `start()` returns the layers that all networks begin with, and the state behind them;
    - `step(i, state, genes)` returns the layers that gene `i` stands for, and the state behind them;
    - `finish(state)` returns the layers that all networks end with.

    The state is what later steps need to know, usually (channels, resolution) of the feature map. It must be hashable,
    and small: its distinct values are enumerated. In return, costs of millions of architectures and exact counting and
    sampling at a budget come for free, because each reachable (i, state, genes) is costed once (`costs.table`,
    `costs.budget`).

        @dataclass(frozen=True)
        class Kernels(SequentialSpace):
            name, paper, sharing = "kernels", "", "choice"
            choices = tuple(Choice(f"layer{i}", (3, 5)) for i in range(4))

            def start(self):
                return [], 3  # the state: channels of the feature map

            def step(self, i, state, genes):
                kernel = (3, 5)[genes[0]]
                layer = Layer(f"layer{i}", "conv", state, 16, resolution=32, resolution_out=32, kernel=kernel)
                return [layer], 16

            def finish(self, state):
                pool = Layer("pool", "gap", state, state, resolution=32, resolution_out=1)
                return [pool, Layer("classifier", "linear", state, 10, resolution=1, resolution_out=1)]

    To be searched on images of any size, a space also needs the fields `resolution`, `classes` and `in_channels`, as in
    `examples/08_own_space_class.py`. If steps read several genes, or genes in another order, override `slots`.
    """

    is_chain: ClassVar[bool] = True  # each layer reads only the one before; false for cells, whose steps are edges

    @property
    def slots(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the genes that each step reads; by default step `i` reads gene `i`."""
        return tuple((i,) for i in range(len(self.choices)))

    @abstractmethod
    def start(self) -> tuple[Sequence[Layer], State]:
        """Return the layers that every network begins with, and the state behind them."""

    @abstractmethod
    def step(self, i: int, state: Any, genes: Arch) -> tuple[Sequence[Layer], State] | None:
        """Return the layers of slot `i` and the state behind them.

        Args:
            i: Number of the step, counted from 0.
            state: The state behind the step before.
            genes: The genes of this slot.

        Returns:
            (layers, state), or None if these genes are not valid after this state.
        """

    @abstractmethod
    def finish(self, state: Any) -> Sequence[Layer]:
        """Return the layers that every network ends with, down to the classifier."""

    def blueprint(self, arch: Arch) -> Blueprint:
        """Return the network of `arch`, step by step."""
        layers, state = list(self.start()[0]), self.start()[1]
        for i, slot in enumerate(self.slots):
            taken = self.step(i, state, tuple(arch[g] for g in slot))
            if taken is None:
                self.check(arch)
                raise ArchError(f"{self.name}: slot {i} cannot take {[arch[g] for g in slot]} after {state}")
            layers += taken[0]
            state = taken[1]
        return Blueprint((*layers, *self.finish(state)))

    def layers(self) -> Iterator[Layer]:
        """Yield every layer of every network, over all states that can be reached; layers may be repeated."""
        layers, state = self.start()
        yield from layers
        states = {state}
        for i, genes in enumerate(self.slots):
            after = set()
            for state in states:
                for combo in product(*(range(int(self.radices[g])) for g in genes)):
                    taken = self.step(i, state, combo)
                    if taken is not None:
                        yield from taken[0]
                        after.add(taken[1])
            states = after
        for state in states:
            yield from self.finish(state)
