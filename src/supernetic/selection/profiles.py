"""Performance profiles: scores of models against the number of images, and how far chance could move them.

Paper: "Small Data, Big Decisions", section 1; the model of the noise is ours.

Two things are random: the seed (which images a subset has, the first weights, the order of batches) and the images that
are scored. The noise of seeds is estimated from what model and seed leave unexplained. All models of a size share one
estimate, since two seeds of one model say next to nothing. The noise of images is estimated from the spread over
images. Seeds at different sizes count as independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..arrays import Floats
from .scores import METRICS

DRAW_COUNT, DRAW_SEED = 2000, 0
DRAWS_PER_CHUNK = 250  # each draw takes one number per image, so they are not made all at once


@dataclass(frozen=True, eq=False)
class Profiles:
    """Scores of all models at all sizes; a cell holds those of one model and size, as metric x seed x image."""

    models: tuple[str, ...]
    sizes: tuple[int, ...]
    classes: int
    cells: Mapping[tuple[str, int], npt.NDArray[np.float32]]

    @cached_property
    def means(self) -> Floats:
        """Mean scores, metric x model x size."""
        return self._over(lambda cell: cell.mean(axis=(1, 2)))

    @cached_property
    def deviations(self) -> Floats:
        """Standard deviations between seeds, metric x model x size; NaN for one seed."""
        return self._over(lambda c: c.mean(axis=2).std(axis=1, ddof=1) if c.shape[1] > 1 else np.full(len(c), np.nan))

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """The number of seeds at each size."""
        return tuple(self.cells[self.models[0], n].shape[1] for n in self.sizes)

    @property
    def repeated(self) -> bool:
        """Whether some size has several seeds, so that their noise can be estimated."""
        return max(self.seeds) > 1

    @cached_property
    def draws(self) -> Floats:
        """What the means might have been with other seeds and images, draw x metric x model x size."""
        rng = np.random.default_rng(DRAW_SEED)
        table = self._over(lambda cell: cell.mean(axis=1))
        images = table.shape[-1]
        table = (table - table.mean(axis=-1, keepdims=True)).reshape(-1, images)
        chunks = range(DRAW_COUNT // DRAWS_PER_CHUNK)
        noise = np.concatenate([rng.standard_normal((DRAWS_PER_CHUNK, images)) @ table.T for _ in chunks]) / images
        drawn = self.means + noise.reshape(DRAW_COUNT, *self.means.shape)
        for i in range(len(self.sizes)):
            drawn[..., i] += self._seed_noise(i, rng)
        return np.asarray(drawn)

    def _over(self, measure: Callable[[Floats], Floats]) -> Floats:
        rows = [[measure(self.cells[m, n].astype(np.float64)) for n in self.sizes] for m in self.models]
        return np.moveaxis(np.array(rows), 2, 0)

    def _seed_noise(self, i: int, rng: np.random.Generator) -> Floats:
        """Noise of the means at a size, draw x metric x model; a size with one seed borrows from a smaller one."""
        repeated = [k for k, n in enumerate(self.seeds) if n > 1]
        shape = (DRAW_COUNT, len(METRICS), len(self.models))
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
            scale = np.sqrt(freedom / rng.chisquare(freedom, DRAW_COUNT))[:, None, None]  # Student's, not Gauss's
            noise += scale * np.einsum("ab,nbm->nam", root, rng.standard_normal(shape))
        noise += (rng.standard_normal((DRAW_COUNT, len(METRICS))) @ _root(np.cov(common)).T)[..., None]
        return np.asarray(noise / np.sqrt(self.seeds[i]))


def _root(covariance: Floats) -> Floats:
    """A matrix whose product with its own transpose is the covariance."""
    values, vectors = np.linalg.eigh(covariance)
    root: Floats = vectors * np.sqrt(values.clip(min=0))
    return root


def interval(draws: Floats) -> tuple[float, float]:
    """The central 95 % of draws of one number."""
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)
