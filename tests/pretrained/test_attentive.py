"""AttentiveNAS's released layout: random weights in it, against a forward pass that shares nothing with ours."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from supernetic import catalog
from supernetic.commands.convert import convert as convert_command
from supernetic.errors import InputError, RunError, UnknownNameError
from supernetic.jobs.train.supernet_run import untrained
from supernetic.nn.norm import batch_statistics
from supernetic.pretrained import load_pretrained
from supernetic.pretrained.attentive import convert
from supernetic.runs.space_record import space_of
from supernetic.training.checkpoint import read

# of the release's configuration: widest, deepest, largest expansion, stride, squeeze-excite, by stage
STAGES = [
    (24, 2, 1, 1, False), (32, 5, 6, 2, False), (40, 6, 6, 2, True), (72, 6, 6, 2, False), (128, 8, 6, 1, True),
    (216, 8, 6, 2, True), (224, 2, 6, 1, True),
]  # fmt: skip
CLASSES = 7


def divisible(width: float) -> int:
    near = max(8, int(width + 4) // 8 * 8)
    return near + 8 if near < 0.9 * width else near


@pytest.fixture(scope="module")
def state() -> dict[str, Tensor]:
    """Random weights under the release's names, in its shapes."""
    rng = torch.Generator().manual_seed(0)
    found: dict[str, Tensor] = {}

    def conv(name: str, out: int, into: int, kernel: int = 1, *, bias: bool = False) -> None:
        fan = into * kernel**2
        found[f"{name}.weight"] = torch.randn(out, into, kernel, kernel, generator=rng) * fan**-0.5
        if bias:
            found[f"{name}.bias"] = torch.randn(out, generator=rng)

    def norm(name: str, c: int) -> None:
        found[f"{name}.bn.weight"] = torch.rand(c, generator=rng) + 0.5
        found[f"{name}.bn.bias"] = torch.randn(c, generator=rng) * 0.1
        for at in ("bn", "bn_tracking.0", "bn_tracking.1"):
            found[f"{name}.{at}.running_mean"] = torch.zeros(c)
            found[f"{name}.{at}.running_var"] = torch.ones(c)
            found[f"{name}.{at}.num_batches_tracked"] = torch.tensor(0)

    conv("first_conv.conv.conv", 24, 3, 3)
    norm("first_conv.bn", 24)
    number, c_in = 0, 24
    for width, depth, expand, _, se in STAGES:
        for _ in range(depth):
            at, hidden = f"blocks.{number}.mobile_inverted_conv", c_in * expand
            if expand > 1:
                conv(f"{at}.inverted_bottleneck.conv.conv", hidden, c_in)
                norm(f"{at}.inverted_bottleneck.bn", hidden)
            conv(f"{at}.depth_conv.conv.conv", hidden, 1, 5)
            norm(f"{at}.depth_conv.bn", hidden)
            if se:
                conv(f"{at}.depth_conv.se.fc.reduce", divisible(hidden // 4), hidden, bias=True)
                conv(f"{at}.depth_conv.se.fc.expand", hidden, divisible(hidden // 4), bias=True)
            conv(f"{at}.point_linear.conv.conv", width, hidden)
            norm(f"{at}.point_linear.bn", width)
            conv(f"blocks.{number}.shortcut.conv.conv", width, c_in)
            number, c_in = number + 1, width
    conv("last_conv.final_expand_layer.conv.conv", 6 * c_in, c_in)
    norm("last_conv.final_expand_layer.bn", 6 * c_in)
    conv("last_conv.feature_mix_layer.conv.conv", 1984, 6 * c_in)
    found["classifier.linear.linear.weight"] = torch.randn(CLASSES, 1984, generator=rng) * 1984**-0.5
    found["classifier.linear.linear.bias"] = torch.randn(CLASSES, generator=rng)
    return found


def reference(s: dict[str, Tensor], x: Tensor, network: str) -> Tensor:
    """Logits of a network of the supernet, with BN statistics of the batch."""
    size, widths, kernels, expands, depths = (g.strip() for g in network.split(";"))
    stem, *stages, head = map(int, widths.split())
    assert x.shape[-1] == int(size)

    def conv(x: Tensor, name: str, out: int, stride: int = 1) -> Tensor:
        w = s[f"{name}.weight"][:out, : x.shape[1]]
        return F.conv2d(x, w, None, stride, w.shape[-1] // 2)

    def norm(x: Tensor, name: str) -> Tensor:
        c = x.shape[1]
        return F.batch_norm(x, None, None, s[f"{name}.bn.weight"][:c], s[f"{name}.bn.bias"][:c], training=True)

    x = F.silu(norm(conv(x, "first_conv.conv.conv", stem, 2), "first_conv.bn"))
    first = 0
    for stage, (_, most, _, stride, se) in enumerate(STAGES):
        for block in range(int(depths[stage])):
            at, step, c_in = f"blocks.{first + block}", stride if block == 0 else 1, x.shape[1]
            kernel, expand, y = int(kernels[stage]), int(expands[stage]), x
            mb = f"{at}.mobile_inverted_conv"
            if expand > 1:
                y = conv(y, f"{mb}.inverted_bottleneck.conv.conv", divisible(c_in * expand))
                y = F.silu(norm(y, f"{mb}.inverted_bottleneck.bn"))
            c, cut = y.shape[1], (5 - kernel) // 2
            w = s[f"{mb}.depth_conv.conv.conv.weight"][:c, :, cut : 5 - cut, cut : 5 - cut]
            y = F.silu(norm(F.conv2d(y, w, None, step, kernel // 2, groups=c), f"{mb}.depth_conv.bn"))
            if se:
                name, inner = f"{mb}.depth_conv.se.fc", divisible(c // 4)
                gate = F.conv2d(
                    y.mean((2, 3), keepdim=True),
                    s[f"{name}.reduce.weight"][:inner, :c],
                    s[f"{name}.reduce.bias"][:inner],
                )
                gate = F.conv2d(gate.relu(), s[f"{name}.expand.weight"][:c, :inner], s[f"{name}.expand.bias"][:c])
                y = y * F.relu6(gate + 3) / 6
            y = norm(conv(y, f"{mb}.point_linear.conv.conv", stages[stage]), f"{mb}.point_linear.bn")
            if step > 1:
                x = F.avg_pool2d(x, step, padding=x.shape[-1] % 2)
            x = y + (x if c_in == stages[stage] else conv(x, f"{at}.shortcut.conv.conv", stages[stage]))
        first += most
    x = conv(x, "last_conv.final_expand_layer.conv.conv", 6 * x.shape[1])
    x = F.silu(norm(x, "last_conv.final_expand_layer.bn")).mean((2, 3), keepdim=True)
    x = F.silu(conv(x, "last_conv.feature_mix_layer.conv.conv", head)).flatten(1)
    return F.linear(x, s["classifier.linear.linear.weight"][:, :head], s["classifier.linear.linear.bias"])


@pytest.mark.parametrize("name", ["attentive-a0", "attentive-a5"])
def test_logits_are_those_of_the_release(state: dict[str, Tensor], tmp_path: Path, name: str) -> None:
    torch.save({"state_dict": {f"module.{k}": v for k, v in state.items()}, "epoch": 360}, tmp_path / "release.pth")
    supernet = convert(tmp_path / "release.pth")
    arch = supernet.space.parse(name)
    text = supernet.space.format(arch)
    resolution = int(text.split(";")[0])
    x = torch.randn(2, 3, resolution, resolution, generator=torch.Generator().manual_seed(1))
    with torch.no_grad(), batch_statistics(supernet):
        ours, theirs = supernet(x, arch), reference(state, x, text)
    assert ours.shape == (2, CLASSES)
    assert (ours - theirs).abs().max() < 1e-4 * theirs.abs().max()


def test_what_does_not_fit_is_named(state: dict[str, Tensor], tmp_path: Path) -> None:
    file = tmp_path / "release.pth"

    def refused(change: dict[str, Tensor | None], words: str) -> None:
        torch.save({k: v for k, v in {**state, **change}.items() if v is not None}, file)
        with pytest.raises(InputError, match=words):
            convert(file)

    name = "blocks.3.mobile_inverted_conv.point_linear.conv.conv.weight"
    refused({name: None}, rf"has no tensor {name}, which mb2\.1\.mbconv\.project\.op\.weight needs")
    refused({name: torch.zeros(3)}, rf"{name} must have the shape \(32, 192, 1, 1\), got \(3,\)")
    refused({"last_conv.extra": torch.zeros(1)}, r"a tensor that AttentiveNAS's supernet lacks: last_conv\.extra")
    refused({"classifier.linear.linear.bias": None}, "is not of AttentiveNAS's supernet")


def test_nothing_is_unpickled_but_tensors(tmp_path: Path) -> None:
    torch.save({"state_dict": {}, "args": nn.Linear(1, 1)}, tmp_path / "release.pth")
    with pytest.raises(InputError, match="only tensors are read"):
        convert(tmp_path / "release.pth")
    (tmp_path / "text.pth").write_text("no weights")
    with pytest.raises(InputError, match="holds no state dict that can be read"):
        convert(tmp_path / "text.pth")
    with pytest.raises(InputError, match="does not exist"):
        convert(tmp_path / "none.pth")
    torch.save([torch.zeros(1)], tmp_path / "list.pth")
    with pytest.raises(InputError, match="must hold a state dict, tensors by name, got list"):
        convert(tmp_path / "list.pth")


def test_the_command_makes_a_run_that_is_not_overwritten(state: dict[str, Tensor], tmp_path: Path) -> None:
    torch.save(state, tmp_path / "release.pth")
    result = convert_command("attentive", tmp_path / "release.pth", out=tmp_path / "run")
    stored = read(tmp_path / "run/supernet.safetensors")[0]
    assert torch.equal(stored["stem.conv.conv.op.weight"], state["first_conv.conv.conv.weight"])
    assert (result.space, result.tensors) == ("attentive", len(stored))
    assert catalog.space("attentive").name == result.space
    settings = tomllib.loads((tmp_path / "run/run.toml").read_text())
    assert untrained(space_of(tmp_path / "run", settings), "", 0, str(tmp_path / "run")).classes == CLASSES
    with pytest.raises(RunError, match="is a run already"):
        convert_command("attentive", tmp_path / "release.pth", out=tmp_path / "run")
    with pytest.raises(InputError, match="give arch and data together"):
        convert_command("attentive", tmp_path / "release.pth", out=tmp_path / "other", arch="attentive-a0")
    with pytest.raises(UnknownNameError, match="released supernet"):
        convert_command("ofa", tmp_path / "release.pth", out=tmp_path / "other")


def test_a_network_becomes_a_model_for_transfer(
    state: dict[str, Tensor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supernetic.exporters.onnx.have_onnx", lambda: False)
    torch.save(state, tmp_path / "release.pth")
    result = convert_command(
        "attentive", tmp_path / "release.pth", out=tmp_path / "a0", arch="attentive-a0", data="embedded", limit=60
    )
    assert result.arch == "attentive-a0"
    found = load_pretrained(tmp_path / "a0", 64)
    assert found.mean == (0.485, 0.456, 0.406)
    assert torch.equal(found.network.state_dict()["stem.conv.op.weight"], state["first_conv.conv.conv.weight"][:16])
