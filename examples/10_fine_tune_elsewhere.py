"""A found model in your own hands: load it, give it other classes, train a few steps, predict."""

import torch

import supernetic.datasets

TINY = {"space": "macro:channels=4,resolution=16,head=16", "steps": 20, "limit": 400, "threads": 1}
run = supernetic.train(**TINY, out="runs/example-10").run
model = supernetic.derive(run, "macro-best", retrain="none").model  # or the model of a search: found.models["model-1"]
network, transform = supernetic.load(model), supernetic.transform(model)
network.train().reset_classifier(2)  # shoes or not
data, optimiser = supernetic.datasets.load("embedded", limit=100), torch.optim.Adam(network.parameters(), 1e-2)
x, y = torch.stack([*map(transform, data.images)]), torch.tensor([int(c in (5, 7, 9)) for c in data.labels])
for _ in range(20):
    torch.nn.functional.cross_entropy(network(x), y).backward()
    optimiser.step()
    optimiser.zero_grad()
print(f"{(network.eval()(x).argmax(1) == y).float().mean():.0%} of {len(x)} images are right")
