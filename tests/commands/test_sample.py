from pathlib import Path

import numpy as np
import pytest

from supernetic import catalog
from supernetic.commands.sample import sample, sample_equidistant
from supernetic.errors import BudgetError, InputError, TableError, UnknownNameError
from supernetic.timing.lookup import LatencyTable, reachable_layers


def test_samples_are_inside_and_reported() -> None:
    report = sample("scarlet-s1", 50, ["macs in 275M..325M"], seed=3)
    assert len(report.archs) == len(report.macs) == 50
    assert all(275e6 <= m <= 325e6 for m in report.macs)
    assert report.trials_per_sample == 1
    assert report.count is not None
    record = report.to_json()
    assert {"archs", "macs", "trials_per_sample", "seconds"} <= record.keys()
    assert record["archs"] == sample("scarlet-s1", 50, ["macs in 275M..325M"], seed=3).to_json()["archs"]


def test_counts_are_given_only_where_they_are_of_all_constraints() -> None:
    assert sample("nasbench201", 5, ["macs<=50M", "params>=0.2M"]).count is None


def test_latency_is_a_budget_like_any_other() -> None:
    space = catalog.space("macro:channels=8,resolution=16")
    layers = {layer: 0.5 + 0.1 * (layer.hidden > 0) * layer.kernel for layer in reachable_layers(space)}
    table = LatencyTable(space.fingerprint, "onnx", 1, 1, len(layers), layers)
    report = sample(space, 50, ["latency in 7ms..8ms"], latency=table)
    assert report.trials_per_sample == 1
    assert report.count is not None
    assert all(7 <= ms <= 8 for ms in report.values["latency/ms"])
    assert report.values["latency/ms"] == [table.ms(space.blueprint(tuple(a))) for a in report.archs.tolist()]
    with pytest.raises(BudgetError, match="run from 6 to"):
        sample(space, 1, ["latency<=1ms"], latency=table)
    assert "latency/ms" in sample(space, 2, latency=table).to_json()["values"]


def test_a_prior_in_a_file(tmp_path: Path) -> None:
    prior = tmp_path / "prior.toml"
    prior.write_text("[layer0]\nIdentity = 0\nMB3_K3 = 0\n")
    assert (sample("macro", 40, ["macs<=80M"], prior=str(prior)).archs[:, 0] == 2).all()


@pytest.mark.parametrize("text", ["layer0 = 3", "not toml", "[layer0]\nIdentity = 'x'"])
def test_bad_priors(tmp_path: Path, text: str) -> None:
    prior = tmp_path / "prior.toml"
    prior.write_text(text)
    with pytest.raises(InputError, match=r"prior\.toml"):
        sample("macro", prior=str(prior))


def test_bad_requests() -> None:
    with pytest.raises(InputError, match="at least 1, got 0"):
        sample("macro", 0)
    with pytest.raises(InputError, match="negative, got -1"):
        sample("macro", seed=-1)
    with pytest.raises(BudgetError):
        sample("macro", where=["macs<=1"])
    with pytest.raises(InputError, match=r"missing\.json"):
        sample("macro", prior="missing.json")


def test_equidistant_in_performance() -> None:
    """How "Small data, big decisions" chose five cells, here on NAS-Bench-201."""
    report = sample_equidistant("nasbench201", 5, "c10_valid_200", drop_worst=10)
    values = report.values["c10_valid_200"]
    assert np.diff(values) == pytest.approx(np.full(4, (values[-1] - values[0]) / 4), rel=0.02)
    column = np.sort(catalog.table("nasbench201")["c10_valid_200"].values)
    assert values[0] == pytest.approx(column[int(len(column) * 0.1)])
    assert values[-1] == pytest.approx(91.6067, abs=1e-3)


def test_equidistant_takes_each_architecture_once() -> None:
    report = sample_equidistant("macro", 200, "mean_acc")
    assert len(np.unique(report.archs, axis=0)) == 200


def test_bad_tables() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'c10_valid_200'"):
        sample_equidistant("nasbench201", 5, "c10_valid_20")
    with pytest.raises(InputError, match=r"0\.\.100 %"):
        sample_equidistant("nasbench201", 5, "c10_valid_200", drop_worst=100)
    with pytest.raises(InputError, match=r"1\.\.6561"):
        sample_equidistant("macro", 7000, "mean_acc")
    with pytest.raises(TableError, match="does not exist"):
        sample_equidistant("missing.csv", 5, "acc", space="macro")
