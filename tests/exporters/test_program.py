"""Networks for torch.export: the file computes the same, for batches of any size."""

from pathlib import Path

import pytest
import torch

from supernetic.errors import SupernetError
from supernetic.exporters import program
from supernetic.exporters.program import program_of
from supernetic.families.efficientnet_lite import EfficientNetLite
from supernetic.nn.network import build


def test_there_and_back(tmp_path: Path) -> None:
    network = build(EfficientNetLite(width=0.25, depth=0.5).network(3, 3, 33), seed=0).eval()
    file = tmp_path / "model.pt2"
    file.write_bytes(program_of(network, channels=3, resolution=33))
    again = torch.export.load(file).module()
    x = torch.randn(5, 3, 33, 33, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        assert (again(x) - network(x)).abs().max() < 1e-5 * network(x).abs().max()


def test_a_file_that_computes_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "largest_difference", lambda *_: 0.5)
    network = build(EfficientNetLite(width=0.25, depth=0.5).network(3, 3, 32), seed=0)
    with pytest.raises(SupernetError, match=r"was not written: its logits differ by 0\.5"):
        program_of(network, channels=3, resolution=32)
