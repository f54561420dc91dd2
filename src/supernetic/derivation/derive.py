"""From a supernet to a network of its own: copy the weights, recalibrate BN, fold the stabilisers.

Law: the derived network scores as `evaluators.supernet` says (of a two-sided supernet: its left side; where resolution
is a choice: images are resized as data are, with antialiasing).
"""

from __future__ import annotations

from ..datasets.batches import Batches
from ..datasets.dataset import Dataset
from ..nn.network import Network
from ..space import Arch
from ..supernets.supernet import Supernet
from .fold import PROBES, FoldReport, fold
from .recalibrate import IMAGES, fixed_images, recalibrate


def derive(
    supernet: Supernet, arch: Arch, dataset: Dataset, *, images: int = IMAGES, seed: int = 0
) -> tuple[Network, FoldReport | None]:
    """The finished network of `arch`, ready for evaluation, and what became of its stabilisers, if there are any.

    BN is recalibrated on `images` of the training split, at the network's own side.
    """
    network = supernet.extract(arch)
    device = next(network.parameters()).device
    batches = fixed_images(Batches(dataset, seed=seed, device=device, resolution=network.blueprint.resolution), images)
    recalibrate(network, batches)
    if supernet.stabilised == supernet.space:
        return network.eval(), None
    folded, report = fold(network, supernet.space.blueprint(arch), probe=batches[0][:PROBES])
    return folded.eval(), report
