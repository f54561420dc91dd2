"""Mixed precision and several processes, by accelerate. One process in full precision needs none of this: its model
and its batches are moved to the device, and that is all.

Two CPU processes (gloo) are tested. Paths for GPUs are tested on a pretend device, never on a GPU.
"""

from __future__ import annotations

import os
import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Literal, cast

from ..hardware import Hardware

if TYPE_CHECKING:
    from accelerate import Accelerator  # type: ignore[import-untyped]

Precision = Literal["no", "fp16", "bf16"]
ACCELERATE_DEVICE = "ACCELERATE_TORCH_DEVICE"  # where accelerate looks for the device of a single process


def accelerator_for(hardware: Hardware, *, paths: bool = True) -> Accelerator | None:
    """What `fit` needs beside a device.

    Args:
        hardware: Where the training runs; each of several processes asks for itself.
        paths: Whether a supernet is trained along paths (see `accelerator`).

    Returns:
        The accelerator; None for one process in full precision.
    """
    if hardware.processes == 1 and hardware.precision == "no":
        return None
    import torch

    os.environ["OMP_NUM_THREADS"] = str(hardware.threads)  # else accelerate takes all processors, and says so
    if hardware.processes == 1:
        _forget_others(hardware.device)
    else:
        os.environ.pop(ACCELERATE_DEVICE, None)  # each has a device of its own
    made = accelerator(cast(Precision, hardware.precision), cpu=hardware.on_cpu, paths=paths)
    torch.set_num_threads(hardware.threads)  # after accelerate, which sets it too
    return made


def accelerator(precision: Precision = "no", *, cpu: bool = False, paths: bool = True) -> Accelerator:
    """An accelerator for `fit`. In a process started by `accelerate launch` or `torchrun` it joins the others.

    Args:
        precision: Mixed precision, or none.
        cpu: Whether to use the processor although there is another device.
        paths: Whether a supernet is trained along paths. A network is simpler: every step uses all of its weights, and
            the first process's BN statistics are kept, so that the others need not be told of them at every step.

    Returns:
        The accelerator.
    """
    from accelerate import Accelerator
    from accelerate.utils import DistributedDataParallelKwargs  # type: ignore[import-untyped]

    if not paths:  # the name that it asks for is not in accelerate's settings yet
        warnings.filterwarnings("ignore", message="`broadcast_buffers` is deprecated", category=FutureWarning)
    # a path leaves most of a supernet out
    together = DistributedDataParallelKwargs(find_unused_parameters=paths, broadcast_buffers=paths)
    return Accelerator(mixed_precision=precision, cpu=cpu, kwargs_handlers=[together])


def autocast(hardware: Hardware) -> AbstractContextManager[object]:
    """Within, networks are evaluated in the hardware's precision."""
    if hardware.precision == "no":
        return nullcontext()
    import torch

    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[hardware.precision]
    return torch.autocast(hardware.kind, dtype=dtype)


def _forget_others(device: str) -> None:
    """Accelerate keeps one device and precision for all that a process does; a second job may have others."""
    from accelerate.state import AcceleratorState  # type: ignore[import-untyped]

    os.environ[ACCELERATE_DEVICE] = device
    AcceleratorState._reset_state(reset_partial_state=True)
