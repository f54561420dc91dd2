from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
import pytest

from supernetic.blueprint import Layer
from supernetic.errors import ArchError
from supernetic.space import Arch, Choice, SequentialSpace


@dataclass(frozen=True)
class Toy(SequentialSpace):
    """Depth 1..3, then three blocks of two options each; unused ones are 0."""

    name: ClassVar[str] = "toy"
    paper: ClassVar[str] = "000"

    @property
    def choices(self) -> tuple[Choice, ...]:
        blocks = [
            Choice(f"block{i}", ("a", "b"), parent=0, allowed=tuple(2 if d >= i else 1 for d in range(3)))
            for i in range(3)
        ]
        return (Choice("depth", (1, 2, 3)), *blocks)

    def start(self) -> tuple[Sequence[Layer], int]:
        return [Layer("stem", "conv", 3, 8, 4, 4)], -1

    def step(self, i: int, state: int, genes: Arch) -> tuple[Sequence[Layer], int] | None:
        if i == 0:
            return (), genes[0]
        if i - 1 > state:
            return ((), state) if genes == (0,) else None
        return [Layer(f"b{i}", "conv", 8, 8, 4, 4, 1 + 2 * genes[0])], state

    def finish(self, state: int) -> Sequence[Layer]:
        return [Layer("fc", "linear", 8, 2, 4, 1)]


def valid(space: SequentialSpace) -> list[Arch]:
    found = []
    for arch in product(*(range(len(c.options)) for c in space.choices)):
        try:
            found.append(space.check(arch))
        except ArchError:
            continue
    return found


def test_size_counts_only_valid_encodings() -> None:
    assert Toy().size == len(valid(Toy())) == 2 + 4 + 8


def test_check_names_the_gene_and_the_rule() -> None:
    with pytest.raises(ArchError, match="has 4 integers, got 2"):
        Toy().check((0, 0))
    with pytest.raises(ArchError, match=r"choice block2 must lie in 0..0 when depth is 1, got 1"):
        Toy().check((1, 0, 0, 1))
    with pytest.raises(ArchError, match=r"choice depth must lie in 0..2, got 3"):
        Toy().check((3, 0, 0, 0))


def test_uniform_samples_are_uniform_over_encodings() -> None:
    n = 14_000
    counts = Counter(map(tuple, Toy().sample(np.random.default_rng(0), n).tolist()))
    assert set(counts) == set(valid(Toy()))
    chi2 = sum((c - n / 14) ** 2 / (n / 14) for c in counts.values())
    assert chi2 < 34.5  # 99.9 % of chi-square with 13 degrees of freedom


def test_depth_uniform_samples_are_uniform_over_depths() -> None:
    archs = Toy().sample(np.random.default_rng(0), 9000, depth_uniform=True)
    assert np.allclose(np.bincount(archs[:, 0]) / 9000, 1 / 3, atol=0.02)
    assert np.bincount(Toy().sample(np.random.default_rng(0), 9000)[:, 0])[2] > 4500


def test_parsing() -> None:
    toy = Toy()
    assert toy.parse(" (1, 0, 1, 0) ") == (1, 0, 1, 0)
    with pytest.raises(ArchError, match="integers separated by commas"):
        toy.parse("something else")
    assert toy.name_of((0, 1, 0, 0)) == "0,1,0,0"


def test_blueprint_folds_the_steps() -> None:
    assert [x.name for x in Toy().blueprint((1, 1, 0, 0))] == ["stem", "b1", "b2", "fc"]
    with pytest.raises(ArchError):
        Toy().blueprint((0, 0, 1, 0))


def test_fingerprints_tell_spaces_apart() -> None:
    from supernetic.spaces.macro import Macro

    assert Macro().fingerprint == Macro().fingerprint
    assert len({Macro().fingerprint, Macro(channels=8).fingerprint, Toy().fingerprint}) == 3
