from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from supernetic.errors import RunError, TrustError
from supernetic.jobs.train.job import TrainResult, train
from supernetic.jobs.train.supernet_run import first_supernet, load_supernet
from supernetic.runs.directory import read_settings
from supernetic.space import Space
from supernetic.spaces.macro import Macro
from supernetic.supernets.supernet import Supernet

TINY = "macro:channels=4,resolution=8,head=16"


def small(space: str | Space = TINY, **settings: Any) -> TrainResult:
    return train(space, **{"steps": 2, "limit": 300, **settings})


def test_snapshots_are_kept_and_can_be_loaded(tmp_path: Path) -> None:
    small(out=tmp_path / "run", steps=10, snapshots="10%,5")
    assert read_settings(tmp_path / "run")["snapshots"] == [1, 5]
    first, middle, last = (load_supernet(tmp_path / "run", step)[0].state_dict() for step in (1, 5, None))
    assert first.keys() == middle.keys() == last.keys()
    weight = next(n for n in last if n.startswith("stem") and n.endswith("weight"))
    assert not torch.equal(first[weight], middle[weight])
    assert not torch.equal(middle[weight], last[weight])
    with pytest.raises(RunError, match="no snapshot of step 2, only of 1, 5"):
        load_supernet(tmp_path / "run", 2)


def test_a_declared_space_needs_no_file_later(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = 'resolution = 8\nsharing = "elastic"\n[stem]\nwidth = 8\n[[stages]]\nwidth = [8, 12]\ndepth = [1, 2]\n'
    file.write_text(text)
    small(str(file), out=tmp_path / "run")
    file.unlink()
    supernet, _ = load_supernet(tmp_path / "run")
    assert supernet.space.name == "mine"
    assert len(supernet.space.choices) == 2


def test_a_space_in_python_is_read_again_and_compared(tmp_path: Path) -> None:
    file, plain = tmp_path / "mine.py", Macro(channels=4, resolution=8, in_channels=1, head=16)
    text = (
        "from supernetic.spaces.macro import Macro\nclass {0}(Macro): ...\nspace = {0}(4, 8, in_channels=1, head=16)\n"
    )
    file.write_text(text.format("Mine"))
    small(str(file), out=tmp_path / "run")
    with pytest.raises(TrustError, match=r"code/mine\.py .* --trust-code"):
        load_supernet(tmp_path / "run")
    file.unlink()  # the run keeps a copy
    assert repr(load_supernet(tmp_path / "run", trust_code=True)[0].space) == repr(plain).replace("Macro", "Mine")
    (tmp_path / "run/code/mine.py").write_text(text.format("Other"))
    with pytest.raises(RunError, match=r"code/mine\.py was changed"):
        load_supernet(tmp_path / "run", trust_code=True)
    file.write_text(text.format("Other"))
    with pytest.raises(RunError, match=r"other settings: .*(fingerprint|sha256)"):
        small(str(file), out=tmp_path / "run")
    small(plain, out=tmp_path / "object")
    assert load_supernet(tmp_path / "object")[0].space == plain


def test_a_run_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be read"):
        load_supernet(tmp_path)
    (tmp_path / "run.toml").write_text('job = "search"\n')
    with pytest.raises(RunError, match="holds no supernet, it is a run of 'search'"):
        load_supernet(tmp_path)


def test_damaged_weights_are_named(tmp_path: Path) -> None:
    small(out=tmp_path / "run")
    weights = tmp_path / "run/supernet.safetensors"
    data = bytearray(weights.read_bytes())
    data[-5] ^= 255
    weights.write_bytes(data)
    with pytest.raises(RunError, match="checksum does not match"):
        load_supernet(tmp_path / "run")


def test_a_training_begins_at_random_or_where_another_ended(tmp_path: Path) -> None:
    small(out=tmp_path / "first", seed=3)
    small(out=tmp_path / "second", start=tmp_path / "first", seed=3)
    for run, begun in (("first", Supernet(load_supernet(tmp_path / "first")[0].space, seed=3)),
                       ("second", load_supernet(tmp_path / "first")[0])):  # fmt: skip
        for mine, theirs in zip(first_supernet(tmp_path / run).parameters(), begun.parameters(), strict=True):
            assert torch.equal(mine, theirs)
