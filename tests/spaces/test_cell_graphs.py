from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from supernetic.errors import ArchError
from supernetic.spaces.cell_graphs import count_matrices
from supernetic.spaces.nasbench101 import UNIQUE_CELLS, VALID_MATRICES, NASBench101


def brute_force_edges(edges: list[tuple[int, int]], last: int) -> int:
    """Number of edges on paths from 0 to `last`, by closure over edge sets."""
    ahead, behind = {0}, {last}
    for _ in range(last):
        ahead |= {j for i, j in edges if i in ahead}
        behind |= {i for i, j in edges if j in behind}
    return sum(i in ahead & behind and j in ahead & behind for i, j in edges)


@pytest.mark.parametrize(("vertices", "cells"), [(3, 1 + 6), (4, 1 + 6 + 84), (5, 1 + 6 + 84 + 2441)])
def test_small_spaces_against_brute_force(vertices: int, cells: int) -> None:
    space = NASBench101(vertices=vertices)
    pairs = [(i, j) for i in range(vertices) for j in range(i + 1, vertices)]
    valid = []
    for bits in product((0, 1), repeat=len(pairs)):
        left = brute_force_edges([p for p, b in zip(pairs, bits, strict=True) if b], vertices - 1)
        if 0 < left <= 9:
            valid += [(*bits, *ops) for ops in product(range(3), repeat=vertices - 2)]
        elif left == 0:
            with pytest.raises(ArchError, match=r"input .* output"):
                space.check((*bits, *(0,) * (vertices - 2)))
    assert len(valid) == space.size
    keys = space.keys(np.array(valid))
    assert len(np.unique(keys)) == cells
    canonical = {int(k): space.canonical(valid[i]) for i, k in enumerate(keys)}  # one arch of each cell
    assert len({space.hash_of(a) for a in canonical.values()}) == len(set(canonical.values())) == cells


def test_size_of_the_published_space() -> None:
    assert count_matrices(7) == VALID_MATRICES
    assert NASBench101().size == VALID_MATRICES * 3**5 == 373_754_169


def test_number_of_unique_cells() -> None:
    by_vertices = {}
    for n in range(3, 8):
        space = NASBench101(vertices=n)
        bits = n * (n - 1) // 2
        matrices = np.zeros((2**bits, n, n), dtype=bool)
        matrices[:, *np.triu_indices(n, 1)] = np.arange(2**bits)[:, None] >> np.arange(bits) & 1
        full = ((matrices.sum(axis=2)[:, :-1] > 0) & (matrices.sum(axis=1)[:, 1:] > 0)).all(axis=1)
        edges = matrices[full & (matrices.sum(axis=(1, 2)) <= 9)][:, *np.triu_indices(n, 1)]
        seen = [np.zeros(0, dtype=np.int64)]
        for ops in product(range(3), repeat=n - 2):
            labelled = np.concatenate([edges, np.tile(ops, (len(edges), 1))], axis=1)
            seen.append(np.unique(space.keys(labelled)))
        by_vertices[n] = len(np.unique(np.concatenate(seen)))
    assert by_vertices == {3: 6, 4: 84, 5: 2441, 6: 62_010, 7: 359_082}
    assert 1 + sum(by_vertices.values()) == UNIQUE_CELLS
