"""Draw the README's picture from a real search: `python docs/pictures/front.py` (needs matplotlib)."""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import supernetic
from supernetic.costs import costs_of


def main() -> None:
    """All cells of NAS-Bench-201, the front that 1,000 evaluations found, and the models chosen from it."""
    table = supernetic.load_table("nasbench201")
    macs = costs_of(table.space, table.archs) / 1e6
    accuracy = table["c10_valid_200"].values
    with tempfile.TemporaryDirectory() as place:
        found = supernetic.search_table(
            "nasbench201", objectives=["max c10_valid_200", "min macs"], where=["macs<=100M"], out=f"{place}/run"
        )
    front = np.array([(r["metrics"]["cost/macs"] / 1e6, r["metrics"]["table/c10_valid_200"]) for r in found.front])
    chosen = np.array([(r["metrics"]["cost/macs"] / 1e6, r["metrics"]["table/c10_valid_200"]) for r in found.chosen])
    figure, axes = plt.subplots(figsize=(7.2, 3.2), dpi=150)
    axes.scatter(macs, accuracy, s=2, color="#b8c0cc", linewidths=0, label="all 15,625 cells", rasterized=True)
    axes.step(
        *front.T, where="post", color="#1f6feb", lw=1.4, label=f"front found with {found.evaluations:,} evaluations"
    )
    axes.plot(*chosen.T, "o", color="#d1242f", ms=5, label="chosen, equispaced")
    axes.axvline(100, color="#57606a", lw=0.8, ls="--")
    axes.text(101, 92.4, "macs<=100M", fontsize=8, color="#57606a")
    axes.set(xlim=(0, 160), ylim=(78, 93), xlabel="million MACs", ylabel="CIFAR-10 validation accuracy, %")
    axes.legend(fontsize=8, loc="lower right", framealpha=1, edgecolor="none")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
