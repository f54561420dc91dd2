"""S3TA: an image classifier that looks several times, each time at what it asks for (sequential spatial attention).

Paper: Zoran et al., "Towards robust image classification using sequential attention models", arXiv 1912.02184; the
attention itself is that of Mott et al., arXiv 1906.02500. Paper 000 (section 3) uses eight steps.
Differences: attention scores are divided by the root of their length; queries, and what the controller reads, come from
one hidden layer each; sizes are ours where the papers leave them open.
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

WAVES = 8  # frequencies in each direction that the spatial basis has at most


class Look(NamedTuple):
    """One step: where it looked (N x heads x height x width, each summing to one), and the state after it."""

    masks: Tensor
    state: Tensor


class S3TA(nn.Module):
    """A network of convolutions makes a map of keys and values, of half the channels each; a fixed basis says where.

    At each step the controller (an LSTM) asks one question per head, gets for each the values at the places whose keys
    answer it, and takes them in. The logits are read from its last state.
    """

    def __init__(self, extractor: Blueprint, classes: int, *, steps: int, heads: int, state: int) -> None:
        super().__init__()
        last = extractor.layers[-1]
        basis = spatial_basis(last.resolution_out)
        self.steps, self.heads = steps, heads
        self.extractor = Network(extractor)
        self.keys = last.c_out // 2
        asked, told = heads * (self.keys + len(basis)), heads * (last.c_out - self.keys + len(basis))
        self.basis: Tensor
        self.register_buffer("basis", basis, persistent=False)
        self.start = nn.Parameter(0.1 * torch.randn(2, state))  # the controller's first state and memory
        self.ask = nn.Sequential(nn.Linear(state, state), nn.ReLU(), nn.Linear(state, asked))
        self.read = nn.Sequential(nn.Linear(asked + told, state), nn.ReLU())
        self.controller = nn.LSTMCell(state, state)
        self.readout = nn.Linear(state, classes)

    def forward(self, x: Tensor, regularisation: Regularisation = NO_REGULARISATION) -> Tensor:
        """Logits of a batch of images."""
        state = x
        for look in self.looks(x, regularisation):
            state = look.state
        logits: Tensor = self.readout(F.dropout(state, regularisation.dropout) if regularisation.dropout else state)
        return logits

    def looks(self, x: Tensor, regularisation: Regularisation = NO_REGULARISATION) -> Iterator[Look]:
        """The steps one by one."""
        found: Tensor = self.extractor(x, regularisation)
        n, resolution = len(x), found.shape[-1]
        where = self.basis.expand(n, -1, -1)
        keys, values = (torch.cat([part, where], 1) for part in found.flatten(2).tensor_split([self.keys], 1))
        state, memory = (s.expand(n, -1) for s in self.start)
        for _ in range(self.steps):
            queries = self.ask(state).view(n, self.heads, -1)
            masks = F.softmax(queries @ keys / sqrt(keys.shape[1]), dim=-1)
            answers = masks @ values.transpose(1, 2)
            taken = self.read(torch.cat([answers.flatten(1), queries.flatten(1)], 1))
            state, memory = self.controller(taken, (state, memory))
            yield Look(masks.view(n, self.heads, resolution, resolution), state)


def spatial_basis(resolution: int) -> Tensor:
    """Products of cosines, one of each pair of frequencies that a map of that side can tell apart: waves x side²."""
    place = (torch.arange(resolution) + 0.5) / resolution
    waves = torch.cos(pi * torch.arange(min(resolution, WAVES))[:, None] * place)
    return torch.einsum("ux,vy->uvxy", waves, waves).reshape(-1, resolution**2)


def build_s3ta(extractor: Blueprint, classes: int, *, steps: int, heads: int, state: int, seed: int = 0) -> S3TA:
    """The network with fresh weights; torch's own generator is left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = S3TA(extractor, classes, steps=steps, heads=heads, state=state)
    initialise(network.extractor, seed=seed)
    return network
