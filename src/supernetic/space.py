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
from .errors import ArchError

Arch = tuple[int, ...]
Archs = npt.NDArray[np.int8]  # one row per architecture
State = Hashable


class Choice(NamedTuple):
    """A gene: its name and options. With a `parent`, only the first `allowed[parent's option]` options may be taken.

    Two things need a parent: genes of blocks that a smaller depth leaves out (allowed: 1, so they are 0), and lists
    whose length depends on another choice (ScaleNet's scaling stages).
    """

    name: str
    options: tuple[Any, ...]
    parent: int = -1
    allowed: tuple[int, ...] = ()


class Space(ABC):
    """Subclasses are frozen dataclasses: their fields are the space's parameters, and `Space()` is the paper's own.

    A subclass gives `choices` and `blueprint`; it may give `named`, `canonical`, the paper's own notation (`_parse`,
    `_format`) and, where encodings are restricted further than `Choice.allowed` can say, `_flaw`, `size` and `sample`.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    sharing: ClassVar[str] = ""  # how a supernet shares weights (`supernets.sharing`); "" if there is none

    @property
    @abstractmethod
    def choices(self) -> tuple[Choice, ...]:
        """The genes, in the order in which an architecture lists them."""

    @abstractmethod
    def blueprint(self, arch: Arch) -> Blueprint:
        """The finished network that `arch` stands for."""

    @property
    def named(self) -> Mapping[str, Arch]:
        """Architectures that have a name in the papers."""
        return {}

    @property
    def upscaled(self) -> Mapping[str, tuple[str, str]]:
        """Names of larger siblings: (named architecture, scaling), read by `strategy.parse_scaling`."""
        return {}

    def canonical(self, arch: Arch) -> Arch:
        """The representative of all encodings of the same network."""
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
        """For each choice without a parent: how many ways its children can be set, for each of its options."""
        ways = {i: [1] * len(c.options) for i, c in enumerate(self.choices) if c.parent < 0}
        for c in self.choices:
            if c.parent >= 0:
                ways[c.parent] = [w * a for w, a in zip(ways[c.parent], c.allowed, strict=True)]
        return ways

    # --- validity -----------------------------------------------------------------------------------------------------

    def check(self, arch: Iterable[int]) -> Arch:
        """`arch` as a tuple of plain integers, or an `ArchError` that names the first offending gene."""
        genes = tuple(int(g) for g in arch)
        if len(genes) != len(self.choices):
            raise ArchError(f"an architecture of {self.name} has {len(self.choices)} integers, got {len(genes)}")
        for g, c in zip(genes, self.choices, strict=True):
            limit = len(c.options) if c.parent < 0 else c.allowed[genes[c.parent]]
            if not 0 <= g < limit:
                why = "" if c.parent < 0 else f" when {self.choices[c.parent].name} is {genes[c.parent]}"
                raise ArchError(f"{self.name}: choice {c.name} must lie in 0..{limit - 1}{why}, got {g}")
        flaw = self._invalid_reason(genes)
        if flaw:
            raise ArchError(f"{self.name}: {flaw}, got {self.format(genes)}")
        return genes

    def _invalid_reason(self, arch: Arch) -> str:
        """A rule that `arch` breaks beyond the ranges of its choices, or nothing."""
        return ""

    def sample(self, rng: np.random.Generator, n: int, *, depth_uniform: bool = False) -> Archs:
        """`n` architectures drawn uniformly over the valid encodings, or choice by choice with `depth_uniform`.

        With `depth_uniform` every option allowed at a choice is equally likely (the usual way to draw from a supernet
        with elastic depth); otherwise deeper networks are likelier, because there are more of them.
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
        """An architecture from its name, from integers separated by commas, or from the paper's own notation."""
        text = text.strip()
        if text.lower() in self.named:
            return self.named[text.lower()]
        if re.fullmatch(r"[\[(]?\s*-?\d+(\s*,\s*-?\d+)+\s*,?\s*[\])]?", text):
            return self.check(int(g) for g in re.findall(r"-?\d+", text))
        arch = self._parse(text)
        if arch is None:
            names = f", one of {', '.join(self.named)}" if self.named else ""
            example = next(iter(self.named.values()), (0,) * len(self.choices))
            raise ArchError(
                f"{self.name}: an architecture is {len(self.choices)} integers separated by commas{names}, "
                f"or the paper's notation such as {self.format(example)!r}; got {text!r}"
            )
        return self.check(arch)

    def format(self, arch: Arch) -> str:
        """The architecture in the paper's own notation; `parse` reads it back."""
        return ",".join(str(g) for g in arch)

    def _parse(self, text: str) -> Arch | None:
        """Read the paper's notation; nothing if `text` is not in it."""
        return None

    def name_of(self, arch: Arch) -> str:
        """The name that the papers give this architecture, or its notation."""
        return next((n for n, a in self.named.items() if a == arch), self.format(arch))

    @cached_property
    def fingerprint(self) -> str:
        """Changes whenever the meaning of an encoding changes; stored with runs."""
        text = f"{self.name}|{self!r}|{[tuple(c) for c in self.choices]!r}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class SequentialSpace(Space):
    """A space that is a small automaton: `step(i, state, genes) -> (layers, state')`.

    Folding the steps over an architecture gives its blueprint; tabulating the reachable (i, state, genes) gives costs
    over millions of architectures and drives exact counting and sampling (`costs.table`, `costs.budget`). The state is
    what later steps need to know: the channels (after skips they depend on all earlier layers), the side, and so on.
    """

    is_chain: ClassVar[bool] = True  # each layer reads only the one before; false for cells, whose steps are edges

    @property
    def slots(self) -> tuple[tuple[int, ...], ...]:
        """The genes that each step reads; one gene per step unless said otherwise."""
        return tuple((i,) for i in range(len(self.choices)))

    @abstractmethod
    def start(self) -> tuple[Sequence[Layer], State]:
        """Layers that every network begins with, and the state behind them."""

    @abstractmethod
    def step(self, i: int, state: Any, genes: Arch) -> tuple[Sequence[Layer], State] | None:
        """Layers of slot `i` and the state behind them; nothing if these genes are not valid after this state."""

    @abstractmethod
    def finish(self, state: Any) -> Sequence[Layer]:
        """Layers that every network ends with."""

    def blueprint(self, arch: Arch) -> Blueprint:
        """Fold the automaton over `arch`."""
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
        """Every layer of every network, by a walk over the states that can be reached."""
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
