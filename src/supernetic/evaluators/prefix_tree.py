"""Prefix-shared walk: networks that begin alike are run together up to where they part.

Paper: ours. The layers of many networks form a tree; every node is run once, depth first, and only what a branch still
waiting needs is kept. Chains share most (all 6,561 networks of NAS-Bench-Macro have 9,840 blocks instead of 52,488),
cells their stem and what precedes the first difference. The order of computation inside a network does not change, so
neither does any bit of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from torch import Tensor

from ..blueprint import Layer, parts
from ..nn.unit import Statistics

IMAGE = ""  # the name under which the first layer finds the images


class Node:
    """A layer behind one particular sequence of layers, and all that follows it in any network."""

    __slots__ = ("children", "ends", "layer", "needs", "norms", "sources", "statistics")

    def __init__(self, layer: Layer, sources: tuple[str, ...]) -> None:
        self.layer = layer
        self.sources = sources  # names of the layers that it reads
        self.children: dict[Layer, Node] = {}
        self.ends: list[int] = []  # numbers of the networks whose logits this node gives
        self.needs: frozenset[str] = frozenset()  # outputs from before this node that it or what follows it reads
        self.norms = any(p.norm for p in parts(layer)) or layer.kind == "preconv"  # whether BN is in it or below it
        self.statistics: dict[str, Statistics] = {}  # by role, of the BNs

    def nodes(self) -> Iterator[Node]:
        """The node and all below it, parents first."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.children.values()


def grow(networks: Iterable[tuple[int, Sequence[Layer]]]) -> Node:
    """The tree of numbered networks, under a root without a layer."""
    root = Node(Layer(IMAGE, "skip", 0, 0, 0, 0), ())
    for number, layers in networks:
        node = root
        for layer in layers:
            if layer not in node.children:
                node.children[layer] = Node(layer, layer.inputs or (node.layer.name,))
            node = node.children[layer]
        node.ends.append(number)
    for node in reversed(list(root.nodes())):
        below = frozenset[str]().union(*(child.needs for child in node.children.values()))
        node.needs = below - {node.layer.name} | {*node.sources}
        node.norms |= any(child.norms for child in node.children.values())
    return root


def walk(
    root: Node, images: Tensor, compute: Callable[[Node, list[Tensor]], Tensor], *, norms_only: bool = False
) -> Iterator[tuple[Node, Tensor]]:
    """Run the tree on a batch of images; yields each node with its output, in the order in which they run.

    With `norms_only` what no BN follows is left out: enough to collect statistics.
    """
    known = {IMAGE: images}
    waiting = [(child, known) for child in root.children.values()]
    while waiting:
        node, known = waiting.pop()
        output = compute(node, [known[name] for name in node.sources])
        yield node, output
        children = [c for c in node.children.values() if c.norms or not norms_only]
        if children:
            known = {**known, node.layer.name: output}
            waiting += [(child, {n: known[n] for n in child.needs}) for child in children]
