from __future__ import annotations

import pickle
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from supernetic.errors import InputError, RunError, TrustError
from supernetic.networks import baselines
from supernetic.networks.baselines import Baseline, baseline, from_record
from supernetic.nn.torchvision_package import torchvision
from supernetic.runs.trust import trusting

GOOD = """
from __future__ import annotations
from dataclasses import dataclass
from torch import nn

@dataclass
class Width:
    first: int = 6

def build(classes, in_channels, resolution):
    w = Width().first
    return nn.Sequential(
        nn.Conv2d(in_channels, w, 3, 2, 1), nn.BatchNorm2d(w), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(w, classes),
    )
"""
STILL = """
class Still(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner.requires_grad_(False)
    def forward(self, x):
        return self.inner(x)
"""


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(text)
    return file


def test_a_file_becomes_a_network(tmp_path: Path) -> None:
    made = baseline(write(tmp_path, GOOD), 10, 3, 8)
    network = made.build(seed=1)
    assert network.training
    assert network.eval()(torch.zeros(2, 3, 8, 8)).shape == (2, 10)
    again, other = made.build(seed=1).state_dict(), made.build(seed=2).state_dict()
    assert all(torch.equal(t, again[n]) for n, t in network.state_dict().items())
    assert not torch.equal(network.state_dict()["inner.0.weight"], other["inner.0.weight"])


def test_a_file_may_have_several_functions(tmp_path: Path) -> None:
    other = "def other(classes, in_channels, resolution): return nn.Sequential(nn.Flatten(), nn.Linear(192, 10))"
    file = write(tmp_path, GOOD + other)
    made = baseline(f"{file}:other", 10, 3, 8)
    assert made.costs() == (1920, 1930)
    with trusting(True):
        assert from_record(made.record()).build().state_dict().keys() == made.build().state_dict().keys()
    assert "function" not in baseline(file, 10, 3, 8).record()  # as it was before there were several


def test_costs_are_counted_by_hand_alike(tmp_path: Path) -> None:
    macs, params = baseline(write(tmp_path, GOOD), 10, 3, 8).costs()
    assert macs == 3 * 6 * 9 * 16 + 6 * 10
    assert params == 3 * 6 * 9 + 6 + 12 + 60 + 10


def test_torchs_own_generator_is_left_alone(tmp_path: Path) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    baseline(write(tmp_path, GOOD), 10, 3, 8).build()
    assert torch.equal(before, torch.get_rng_state())


def test_it_is_plain_data_and_needs_its_file_no_more(tmp_path: Path) -> None:
    file = write(tmp_path, GOOD)
    made = baseline(file, 10, 3, 8)
    file.unlink()
    assert pickle.loads(pickle.dumps(made)) == made
    record = made.record()
    assert record["source"] == ""  # a file is what it says, not what it is called
    with trusting(True):
        assert from_record(record).build().state_dict().keys() == made.build().state_dict().keys()


def test_code_of_a_record_needs_trust_or_a_call_that_names_it(tmp_path: Path) -> None:
    file = write(tmp_path, GOOD)
    record = baseline(file, 10, 3, 8).record()
    with pytest.raises(TrustError, match=f"{record['sha256'][:12]}.*--trust-code"):
        from_record(record)
    with trusting():
        baseline(file, 10, 3, 8)
        assert from_record(record).text == GOOD
    with trusting(True), pytest.raises(RunError, match="was changed"):
        from_record({**record, "text": GOOD + "#"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "has a function build"),
        ("def build(classes", "mine.py line 1: SyntaxError"),
        ("\nraise ValueError('no')", "mine.py line 2: ValueError: no"),
        ("def build(classes, in_channels, resolution):\n    return 1 / 0", "line 2: ZeroDivisionError"),
        ("def build(classes): pass", "TypeError"),
        ("def build(classes, in_channels, resolution): return 5", "must return a torch.nn.Module, got int"),
        ("import torch\ndef build(classes, in_channels, resolution): return torch.nn.Flatten()", r"got \(2, 192\)"),
        (GOOD.replace("    return", "    return Still(") + "    )" + STILL, "nothing to train"),
        (GOOD.replace("nn.Linear(w, classes)", "nn.Linear(w, 3)"), r"logits of \(2, 10\), got \(2, 3\)"),
        (GOOD.replace("nn.Linear(w, classes)", "nn.Linear(9, classes)"), r"cannot take images of \(2, 3, 8, 8\)"),
        (
            "from torch import nn\ndef build(classes, in_channels, resolution):\n"
            "    a = nn.Linear(192, 10, bias=False)\n    b = nn.Linear(10, 10)\n    c = nn.Linear(10, 10)\n"
            "    c.weight = b.weight\n    return nn.Sequential(nn.Flatten(), a, b, c)",
            "share memory",
        ),
    ],
)  # fmt: skip
def test_bad_files_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        baseline(write(tmp_path, text), 10, 3, 8)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.py cannot be read"):
        baseline(tmp_path / "none.py", 10, 3, 8)


@pytest.mark.skipif(find_spec("timm") is None, reason="timm is not installed")
def test_networks_of_timm(monkeypatch: pytest.MonkeyPatch) -> None:
    torchvision()
    timm = import_module("timm")
    create = timm.create_model
    asked = []

    def without_download(name: str, pretrained: bool, **options: Any) -> Any:
        asked.append(pretrained)
        return create(name, **options)

    monkeypatch.setattr(timm, "create_model", without_download)
    weights = sum(p.numel() for p in create("mobilenetv2_035", num_classes=10).parameters())
    for name, pretrained in (("mobilenetv2_035", True), ("mobilenetv2_035@fresh", False)):
        asked.clear()
        assert baseline(f"timm:{name}", 10, 3, 32).costs()[1] == weights
        assert set(asked) == {pretrained}
    with pytest.raises(InputError, match=r"timm:none cannot be built \(Unknown model"):
        baseline("timm:none", 10, 3, 32)
    with pytest.raises(InputError, match=r"what follows @ must be fresh, got 'mine\.pth'"):
        baseline("timm:resnet18@mine.pth", 10, 3, 32)


def test_timm_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "have_timm", lambda: False)
    with pytest.raises(
        InputError, match=r"timm:resnet18 needs timm, which is not installed: pip install .supernetic\[timm\]"
    ):
        baseline("timm:resnet18", 10, 3, 32)
    assert Baseline("timm:resnet18", "", 10, 3, 32).record()["source"] == "timm:resnet18"
