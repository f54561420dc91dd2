from __future__ import annotations

import pytest

from supernetic import catalog
from supernetic.costs.macs import METRICS as COSTS
from supernetic.metrics import METRICS, better, find, is_cost, label, quality
from supernetic.networks.scores import full_names
from supernetic.proxies import PROXIES, full_name


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("valid/cross_entropy", "lower"),
        ("test/calibrated_cross_entropy", "lower"),
        ("valid/subset_training", "lower"),
        ("valid/ladder", "lower"),
        ("cross_entropy", "lower"),
        ("valid/accuracy", "higher"),
        ("cost/macs", "lower"),
        ("macs", "lower"),
        ("latency", "lower"),
        ("latency/ms", "lower"),
        ("proxy/live_macs", "higher"),
        ("vote/live_macs", "higher"),
        ("proxy/naswot", "higher"),
        ("proxy/mine", "higher"),
        ("proxy/rank_ensemble", "higher"),
        ("vote/rank", "higher"),
        ("table/c10_test_200", "higher"),
        ("table/my_column", "higher"),
        ("table/train_time_s", "lower"),
        ("table/lat_ms_pixel3", "lower"),
        ("table/valid_loss", "lower"),
        ("table/c10_cross_entropy", "lower"),
        ("table/timeless", "higher"),
    ],
)
def test_directions(name: str, direction: str) -> None:
    assert better(name) == direction
    assert quality(name, 2.5) == (-2.5 if direction == "lower" else 2.5)


def test_the_unit_of_a_column_decides_where_its_name_does_not() -> None:
    assert (better("table/pixel3"), better("table/pixel3", "ms"), better("table/pixel3", "%")) == (
        "higher",
        "lower",
        "higher",
    )


@pytest.mark.parametrize("name", catalog.TABLES)
def test_every_accuracy_of_a_bundled_table_rises_and_every_time_falls(name: str) -> None:
    for column, values in catalog.table(name).columns.items():
        expected = "lower" if values.unit in ("ms", "s") or column == "std" else "higher"
        assert better(f"table/{column}") == better(f"table/{column}", values.unit) == expected, column


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("valid/cross_entropy", "validation cross-entropy"),
        ("test/accuracy", "test accuracy"),
        ("valid/subset_training", "calibrated cross-entropy after training on a subset"),
        ("cost/macs", "MACs"),
        ("macs", "MACs"),
        ("latency/ms", "latency"),
        ("vote/naswot", "NASWOT"),
        ("proxy/my_own", "my own"),
        ("table/c10_test_200", "c10_test_200"),
        ("table/accuracy", "accuracy"),
    ],
)
def test_labels(name: str, text: str) -> None:
    assert label(name) == text


def test_all_metrics_of_the_package_are_in_the_table() -> None:
    proxies = [full_name(p).replace("vote/", "proxy/") for p in PROXIES]
    for name in (*(f"cost/{c}" for c in COSTS), *proxies):
        assert name in METRICS
    for name in full_names("valid"):
        assert find(name).unit in ("nats", "%")


def test_costs_are_told_from_scores() -> None:
    assert [is_cost(n) for n in ("cost/macs", "latency/ms", "valid/accuracy", "proxy/live_macs")] == [
        True,
        True,
        False,
        False,
    ]
