"""Families of models: networks of one kind in many sizes, to find out which kind suits some data.

`catalog.models` makes members of them from text.
"""

from .member import Family, Member, Plain

__all__ = ["Family", "Member", "Plain"]
