"""Other devices, mixed precision and several processes, by accelerate. One CPU process needs none of this.

GPU paths are written but untested until someone has run them; two CPU processes (gloo) are tested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from accelerate import Accelerator  # type: ignore[import-untyped]


def accelerator(precision: Literal["no", "fp16", "bf16"] = "no", *, cpu: bool = False) -> Accelerator:
    """An accelerator for `fit`. In a process started by `accelerate launch` or `torchrun` it joins the others.

    Args:
        precision: Mixed precision, or none.
        cpu: Whether to use the processor although there is another device.

    Returns:
        The accelerator.
    """
    from accelerate import Accelerator
    from accelerate.utils import DistributedDataParallelKwargs  # type: ignore[import-untyped]

    unused = DistributedDataParallelKwargs(find_unused_parameters=True)  # a path leaves most of a supernet out
    return Accelerator(mixed_precision=precision, cpu=cpu, kwargs_handlers=[unused])
