"""Scores of sub-networks with the weights of a trained supernet: cross-entropy, calibrated cross-entropy, accuracy.

Papers: BN statistics are reset and averaged anew for each network, as in SPOS and AttentiveNAS; or those of each batch
are used, as in ScaleNet; or the supernet's running ones, as in "Single-path ranking correlations". Calibrated
cross-entropy: "Small data, big decisions".
Differences: 1,024 fixed training images without augmentation, where the papers take 8,192 to 65,536.

The supernet is never changed. An answer depends on the architecture and the settings here, not on what is asked with
it, although networks that begin alike are run together (`evaluators.prefix_tree`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..blueprint import Layer, parts
from ..datasets.batches import Batches
from ..datasets.dataset import Dataset
from ..derivation.recalibrate import even, fixed_images
from ..errors import InputError, UnknownNameError
from ..networks.scores import CALIBRATION_SPLIT, Logits, full_names, scores, splits_of
from ..nn.run import run
from ..nn.unit import WHOLE, Statistics, Unit
from ..objective import Metrics
from ..space import Arch, Space
from ..supernets.supernet import Supernet
from .batch_data import Loader, LoaderSplit, first_images
from .prefix_tree import IMAGE, PrefixNode, build_tree, run_tree

BN_MODES = ("recalibrate", "batch", "running")
RECALIBRATION_IMAGES = 1024  # training images that BN statistics are averaged over
BATCH_STATISTICS = Statistics(None, None, 0.0)  # the batch's own, and none are kept
WALK_MEMORY_BYTES = 2**28  # of logits, BN statistics and nodes that are kept for the networks of one walk
NODE_BYTES = 2**11  # of a node and of its statistics, beside their numbers
SORTED_NETWORKS = 10_000  # that are sorted at a time

Numbered = tuple[int, tuple[Layer, ...]]


class SupernetEvaluator:
    """Scores architectures with the weights of a supernet: `evaluate([arch, ...]) -> [metrics, ...]`.

    Cross-entropies are in nats, lower is better; accuracy is in percent. The temperature of the calibrated
    cross-entropy is fitted for each network on the split `calibrate`.

        SupernetEvaluator(supernet, valid_loader, train=train_loader)([arch])[0]["valid/accuracy"]
    """

    def __init__(
        self,
        supernet: Supernet,
        dataset: Dataset | Loader,
        metrics: Sequence[str] | None = None,
        *,
        split: str = "valid",
        bn: str = "recalibrate",
        images: int = RECALIBRATION_IMAGES,
        batch_size: int = 256,
        slice_side: str = "",
        seed: int = 0,
        train: Loader | None = None,
        calibrate: Loader | None = None,
    ) -> None:
        """Prepare the images.

        Args:
            supernet: The supernet. It is never changed.
            dataset: A data set with its splits, or batches `(images, labels)` to score on: a list, a DataLoader without
                shuffling, anything that can be iterated again and again.
            metrics: Such as `valid/accuracy`; by default all that the data allow.
            split: The split to score on. Batches of one's own may have any name for it.
            bn: BN statistics: averaged anew over training images (`recalibrate`), those of each `batch`, or the
                supernet's `running` ones.
            images: Training images that recalibrate BN.
            batch_size: Images of a batch at most; batches of one's own to score on stay as they are.
            slice_side: `left` or `right`; both by default, where a supernet has both.
            seed: Chooses the training images of a data set.
            train: With batches of one's own: training batches, which `bn="recalibrate"` needs.
            calibrate: With batches of one's own: batches for the temperature of the calibrated cross-entropy.
        """
        self.supernet, self.dataset, self.split, self.bn = supernet, dataset, split, bn
        self.space = shared_cells(supernet.space)
        self.slice_sides = supernet.slice_sides if slice_side in ("", "both") else (slice_side,)
        self._require(images, batch_size)
        self._data: Mapping[str, Batches | LoaderSplit]
        self._fixed: tuple[Tensor, ...] = ()
        if isinstance(dataset, Dataset):
            if train is not None or calibrate is not None:
                raise InputError("train and calibrate go with batches of one's own: a data set has its own splits")
            self.metrics = full_names(split, metrics)
            pixels = next(iter(supernet.resolutions)) if len(supernet.resolutions) == 1 else None
            device = next(supernet.parameters()).device
            make = partial(Batches, dataset, seed=seed, device=device, resolution=pixels)
            self._data = {s: make(s, even(len(make(s)), batch_size)) for s in splits_of(self.metrics)}
            self._labels = {s: dataset.labels[dataset.splits[s]] for s in self._data}
            if bn == "recalibrate":
                self._fixed = fixed_images(make("train"), images, batch_size)
        else:
            self.metrics = _metrics_of(split, metrics, calibrated=calibrate is not None)
            loaders = {CALIBRATION_SPLIT: calibrate, split: dataset}
            least = 2 if bn == "batch" else 1
            self._data = own = {
                s: LoaderSplit(supernet, _given(s, loaders[s]), s, least) for s in splits_of(self.metrics)
            }
            self._labels = {s: data.labels for s, data in own.items()}
            if bn == "recalibrate":
                self._fixed = first_images(supernet, _given("train", train), images, batch_size)

    def _require(self, images: int, batch_size: int) -> None:
        if self.bn not in BN_MODES:
            raise UnknownNameError("BN mode", self.bn, BN_MODES)
        if self.bn == "running" and not self.supernet.rule.tracks:
            raise InputError(
                f"a supernet of {self.space.name} keeps no running BN statistics, they would mix widths: "
                "recalibrate, or take the batch's"
            )
        if images < 2 or batch_size < 2:
            raise InputError(f"BN statistics need two images or more, got {min(images, batch_size)}")

    @property
    def test(self) -> frozenset[str]:
        """Metrics of test images: all of them, if the split is `test`."""
        return frozenset(self.metrics if self.split == "test" else ())

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        """One record per architecture; logits that are not finite give NaN."""
        answers: list[Metrics] = [{}] * len(archs)
        order = sorted(range(len(archs)), key=lambda i: archs[i])
        for start in range(0, len(order), SORTED_NETWORKS):
            numbered = [(i, self._layers(archs[i])) for i in order[start : start + SORTED_NETWORKS]]
            for group in self._groups(sorted(numbered, key=lambda n: n[1])):
                for i, logits in self._logits(group).items():
                    answers[i] = scores(self.metrics, logits, self._labels)
        return answers

    def logits(self, archs: Sequence[Arch]) -> Iterator[Logits]:
        """Logits of the whole split, network by network, in the order of the images there."""
        for arch in archs:
            yield self._logits([(0, self._layers(arch))])[0][self.split]

    def _layers(self, arch: Arch) -> tuple[Layer, ...]:
        return self.supernet.blueprint(self.space.check(arch)).layers

    def _groups(self, networks: list[Numbered]) -> Iterator[list[Numbered]]:
        """Neighbours in sorted order, as many as memory allows for."""
        images = sum(len(labels) for labels in self._labels.values())
        group: list[Numbered] = []
        size = 0
        before: tuple[Layer, ...] = ()
        for number, layers in networks:
            alike = next((i for i, (a, b) in enumerate(zip(before, layers, strict=False)) if a != b), len(before))
            grown = 4 * images * layers[-1].c_out
            grown += sum(NODE_BYTES + sum(8 * p.c_out for p in parts(x)) for x in layers[alike:])
            if group and size + grown > WALK_MEMORY_BYTES:
                yield group
                group, size = [], 0
            group.append((number, layers))
            size, before = size + grown, layers
        if group:
            yield group

    # --- running ------------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def _logits(self, group: list[Numbered]) -> dict[int, dict[str, Logits]]:
        """By number of the network, then by split; two sides are added up."""
        # What stays is allocated before the walks, in one piece: scattered between activations, which come and go, it
        # would leave holes that the next ones do not fit into.
        classes = group[0][1][-1].c_out
        total = {s: np.empty((len(group), len(y), classes), np.float32) for s, y in self._labels.items()}
        rows = {number: row for row, (number, _) in enumerate(group)}
        for slice_side in self.slice_sides:
            tree = build_tree(group)
            self._place_statistics(tree, slice_side)
            for seen, x in enumerate(self._fixed, 1):
                for _ in run_tree(tree, x, partial(self._compute, slice_side, seen), norms_only=True):
                    pass
            for split, batches in self._data.items():
                end = 0
                for x, _ in batches.evaluate():
                    start, end = end, end + len(x)
                    for node, output in run_tree(tree, x, partial(self._compute, slice_side, 0)):
                        for number in node.ends:
                            part = total[split][rows[number], start:end]
                            logits = output.float().cpu().numpy()
                            part[:] = logits if slice_side == self.slice_sides[0] else part + logits
        return {number: {split: logits[row] for split, logits in total.items()} for number, row in rows.items()}

    def _place_statistics(self, tree: PrefixNode, slice_side: str) -> None:
        """To every BN of a tree: fresh statistics, which are averaged then, or the supernet's own."""
        statistics = [
            (node, role, unit.averages((view or WHOLE).out))
            for node in tree.nodes()
            if node is not tree and self.bn != "batch"
            for role, (unit, view) in self.supernet.units(node.layer, slice_side).items()
            if unit.norm is not None
        ]
        if self.bn == "recalibrate" and statistics:
            widths = [len(mean) for _, _, (mean, _) in statistics]
            like = statistics[0][2][0]
            means, variances = (torch.split(make(sum(widths)), widths) for make in (like.new_zeros, like.new_ones))
            statistics = [(n, role, (m, v)) for (n, role, _), m, v in zip(statistics, means, variances, strict=True)]
        for node, role, own in statistics:
            node.statistics[role] = Statistics(*own)

    def _compute(self, slice_side: str, seen: int, node: PrefixNode, xs: list[Tensor]) -> Tensor:
        """Run a layer. While BN is recalibrated, `seen` counts the batches; after that it is 0."""
        if node.sources == (IMAGE,):
            xs = [self.supernet.resize(xs[0], node.layer.resolution)]
        units = {
            role: partial(unit, view=view, stats=self._statistics(node, role, unit, seen))
            for role, (unit, view) in self.supernet.units(node.layer, slice_side).items()
        }
        return run(node.layer, xs, units)

    def _statistics(self, node: PrefixNode, role: str, unit: Unit, seen: int) -> Statistics | None:
        if unit.norm is None or self.bn == "batch":
            return None if unit.norm is None else BATCH_STATISTICS
        own = node.statistics[role]
        return own._replace(factor=1 / seen) if seen else own


def _metrics_of(split: str, metrics: Sequence[str] | None, *, calibrated: bool) -> tuple[str, ...]:
    """The metrics asked for; by default all, but the calibrated cross-entropy only with images for the temperature."""
    names = full_names(split, metrics)
    if metrics is not None or calibrated:
        return names
    return tuple(name for name in names if not name.endswith("/calibrated_cross_entropy"))


def _given(name: str, loader: Loader | None) -> Loader:
    """The batches of a split; refuses in words what was left out."""
    if loader is None:
        need, instead = {
            "train": ("bn='recalibrate' needs training images", "or choose bn='batch'"),
            CALIBRATION_SPLIT: (
                "the calibrated cross-entropy needs images for the temperature",
                "or leave this metric out",
            ),
        }[name]
        raise InputError(f"{need}: pass {name}=, batches of (images, labels), {instead}")
    return loader


def shared_cells(space: Space) -> Space:
    """The space of the networks that are evaluated: cells that were trained each by itself are all alike in them."""
    unshared: Any = space
    return replace(unshared, share_cells=True) if getattr(space, "share_cells", True) is False else space
