"""How well a score orders architectures, and how far that can be trusted."""

from .correlation import count_pairs, pearson, spearman, tau, weighted_tau

__all__ = ["count_pairs", "pearson", "spearman", "tau", "weighted_tau"]
