"""Tables of trained networks: bundled, published, or the user's own."""

from .table import Column, Table

__all__ = ["Column", "Table"]
