"""`extract`: a named architecture of a run as a torch module, with the weights of the run's supernet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..jobs.train.supernet_run import load_supernet
from ..runs.directory import read_settings

if TYPE_CHECKING:
    from ..nn.network import Network


def extract(run: str | Path, arch: str | Sequence[int], *, step: int | None = None) -> Network:
    """A network with the weights of a run's supernet; nothing is written, and the run may be in use.

    As in `derive`, BN is recalibrated on training images and stabilisers are folded.

    Args:
        run: The directory of a run that trained a supernet: of `train`, `search` or `scale`.
        arch: The architecture: a name, its notation, or its genes.
        step: Take the run's snapshot after this step; by default the final weights.

    Returns:
        The network in evaluation mode.
    """
    from ..derivation.derive import derive
    from ..evaluators.supernet import shared_cells

    settings = read_settings(run)
    supernet, dataset = load_supernet(run, step)
    space = shared_cells(supernet.space)
    genes = space.parse(arch) if isinstance(arch, str) else space.check(arch)
    with _threads(settings["threads"]):  # as many as `derive` uses, so that the weights are the same to the bit
        return derive(supernet, genes, dataset, seed=settings["seed"])[0]


@contextmanager
def _threads(count: int) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
