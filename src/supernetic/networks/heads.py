"""A new head for a frozen network: a linear map from the features that the network has of every image, fitted at once.

features.safetensors    features of the training images, as they are and mirrored
starts/                 the network with its new head: fitted to four fifths of the training images, and to all
head.json               the regularisation that was chosen on the held-out fifth, and the names of the files

The features are computed once, so the fit costs seconds and needs no learning rate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..datasets.batches import Batches
from ..datasets.dataset import Dataset, Indices
from ..errors import RunError
from ..nn.network import Network
from ..progress import Event, OnEvent
from ..runs.directory import Run
from ..runs.files import FEATURES, HEAD, STARTS
from ..runs.records import read_json
from ..training.checkpoint import read, write
from .augmentation import compare_mirrored
from .pool import keep_weights
from .training import one_thread

BATCH_IMAGES = 64
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0)  # on the mean square of the weights of standardised features
MIRROR_PENALTY = 0.1  # of the head that decides whether images may be mirrored
ITERATIONS = 80  # of L-BFGS
STREAM = 31  # of random numbers


def chosen_rows(dataset: Dataset, images: int, seed: int, *, with_valid: bool = False) -> Indices:
    """Images whose features are taken.

    Args:
        dataset: The images.
        images: How many the head is fitted to, at most; a random part of the training images if there are more.
        seed: Of that part.
        with_valid: Whether validation images that the data bring along are what is held out: a fourth as many of them
            come along then.

    Returns:
        Their rows, in order.
    """
    parts = [(dataset.splits["train"], images)]
    if with_valid:
        parts.append((dataset.splits["valid"], max(1, images // 4)))
    rng = np.random.default_rng([seed, STREAM])
    return np.sort(np.concatenate([rows if n >= len(rows) else rng.permutation(rows)[:n] for rows, n in parts]))


def features_of(network: Network, x: Tensor) -> Tensor:
    """What the classifier reads, for a batch of images."""
    source = network.blueprint.wiring()[-1][0]
    return (
        x.flatten(1) if source < 0 else next(y for i, (_, y) in enumerate(network.trace(x)) if i == source).flatten(1)
    )


@torch.inference_mode()
def extract_features(
    network: Network, dataset: Dataset, rows: Indices, run: Run, send: OnEvent, device: str = "cpu"
) -> None:
    """Take the step `features`.

    Args:
        network: The pretrained network.
        dataset: The images.
        rows: Those of which features are taken.
        run: The run.
        send: Receives progress.
        device: Where the network runs.
    """
    network = network.to(device).eval()
    batches = Batches(dataset, "train", device=device, resolution=network.blueprint.resolution)
    found: list[tuple[Tensor, Tensor]] = []
    with one_thread():
        for start in range(0, len(rows), BATCH_IMAGES):
            x, _ = batches.at(rows[start : start + BATCH_IMAGES])
            found.append((features_of(network, x).cpu(), features_of(network, x.flip(3)).cpu()))
            send(Event("features", done=min(start + BATCH_IMAGES, len(rows)), total=len(rows)))
    plain, mirrored = (torch.cat(parts).float() for parts in zip(*found, strict=True))
    write(run.path / FEATURES, {"plain": plain, "mirrored": mirrored, "rows": torch.from_numpy(rows)}, {})


@torch.inference_mode()
def seconds_per_image(network: Network, dataset: Dataset, device: str = "cpu") -> float:
    """Time for the features of an image and of its mirror image, from one batch.

    Args:
        network: The pretrained network.
        dataset: The images.
        device: Where the network runs.

    Returns:
        Seconds.
    """
    network = network.to(device).eval()
    batches = Batches(dataset, "train", device=device, resolution=network.blueprint.resolution)
    rows = dataset.splits["train"][: BATCH_IMAGES // 2]
    with one_thread():
        features_of(network, batches.at(rows[:2])[0])  # not timed: kernels are chosen
        begin = perf_counter()
        features_of(network, batches.at(rows)[0])
    return 2 * (perf_counter() - begin) / len(rows)


def fit_heads(
    old: Network,
    held_out: Dataset,
    whole: Dataset,
    targets: Tensor,
    seed: int,
    run: Run,
    *,
    mirrored: bool | None = None,
) -> None:
    """Take the step `head`.

    Args:
        old: The network with its old head.
        held_out: The data with a fifth of the training images held out, as its split `valid`.
        whole: The same images, all of them for training.
        targets: A distribution over the classes for every image of the data.
        seed: Of the new classifier where nothing is fitted.
        run: The run, which has the features.
        mirrored: Whether mirrored images mean the same. By default a head that is fitted without them decides.
    """
    with one_thread():
        tensors, _ = read(run.path / FEATURES)
        rows = tensors["rows"].numpy()
        fits = _Fits(tensors["plain"], tensors["mirrored"], targets[tensors["rows"]])
        train = torch.from_numpy(np.isin(rows, held_out.splits["train"]))
        labels = torch.from_numpy(whole.labels[rows])
        reason = ""
        if mirrored is None:
            mirrored, reason = _may_be_mirrored(tensors, fits, train, labels, whole.classes)
        tried = []
        for penalty in PENALTIES:
            weight, bias = fits.fit(train, penalty, mirrored)
            logits = F.linear(tensors["plain"][~train], weight, bias)
            loss = float(F.cross_entropy(logits, labels[~train])) if len(logits) else 0.0
            right = float((logits.argmax(1) == labels[~train]).float().mean()) if len(logits) else 0.0
            tried.append({"penalty": penalty, "valid/cross_entropy": loss, "valid/accuracy": 100 * right})
        best = min(tried, key=lambda t: t["valid/cross_entropy"])
        names = {}
        every = torch.from_numpy(np.isin(rows, whole.splits["train"]))
        for what, part in (("held_out", train), ("all", every)):
            network = with_head(old, *fits.fit(part, best["penalty"], mirrored), seed=seed)
            names[what] = keep_weights(network, run.path / STARTS).name
    record = {"tried": tried, "best": best, "starts": names, "mirrored": mirrored, "mirror_test": reason}
    run.write(HEAD, json.dumps(record, indent=1) + "\n")


def _may_be_mirrored(
    tensors: Mapping[str, Tensor], fits: _Fits, train: Tensor, labels: Tensor, classes: Sequence[str]
) -> tuple[bool, str]:
    """Whether images may be mirrored, and why: by a head that never saw a mirrored image, on the held-out ones."""
    if bool(train.all()):
        return False, "Images are not mirrored: there are no held-out images for a test."
    weight, bias = fits.fit(train, MIRROR_PENALTY, mirrored=False)
    truth = labels[~train]
    answers = (F.linear(tensors[name][~train], weight, bias).argmax(1) for name in ("plain", "mirrored"))
    right, mirrored_right = ((answer == truth).numpy() for answer in answers)
    test = compare_mirrored(truth.numpy(), right, mirrored_right, classes)
    return test.allowed, test.reason


def read_head(run: Run) -> dict[str, Any]:
    """What the step `head` found."""
    record = read_json(run.path / HEAD)
    try:
        names = [record["starts"][what] for what in ("held_out", "all")]
        float(record["best"]["valid/accuracy"])
        record.setdefault("mirrored", True)  # runs from before there was a test
        if not isinstance(record["mirrored"], bool) or not isinstance(record.setdefault("mirror_test", ""), str):
            raise TypeError("mirrored must be true or false, and mirror_test a text")
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"{run.path / HEAD} is damaged: {type(error).__name__}: {error}") from None
    if any(not isinstance(name, str) or Path(name).name != name for name in names):
        raise RunError(f"{run.path / HEAD} names weights outside of {STARTS}")
    checked: dict[str, Any] = record
    return checked


def with_head(network: Network, weight: Tensor, bias: Tensor, *, seed: int = 0) -> Network:
    """A copy of a network with another linear classifier."""
    from copy import deepcopy

    new = deepcopy(network).cpu()
    new.reset_classifier(len(weight), seed=seed)
    classifier: Any = new.get_classifier()
    with torch.no_grad():
        classifier.weight.copy_(weight)
        classifier.bias.copy_(bias)
    return new


class _Fits:
    """Linear classifiers of the same features: L-BFGS on the penalised cross-entropy, which has one minimum."""

    def __init__(self, plain: Tensor, mirrored: Tensor, targets: Tensor) -> None:
        self.mean, self.std = plain.mean(0), plain.std(0).clamp_min(1e-3)
        self.plain, self.mirrored, self.targets = self._scaled(plain), self._scaled(mirrored), targets

    def _scaled(self, features: Tensor) -> Tensor:
        return (features - self.mean) / self.std

    def fit(self, rows: Tensor, penalty: float, mirrored: bool) -> tuple[Tensor, Tensor]:
        """Weight and bias for features as they are; `mirrored`: fitted to mirrored images as well."""
        parts = [self.plain[rows], self.mirrored[rows]] if mirrored else [self.plain[rows]]
        x, y = torch.cat(parts), torch.cat([self.targets[rows]] * len(parts))
        weight = torch.zeros(y.shape[1], x.shape[1], requires_grad=True)
        bias = torch.zeros(y.shape[1], requires_grad=True)
        optimiser = torch.optim.LBFGS([weight, bias], max_iter=ITERATIONS, line_search_fn="strong_wolfe")

        def loss() -> Tensor:
            optimiser.zero_grad()
            total = F.cross_entropy(F.linear(x, weight, bias), y) + penalty * weight.square().sum() / len(weight)
            total.backward()  # type: ignore[no-untyped-call]
            return total

        optimiser.step(loss)  # type: ignore[no-untyped-call]
        with torch.no_grad():
            scaled = weight / self.std
            return scaled, bias - scaled @ self.mean
