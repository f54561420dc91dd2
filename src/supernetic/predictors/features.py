"""Features of architectures of any space, made from their blueprints and from columns that the caller adds.

Every number is replaced by its normal score: the standard normal quantile of its rank among reference architectures.
This removes heavy tails and units, and a number that rarely differs from its usual value has little weight. Columns
that give the same order are kept once: the cells of one network repeat each other.

Three blocks come from the blueprint: `layers` (what each layer is, by name), `graph` (counts and paths, also by stage)
and `cost`. A fourth, `extra`, holds what the caller adds, such as zero-cost proxies; higher must be better:

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

DEFAULT_PRIOR = ("live macs", "longest spatial convolutions")  # columns of which more is expected to be better
BLOCK_NAMES = ("layers", "graph", "cost", "extra")
REFERENCE_SIZE = 500  # random architectures
ExtraColumn = Callable[[Archs], npt.ArrayLike]  # one number per architecture


@dataclass(frozen=True, eq=False)
class Described:
    """Features of architectures, one row each."""

    blocks: Mapping[str, Floats]  # by name; over the reference, the mean square of rows is 1
    prior: Floats  # expected value before there are labels; over the reference, the mean square is 1

    def __len__(self) -> int:
        return len(self.prior)

    def __getitem__(self, rows: npt.ArrayLike) -> Described:
        chosen = np.asarray(rows)
        return Described({n: b[chosen] for n, b in self.blocks.items()}, self.prior[chosen])


class Features:
    """Describes architectures by numbers; all encodings of a network get the same.

    Args:
        space: The space of the architectures.
        extra: Further columns by name; higher must be better, NaN counts as the worst.
        prior: Names of the columns whose mean is the expected value before there are labels; by default MACs and depth
            of the live layers, and all extra columns.
        reference: Architectures among which numbers are ranked; by default random ones.
    """

    def __init__(
        self,
        space: Space,
        *,
        extra: Mapping[str, ExtraColumn] | None = None,
        prior: Sequence[str] = (),
        reference: Archs | None = None,
    ) -> None:
        self.space, self.extra = space, dict(extra or {})
        if reference is None:
            reference = space.sample(np.random.default_rng(0), REFERENCE_SIZE)
        networks = list(dict.fromkeys(self._networks(reference)))
        raw = self._raw(networks)
        kept = _distinct(raw)
        if not kept:
            raise InputError(
                f"{space.name}: the reference must hold networks that differ, got {len(networks)} networks"
            )
        self.prior = tuple(prior or (*DEFAULT_PRIOR, *self.extra))
        for name in self.prior:
            if name not in raw:
                raise UnknownNameError("column", name, raw)
        blocks = {n: "extra" if n in self.extra else block_of(n) for n in kept}
        self.blocks = {b: [n for n in kept if blocks[n] == b] for b in BLOCK_NAMES if b in blocks.values()}
        self._sorted = {n: np.sort(raw[n]) for n in (*kept, *self.prior)}
        self._rows: dict[Arch, Floats] = {}
        self._scales = dict.fromkeys((*self.blocks, "prior"), 1.0)
        plain = self(np.array(networks, dtype=np.int8))
        for name, block in plain.blocks.items():
            self._scales[name] = _unit(block)
        self._scales["prior"] = _unit(plain.prior[:, None])

    def __call__(self, archs: Archs) -> Described:
        """Return the features of architectures, one row each."""
        networks = self._networks(np.atleast_2d(archs))
        fresh = list(dict.fromkeys(n for n in networks if n not in self._rows))
        if fresh:
            raw = self._raw(fresh, set(self._sorted))
            zeros = np.zeros(len(fresh))  # for columns that none of these networks has
            scores = [normal_scores(self._sorted[n], raw.get(n, zeros)) for n in self._order()]
            self._rows.update(zip(fresh, np.stack(scores, axis=1), strict=True))
        table = np.stack([self._rows[n] for n in networks])
        *blocks, prior = np.split(table, np.cumsum([len(names) for names in self.blocks.values()]), axis=1)
        scaled = {n: b * self._scales[n] for n, b in zip(self.blocks, blocks, strict=True)}
        return Described(scaled, prior.mean(axis=1) * self._scales["prior"])

    def _order(self) -> list[str]:
        return [*(n for names in self.blocks.values() for n in names), *self.prior]

    def _networks(self, archs: Archs) -> list[Arch]:
        return [self.space.canonical(tuple(a)) for a in archs.tolist()]

    def _raw(self, networks: Sequence[Arch], names: set[str] | None = None) -> Columns:
        columns = Networks(map(self.space.blueprint, networks)).columns(names)
        archs = np.array(networks, dtype=np.int8)
        for name, column in self.extra.items():
            values = np.asarray(column(archs), dtype=np.float64)
            if values.shape != (len(archs),):
                raise InputError(f"{name} must give one number per architecture, got {values.shape} for {len(archs)}")
            columns[name] = np.where(np.isnan(values), -np.inf, values)  # no number counts as the worst
        return columns


def normal_scores(reference: Floats, values: Floats) -> Floats:
    """Return the normal quantile of each value's rank among the sorted reference; equal values share a rank."""
    ranks = np.searchsorted(reference, values, "left") + np.searchsorted(reference, values, "right")
    scores: Floats = _quantiles(len(reference))[ranks]
    return scores


@lru_cache(maxsize=256)
def _quantiles(n: int) -> Floats:
    """Return the normal quantiles of ranks 0, 1/2, 1, ... out of `n`, at most half a rank from the ends."""
    normal = NormalDist()
    return np.array([normal.inv_cdf(min(max(k, 1), 2 * n - 1) / (2 * n)) for k in range(2 * n + 1)])


def _distinct(raw: Columns) -> list[str]:
    """Return the columns that are not constant; of those with the same order, the first."""
    seen: dict[bytes, str] = {}
    for name, values in raw.items():
        scores = normal_scores(np.sort(values), values)
        if np.ptp(scores) > 0:
            seen.setdefault(scores.tobytes(), name)
    return list(seen.values())


def _unit(block: Floats) -> float:
    return float(1 / np.sqrt(max((block**2).sum(axis=1).mean(), 1e-12)))
