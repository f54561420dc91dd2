"""What `supernetic search` finds on CIFAR-10, beside its controls: in an hour, and in 25 minutes by the rank ensemble.

supernetic search cifar10 --where "macs<=3M" --minutes 60 --objective "min cross_entropy" --out runs/cifar10
supernetic search cifar10 --where "macs<=3M" --minutes 25 --out runs/cifar10_vote
python experiments/images.py runs/cifar10         writes search_cifar10.toml from that run
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from record import Record

from supernetic.runs.directory import read_records, read_settings


def main(run: Path) -> None:
    """Record a finished run."""
    trust, networks = (json.loads((run / f"{name}.json").read_text()) for name in ("trust", "networks"))
    settings = read_settings(run)
    plan = settings["plan"]
    seconds: dict[str, float] = {}  # a run that is read again adds lines: the first time counts
    for record in read_records(run / "timings.jsonl"):
        if "task" in record and "step" not in record:
            seconds.setdefault(record["task"], record["seconds"])
    random = [c for c in trust["comparisons"] if c["role"] == "random"]
    better = [c for c in random if c["low"] > 0]
    tau = trust["tau"]
    Record(
        name=f"search_{run.name}",
        claim="a supernet's search finds networks that beat random ones of the same MACs, and orders networks as "
        "training does",
        source="ours, as AttentiveNAS and SCARLET-NAS do it on ImageNet",
        expected="chosen networks beat random ones; tau significant",
        obtained={
            "test_accuracy": {n["name"]: n["test"]["test/accuracy"] for n in networks},
            "points_over_random": {c["model"]: [c["difference"], c["low"], c["high"]] for c in random},
            "tau": [tau["value"], tau["low"], tau["high"]],
            "rank_of_those_with_no_more_macs": {
                m["model"]: [m["no_larger"]["rank"], m["no_larger"]["of"]] for m in trust["table"]["models"]
            },
            "seconds": {k: round(v) for k, v in seconds.items()},
        },
        n=tau["n"],
        held=tau["significant"] and len(better) == len(random),
        sentence=f"{len(better)} of {len(random)} chosen networks are significantly better than a random one of "
        f"their MACs; tau between the supernet's score and accuracy after training is {tau['value']:.2f}.",
        interval=[tau["low"], tau["high"]],
        seeds=[settings["seed"]],
        scale=f"macro with {settings['space']['settings']['channels']} channels at 32 x 32, "
        f"{plan['supernet_steps']:,} supernet steps, {plan['network_steps']:,} steps per network",
    ).write()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
