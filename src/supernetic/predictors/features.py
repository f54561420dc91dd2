"""Features of architectures of any space, made from their blueprints alone, and of whatever else the caller knows.

Every number is replaced by its normal score: the standard normal quantile of its rank among reference architectures.
Heavy tails and units are gone, and what is rarely other than usual weighs little. Numbers that order the reference
alike are kept once: the cells of one network say the same thing.

Three blocks come from the blueprint: `layers` (what each layer is, by name), `graph` (counts and paths, also by stage)
and `cost`. A fourth, `votes`, holds what the caller adds; more of a vote is better:

    Features(space, extra={"proxy/jacov": lambda archs: table.lookup(archs, "jacov")})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from ..errors import InputError, UnknownNameError
from ..space import Arch, Archs, Space
from .graph import Columns, Floats, Networks, block_of

PRIOR = ("live macs", "longest spatial convolutions")  # more of these is better, as long as nothing else is known
BLOCKS = ("layers", "graph", "cost", "votes")
REFERENCE = 500
Vote = Callable[[Archs], npt.ArrayLike]


@dataclass(frozen=True, eq=False)
class Described:
    """Architectures as numbers, one row each."""

    blocks: Mapping[str, Floats]  # by name; among the reference the mean square of rows is 1
    prior: Floats  # what they are thought to be worth before there are labels; mean square 1

    def __len__(self) -> int:
        return len(self.prior)

    def __getitem__(self, rows: npt.ArrayLike) -> Described:
        chosen = np.asarray(rows)
        return Described({n: b[chosen] for n, b in self.blocks.items()}, self.prior[chosen])


class Features:
    """Describes architectures; encodings of one network get the same numbers, and are described once.

    `extra` gives further columns. `prior` names the columns whose mean score is the prior opinion: by default MACs and
    depth of what is live, and all extras. Ranks are among `reference`, by default 500 random architectures.
    """

    def __init__(
        self,
        space: Space,
        *,
        extra: Mapping[str, Vote] | None = None,
        prior: Sequence[str] = (),
        reference: Archs | None = None,
    ) -> None:
        self.space, self.extra = space, dict(extra or {})
        if reference is None:
            reference = space.sample(np.random.default_rng(0), REFERENCE)
        networks = list(dict.fromkeys(self._networks(reference)))
        raw = self._raw(networks)
        kept = _distinct(raw)
        if not kept:
            raise InputError(f"{space.name}: features need networks that differ, got {len(networks)} in the reference")
        self.prior = tuple(prior or (*PRIOR, *self.extra))
        for name in self.prior:
            if name not in raw:
                raise UnknownNameError("column", name, raw)
        blocks = {n: "votes" if n in self.extra else block_of(n) for n in kept}
        self.blocks = {b: [n for n in kept if blocks[n] == b] for b in BLOCKS if b in blocks.values()}
        self._sorted = {n: np.sort(raw[n]) for n in (*kept, *self.prior)}
        self._known: dict[Arch, Floats] = {}
        self._scales = dict.fromkeys((*self.blocks, "prior"), 1.0)
        plain = self(np.array(networks, dtype=np.int8))
        for name, block in plain.blocks.items():
            self._scales[name] = _unit(block)
        self._scales["prior"] = _unit(plain.prior[:, None])

    def __call__(self, archs: Archs) -> Described:
        """Describe architectures."""
        rows = self._networks(np.atleast_2d(archs))
        fresh = list(dict.fromkeys(r for r in rows if r not in self._known))
        if fresh:
            raw = self._raw(fresh, set(self._sorted))
            none = np.zeros(len(fresh))  # what no network here has
            scores = [normal_scores(self._sorted[n], raw.get(n, none)) for n in self._order()]
            self._known.update(zip(fresh, np.stack(scores, axis=1), strict=True))
        table = np.stack([self._known[r] for r in rows])
        *blocks, prior = np.split(table, np.cumsum([len(names) for names in self.blocks.values()]), axis=1)
        scaled = {n: b * self._scales[n] for n, b in zip(self.blocks, blocks, strict=True)}
        return Described(scaled, prior.mean(axis=1) * self._scales["prior"])

    def _order(self) -> list[str]:
        return [*(n for names in self.blocks.values() for n in names), *self.prior]

    def _networks(self, archs: Archs) -> list[Arch]:
        return [self.space.canonical(tuple(a)) for a in archs.tolist()]

    def _raw(self, networks: Sequence[Arch], wanted: set[str] | None = None) -> Columns:
        columns = Networks(map(self.space.blueprint, networks)).columns(wanted)
        archs = np.array(networks, dtype=np.int8)
        for name, vote in self.extra.items():
            values = np.asarray(vote(archs), dtype=np.float64)
            if values.shape != (len(archs),):
                raise InputError(f"{name} must give one number per architecture, got {values.shape} for {len(archs)}")
            columns[name] = np.where(np.isnan(values), -np.inf, values)  # no vote is the worst vote
        return columns


def normal_scores(reference: Floats, values: Floats) -> Floats:
    """Normal quantile of each value's place among the sorted reference; equal values share their place."""
    places = np.searchsorted(reference, values, "left") + np.searchsorted(reference, values, "right")
    scores: Floats = _quantiles(len(reference))[places]
    return scores


@lru_cache(maxsize=256)
def _quantiles(n: int) -> Floats:
    """Normal quantiles of 0, 1/2, 1, ... places out of `n`, at most half a place from the ends."""
    normal = NormalDist()
    return np.array([normal.inv_cdf(min(max(k, 1), 2 * n - 1) / (2 * n)) for k in range(2 * n + 1)])


def _distinct(raw: Columns) -> list[str]:
    """Columns that order the reference, each order once."""
    seen: dict[bytes, str] = {}
    for name, values in raw.items():
        scores = normal_scores(np.sort(values), values)
        if np.ptp(scores) > 0:
            seen.setdefault(scores.tobytes(), name)
    return list(seen.values())


def _unit(block: Floats) -> float:
    return float(1 / np.sqrt(max((block**2).sum(axis=1).mean(), 1e-12)))
