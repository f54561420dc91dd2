"""Measure `similarity`: do the options of a layer make alike features of the same input?

Paper: SCARLET-NAS (004), sections 3.2 and 6.1, figures 1 and 4.
Differences: averaged over several random choices of the layers before.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...space import SequentialSpace, Space
from .measure import Measure, Measured, Report, archs_of, kept, trained_space

SKIPS = ("identity", "skip", "skip_connect")  # how spaces call an option that passes its input on


@dataclass(frozen=True)
class Similarity(Measure):
    """Mean cosine similarity of features: between any two options, of skips to others, and among the others."""

    slots: tuple[int, ...] = (1,)  # layers that are looked at, from 0
    paths: int = 8  # random choices of the layers before
    images: int = 32

    def __post_init__(self) -> None:
        if not self.slots or min(self.paths, self.images) < 1:
            raise InputError(f"similarity needs a slot, a path and an image, got {self}")

    @property
    def shown(self) -> tuple[str, ...]:
        """All of them."""
        return ("similarity", "of skips", "of others")

    def check(self, space: Space) -> list[str]:
        """A chain of layers, with a skip among their options."""
        if not isinstance(space, SequentialSpace) or not space.is_chain:
            raise InputError(f"{space.name}: similarity is measured between options of a chain's layers")
        for slot in self.slots:
            if not 0 <= slot < len(space.slots):
                raise InputError(f"{space.name}: slot must lie in 0..{len(space.slots) - 1}, got {slot}")
            if not any(str(o).lower() in SKIPS for o in space.choices[space.slots[slot][0]].options):
                raise InputError(f"{space.name}: slot {slot} has no skip among its options")
        return [*self.shown]

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Matrices by slot, averaged over paths."""
        answer = kept(
            run, {"kind": "similarity", **dataclasses.asdict(self), "slots": [*self.slots]}, lambda: self._look(run)
        )
        matrices = [np.array(m["matrix"]) for m in answer["slots"]]
        values = []
        for matrix, record in zip(matrices, answer["slots"], strict=True):
            skip = np.array([label.lower() in SKIPS for label in record["labels"]])
            apart = ~np.eye(len(matrix), dtype=bool)
            values.append(
                (
                    matrix[apart].mean(),
                    matrix[np.ix_(skip, ~skip)].mean(),
                    matrix[apart & ~skip & ~skip[:, None]].mean(),
                )
            )
        means = np.mean(values, axis=0)
        return Measured({name: float(v) for name, v in zip(self.shown, means, strict=True)}, answer)

    def _look(self, run: Path) -> dict[str, object]:
        import torch

        from ...datasets.batches import Batches
        from ...derivation.features import choice_features, similarity
        from ...jobs.train.supernet_run import load_supernet

        torch.set_num_threads(1)
        supernet, dataset = load_supernet(run)
        x = next(Batches(dataset, "valid", self.images).evaluate())[0]
        archs = archs_of(trained_space(run).sample(np.random.default_rng(0), self.paths))
        found = []
        for slot in self.slots:
            features = [choice_features(supernet, x, arch, slot) for arch in archs]
            matrix = np.mean([similarity(f) for f in features], axis=0)
            found.append({"slot": slot, "labels": [*features[0]], "matrix": matrix.round(6).tolist()})
        return {"slots": found}
