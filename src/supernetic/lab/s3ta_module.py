"""The torch module of S3TA: an image classifier that attends to the image in several steps.

Paper: Zoran et al., "Towards robust image classification using sequential attention models", arXiv 1912.02184; the
attention itself is that of Mott et al., arXiv 1906.02500. "Small Data, Big Decisions", section 3, uses eight steps.
Differences: attention scores are divided by the square root of the length of a key. Queries come from one hidden layer,
and so does the input of the controller. Sizes that the papers leave open are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import pi, sqrt
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..blueprint import Blueprint
from ..nn.initialise import initialise
from ..nn.network import Network
from ..nn.run import NO_REGULARISATION, Regularisation

MAX_FREQUENCIES = 8  # of the spatial basis, in each direction


class AttentionStep(NamedTuple):
    """One step of attention."""

    masks: Tensor  # where it attended, N x heads x height x width; each mask sums to one
    state: Tensor  # of the controller, after the step


class S3TA(nn.Module):
    """A convolutional network computes a map of keys and values, half of the channels each.

    A fixed spatial basis is added to both. At each step the controller (an LSTM) makes one query per head and reads the
    values at the places whose keys match. The logits are computed from its last state.

    Args:
        extractor: The convolutional network, without pool and classifier.
        classes: The number of classes.
        steps: Steps of attention.
        heads: Queries per step.
        state: Units of the controller.
    """

    def __init__(self, extractor: Blueprint, classes: int, *, steps: int, heads: int, state: int) -> None:
        super().__init__()
        last = extractor.layers[-1]
        basis = spatial_basis(last.resolution_out)
        self.steps, self.heads = steps, heads
        self.extractor = Network(extractor)
        self.keys = last.c_out // 2
        queries, answers = heads * (self.keys + len(basis)), heads * (last.c_out - self.keys + len(basis))
        self.basis: Tensor
        self.register_buffer("basis", basis, persistent=False)
        self.start = nn.Parameter(0.1 * torch.randn(2, state))  # the controller's first state and memory
        self.ask = nn.Sequential(nn.Linear(state, state), nn.ReLU(), nn.Linear(state, queries))
        self.read = nn.Sequential(nn.Linear(queries + answers, state), nn.ReLU())
        self.controller = nn.LSTMCell(state, state)
        self.readout = nn.Linear(state, classes)

    def forward(self, x: Tensor, regularisation: Regularisation = NO_REGULARISATION) -> Tensor:
        """Logits of a batch of images."""
        state = x
        for step in self.attend(x, regularisation):
            state = step.state
        logits: Tensor = self.readout(F.dropout(state, regularisation.dropout) if regularisation.dropout else state)
        return logits

    def attend(self, x: Tensor, regularisation: Regularisation = NO_REGULARISATION) -> Iterator[AttentionStep]:
        """The steps of attention, one by one."""
        features: Tensor = self.extractor(x, regularisation)
        n, resolution = len(x), features.shape[-1]
        basis = self.basis.expand(n, -1, -1)
        keys, values = (torch.cat([part, basis], 1) for part in features.flatten(2).tensor_split([self.keys], 1))
        state, memory = (s.expand(n, -1) for s in self.start)
        for _ in range(self.steps):
            queries = self.ask(state).view(n, self.heads, -1)
            masks = F.softmax(queries @ keys / sqrt(keys.shape[1]), dim=-1)
            answers = masks @ values.transpose(1, 2)
            read = self.read(torch.cat([answers.flatten(1), queries.flatten(1)], 1))
            state, memory = self.controller(read, (state, memory))
            yield AttentionStep(masks.view(n, self.heads, resolution, resolution), state)


def spatial_basis(resolution: int) -> Tensor:
    """Products of cosines, for every pair of frequencies that a map can tell apart: products x resolution²."""
    position = (torch.arange(resolution) + 0.5) / resolution
    waves = torch.cos(pi * torch.arange(min(resolution, MAX_FREQUENCIES))[:, None] * position)
    return torch.einsum("ux,vy->uvxy", waves, waves).reshape(-1, resolution**2)


def build_s3ta(extractor: Blueprint, classes: int, *, steps: int, heads: int, state: int, seed: int = 0) -> S3TA:
    """The module with weights that depend on the seed only; torch's own generator is left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = S3TA(extractor, classes, steps=steps, heads=heads, state=state)
    initialise(network.extractor, seed=seed)
    return network
