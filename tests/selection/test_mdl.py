from __future__ import annotations

from math import log

import numpy as np
import pytest

from supernetic.selection.mdl import description_length


def test_a_uniform_predictor_costs_n_log_c() -> None:
    for sizes in ([100], [10, 100], [10, 20, 40, 777]):
        found = description_length(sizes, np.full(len(sizes), log(10)), 10)
        assert found == pytest.approx(sizes[-1] * log(10))


def test_blocks_are_coded_by_the_subset_before_them() -> None:
    """Label by label, as one would send them."""
    sizes, scores = [5, 10, 30], [1.5, 0.7, 0.1]
    sent = 0.0
    for i in range(30):
        known = [s for n, s in zip(sizes, scores, strict=True) if n <= i]
        sent += known[-1] if known else log(4)
    assert description_length(sizes, scores, 4) == pytest.approx(sent)
    both = description_length(sizes, np.array([scores, [0, 0, 9]]), 4)
    np.testing.assert_allclose(both, [sent, 5 * log(4)])
