"""Blueprints as torch modules. `run` says what a layer computes; networks and supernets both run it."""

import os

# oneDNN, which computes torch's convolutions on CPUs, compiles a kernel for every shape and keeps 1,024 of them. The
# networks of a scaled space have more shapes than that: to compile them again and again took a third of a training
# step (`benchmarks/kernels.py`). It reads this once, at the first convolution.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "8192")
