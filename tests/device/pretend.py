"""A device of the kind `pretend`: its tensors compute on the CPU, and refuse what tensors on a GPU would refuse.

There is no GPU to test on. What goes wrong on one is mostly not arithmetic but a tensor that was left on the wrong
side, and that can be noticed without a GPU: every tensor here says where it is, and every operation is looked at before
the CPU computes it.

Torch keeps one kind of device for others to define. A tensor on it is a `PretendTensor`, a shell around a CPU tensor.
Operations on shells arrive in `_operate`. Those that make a shell out of nothing, or out of CPU tensors, arrive there
through `PretendDevice`, which must be active.

To be used in a process of its own, since it changes how torch moves modules, for all of the process:

    import pretend                                    # before supernetic
    with pretend.PretendDevice():
        search(..., device="pretend")
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

KIND = "pretend"
_setup_privateuseone_for_python_backend(KIND)
# A shell cannot become the data of a CPU parameter; with this, `module.to` exchanges the parameters themselves.
torch.__future__.set_swap_module_params_on_conversion(True)


def _inference_mode(mode: Any = True) -> Any:
    """In place of torch's own: shells cannot be inference tensors. Used as it is: decorator, call or context."""
    if callable(mode):
        return torch.no_grad()(mode)
    return torch.no_grad() if mode else torch.set_grad_enabled(torch.is_grad_enabled())


torch.inference_mode = _inference_mode  # type: ignore[assignment, misc]

COPIES = {"aten::copy_", "aten::_to_copy", "aten::_copy_from", "aten::_foreach_copy_"}  # from one device to the other
INDEXED = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}  # indices may be on the CPU
ANSWERS = {"aten::_local_scalar_dense", "aten::equal", "aten::is_same_size"}  # of plain values, not of tensors
WAITS = {"aten::_local_scalar_dense", "aten::equal", "aten::nonzero", "aten::masked_select", "aten::_unique2"}

NETWORKS = {"aten::convolution", "aten::convolution_backward"}  # what networks spend their time with

waits: list[str] = []  # operations for which the host had to wait for the device, in their order
left_behind: set[str] = set()  # functions of supernetic that ran networks on the CPU, although the device is in use


class WrongDevice(RuntimeError):
    """What CUDA would refuse too."""


class PretendTensor(Tensor):
    """A tensor on the pretend device; `held` has its values."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> PretendTensor:
        shell: PretendTensor = torch.Tensor._make_wrapper_subclass(
            cls, held.size(), strides=held.stride(), storage_offset=held.storage_offset(), dtype=held.dtype,
            layout=held.layout, device=torch.device(KIND, 0),
        )  # fmt: skip
        shell.held = held
        return shell

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _operate(func, args, kwargs or {})

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"PretendTensor({self.held!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        copy: Tensor = PretendTensor(self.held.clone())
        if isinstance(self, nn.Parameter):
            copy = nn.Parameter(copy, self.requires_grad)
        else:
            copy.requires_grad_(self.requires_grad)
        memo[id(self)] = copy
        return copy

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        raise WrongDevice("a tensor on the pretend device has no numpy array: use .cpu() first")

    __array__ = numpy


class PretendDevice(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Within, tensors can be made on the device and moved to it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _operate(func, args, kwargs or {})


def print_and_leave(found: dict[str, Any]) -> NoReturn:
    """Print what was found as JSON and end the process at once.

    Autograd keeps a thread for the device, and the end of the interpreter sometimes aborts on it.
    """
    print(json.dumps(found), flush=True)
    os._exit(0)


@contextmanager
def counted_waits() -> Iterator[list[str]]:
    """Within, the operations for which the host waits are added to the list."""
    begin = len(waits)
    found: list[str] = []
    try:
        yield found
    finally:
        found += waits[begin:]


def _operate(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Refuse the operation, or do it on the CPU."""
    name = func._schema.name
    tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
    shells = [x for x in tensors if isinstance(x, PretendTensor)]
    target = kwargs.get("device")
    to_device = bool(shells) if target is None else torch.device(target).type == KIND
    if not shells and not to_device:
        if name in NETWORKS:
            left_behind.add(_caller())
        return func(*args, **kwargs)  # nothing of ours
    _refuse_mixed(name, args, tensors)
    _refuse_generator(name, kwargs.get("generator"), to_device)
    if shells and _waits(name, target, to_device, tensors):
        waits.append(name)
    plain_args, plain_kwargs = tree_map(lambda x: x.held if isinstance(x, PretendTensor) else x, (args, kwargs))
    if target is not None:
        plain_kwargs["device"] = torch.device("cpu")
    plain_kwargs.pop("pin_memory", None)
    with _disable_current_modes():
        answer = func(*plain_args, **plain_kwargs)
    if name in ANSWERS:
        return answer
    if name == "aten::copy_":
        return args[0]
    known = {id(x.held): x for x in shells}  # what an operation in place returns is what it was given
    return tree_map(_shell_of(known, to_device), answer)


