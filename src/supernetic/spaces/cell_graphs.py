"""Cells of NAS-Bench-101 as graphs: which vertices count, which encodings are valid, which are the same cell.

Paper: Ying et al., "NAS-Bench-101", arXiv 1902.09635.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations

import numpy as np
import numpy.typing as npt

from ..space import Archs

OPERATIONS = ("conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3")  # this order is part of the published hash
MAX_EDGES = 9
CELLS_PER_CHUNK = 2**14

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@lru_cache
def edges_of(vertices: int) -> tuple[tuple[int, int], ...]:
    """Return (from vertex, to vertex) of each edge gene."""
    return tuple((i, j) for i in range(vertices) for j in range(i + 1, vertices))


def matrices_of(archs: Archs | Ints, vertices: int) -> Bools:
    """Return the adjacency matrix of each row of `archs`; only the edge genes are read."""
    matrices = np.zeros((len(archs), vertices, vertices), dtype=bool)
    for gene, (i, j) in enumerate(edges_of(vertices)):
        matrices[:, i, j] = archs[:, gene]
    return matrices


def on_path(matrices: Bools) -> Bools:
    """Return for each matrix which vertices lie on a path from its first vertex to its last."""
    last = matrices.shape[-1] - 1
    ahead = np.zeros(matrices.shape[:2], dtype=bool)
    behind = ahead.copy()
    ahead[:, 0] = behind[:, last] = True
    for v in range(1, last + 1):
        ahead[:, v] = (ahead[:, :v] & matrices[:, :v, v]).any(axis=1)
    for v in range(last - 1, -1, -1):
        behind[:, v] = (behind[:, v + 1 :] & matrices[:, v, v + 1 :]).any(axis=1)
    return ahead & behind


def strip(archs: Archs | Ints, vertices: int) -> Ints:
    """Return `archs` with 0 in all genes of vertices on no path from input to output, which may be all of them.

    Args:
        archs: Architectures, or their edge genes alone.
        vertices: Vertices of a cell, including input and output.
    """
    kept = on_path(matrices_of(archs, vertices))
    edges = [kept[:, i] & kept[:, j] for i, j in edges_of(vertices)]
    counts = np.stack([*edges, *kept[:, 1:-1].T], axis=1)[:, : archs.shape[1]]
    stripped: Ints = np.where(counts, archs, 0)
    return stripped


def is_valid(archs: Archs | Ints, vertices: int) -> Bools:
    """Return for each row of `archs` whether a path joins input and output, and at most `MAX_EDGES` edges count."""
    n = strip(archs, vertices)[:, : len(edges_of(vertices))].sum(axis=1)
    valid: Bools = (n > 0) & (n <= MAX_EDGES)
    return valid


def count_matrices(vertices: int) -> int:
    """Count the valid sets of edges, by enumerating all of them."""
    bits = len(edges_of(vertices))
    starts = range(0, 2**bits, CELLS_PER_CHUNK)
    chunks = (np.arange(s, min(s + CELLS_PER_CHUNK, 2**bits))[:, None] >> np.arange(bits) & 1 for s in starts)
    return sum(int(is_valid(chunk, vertices).sum()) for chunk in chunks)


def labellings(vertices: int) -> int:
    """Return in how many ways the inner vertices can be given operations."""
    return int(len(OPERATIONS) ** (vertices - 2))


def column_major(i: int, j: int) -> int:
    """Return the position of an edge in the benchmark's graph generator."""
    return i + j * (j - 1) // 2


@lru_cache
def relabellings(vertices: int) -> npt.NDArray[np.float64]:
    """Return a matrix whose product with an architecture numbers its reordered encodings.

    There is a column for each order of the inner vertices, and a row for each gene: what the gene adds to the number of
    the reordered encoding. Orders that turn an edge around get a number larger than all others. Floats hold these
    integers exactly, and multiply faster.
    """
    inner = range(1, vertices - 1)
    columns = []
    for order in permutations(inner):
        position = [0, *order, vertices - 1]
        edges = [
            labellings(vertices) << column_major(position[i], position[j]) if position[i] < position[j] else 1 << 45
            for i, j in edges_of(vertices)
        ]
        columns.append([*edges, *(len(OPERATIONS) ** (len(inner) - position[v]) for v in inner)])
    return np.array(columns, dtype=np.float64).T
