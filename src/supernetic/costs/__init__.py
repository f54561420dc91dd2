"""What networks cost, exactly: one blueprint, many architectures at once, or all architectures at a budget."""

from .macs import METRICS, Cost, cost, layer_table
from .table import LayerCost, costs_of, table_of

__all__ = ["METRICS", "Cost", "LayerCost", "cost", "costs_of", "layer_table", "table_of"]
