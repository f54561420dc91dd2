"""Any function of an architecture, optimised within a budget of MACs; here an accuracy that a table knows."""

import numpy as np

import supernetic

table = supernetic.load_table("nasbench201")


def evaluate(arch: supernetic.Arch) -> float:
    return float(table["c10_valid_200"].values[table.find(np.array([arch], dtype=np.int8))[0]])


print(supernetic.optimise(table.space, evaluate, where=["macs<=60M"], budget=200, out="runs/example-07"))
print(supernetic.read_trials("runs/example-07", table.space).best)