def _caller() -> str:
    """The function of supernetic that has a network run: the innermost one outside `nn`, where all networks are."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        module = str(frame.f_globals.get("__name__"))
        if module.startswith("supernetic.") and not module.startswith("supernetic.nn."):
            return f"{module.removeprefix('supernetic.')}:{frame.f_code.co_name}"
    return "somebody else"


def _shell_of(known: dict[int, PretendTensor], to_device: bool) -> Callable[[Any], Any]:
    def shell(x: Any) -> Any:
        if not isinstance(x, Tensor) or isinstance(x, PretendTensor):
            return x
        return known[id(x)] if id(x) in known else PretendTensor(x) if to_device else x

    return shell


def _refuse_mixed(name: str, args: Sequence[Any], tensors: Sequence[Tensor]) -> None:
    """Tensors of both sides do not meet, except in copies; a CPU tensor without dimensions is a number."""
    on_cpu = [x for x in tensors if not isinstance(x, PretendTensor)]
    if len(on_cpu) in (0, len(tensors)) or name in COPIES:
        return
    if name in INDEXED:
        if not isinstance(args[0], PretendTensor):
            raise WrongDevice(f"{name}: indices or values on the pretend device for a tensor on the CPU")
    elif any(x.dim() for x in on_cpu):
        shapes = [tuple(x.shape) for x in on_cpu if x.dim()]
        raise WrongDevice(f"{name}: some tensors are on the pretend device, others on the CPU, of shapes {shapes}")


def _refuse_generator(name: str, generator: torch.Generator | None, to_device: bool) -> None:
    if generator is not None and to_device and generator.device.type == "cpu":
        raise WrongDevice(f"{name}: a generator of the CPU for a tensor on the pretend device")


def _waits(name: str, target: Any, to_device: bool, tensors: Sequence[Tensor]) -> bool:
    """Whether the host has to wait for the device: for a value, or to learn how large an answer is."""
    copied_back = name == "aten::_to_copy" and target is not None and not to_device
    copied_into = name == "aten::copy_" and not isinstance(tensors[0], PretendTensor)
    by_mask = name in INDEXED and any(x.dtype == torch.bool for x in tensors[1:])
    return name in WAITS or copied_back or copied_into or by_mask


# `torch.tensor(..., device=)` and `new_tensor` do not pass through modes: they ask the device itself.
_own: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]


def _empty_strided(
    size: Any, stride: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Tensor:
    return PretendTensor(torch.empty_strided(size, stride, dtype=dtype, device="cpu"))


def _empty(
    size: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: Any = None,
) -> Tensor:
    return PretendTensor(torch.empty(size, dtype=dtype, device="cpu"))


def _copy_from(source: Tensor, to: Tensor, non_blocking: bool = False) -> Tensor:
    plain_source, plain_to = (x.held if isinstance(x, PretendTensor) else x for x in (source, to))
    plain_to.copy_(plain_source)
    return to


_own.impl("empty_strided", _empty_strided, "PrivateUse1")
_own.impl("empty.memory_format", _empty, "PrivateUse1")
_own.impl("_copy_from", _copy_from, "PrivateUse1")
