from __future__ import annotations

from collections import Counter
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from supernetic.blueprint import Blueprint
from supernetic.costs.macs import cost
from supernetic.costs.table import costs_of
from supernetic.errors import ArchError, InputError, UnknownNameError
from supernetic.space import Arch
from supernetic.spaces import nasbench101
from supernetic.spaces.cell_graphs import OPERATIONS
from supernetic.spaces.nasbench101 import (
    NASBench101,
    NASBench101Chain,
    vertex_channels,
)

SPACE = NASBench101()
CHAIN = NASBench101Chain()

# name, published hash (the third as recomputed from the printed matrix: the printed hash has 33 digits), params, MACs
PUBLISHED = [
    ("small-data-1", "75ddc0891320c863ec5f148ae675947e", 3_292_298, 485_889_024),
    ("small-data-2", "b5a2bfe35a8f6a21364a992d4dadad31", 3_235_886, 483_006_912),
    ("small-data-3", "63e9304e6a2aa542eb273dce26477c38", 6_406_538, 951_456_768),
    ("small-data-4", "9f5da3119e80518bd23f9c115c7a18d6", 6_315_018, 930_485_248),
    ("small-data-5", "0da48e9f9faecf504244c65b82e0ba71", 41_557_898, 6_110_450_688),
]
# The first record of the published file, with its number of parameters.
FIRST_RECORD = "0100110 0010000 0001001 0000010 0000010 0000001 0; c3 mp c3 c3 c1"


@pytest.mark.parametrize(("name", "fingerprint", "params", "macs"), PUBLISHED)
def test_the_five_cells_of_small_data_big_decisions(name: str, fingerprint: str, params: int, macs: int) -> None:
    arch = SPACE.parse(name)
    assert SPACE.hash_of(arch) == fingerprint
    assert SPACE.parse(fingerprint) == arch
    found = cost(SPACE.blueprint(arch))
    assert (found.params, found.macs) == (params, macs)
    assert SPACE.encode(*SPACE.decode(arch)) == arch


def test_other_published_parameter_counts() -> None:
    assert cost(SPACE.blueprint(SPACE.parse("inception"))).params == 2_694_282
    first = SPACE.parse(FIRST_RECORD)
    assert SPACE.hash_of(first) == "00005c142e6f48ac74fdcf73e3439874"
    assert cost(SPACE.blueprint(first)).params == 8_555_530  # three vertices share 128 channels: 43, 43, 42


def test_cells_from_the_benchmark_are_canonical() -> None:
    # The order of vertices in the benchmark's records is what `canonical` claims to restore.
    for text in [*(t for n, t in nasbench101.NAMED_CELLS.items() if n.startswith("small-data")), FIRST_RECORD]:
        arch = SPACE.parse(text)
        assert SPACE.canonical(arch) == arch


def test_vertex_channels() -> None:
    widths = [vertex_channels(SPACE.decode(SPACE.parse(name))[0], 128, 128) for name, *_ in PUBLISHED]
    assert widths[0] == widths[2] == widths[3] == [128, 64, 64, 64, 64, 64, 128]
    assert widths[1] == [128, 43, 43, 43, 42, 42, 128]
    assert widths[4] == [128] * 6
    assert vertex_channels([[0, 1], [0, 0]], 128, 256) == [128, 256]


# --- encodings and cells ----------------------------------------------------------------------------------------------


def shuffled(arch: Arch, rng: np.random.Generator) -> Arch:
    """Another encoding of the same cell: its vertices in another order, with a useless one where there is room."""
    rows, names = SPACE.decode(arch)
    matrix, inner = np.array(rows), range(1, len(names) - 1)
    orders = [[0, *p, len(names) - 1] for p in permutations(inner)]
    orders = [o for o in orders if not np.tril(matrix[np.ix_(o, o)]).any()]
    order = orders[rng.integers(len(orders))]
    matrix, ops = matrix[np.ix_(order, order)], [names[v] for v in order]
    if len(ops) < 7:
        at = int(rng.integers(1, len(ops)))
        matrix = np.insert(np.insert(matrix, at, 0, axis=0), at, 0, axis=1)
        ops.insert(at, OPERATIONS[rng.integers(3)])
        matrix[0, at] = 1  # reached from the input, but leads nowhere
    return SPACE.encode(matrix.tolist(), ops)


def test_encodings_of_one_cell_are_one_network() -> None:
    rng = np.random.default_rng(0)
    changed = 0
    for row in SPACE.sample(rng, 300):
        arch = SPACE.check(row)
        other = shuffled(arch, rng)
        changed += other != arch
        assert SPACE.canonical(other) == SPACE.canonical(arch)
        assert SPACE.canonical(SPACE.canonical(arch)) == SPACE.canonical(arch)
        assert SPACE.hash_of(SPACE.canonical(arch)) == SPACE.hash_of(other) == SPACE.hash_of(arch)
        assert SPACE.blueprint(other) == SPACE.blueprint(arch)
    assert changed > 200


