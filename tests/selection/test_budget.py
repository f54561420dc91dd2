from __future__ import annotations

import pytest

from supernetic.errors import InputError
from supernetic.selection.budget import fit_schedule, smaller
from supernetic.selection.subsets import SubsetSchedule

SUBSET_TRAINING = SubsetSchedule((250, 500, 1000, 2000, 4000), (6, 6, 3, 3, 3))


def cost(subsets: SubsetSchedule) -> float:
    """A second per image."""
    return float(sum(n * s for n, s in zip(subsets.sizes, subsets.seeds, strict=True)))


def test_seeds_go_first_then_the_largest_sizes() -> None:
    shapes = [(len(x.sizes), x.seeds[0], x.seeds[-1]) for x in smaller(SUBSET_TRAINING)]
    assert shapes == [(5, 6, 3), (5, 5, 3), (5, 4, 3), (5, 3, 3), (5, 2, 2), (4, 2, 2), (3, 2, 2), (3, 1, 1)]
    costs = [cost(x) for x in smaller(SUBSET_TRAINING)]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize(
    ("seconds", "sizes", "seeds", "notes"),
    [
        (26_000, 5, (6, 6, 3, 3, 3), 0),
        (24_000, 5, (4, 4, 3, 3, 3), 1),
        (16_000, 5, (2, 2, 2, 2, 2), 1),
        (9_000, 4, (2, 2, 2, 2), 2),
        (2_000, 3, (1, 1, 1), 2),
    ],
)
def test_the_largest_that_fits_is_taken(seconds: float, sizes: int, seeds: tuple[int, ...], notes: int) -> None:
    fitted, given_up = fit_schedule(SUBSET_TRAINING, cost, seconds)
    assert (len(fitted.sizes), fitted.seeds, len(given_up)) == (sizes, seeds, notes)
    assert cost(fitted) <= seconds


def test_what_was_given_up_is_told() -> None:
    assert fit_schedule(SUBSET_TRAINING, cost, 9_000)[1] == [
        "seeds are 2 in place of 6, 6, 3, 3, 3",
        "sizes end at 2,000 in place of 4,000",
    ]


def test_too_little_time_is_refused_with_what_is_needed() -> None:
    with pytest.raises(InputError, match=r"1 minutes are too few: 3 sizes up to 1000 with one seed may take 29\.2"):
        fit_schedule(SUBSET_TRAINING, cost, 60)
