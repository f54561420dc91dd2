"""MACs of the same networks by several counters: `python counting_work.py REPOSITORY N SEED`, where all are installed.

Counters run a network once and add up what its layers say. Ours reads the blueprint, so it needs no network; it is
timed from the architecture on, theirs from the finished module on. The modules are those of AttentiveNAS's own code:
plain layers, as counters expect them. Prints one line of JSON.
"""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from attentive_space import their_settings
from attentive_work import supernet

from supernetic import catalog
from supernetic.costs import cost
from supernetic.costs.macs import macs_and_params

Counter = Callable[[Any, int], float]


def fvcore(network: Any, side: int) -> float:
    from fvcore.nn import FlopCountAnalysis

    analysis = FlopCountAnalysis(network, torch.zeros(1, 3, side, side))
    return float(analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False).total())


def ptflops(network: Any, side: int) -> float:
    from ptflops import get_model_complexity_info

    macs, _ = get_model_complexity_info(
        network, (3, side, side), as_strings=False, print_per_layer_stat=False, backend="pytorch"
    )
    return float(macs)


def thop(network: Any, side: int) -> float:
    from thop import profile

    macs, _ = profile(network, inputs=(torch.zeros(1, 3, side, side),), verbose=False)
    return float(macs)


def torch_counter(network: Any, side: int) -> float:
    from torch.utils.flop_counter import FlopCounterMode

    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(torch.zeros(1, 3, side, side))
    return float(counter.get_total_flops()) / 2


def main() -> None:
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    space = catalog.space("attentive")
    theirs = supernet(Path(sys.argv[1]), None)
    archs = [tuple(a) for a in space.sample(np.random.default_rng(int(sys.argv[3])), int(sys.argv[2])).tolist()]
    counters: dict[str, Counter] = {"fvcore": fvcore, "ptflops": ptflops, "thop": thop, "torch": torch_counter}
    found: dict[str, dict[str, list[float]]] = {n: {"seconds": [], "macs": []} for n in ("ours", *counters)}
    cost(space.blueprint(archs[0]))
    for arch in archs:
        macs_and_params.cache_clear()
        begin = process_time()
        ours = cost(space.blueprint(arch)).macs
        found["ours"]["seconds"].append(process_time() - begin)
        found["ours"]["macs"].append(ours)
        options = their_settings([c.options[g] for c, g in zip(space.choices, arch, strict=True)])
        for name, count in counters.items():
            theirs.set_active_subnet(**options)
            network = theirs.get_active_subnet(preserve_weight=False).eval()
            with redirect_stdout(io.StringIO()):
                begin = process_time()
                macs = count(network, options["resolution"])
            found[name]["seconds"].append(process_time() - begin)
            found[name]["macs"].append(macs)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