def test_samples_are_valid_and_uniform() -> None:
    archs = SPACE.sample(np.random.default_rng(3), 500)
    assert archs.shape == (500, 26)
    assert archs.dtype == np.int8
    for row in archs:
        SPACE.check(row)
    assert (archs == SPACE.sample(np.random.default_rng(3), 500)).all()
    assert SPACE.sample(np.random.default_rng(3), 0).shape == (0, 26)

    space = NASBench101(vertices=4)
    n = 42_300
    counts = Counter(map(tuple, space.sample(np.random.default_rng(4), n).tolist()))
    assert len(counts) == space.size == 423
    chi2 = sum((c - n / 423) ** 2 / (n / 423) for c in counts.values())
    assert abs(chi2 - 422) < 4 * np.sqrt(2 * 422)


# --- text and errors --------------------------------------------------------------------------------------------------


def test_notation() -> None:
    for row in SPACE.sample(np.random.default_rng(5), 100):
        arch = SPACE.check(row)
        assert SPACE.parse(SPACE.format(arch)) == arch
        assert SPACE.parse(",".join(map(str, arch))) == arch
    assert SPACE.format(SPACE.parse("small-data-1")).endswith("0000001 0000000; c1 c3 c1 mp mp")
    assert SPACE.decode(SPACE.parse("01 00")) == ([[0, 1], [0, 0]], ["input", "output"])
    assert SPACE.name_of(SPACE.parse(nasbench101.NAMED_CELLS["small-data-5"])) == "small-data-5"
    long_names = "010 001 0; conv1x1-bn-relu"
    assert SPACE.parse(long_names) == SPACE.parse("010 001 000; c1")


def test_useless_vertices_beyond_the_seventh_are_dropped() -> None:
    matrix = np.zeros((8, 8), dtype=int)
    matrix[0, 1] = matrix[1, 7] = matrix[0, 2] = 1
    assert SPACE.decode(SPACE.encode(matrix.tolist(), ["c1"] + ["mp"] * 5)) == (
        [[0, 1, 0], [0, 0, 1], [0, 0, 0]],
        ["input", OPERATIONS[1], "output"],
    )
    with pytest.raises(ArchError, match=r"2 to 7 vertices .* got 8"):
        SPACE.encode(np.eye(8, k=1, dtype=int).tolist(), ["c1"] * 6)
    with pytest.raises(ArchError, match=r"2 to 7 vertices .* got 0"):
        SPACE.encode(np.zeros((8, 8), dtype=int).tolist(), ["c1"] * 6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("small-data-6", "26 integers"),
        ("0,1", "26 integers"),
        (",".join(["2"] * 26), "0->1 must lie in 0..1"),
        (",".join(["0"] * 26), "path must lead from the input"),
        (",".join(["1"] * 26), "at most 9 edges .* not 21"),
        ("010 001 0; c1 c1", "3 vertices needs 1 operations, got 2"),
        ("010 101 0; c1", "above the diagonal"),
        ("010 001; c1", "square"),
        ("010 0011 0; c1", "square"),
        ("0", "26 integers"),
    ],
)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(ArchError, match=message):
        SPACE.parse(text)


def test_bad_names_and_parameters() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'c1'"):
        SPACE.parse("010 001 0; c11")
    with pytest.raises(UnknownNameError, match="hash among the named cells"):
        SPACE.parse("0" * 32)
    with pytest.raises(ArchError, match="0 or 1"):
        SPACE.encode([[0, 2], [0, 0]], [])
    with pytest.raises(InputError, match=r"vertices must lie in 3\.\.7, got 8"):
        NASBench101(vertices=8)
    with pytest.raises(InputError, match=r"channels must be at least 5, .* got 4"):
        NASBench101(channels=4)


# --- the network ------------------------------------------------------------------------------------------------------


def check_wiring(blueprint: Blueprint) -> None:
    """Every layer finds the channels and the side it expects."""
    for layer, sources in zip(blueprint, blueprint.wiring(), strict=True):
        if sources == (-1,):
            continue
        read = [blueprint.layers[s] for s in sources]
        assert all(s.resolution_out == layer.resolution for s in read)
        widths = [s.c_out for s in read]
        if layer.kind == "join" and layer.join == "concat":
            assert sum(widths) == layer.c_out
        elif layer.kind == "join":
            assert all(w in (layer.c_out, layer.c_out + 1) for w in widths)
        else:
            assert widths == [layer.c_in]


def expected_cost(matrix: list[list[int]], ops: list[str]) -> tuple[int, int]:
    """MACs and parameters straight from the rules, without layers."""
    macs, params = 3 * 128 * 9 * 32**2, 3 * 128 * 9 + 2 * 128
    last = len(matrix) - 1
    for cell in range(9):
        stack = cell // 3
        c_out = 128 << stack
        c_in = c_out // 2 if stack and cell % 3 == 0 else c_out
        widths = vertex_channels(matrix, c_in, c_out)
        maps = [(c_in, widths[v], 1) for v in range(1, last + 1) if matrix[0][v]]
        maps += [(widths[v], widths[v], int(ops[v][4])) for v in range(1, last) if ops[v].startswith("conv")]
        for a, b, k in maps:
            macs += a * b * k * k * (32 >> stack) ** 2
            params += a * b * k * k + 2 * b
    return macs + 512 * 10, params + 512 * 10 + 10


