"""Tables of trained networks: bundled ones, published ones, or your own."""

from .table import Column, Table

__all__ = ["Column", "Table"]
