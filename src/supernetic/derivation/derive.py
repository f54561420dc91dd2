"""From a supernet to a network of its own: copy the weights, recalibrate BN, fold the stabilisers.

Law: the derived network scores as `evaluators.supernet` says (of a supernet with two slice sides: the left one; where
resolution is a choice: images are resized as data are, with antialiasing).
"""

from __future__ import annotations

from ..datasets.batches import Batches
from ..datasets.dataset import Dataset
from ..nn.network import Network
from ..space import Arch
from ..supernets.supernet import Supernet
from .fold import PROBE_IMAGES, FoldReport, fold
from .recalibrate import RECALIBRATION_IMAGES, fixed_images, recalibrate


def derive(
    supernet: Supernet, arch: Arch, dataset: Dataset, *, images: int = RECALIBRATION_IMAGES, seed: int = 0
) -> tuple[Network, FoldReport | None]:
    """The finished network of an architecture, with the weights of the supernet.

    Args:
        supernet: The trained supernet.
        arch: The architecture.
        dataset: Its training split recalibrates BN, at the network's own resolution.
        images: How many training images do.
        seed: Chooses the images.

    Returns:
        The network in evaluation mode, and what became of its stabilisers, if it had any.
    """
    network = supernet.extract(arch)
    device = next(network.parameters()).device
    batches = fixed_images(Batches(dataset, seed=seed, device=device, resolution=network.blueprint.resolution), images)
    recalibrate(network, batches)
    if supernet.stabilised == supernet.space:
        return network.eval(), None
    folded, report = fold(network, supernet.space.blueprint(arch), probe=batches[0][:PROBE_IMAGES])
    return folded.eval(), report