def test_networks_of_random_cells() -> None:
    archs = SPACE.sample(np.random.default_rng(6), 150)
    macs, params = costs_of(SPACE, archs), costs_of(SPACE, archs, "params")
    for row, m, p in zip(archs, macs, params, strict=True):
        arch = SPACE.check(row)
        check_wiring(SPACE.blueprint(arch))
        assert (m, p) == expected_cost(*SPACE.decode(SPACE.canonical(arch)))


def test_a_channel_too_many_is_cut() -> None:
    # Vertex 2 has 43 channels and feeds vertex 4, alone, which has 42.
    layers = {layer.name: layer for layer in SPACE.blueprint(SPACE.parse("small-data-2"))}
    cut = layers["cell0.sum4"]
    assert (cut.kind, cut.inputs, cut.c_in, cut.c_out) == ("join", ("cell0.v2",), 43, 42)
    assert layers["cell0.v4"].inputs == ("cell0.sum4",)
    assert "cell0.sum3" not in layers
    assert layers["cell0.concat"].inputs == ("cell0.v2", "cell0.v3", "cell0.v5")
    assert layers["cell0.sum"].inputs == ("cell0.concat", "cell0.project")


def test_skeleton() -> None:
    blueprint = NASBench101(channels=16, cells=2, stacks=2, resolution=15, classes=7, in_channels=1).blueprint(
        SPACE.parse("small-data-5")
    )
    check_wiring(blueprint)
    assert (blueprint.resolution, blueprint.in_channels, blueprint.classes) == (15, 1, 7)
    (pool,) = [layer for layer in blueprint if layer.kind == "maxpool"]
    assert (pool.c_in, pool.resolution, pool.resolution_out, pool.kernel, pool.stride) == (16, 15, 8, 2, 2)
    assert {layer.name.partition(".")[0] for layer in blueprint if layer.stage} == {"cell0", "cell1", "cell2", "cell3"}
    with pytest.raises(ArchError):
        SPACE.blueprint((0,) * 26)


# --- chains -----------------------------------------------------------------------------------------------------------

ALL_CHAINS = np.array(list(product(range(3), repeat=5)), dtype=np.int8)


@pytest.mark.parametrize("settings", [{}, {"channels": 12, "cells": 2, "resolution": 20, "classes": 3}])
def test_chains_cost_what_their_cells_cost(settings: dict[str, Any]) -> None:
    chain, whole = NASBench101Chain(**settings), NASBench101(**settings)
    for metric in ("macs", "params", "peak"):
        table = costs_of(chain, ALL_CHAINS, metric)
        walked = [getattr(cost(chain.blueprint(tuple(a))), metric) for a in ALL_CHAINS.tolist()]
        mapped = costs_of(whole, np.array([chain.to_cell(tuple(a)) for a in ALL_CHAINS.tolist()]), metric)
        assert table.tolist() == walked == mapped.tolist()


def test_chains_are_63_cells() -> None:
    archs = [tuple(a) for a in ALL_CHAINS.tolist()]
    assert CHAIN.size == len(archs) == 243
    cells = {a: CHAIN.to_cell(a) for a in archs}
    assert len({CHAIN.canonical(a) for a in archs}) == len({SPACE.hash_of(c) for c in cells.values()}) == 63
    for a, cell in cells.items():
        assert cells[CHAIN.canonical(a)] == cell == SPACE.canonical(cell)
        check_wiring(CHAIN.blueprint(a))
    sizes = Counter(sum(g != 2 for g in a) for a in archs)
    assert sizes == {0: 1, 1: 10, 2: 40, 3: 80, 4: 80, 5: 32}  # 2^k chains of length k, C(5, k) encodings each


def test_chain_notation() -> None:
    assert CHAIN.parse("1x1-3x3-skip-1x1-skip") == CHAIN.parse("1x1 3x3 skip 1x1 skip") == (0, 1, 2, 0, 2)
    assert CHAIN.format((0, 1, 2, 0, 2)) == "1x1-3x3-skip-1x1-skip"
    assert CHAIN.canonical((2, 1, 2, 0, 0)) == (1, 0, 0, 2, 2)
    assert CHAIN.parse("all-3x3") == (1,) * 5
    assert SPACE.decode(CHAIN.to_cell((2, 1, 2, 0, 2)))[1] == ["input", OPERATIONS[0], OPERATIONS[1], "output"]
    with pytest.raises(UnknownNameError, match="did you mean '3x3'"):
        CHAIN.parse("1x1-3x-skip-1x1-skip")
    with pytest.raises(ArchError, match="5 integers"):
        CHAIN.parse("1x1-3x3")
