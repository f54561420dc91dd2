"""Measure `similarity`: do the options of a layer compute similar features from the same input?

Paper: SCARLET-NAS, sections 3.2 and 6.1, figures 1 and 4.
Differences: averaged over several random choices of the earlier layers.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...space import SequentialSpace, Space
from .measure import Measure, Measured, Report, archs_of, measure_once, trained_space

SKIP_NAMES = ("identity", "skip", "skip_connect")  # of options that pass their input on


@dataclass(frozen=True)
class Similarity(Measure):
    """The mean cosine similarity of features: of any two options, of skips with others, and among the others."""

    slots: tuple[int, ...] = (1,)  # numbers of the layers to measure, from 0
    paths: int = 8  # random choices of the earlier layers
    images: int = 32  # validation images

    def __post_init__(self) -> None:
        if not self.slots or min(self.paths, self.images) < 1:
            raise InputError(f"similarity needs at least 1 slot, path and image, got {self}")

    @property
    def shown(self) -> tuple[str, ...]:
        """All metrics."""
        return ("similarity", "of skips", "of others")

    def check(self, space: Space) -> list[str]:
        """The space must be a chain of layers with a skip among their options."""
        if not isinstance(space, SequentialSpace) or not space.is_chain:
            raise InputError(f"similarity needs a space that is a chain of layers, got {space.name}")
        for slot in self.slots:
            if not 0 <= slot < len(space.slots):
                raise InputError(f"{space.name}: slot must lie in 0..{len(space.slots) - 1}, got {slot}")
            if not any(str(o).lower() in SKIP_NAMES for o in space.choices[space.slots[slot][0]].options):
                raise InputError(f"{space.name}: a slot needs a skip among its options, slot {slot} has no skip")
        return [*self.shown]

    def __call__(self, run: Path, space: Space, report: Report) -> Measured:
        """Compute the matrix of similarities of each slot, averaged over paths."""
        answer = measure_once(
            run, {"kind": "similarity", **dataclasses.asdict(self), "slots": [*self.slots]}, lambda: self._matrices(run)
        )
        matrices = [np.array(m["matrix"]) for m in answer["slots"]]
        values = []
        for matrix, record in zip(matrices, answer["slots"], strict=True):
            skip = np.array([label.lower() in SKIP_NAMES for label in record["labels"]])
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

    def _matrices(self, run: Path) -> dict[str, object]:
        import torch

        from ...datasets.batches import Batches
        from ...derivation.features import choice_features, similarity
        from ...hardware import recorded_hardware
        from ...jobs.train.supernet_run import load_supernet
        from ...runs.directory import read_settings

        torch.set_num_threads(1)
        device = recorded_hardware(read_settings(run)).device
        supernet, dataset = load_supernet(run, device=device)
        x = next(Batches(dataset, "valid", self.images, device=device).evaluate())[0]
        archs = archs_of(trained_space(run).sample(np.random.default_rng(0), self.paths))
        records = []
        for slot in self.slots:
            features = [choice_features(supernet, x, arch, slot) for arch in archs]
            matrix = np.mean([similarity(f) for f in features], axis=0)
            records.append({"slot": slot, "labels": [*features[0]], "matrix": matrix.round(6).tolist()})
        return {"slots": records}
