"""Where work runs: the device, mixed precision, processes and threads of a job, settled once.

Every step of a job gets the same `Hardware`. A run records it; what a result depends on is recorded only where it
differs from one process on a CPU, so that runs made on CPUs keep their names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from .errors import InputError, UnknownNameError
from .parallel.workers import cluster_size, usual_workers
from .parallel.world import local_size, world_size

AUTO, CPU_KIND, CUDA = "auto", "cpu", "cuda"
PRECISIONS = ("no", "fp16", "bf16")
LONGEST_NUMBER = 4  # digits of a device's number
VISIBLE_GPUS = "CUDA_VISIBLE_DEVICES"  # what a process reads it from


def _cuda_count() -> int:
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def _mps_count() -> int:
    import torch

    return int(torch.backends.mps.is_available())


# How many devices of each kind this machine has. A kind that is added here can be used everywhere: tests add their own.
DEVICE_COUNTS: dict[str, Callable[[], int]] = {CPU_KIND: lambda: 1, CUDA: _cuda_count, "mps": _mps_count}


@dataclass(frozen=True)
class Hardware:
    """Where work runs.

    Args:
        device: `cpu`, `cuda` (the first GPU, or all of them where there is work for several), `cuda:1` or `mps`.
        precision: Mixed precision: `no`, `fp16` or `bf16`.
        processes: Processes that share each batch.
        threads: Processor threads of each process.
    """

    device: str = CPU_KIND
    precision: str = "no"
    processes: int = 1
    threads: int = 1

    @property
    def kind(self) -> str:
        """The device without its number."""
        return self.device.partition(":")[0]

    @property
    def on_cpu(self) -> bool:
        """Whether the device is the processor."""
        return self.kind == CPU_KIND

    @property
    def devices(self) -> int:
        """Devices that independent work can be spread over."""
        return DEVICE_COUNTS[CUDA]() if self.device == CUDA else 1

    @property
    def of_networks(self) -> Hardware:
        """For finished networks, of which each has one process and one thread."""
        return replace(self, processes=1, threads=1)

    def with_processes(self, processes: int) -> Hardware:
        """The same, with so many processes that share each batch."""
        return replace(self, processes=processes)

    def can_share(self, processes: int) -> bool:
        """Whether so many processes can train one network together: each needs a device of its own."""
        return processes == 1 or self.on_cpu or local_size(processes) <= self.devices

    def workers(self, requested: int | None) -> int:
        """Trainings at a time: as requested, else as many as a cluster has workers, one per GPU, or by processors.

        Args:
            requested: By the user; None if nothing was said.

        Returns:
            The number of workers.
        """
        if requested:
            return requested
        if (there := cluster_size()) is not None:
            return max(1, there)
        return max(1, usual_workers() // self.processes) if self.on_cpu else self.devices

    def environments(self) -> list[dict[str, str]]:
        """What workers are told, one after the other: with several GPUs, which of them is theirs."""
        count = self.devices
        if count < 2:
            return [{}]
        visible = os.environ.get(VISIBLE_GPUS, "")
        names = visible.split(",") if visible else [str(i) for i in range(count)]
        return [{VISIBLE_GPUS: name} for name in names[:count]]

    def settings(self) -> dict[str, Any]:
        """For the record of a run."""
        several = {"processes": self.processes} if self.processes > 1 else {}
        return {"threads": self.threads, "device": self.device, "precision": self.precision, **several}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """What a run recorded, which this machine need not have."""
        return cls(
            str(settings.get("device", CPU_KIND)), str(settings.get("precision", "no")),
            int(settings.get("processes", 1)), int(settings.get("threads", 1)),
        )  # fmt: skip

    def differences(self) -> dict[str, Any]:
        """What a result depends on; nothing for one process on a CPU. The number of a GPU does not matter."""
        found: dict[str, Any] = {} if self.on_cpu else {"device": self.kind}
        if self.precision != "no":
            found["precision"] = self.precision
        if self.processes > 1:
            found["processes"] = self.processes
        return found

    def line(self) -> str:
        """For people."""
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        parts = [f"the CPU with {threads}" if self.on_cpu else self.device]
        if self.device == CUDA and self.devices > 1:
            parts[0] += f" ({self.devices} GPUs)"
        parts += [f"in mixed precision ({self.precision})"] if self.precision != "no" else []
        parts += [f"{self.processes} processes for each batch"] if self.processes > 1 else []
        return f"runs on {', '.join(parts)}"


CPU = Hardware()


def settle_hardware(
    device: str = AUTO, precision: str = "no", processes: int = 1, threads: int | None = None
) -> Hardware:
    """Settle where work runs, and check that this machine has it.

    Threads are half the processors unless given: more of them wait for each other, badly so on a busy machine. They
    are recorded, since another number gives other roundings.

    Args:
        device: `cpu`, `cuda`, `cuda:1`, `mps` or `auto`: a GPU that CUDA knows, else the CPU.
        precision: `no` (mixed precision), `fp16` or `bf16`.
        processes: Processes that share each batch; on GPUs, no more than there are. By default all those that a
            launcher such as `torchrun` started, or one.
        threads: Of each process.

    Returns:
        The hardware.
    """
    require_names(device, precision)
    processes = world_size() if processes == 1 else processes
    settled = Hardware(_settle_device(device), precision, processes)
    if precision != "no" and settled.kind in (CPU_KIND, "mps"):  # slower on CPUs, on some an illegal instruction
        raise InputError(f"mixed precision is for GPUs, got precision={precision!r} on {_article(settled.kind)}")
    if not settled.can_share(processes):
        there = f"{settled.device} stands for {settled.devices}"
        raise InputError(f"each process needs a GPU: {there}, got processes={processes}")
    return replace(settled, threads=threads or max(1, (os.cpu_count() or 1) // 2 // local_size(processes)))


def recorded_hardware(settings: Mapping[str, Any]) -> Hardware:
    """What a run was made on, or the CPU if this machine does not have it.

    Args:
        settings: Of the run.

    Returns:
        The hardware, for one process in full precision.
    """
    recorded = replace(Hardware.from_settings(settings), processes=1, precision="no")
    try:
        require_names(recorded.device, recorded.precision)
        _settle_device(recorded.device)
    except InputError:
        return Hardware(threads=recorded.threads)
    return recorded


def require_names(device: str, precision: str) -> None:
    """Refuse what no machine has, without a look at this one.

    Args:
        device: As `settle_hardware` takes it.
        precision: The same.
    """
    kind, colon, number = device.partition(":")
    numbered = kind == CUDA and number.isascii() and number.isdecimal()
    if device != AUTO and (kind not in DEVICE_COUNTS or (colon and not numbered)):
        raise UnknownNameError("device", device, (AUTO, *DEVICE_COUNTS, "cuda:1"))
    if precision not in PRECISIONS:
        raise UnknownNameError("precision", precision, PRECISIONS)


def _settle_device(device: str) -> str:
    if device == AUTO:
        return CUDA if DEVICE_COUNTS[CUDA]() else CPU_KIND
    kind, _, number = device.partition(":")
    count = DEVICE_COUNTS[kind]()
    if not count:
        raise InputError(f"the device {kind} is not available on this machine: use cpu or auto")
    if number and (len(number) > LONGEST_NUMBER or int(number) >= count):
        raise InputError(f"there is no device {device}: this machine has {count}, from cuda:0 to cuda:{count - 1}")
    return device


def _article(kind: str) -> str:
    return "a CPU" if kind == CPU_KIND else kind
