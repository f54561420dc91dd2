"""The same search on a benchmark table: what a searcher would have found, in seconds and without torch.

    python examples/03_table_search.py

NAS-Bench-201's table comes with the package. Validation columns steer; test columns are refused, except in studies of
searchers (`oracle=True`). Two searchers are compared over several seeds. A few seconds.
"""

import sys

import supernetic

EVALUATIONS = 200
SEEDS = range(3)
WHERE = ["macs<=60M"]
OUT = "runs/example-03"


def main() -> None:
    for searcher in ("random", "nsga2"):
        shares = []
        for seed in SEEDS:
            found = supernetic.search_table(
                "nasbench201",
                objectives=["max c10_valid_200", "min macs"],
                where=WHERE,
                searcher=searcher,
                population=20 if searcher == "nsga2" else None,
                evaluations=EVALUATIONS,
                seed=seed,
                out=f"{OUT}/{searcher}-{seed}",
            )
            shares.append(found.true_share)
        told = ", ".join(f"{s:.2%}" for s in shares)
        print(f"{searcher:<7} {told} of the true front's hypervolume after {EVALUATIONS} evaluations")
    print(found)
    print("torch was", "imported" if "torch" in sys.modules else "not needed")


if __name__ == "__main__":
    main()
