from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from supernetic.errors import RunError
from supernetic.training.checkpoint import Checkpoints, State, checksum, read, write
from supernetic.training.optim import Average, optimisers
from supernetic.training.recipe import Recipe


def state(name: str = "sgd", width: int = 4) -> State:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, width, 3), nn.BatchNorm2d(width), nn.Flatten(), nn.LazyLinear(2))
    model(torch.zeros(1, 3, 5, 5))
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    made = optimisers(model, Recipe(optimiser=name, lr=0.01))  # type: ignore[arg-type]
    return State(model, made.step, Average(model, 0.9))


def train(s: State, steps: range) -> None:
    for step in steps:
        x = torch.randn(4, 3, 5, 5, generator=torch.Generator().manual_seed(step))
        for optimiser in s.optimisers:
            optimiser.zero_grad()
            s.model(x).square().mean().backward()
            optimiser.step()
        assert s.average is not None
        s.average.update(s.model)


def same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) and a[k].dtype == b[k].dtype for k in a)


@pytest.mark.parametrize("name", ["sgd", "rmsprop", "adam"])
def test_training_goes_on_as_if_nothing_had_happened(tmp_path: Path, name: str) -> None:
    straight, broken = state(name), state(name)
    train(straight, range(6))
    train(broken, range(3))
    store = Checkpoints(tmp_path)
    store.save(3, broken.tensors())
    resumed = state(name)
    train(resumed, range(9, 11))  # whatever was there before is overwritten
    step, tensors = store.latest()
    assert step == 3
    resumed.load(tensors)
    assert same(resumed.tensors(), broken.tensors())
    train(resumed, range(3, 6))
    assert same(resumed.tensors(), straight.tensors())


def test_the_same_state_is_the_same_file(tmp_path: Path) -> None:
    s = state()
    train(s, range(2))
    for name in ("a", "b"):
        write(tmp_path / name, s.tensors(), {"step": 2, "seed": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_only_the_newest_two_are_kept(tmp_path: Path) -> None:
    store = Checkpoints(tmp_path / "checkpoints" / "new")
    assert store.latest() == (0, {})
    for step in (5, 10, 15, 100):
        store.save(step, {"x": torch.tensor([step])})
    assert sorted(p.name for p in store.directory.iterdir()) == [
        "step-00000015.safetensors",
        "step-00000100.safetensors",
    ]
    assert store.latest()[0] == 100


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "foreign"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path: Path, damage: str) -> None:
    store = Checkpoints(tmp_path)
    for step in (1, 2):
        newest = store.save(step, {"x": torch.full((64,), step)})
    data = bytearray(newest.read_bytes())
    if damage == "cut":
        newest.write_bytes(data[:-7])
    elif damage == "flip":
        data[-3] ^= 1
        newest.write_bytes(data)
    elif damage == "empty":
        newest.write_bytes(b"")
    else:
        from safetensors.torch import save_file

        save_file({"x": torch.ones(3)}, newest)
    with pytest.warns(UserWarning, match=r"step-00000002\.safetensors is damaged.*going back"):
        step, tensors = store.latest()
    assert step == 1
    assert int(tensors["x"][0]) == 1
    (tmp_path / "step-00000001.safetensors").write_bytes(b"x")
    with pytest.warns(UserWarning, match="is damaged"):
        assert store.latest() == (0, {})


def test_a_kill_while_writing_leaves_the_old_one(tmp_path: Path) -> None:
    store = Checkpoints(tmp_path)
    store.save(1, {"x": torch.ones(2)})
    (tmp_path / ".step-00000002.safetensors.tmp").write_bytes(b"half a checkp")
    assert store.latest()[0] == 1
    store.save(2, {"x": torch.ones(2)})
    assert store.latest()[0] == 2


def test_a_pickle_is_refused(tmp_path: Path) -> None:
    torch.save({"x": torch.ones(2)}, tmp_path / "x.pt")
    with pytest.raises(RunError, match="is damaged"):
        read(tmp_path / "x.pt")


def test_a_checkpoint_of_another_model_is_refused() -> None:
    with pytest.raises(RunError, match=r"0\.weight has shape \(4, 3, 3, 3\), got a tensor of shape \(5, 3, 3, 3\)"):
        state().load(state(width=5).tensors())
    with pytest.raises(RunError, match="got nothing"):
        state().load({})


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be written"):
        write(tmp_path / "missing" / "x.safetensors", {"x": torch.ones(1)}, {})


def test_the_checksum_sees_names_types_and_shapes() -> None:
    x = torch.arange(4.0)
    sums = [{"x": x}, {"y": x}, {"x": x.reshape(2, 2)}, {"x": x.view(torch.int32)}, {"x": x + 1}]
    assert len({checksum(s) for s in sums}) == 5
    assert checksum({"x": x.reshape(2, 2).T}) == checksum({"x": x.reshape(2, 2).T.contiguous()})
    assert checksum({"x": torch.tensor(1)}) == checksum({"x": torch.tensor(1)})
