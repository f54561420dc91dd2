"""Performance profiles: scores of models against the number of images, and how far chance could move them.

Paper: "Small Data, Big Decisions" (000), section 1; the noise is our account of it. Two things are random: the seed
(which images a rung has, the first weights, the order of batches) and the images that scores are taken on. The first is
estimated from what is left of scores when model and seed are accounted for, by all models of a rung together, since
two seeds of one model say next to nothing; the second from the spread over images. Seeds at different rungs count as
independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .scores import METRICS

Floats = npt.NDArray[np.float64]
DRAWS, SEED = 2000, 0
CHUNK = 250  # draws at a time: each takes a number per image


@dataclass(frozen=True, eq=False)
class Profiles:
    """Scores of all models at all sizes: for each pair, metric x seeds x images."""

    models: tuple[str, ...]
    sizes: tuple[int, ...]
    classes: int
    cells: Mapping[tuple[str, int], npt.NDArray[np.float32]]

    @cached_property
    def means(self) -> Floats:
        """Metric x model x size."""
        return self._over(lambda cell: cell.mean(axis=(1, 2)))

    @cached_property
    def deviations(self) -> Floats:
        """Standard deviation between seeds, metric x model x size; NaN for one seed."""
        return self._over(lambda c: c.mean(axis=2).std(axis=1, ddof=1) if c.shape[1] > 1 else np.full(len(c), np.nan))

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """How many there are at each size."""
        return tuple(self.cells[self.models[0], n].shape[1] for n in self.sizes)

    @property
    def repeated(self) -> bool:
        """Whether anything is known about the noise of seeds."""
        return max(self.seeds) > 1

    @cached_property
    def draws(self) -> Floats:
        """What the means might have been with other seeds and images: draw x metric x model x size."""
        rng = np.random.default_rng(SEED)
        table = self._over(lambda cell: cell.mean(axis=1))
        images = table.shape[-1]
        table = (table - table.mean(axis=-1, keepdims=True)).reshape(-1, images)
        noise = np.concatenate([rng.standard_normal((CHUNK, images)) @ table.T for _ in range(DRAWS // CHUNK)]) / images
        drawn = self.means + noise.reshape(DRAWS, *self.means.shape)
        for i in range(len(self.sizes)):
            drawn[..., i] += self._of_seeds(i, rng)
        return np.asarray(drawn)

    def _over(self, measure: Callable[[Floats], Floats]) -> Floats:
        found = [[measure(self.cells[m, n].astype(np.float64)) for n in self.sizes] for m in self.models]
        return np.moveaxis(np.array(found), 2, 0)

    def _of_seeds(self, i: int, rng: np.random.Generator) -> Floats:
        """Noise of the rung's mean, draw x metric x model; a rung of one seed has that of a smaller neighbour."""
        repeated = [k for k, n in enumerate(self.seeds) if n > 1]
        shape = (DRAWS, len(METRICS), len(self.models))
        if not repeated:
            return np.zeros(shape)
        at = i if i in repeated else max((k for k in repeated if k < i), default=repeated[0])
        grid = np.stack([self.cells[m, self.sizes[at]].mean(axis=2, dtype=np.float64) for m in self.models], axis=1)
        common = grid.mean(axis=1)
        own = grid - grid.mean(axis=2, keepdims=True) - common[:, None] + grid.mean(axis=(1, 2), keepdims=True)
        freedom = (grid.shape[1] - 1) * (grid.shape[2] - 1)
        noise = np.zeros(shape)
        if freedom:
            root = _root(np.einsum("ams,bms->ab", own, own) / freedom)
            scale = np.sqrt(freedom / rng.chisquare(freedom, DRAWS))[:, None, None]  # Student's, not Gauss's
            noise += scale * np.einsum("ab,nbm->nam", root, rng.standard_normal(shape))
        noise += (rng.standard_normal((DRAWS, len(METRICS))) @ _root(np.cov(common)).T)[..., None]
        return np.asarray(noise / np.sqrt(self.seeds[i]))


def _root(covariance: Floats) -> Floats:
    """A matrix whose square, with its transpose, is the covariance."""
    values, vectors = np.linalg.eigh(covariance)
    root: Floats = vectors * np.sqrt(values.clip(min=0))
    return root


def interval(draws: Floats) -> tuple[float, float]:
    """The middle 95 % of draws of one number."""
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)
