"""Networks that others have trained: their weights in our layers, and the preprocessing they were trained with."""

from .load import Pretrained, load_pretrained

__all__ = ["Pretrained", "load_pretrained"]
