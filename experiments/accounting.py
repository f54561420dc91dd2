"""Recompute the search-cost tables of AttentiveNAS and ScaleNet: `python experiments/accounting.py`.

Writes `accounting_attentive.toml` and `accounting_scalenet.toml` beside this file.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import tomli_w

from supernetic.lab.accounting import break_even, search_costs
from supernetic.scaling.compound import grid_cases

TABLES = {
    "AttentiveNAS": ("accounting_attentive.toml", "AttentiveNAS, Table 3: ImageNet epochs for 40 deployments"),
    "ScaleNet": ("accounting_scalenet.toml", "ScaleNet, appendix G: search cost of a family of six models"),
}


def main() -> None:
    """Write both files."""
    start = perf_counter()
    records = search_costs()
    extra: dict[str, dict[str, float]] = {
        "AttentiveNAS": {"break_even_with_ofa": round(break_even(), 2)},
        "ScaleNet": {"grid_cases_exact": grid_cases(exact=True)},
    }
    seconds = perf_counter() - start
    for paper, (name, title) in TABLES.items():
        figures = [
            {
                "method": r.method,
                "what": r.what,
                "unit": f"{r.device} {r.unit}".strip(),
                "formula": r.formula,
                "expected": r.printed,
                "obtained": round(r.recomputed, 2),
                **({"v100_days": round(r.v100_days, 1)} if r.v100_days is not None else {}),
                **({"note": r.note} if r.note else {}),
            }
            for r in records
            if r.paper == paper
        ]
        content = {"title": title, "seconds": round(seconds, 2), **extra[paper], "figure": figures}
        path = Path(__file__).with_name(name)
        path.write_text(tomli_w.dumps(content), encoding="utf-8")
        print(f"{path.name}: {len(figures)} figures")


if __name__ == "__main__":
    main()
