"""Networks that others have trained: their weights in our layers, and the preprocessing they were trained with."""

from .load import Pretrained, fitting_resolution, load_pretrained

__all__ = ["Pretrained", "fitting_resolution", "load_pretrained"]
