from __future__ import annotations

import numpy as np
import pytest

from supernetic.benchmarks import Column, Table, nasbench201
from supernetic.benchmarks.table import Ints
from supernetic.commands.rank.comparison import Comparison, Ranking, Sample, complete_rows, draw, sample_size
from supernetic.commands.rank.network_scores import PROXY_SAMPLE, TRAINING_SAMPLE
from supernetic.commands.rank.parsing import ScoreParser, ScoreSettings
from supernetic.commands.rank.scores import ALL, Answers, GivenNumbers, SampleSize, Score
from supernetic.errors import InputError
from supernetic.progress import OnEvent, ignore

TRUTH = np.array([5.0, 1.0, np.nan, 3.0, 4.0, 2.0, *range(6, 36)])


class Slow(Score):
    """Says the row of each network that it is asked for."""

    is_measured = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[list[int]] = []

    def ask(self, table: Table, rows: Ints, on_event: OnEvent = ignore) -> Answers:
        self.asked.append(rows.tolist())
        return Answers(Column(rows.astype(float)), [f"asked {len(rows)}"])


def compared(score: object, against: object = None) -> Comparison:
    return Comparison.parse(ScoreParser(nasbench201.load(), ScoreSettings()), "c10_test_200", score, against)


def test_the_usual_sample_is_that_of_the_slowest() -> None:
    assert compared("macs").usual_sample == ALL
    assert compared(["macs", len]).usual_sample == ALL
    assert compared("macs+jacov").usual_sample == PROXY_SAMPLE
    assert compared("macs", "jacov + subset").usual_sample == TRAINING_SAMPLE


def test_only_what_need_not_be_measured_is_asked_of_all() -> None:
    table, slow = nasbench201.load(), Slow("slow")
    comparison = compared([slow, "macs"], slow)
    networks = comparison.with_known_numbers(table)
    assert list(networks.columns) == ["c10_test_200", "macs"]
    assert slow.asked == []
    networks, remarks = comparison.with_measured_numbers(networks, np.array([2, 9]), ignore)
    assert slow.asked == [[2, 9]]  # once, though two are combined of it
    assert remarks == ["asked 2"]
    assert complete_rows(networks).tolist() == [2, 9]
    assert str(comparison) == "slow + macs and slow and c10_test_200"


def test_a_function_may_be_the_truth() -> None:
    table, slow = nasbench201.load(), Slow("slow")
    comparison = Comparison(slow, GivenNumbers(np.arange(len(table)), "mine"), None)
    assert comparison.with_known_numbers(table)["slow"].values[-1] == len(table) - 1


def test_rows_are_drawn_from_those_that_may_be_and_from_the_best_of_them() -> None:
    rows = np.flatnonzero(np.isfinite(TRUTH))
    sample = draw(TRUTH, rows, SampleSize(10, 2), np.random.default_rng(0))
    assert len(set(sample.random.tolist())) == 10
    assert set(sample.random.tolist()) <= set(rows.tolist())
    assert set(sample.best.tolist()) < {32, 33, 34, 35}  # of 35 rows, the best tenth
    assert (len(sample.best), sample.drawn, sample.population) == (2, 10, 35)
    assert sample.rows.tolist() == sorted({*sample.random.tolist(), *sample.best.tolist()})
    assert str(sample) == "drawn from 35, and 2 of their top 10 %"
    again = draw(TRUTH, rows, SampleSize(10, 2), np.random.default_rng(0))
    assert again.random.tolist() == sample.random.tolist()


@pytest.mark.parametrize("size", [SampleSize(0, 5), SampleSize(35, 5), SampleSize(99, 0)])
def test_all_rows_are_taken_where_there_are_no_more(size: SampleSize) -> None:
    rows = np.flatnonzero(np.isfinite(TRUTH))
    sample = draw(TRUTH, rows, size, np.random.default_rng(0))
    assert sample.random.tolist() == rows.tolist()
    assert not len(sample.best)
    assert str(sample) == ""


def test_rows_that_got_no_number_are_dropped() -> None:
    sample = Sample(np.array([1, 4, 6]), np.array([6, 7]), 3, 10).keep(np.array([4, 7, 8]))
    assert (sample.random.tolist(), sample.best.tolist(), sample.drawn) == ([4], [7], 3)
    assert str(sample) == "drawn from 10, and 1 of their top 10 %"


def test_sizes_that_are_asked_for_come_before_the_usual_ones() -> None:
    assert sample_size(PROXY_SAMPLE, None, None) == PROXY_SAMPLE
    assert sample_size(PROXY_SAMPLE, 0, 7) == (0, 7)
    assert sample_size(ALL, 30, None) == (30, 0)
    with pytest.raises(InputError, match="sample_top must not be negative, got -1"):
        sample_size(ALL, None, -1)


def test_what_is_left_out_is_said() -> None:
    table = nasbench201.load()
    numbers = np.where(np.arange(len(table)) < 40, np.arange(len(table)), np.nan)
    comparison = compared(GivenNumbers(numbers, "mine"))
    networks = comparison.with_known_numbers(table)
    rows = complete_rows(networks)
    sample = Sample(rows[:25], rows[:0], 30, len(rows))
    result = Ranking(comparison, networks, sample, "encodings").result((10,), 0, ["said before"])
    assert result.n == 25
    assert result.warnings[0] == "said before"
    assert result.warnings[1] == f"{len(table) - 40 + 5} of {len(table)} architectures lack a number and are left out"
    assert result.warnings[-1] == "only 25 networks: the intervals are rough"
