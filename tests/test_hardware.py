"""Where work runs. This machine has no GPU: tests say how many devices of a kind there are."""

from __future__ import annotations

import subprocess
import sys

import pytest

from supernetic import hardware
from supernetic.errors import InputError, UnknownNameError
from supernetic.hardware import CPU, Hardware, recorded_hardware, require_names, settle_hardware


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with three GPUs."""
    monkeypatch.setitem(hardware.DEVICE_COUNTS, "cuda", lambda: 3)
    monkeypatch.delenv(hardware.VISIBLE_GPUS, raising=False)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a CPU only."""
    monkeypatch.setitem(hardware.DEVICE_COUNTS, "cuda", lambda: 0)
    monkeypatch.setitem(hardware.DEVICE_COUNTS, "mps", lambda: 0)


@pytest.mark.usefixtures("no_gpu")
def test_auto_is_the_cpu_where_there_is_no_gpu() -> None:
    settled = settle_hardware(threads=2)
    assert settled == Hardware("cpu", "no", 1, 2)
    assert settled.settings() == {"threads": 2, "device": "cpu", "precision": "no"}
    assert settled.line() == "runs on the CPU with 2 threads"
    assert settle_hardware("cpu", threads=1).line() == "runs on the CPU with 1 thread"


@pytest.mark.usefixtures("gpus")
def test_auto_is_a_gpu_where_there_is_one() -> None:
    assert settle_hardware(threads=1).device == "cuda"
    assert settle_hardware("cuda:2", "bf16", threads=1) == Hardware("cuda:2", "bf16")
    assert settle_hardware("cpu", threads=1).on_cpu
    both = settle_hardware("cuda", "fp16", 2, threads=1)
    assert both.line() == "runs on cuda (3 GPUs), in mixed precision (fp16), 2 processes for each batch"


def test_half_the_processors_are_the_usual_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert settle_hardware("cpu").threads == 4
    assert settle_hardware("cpu", processes=2).threads == 2


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize(
    ("asked", "error", "text"),
    [
        (("tpu",), UnknownNameError, "unknown device 'tpu'"),
        (("cuda:x",), UnknownNameError, "unknown device 'cuda:x'"),
        (("cpu:0",), UnknownNameError, "unknown device 'cpu:0'"),
        (("cuda", "fp8"), UnknownNameError, "unknown precision 'fp8'"),
        (("cuda:3",), InputError, "there is no device cuda:3: this machine has 3, from cuda:0 to cuda:2"),
        (("cpu", "bf16"), InputError, "mixed precision is for GPUs, got precision='bf16' on a CPU"),
        (("cuda", "no", 4), InputError, "each process needs a GPU: cuda stands for 3, got processes=4"),
        (("cuda:1", "no", 2), InputError, "each process needs a GPU: cuda:1 stands for 1, got processes=2"),
    ],
)
def test_refusals(asked: tuple[str, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        settle_hardware(*asked)  # type: ignore[arg-type]


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("device", ["cuda", "cuda:0", "mps"])
def test_what_this_machine_lacks(device: str) -> None:
    with pytest.raises(InputError, match="is not available on this machine: use cpu or auto"):
        settle_hardware(device)


def test_records_of_cpus_say_nothing_more_than_before() -> None:
    assert CPU.differences() == {}
    assert Hardware(threads=4).differences() == {}
    assert Hardware(processes=2).differences() == {"processes": 2}
    assert Hardware(processes=2).settings()["processes"] == 2
    gpu = Hardware("cuda:1", "bf16", 2, 3)
    assert gpu.differences() == {"device": "cuda", "precision": "bf16", "processes": 2}
    assert Hardware.from_settings(gpu.settings()) == gpu
    assert gpu.of_networks == Hardware("cuda:1", "bf16")


@pytest.mark.usefixtures("gpus")
def test_what_a_run_was_made_on() -> None:
    assert recorded_hardware({"threads": 2, "device": "cuda:1", "precision": "fp16", "processes": 1}) == Hardware(
        "cuda:1", threads=2
    )
    assert recorded_hardware({"threads": 2, "device": "cuda:7", "precision": "no"}) == Hardware(threads=2)
    assert recorded_hardware({"threads": 2, "device": "abacus", "precision": "no"}) == Hardware(threads=2)


@pytest.mark.usefixtures("gpus")
def test_networks_spread_over_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "usual_workers", lambda: 8)
    every, one, cpu = Hardware("cuda"), Hardware("cuda:1"), Hardware(processes=2)
    assert [h.workers(None) for h in (every, one, cpu)] == [3, 1, 4]
    assert every.workers(5) == 5
    assert [v["CUDA_VISIBLE_DEVICES"] for v in every.environments()] == ["0", "1", "2"]
    assert one.environments() == cpu.environments() == [{}]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6,7")
    assert [v["CUDA_VISIBLE_DEVICES"] for v in every.environments()] == ["4", "6", "7"]
    assert [every.can_share(n) for n in (1, 3, 4)] == [True, True, False]
    assert (one.can_share(2), cpu.can_share(64)) == (False, True)


def test_names_are_checked_without_torch() -> None:
    code = "import sys; from supernetic.hardware import *; require_names('auto', 'no'); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    with pytest.raises(UnknownNameError, match="unknown device"):
        require_names("gpu", "no")
