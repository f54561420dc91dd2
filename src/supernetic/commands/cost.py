"""`cost`: what a network costs, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import catalog
from ..blueprint import Blueprint
from ..costs.macs import cost as cost_of
from ..costs.macs import layer_table
from ..space import Arch, Space
from ..strategy import parse_scaling
from ..strategy import scale as scale_blueprint


@dataclass(frozen=True)
class CostReport:
    """A network and its costs; `peak` counts activations alive at once, for one image."""

    space: str
    arch: Arch
    name: str
    scale: str
    macs: int
    params: int
    peak: int
    layers: list[dict[str, Any]]
    blueprint: Blueprint

    def to_json(self) -> dict[str, Any]:
        """Plain data, without the blueprint."""
        record = {k: getattr(self, k) for k in self.__dataclass_fields__ if k != "blueprint"}
        return {**record, "arch": list(self.arch)}


def cost(space: str | Space, arch: str | Arch, scale: str = "") -> CostReport:
    """Count MACs, parameters and peak activations of one architecture.

    >>> cost("attentive", "attentive-a0").macs
    203389568

    Args:
        space: The space: a name, the file that declares one, or an object.
        arch: The architecture: a name, the paper's notation, or integers.
        scale: How it is scaled up, such as "depth=2.0,width=1.4,resolution=380px,rule=repeat".

    Returns:
        The totals, and one record per layer.
    """
    searched = catalog.space(space)
    if isinstance(arch, str) and arch.lower() in searched.upscaled:
        arch, own = searched.upscaled[arch.lower()]
        scale = scale or own
    genes = searched.parse(arch) if isinstance(arch, str) else searched.check(arch)
    blueprint = searched.blueprint(genes)
    if scale:
        blueprint = scale_blueprint(blueprint, parse_scaling(scale))
    total = cost_of(blueprint)
    name = searched.name_of(genes)
    return CostReport(
        searched.name, genes, name, scale, total.macs, total.params, total.peak, layer_table(blueprint), blueprint
    )
