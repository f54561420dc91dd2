from __future__ import annotations

from pathlib import Path

import pytest
import torch

from supernetic.commands.derive import derive
from supernetic.commands.extract import extract
from supernetic.errors import ArchError, RunError
from supernetic.exporters.model import load_model
from supernetic.jobs.train.supernet_run import load_supernet
from supernetic.runs.directory import open_run, read_settings

ARCH = "10210012"


def test_the_network_is_the_one_that_derive_writes(run: Path) -> None:
    before = sorted(p.relative_to(run) for p in run.rglob("*"))
    threads = torch.get_num_threads()
    network = extract(run, ARCH)
    assert torch.get_num_threads() == threads
    assert sorted(p.relative_to(run) for p in run.rglob("*")) == before
    assert not network.training
    derived = load_model(derive(run, ARCH, retrain="none").model)
    torch.set_num_threads(threads)
    assert network.blueprint == derived.blueprint
    for name, tensor in derived.state_dict().items():
        assert torch.equal(network.state_dict()[name], tensor), name


def test_by_genes_and_while_the_run_is_in_use(run: Path) -> None:
    supernet, _ = load_supernet(run)
    settings = {k: v for k, v in read_settings(run).items() if k != "versions"}
    with open_run(run, settings):
        network = extract(run, tuple(map(int, ARCH)))
    weight = network.get_parameter("classifier.linear.op.weight")
    assert torch.equal(weight, supernet.extract(tuple(map(int, ARCH))).get_parameter("classifier.linear.op.weight"))


def test_refusals(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ArchError):
        extract(run, "222")
    with pytest.raises(RunError):
        extract(tmp_path / "nowhere", ARCH)
    with pytest.raises(RunError, match="no snapshot of step 1"):
        extract(run, ARCH, step=1)
