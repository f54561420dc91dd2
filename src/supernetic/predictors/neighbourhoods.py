"""A block of features that says what each layer of a network reads: Weisfeiler-Lehman labels, counted.

Paper: Shervashidze et al., "Weisfeiler-Lehman Graph Kernels", JMLR 2011; for architectures: Ru et al., "Interpretable
Neural Architecture Search via Bayesian Optimisation with Weisfeiler-Lehman Kernels", arXiv 2006.07556.
Differences: counts become normal scores among the networks, and go into a smooth kernel. Sums are labelled too; layers
that only pass on their input have no label, so that a layer behind one reads what it reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from ..blueprint import Blueprint
from ..costs.live_layers import without_dead
from ..errors import InputError
from .features import Described, normal_scores
from .graph import Floats, path_layer_of

BLOCK = "neighbourhoods"
ROUNDS = 2  # how far a label looks
LEAST_SHARE = 0.01  # of the networks must have a neighbourhood for it to count


def with_neighbourhoods(x: Described, networks: Iterable[Blueprint]) -> Described:
    """Add the block.

    Args:
        x: Features of all networks that are compared: counts are ranked among them.
        networks: Their blueprints, in the same order.

    Returns:
        The features with one more block.
    """
    counts = [neighbourhoods(network) for network in networks]
    if len(counts) != len(x):
        raise InputError(f"there must be one blueprint per network, got {len(counts)} for {len(x)}")
    return Described({**x.blocks, BLOCK: _block(counts)}, x.prior)


def neighbourhoods(network: Blueprint) -> Counter[str]:
    """How often each label occurs: a live layer, then it with what it reads, then with what those read."""
    live = without_dead(network)
    words = ["+" if layer.kind == "join" else path_layer_of(layer).word for layer in live]
    reads: list[list[int]] = []  # by layer: the layers with a label behind it, itself or those that it passes on
    sources: list[list[int]] = []
    for i, inputs in enumerate(live.wiring()):
        sources.append([s for j in inputs if j >= 0 for s in reads[j]])
        reads.append([i] if words[i] else sources[i])
    labels = list(words)
    found = Counter(w for w in words if w)
    for _ in range(ROUNDS):
        labels = [f"{words[i]}({','.join(sorted(labels[s] for s in sources[i]))})" for i in range(len(words))]
        found.update(label for label, word in zip(labels, words, strict=True) if word)
    return found


def _block(counts: Sequence[Counter[str]]) -> Floats:
    """One column per neighbourhood that is common enough and differs; the mean square of rows is 1."""
    seen = Counter(name for c in counts for name in c)
    names = [n for n, k in seen.items() if LEAST_SHARE * len(counts) <= k]
    raw = np.array([[c[n] for n in names] for c in counts], dtype=np.float64)
    columns = [normal_scores(np.sort(column), column) for column in raw.T if np.ptp(column) > 0]
    if not columns:
        return np.zeros((len(counts), 1))
    block = np.stack(columns, axis=1)
    scaled: Floats = block / np.sqrt((block**2).sum(axis=1).mean())
    return scaled
