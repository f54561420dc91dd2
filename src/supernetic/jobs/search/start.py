"""`search --start`: an elastic supernet around a pretrained network.

Its largest network is the pretrained one with a head for the user's classes, which is fitted to features before the
training begins, as `transfer` does. Every network is a part of it: fewer pixels, blocks, hidden channels, smaller
kernels. The supernet is trained by the sandwich rule, so that all others learn from the largest; networks that the
search chooses are trained on from the supernet's weights.

features.safetensors, head.json, starts/    as of a transfer
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import catalog
from ...datasets import outline
from ...datasets.dataset import Dataset
from ...errors import InputError
from ...families.efficientnet_lite import PRETRAINED, RESOLUTIONS
from ...progress import OnEvent
from ...runs.directory import Run
from ...runs.files import FEATURES, HEAD, STARTS
from ...space import Space
from ...spaces.lite import Lite
from ..job import Step
from ..time_plan import FINE_TUNING, HEAD_S
from ..train.prepare import pretrained_options
from .choose_space import AUTO
from .request import SearchRequest

if TYPE_CHECKING:
    from ...nn.network import Network
    from ...pretrained import Pretrained
    from ...supernets.supernet import Supernet

HELD_OUT = 0.2  # of the training images, by which the head's penalty is chosen
HEAD_SHARE = 0.15  # of the time, at most, for the features that the head is fitted to
HELD_OUT_STREAM = 32  # of random numbers
RECIPE = {**FINE_TUNING, "title": "fine-tuning by the sandwich rule", "lr": 0.003, "clip_norm": 5.0, "fixed_bn": False}
NETWORK_RECIPE = {**FINE_TUNING, "schedule": "linear"}  # of networks, in rounds over which the rate goes on falling
MIN_STEPS = 10  # of the supernet, which begins with weights that are good already
RECALIBRATION_IMAGES = 256  # for BN statistics: networks are larger than others here


@dataclass(frozen=True)
class Start:
    """A pretrained network that a search begins with.

    Args:
        pretrained: The network, at the largest resolution of the space.
        dataset: The images.
        seed: Of all randomness.
        device: Where features are computed.
    """

    pretrained: Pretrained
    dataset: Dataset
    seed: int
    device: str

    def head_images(self, seconds: float | None) -> tuple[int, float]:
        """Training images that the head is fitted to, and the seconds that features and head should take.

        Args:
            seconds: Of the whole search; None: there is no limit.
        """
        from ...networks.heads import seconds_per_image

        images, each = len(self.dataset.splits["train"]), 0.0
        if seconds is not None:
            each = seconds_per_image(self.pretrained.network, self.dataset, self.device)
            images = min(images, max(2 * len(self.dataset.classes), int(HEAD_SHARE * seconds / each)))
        return images, images * each + HEAD_S

    def steps(self, images: int, mirrored: bool, send: OnEvent) -> list[Step]:
        """Features of some training images, then the head; `mirrored`: fitted to mirrored images as well."""
        from ...networks.heads import chosen_rows, extract_features, fit_heads

        rows = chosen_rows(self.dataset, images, self.seed)

        @cache
        def network() -> Network:
            return self._with_statistics()

        def features(run: Run) -> None:
            extract_features(network(), self.dataset, rows, run, send, self.device)

        def head(run: Run) -> None:
            import torch
            import torch.nn.functional as F

            targets = F.one_hot(torch.from_numpy(self.dataset.labels), len(self.dataset.classes)).float()
            fit_heads(network(), self._with_fewer(), self.dataset, targets, self.seed, run, mirrored=mirrored)

        return [Step("features", FEATURES, features), Step("head", HEAD, head)]

    def _with_statistics(self) -> Network:
        """The network with BN statistics of these images: a supernet in training has those of each batch.

        A head that was fitted to other features would be wrong from the first step on.
        """
        from copy import deepcopy

        from ...datasets.batches import Batches
        from ...derivation.recalibrate import fixed_images, recalibrate

        network = deepcopy(self.pretrained.network).to(self.device)
        resolution = network.blueprint.resolution
        batches = Batches(self.dataset, "train", seed=self.seed, device=self.device, resolution=resolution)
        recalibrate(network, fixed_images(batches, RECALIBRATION_IMAGES))
        return network.eval()

    def _with_fewer(self) -> Dataset:
        """The data without a fifth of the training images; those for validation stay unseen."""
        splits = self.dataset.splits
        order = np.random.default_rng([self.seed, HELD_OUT_STREAM]).permutation(splits["train"])
        held, kept = np.split(order, [int(HELD_OUT * len(order))])
        others = np.concatenate([splits["calibrate"], held])
        return replace(self.dataset, splits={**splits, "train": np.sort(kept), "calibrate": np.sort(others)})

    def load_into(self, supernet: Supernet, run: Run) -> None:
        """Give a supernet the weights of the pretrained network and the head that was fitted."""
        from ...networks.heads import read_head
        from ...nn.network import with_classes, with_weights
        from ...pretrained.elastic import start_from
        from ...training.checkpoint import read

        blueprint = with_classes(self.pretrained.network.blueprint, len(self.dataset.classes))
        weights = read(run.path / STARTS / read_head(run)["starts"]["all"])[0]
        start_from(supernet, with_weights(blueprint, weights))


def starting_request(request: SearchRequest) -> tuple[SearchRequest, dict[str, Any]]:
    """What a pretrained network settles before the data are loaded.

    Args:
        request: With a start.

    Returns:
        The request with the space around the network, the recipes of fine-tuning, and weights that are inherited,
        wherever the user has not chosen; and what `datasets.load` must know.
    """
    from ...pretrained import fitting_resolution
    from ...pretrained.elastic import require_inside, space_text

    name = str(request.start)
    pixels = outline(request.data).resolution
    if request.space == AUTO:
        most = request.image_size or fitting_resolution(pixels, RESOLUTIONS[PRETRAINED.index(name)])
        request = replace(request, space=space_text(name, most), image_size=None)
    space = require_inside(catalog.space(request.space), name)
    if request.image_size not in (None, space.resolution):
        raise InputError(f"networks of {request.space} see {space.resolution} pixels, got {request.image_size}")
    loading = pretrained_options(name)
    if space.resolution < pixels:
        loading["resolution"] = space.resolution
    return replace(
        request,
        image_size=None,
        retrain="inherit" if request.retrain == "auto" else request.retrain,
        recipe=RECIPE if request.recipe is None else request.recipe,
        retrain_recipe=NETWORK_RECIPE if request.retrain_recipe is None else request.retrain_recipe,
    ), loading


def start_of(request: SearchRequest, space: Space, dataset: Dataset, device: str) -> Start | None:
    """The pretrained network of a request, if it names one."""
    if request.start is None:
        return None
    from ...pretrained import load_pretrained

    assert isinstance(space, Lite)
    return Start(load_pretrained(request.start, space.resolution), dataset, request.seed, device)
