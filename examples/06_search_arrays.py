"""A search on arrays: images and labels in, a trained torch module out. A torch Dataset or a folder works the same."""

import torch

import supernetic
from supernetic.datasets import load

data = load("embedded", classes=["bag", "sneaker"], limit=400)
arrays = data.images, data.labels
quick = {"steps": 15, "network_steps": 10, "population": 6, "generations": 1, "keep": 1, "threads": 1, "workers": 1}
space = "macro:channels=4,resolution=16,head=16"
result = supernetic.search(arrays, space=space, where=["macs<=200K"], **quick, out="runs/example-06")
print(result)
print(result.models["model-1"].load()(torch.zeros(1, 1, 16, 16)).shape)
print(len(result.trials.to_frame()), "trials")
