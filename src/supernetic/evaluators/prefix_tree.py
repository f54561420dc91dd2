"""The prefix tree of many networks: networks that begin with the same layers are run together until they differ.

Paper: ours. The layers of many networks form a tree. Every node is run once, depth first, and an output is kept only
while a branch still needs it. Chains share most: all 6,561 networks of NAS-Bench-Macro have 9,840 blocks instead of
52,488. Cells share their stem and what precedes the first difference. The order of computation inside a network does
not change, so neither does any bit of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from torch import Tensor

from ..blueprint import Layer, parts
from ..nn.unit import Statistics

IMAGE = ""  # the name under which the first layer finds the images


class PrefixNode:
    """A layer that follows one particular sequence of layers, and everything that follows it in any network."""

    __slots__ = ("children", "ends", "layer", "needs", "norms", "sources", "statistics")

    def __init__(self, layer: Layer, sources: tuple[str, ...]) -> None:
        self.layer = layer
        self.sources = sources  # names of the layers that it reads
        self.children: dict[Layer, PrefixNode] = {}
        self.ends: list[int] = []  # numbers of the networks whose logits are this node's output
        self.needs: frozenset[str] = frozenset()  # earlier outputs that this node or a node below it reads
        self.norms = any(p.norm for p in parts(layer)) or layer.kind == "preconv"  # whether it or one below it has BN
        self.statistics: dict[str, Statistics] = {}  # of its BNs, by role

    def nodes(self) -> Iterator[PrefixNode]:
        """The node and all below it, parents first."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.children.values()


def build_tree(networks: Iterable[tuple[int, Sequence[Layer]]]) -> PrefixNode:
    """Build the prefix tree of some networks.

    Args:
        networks: The number and the layers of each network.

    Returns:
        The root, which has no layer of its own.
    """
    root = PrefixNode(Layer(IMAGE, "skip", 0, 0, 0, 0), ())
    for number, layers in networks:
        node = root
        for layer in layers:
            if layer not in node.children:
                node.children[layer] = PrefixNode(layer, layer.inputs or (node.layer.name,))
            node = node.children[layer]
        node.ends.append(number)
    for node in reversed(list(root.nodes())):
        below = frozenset[str]().union(*(child.needs for child in node.children.values()))
        node.needs = below - {node.layer.name} | {*node.sources}
        node.norms |= any(child.norms for child in node.children.values())
    return root


def run_tree(
    root: PrefixNode, images: Tensor, compute: Callable[[PrefixNode, list[Tensor]], Tensor], *, norms_only: bool = False
) -> Iterator[tuple[PrefixNode, Tensor]]:
    """Run all networks of a tree on a batch of images.

    Args:
        root: The tree, as `build_tree` made it.
        images: The batch.
        compute: Computes the output of a node from the outputs that it reads.
        norms_only: Leave out what no BN follows, which is enough to collect BN statistics.

    Yields:
        Each node with its output, in the order in which they run.
    """
    outputs = {IMAGE: images}
    waiting = [(child, outputs) for child in root.children.values()]
    while waiting:
        node, outputs = waiting.pop()
        output = compute(node, [outputs[name] for name in node.sources])
        yield node, output
        children = [c for c in node.children.values() if c.norms or not norms_only]
        if children:
            outputs = {**outputs, node.layer.name: output}
            waiting += [(child, {n: outputs[n] for n in child.needs}) for child in children]
