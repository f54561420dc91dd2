import json
from pathlib import Path

import pytest

from supernetic import catalog
from supernetic.commands.latency import LatencyReport, _find, latency
from supernetic.errors import InputError, RunError, UnknownNameError
from supernetic.exporters.card import Card
from supernetic.exporters.model import save_model
from supernetic.exporters.onnx import have_onnx
from supernetic.nn.network import build
from supernetic.progress import Event
from supernetic.timing.graph import graph

SPACE = catalog.space("macro:channels=8,resolution=16")
onnx = pytest.mark.skipif(not have_onnx(), reason="needs the extra export")


@pytest.mark.parametrize(
    ("name", "space", "macs"),
    [
        ("attentive-a1", "attentive", 279.24),
        ("efficientnet-b0", "efficientnet", 385.8),
        ("SCARLET-A2", "scarlet-s2", 1047.6),
        ("macro/22212202", "macro", 85.2),
        ("macro:channels=8,resolution=16/22212202", "macro", None),
    ],
)
def test_networks_by_name_over_all_spaces(name: str, space: str, macs: float | None) -> None:
    from supernetic.costs.macs import cost

    found = _find(name, "")
    assert found.space == space
    if macs is not None:
        assert cost(found.plan).macs / 1e6 == pytest.approx(macs, rel=1e-3)


@onnx
def test_a_table_like_the_papers() -> None:
    seen: list[Event] = []
    report = latency(["22212202", "00000000"], space=SPACE, batch=(1, 4), repeats=3, on_event=seen.append)
    assert [str(event) for event in seen] == [
        "latency: 0 of 2, 22212202",
        "latency: 1 of 2, 00000000",
        "latency: 2 of 2",
    ]
    lines = report.lines()
    assert "onnxruntime, 1 thread" in lines[0]
    assert lines[2].split()[0] == "network"
    assert len(lines) == 3 + 4
    record = report.to_json()
    assert json.loads(json.dumps(record)) == record
    assert [n["name"] for n in record["networks"]] == ["22212202", "00000000"]
    for network in record["networks"]:
        assert [t["batch"] for t in network["timings"]] == [1, 4]
        for t in network["timings"]:
            assert 0 < t["low"] <= t["ms"] <= t["high"]
            assert t["per_image"] == pytest.approx(t["ms"] / t["batch"])


def test_eager_needs_no_onnx() -> None:
    report = latency(["22212202"], space=SPACE, batch=(2,), engine="eager", repeats=2)
    assert isinstance(report, LatencyReport)
    assert "torch, eager" in str(report)


@onnx
def test_models_and_files(tmp_path: Path) -> None:
    blueprint = SPACE.blueprint((0,) * 8)
    card = Card(
        name="model-1", task="", classes=tuple("abcdefghij"), resolution=16, channels=3, mean=(0.0,) * 3,
        std=(1.0,) * 3, arch="00000000", space="macro:channels=8,resolution=16", macs=1, params=1,
    )  # fmt: skip
    model = tmp_path / "model-1"
    save_model(model, build(blueprint, seed=0), card)
    (tmp_path / "bare.onnx").write_bytes(graph(blueprint))
    report = latency([str(model), str(tmp_path / "bare.onnx")], batch=(1,), repeats=2)
    whole, bare = report.networks
    assert (whole.resolution, bare.resolution) == (16, None)
    assert whole.macs is not None
    assert bare.macs is None
    assert "-" in report.lines()[4].split()
    assert latency([str(model)], batch=(1,), repeats=2, engine="eager").networks[0].macs == whole.macs
    seen: list[Event] = []
    with pytest.raises(InputError, match="runs through onnxruntime, got the engine 'eager'"):
        latency([str(model), str(tmp_path / "bare.onnx")], engine="eager", on_event=seen.append)
    assert not seen  # nothing long began
    (model / "labels.txt").write_text("something else")
    with pytest.raises(RunError, match="checksum"):
        latency([str(model)])


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'attentive-a1'"):
        latency(["atentive-a1"])
    with pytest.raises(InputError, match="latency needs a network"):
        latency([])
    with pytest.raises(InputError, match="batch must be at least 1 and at most 1,000,000, got 0"):
        latency(["attentive-a1"], batch=(1, 0))
    with pytest.raises(RunError, match="does not exist"):
        latency([str(tmp_path / "none.onnx")])
