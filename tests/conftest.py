"""One torch thread: two collapse when the machine is busy, and results then depend on their number."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import torch

torch.set_num_threads(1)
