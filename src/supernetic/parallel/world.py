"""Processes that `torchrun` or `accelerate launch` started, on one machine or several, to train together.

    torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint host:29500 --max-restarts 3
        -m supernetic train macro cifar10 --out /shared/run

The first process runs the command, and it alone has the run directory. The others wait for trainings, take part in
each of them, and end when the first does. If one dies, all end; the launcher starts them again, and the run goes on
from its last checkpoint.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from secrets import token_hex
from time import sleep
from typing import Any

import cloudpickle

from ..errors import SupernetError

VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")  # by which torch and accelerate know the others
WAITING = timedelta(days=30)  # for the next training
MEETING_INTERVAL_S = 0.1


@dataclass
class World:
    """The processes of a launcher, as one of them sees it."""

    rank: int
    size: int
    local_size: int  # on this machine
    variables: dict[str, str]  # set while they train together, so that nothing else in this process waits for others
    control: Any  # the group over which tasks are sent
    whole: bool = True  # no other process is known to be gone


_world: World | None = None


def launched() -> bool:
    """Whether a launcher started this process beside others."""
    return "RANK" in os.environ and os.environ.get("WORLD_SIZE", "1").isdecimal() and int(os.environ["WORLD_SIZE"]) > 1


def world_size() -> int:
    """How many processes train together; 1 without a launcher."""
    return 1 if _world is None else _world.size


def local_size(processes: int) -> int:
    """Of so many processes that train together, those on this machine."""
    return _world.local_size if _world is not None and processes == _world.size else processes


def run_in_world(command: Callable[[], None]) -> None:
    """Run a command in the first process; take part in its trainings in the others.

    Args:
        command: The command; it may leave by `SystemExit`.
    """
    with _joined() as world:
        try:
            if world.rank:
                _serve(world)
                return
            command()
        except SystemExit:
            if world.whole:
                _send(world, None)
            raise
        except SupernetError:  # in another process than the first, which tells of it
            world.whole = False
        finally:
            if not world.whole:  # the library would wait for those that are gone
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(1)
        _send(world, None)


def together(work: Callable[..., Iterator[Any]], processes: int, arguments: tuple[Any, ...]) -> Iterator[Any] | None:
    """The generator, run by all processes of the launcher; None if they are others than these.

    Args:
        work: The generator function.
        processes: That are to run it.
        arguments: Of the function.

    Returns:
        What the first process, this one, yields.
    """
    if _world is None or _world.rank or processes != _world.size:
        return None
    return _first(_world, work, arguments)


def _first(world: World, work: Callable[..., Iterator[Any]], arguments: tuple[Any, ...]) -> Iterator[Any]:
    _send(world, (work, arguments))
    with _taking_part(world):
        yield from work(*arguments)


def _serve(world: World) -> None:
    """What all processes but the first do."""
    while (task := _receive(world)) is not None:
        work, arguments = task
        with _taking_part(world):
            try:
                for _ in work(*arguments):
                    pass
            except SupernetError:  # such as a loss that is not finite: the first process met it too, and tells of it
                pass


@contextmanager
def _taking_part(world: World) -> Iterator[None]:
    from accelerate.state import AcceleratorState  # type: ignore[import-untyped]

    AcceleratorState._reset_state(reset_partial_state=True)  # it keeps the settings of an earlier training
    os.environ.update(world.variables)
    try:
        yield
    except RuntimeError as error:  # of torch, whose other ends are gone
        reason = str(error).splitlines()[0][:200]
        world.whole = False
        raise SupernetError(f"a process that trains along is gone, or its connection: {reason}") from error
    finally:
        for name in VARIABLES:
            os.environ.pop(name, None)


@contextmanager
def _joined() -> Iterator[World]:
    global _world
    import torch
    from torch import distributed
    from torch._C._distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    variables = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    if torch.cuda.is_available():
        torch.cuda.set_device(int(variables.get("LOCAL_RANK", 0)))
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    store, rank, size = next(rendezvous("env://"))
    ours = PrefixStore(_meet(store, rank, size), store)
    distributed.init_process_group(backend, store=ours, rank=rank, world_size=size)
    control = distributed.new_group(backend="gloo", timeout=WAITING)
    _world = World(rank, size, int(variables.get("LOCAL_WORLD_SIZE", size)), variables, control)
    for name in VARIABLES:
        del os.environ[name]
    try:
        yield _world
    finally:
        _world = None
        if sys.exc_info()[0] in (None, SystemExit):  # else the others may be gone, and would be waited for
            distributed.destroy_process_group()


def _meet(store: Any, rank: int, size: int) -> str:
    """A name that these very processes agree on.

    After a restart, `torchrun` may give them the store of those that died, whose addresses are still in it.
    """
    own, place = token_hex(8), "supernetic"
    if rank == 0:
        store.set(f"{place}/name", own)
        there = [store.get(f"{place}/{own}/{other}").decode() for other in range(1, size)]
        store.set(f"{place}/{own}/all", ",".join(there))
        return own
    while True:
        name = store.get(f"{place}/name").decode()  # perhaps of those that died: then `all` does not have this process
        store.set(f"{place}/{name}/{rank}", own)
        if store.check([f"{place}/{name}/all"]) and own in store.get(f"{place}/{name}/all").decode().split(","):
            return str(name)
        sleep(MEETING_INTERVAL_S)


def _send(world: World, task: Any) -> None:
    from torch import distributed

    distributed.broadcast_object_list([cloudpickle.dumps(task)], src=0, group=world.control, device="cpu")  # type: ignore[arg-type]


def _receive(world: World) -> Any:
    from torch import distributed

    received: list[Any] = [None]
    try:
        distributed.broadcast_object_list(received, src=0, group=world.control, device="cpu")  # type: ignore[arg-type]
    except RuntimeError as error:
        world.whole = False
        raise SupernetError("the first process is gone") from error
    return cloudpickle.loads(received[0])
