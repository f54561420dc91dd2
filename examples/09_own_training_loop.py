"""A training loop of your own: any batches, any sampler, any torch optimiser. Run it anywhere; it takes seconds."""

import numpy as np
import torch

import supernetic

supernet = supernetic.Supernet(supernetic.load_space("macro:channels=4,resolution=8,head=16"), seed=0)
images, labels = torch.randn(256, 3, 8, 8), torch.randint(10, (256,))  # or any DataLoader
batches = list(zip(images.split(32), labels.split(32), strict=True))
optimiser, rng = torch.optim.AdamW(supernet.parameters(), 1e-3), np.random.default_rng(0)
for batch in batches:
    optimiser.zero_grad()
    loss = supernetic.backward(supernet, batch, supernetic.Sandwich()(supernet.space, supernetic.Draw(rng)))
    optimiser.step()
    print(f"loss {loss:.3f}")
for scores in supernetic.SupernetEvaluator(supernet, batches[:2], train=batches)([(1,) * 8, (2,) * 8]):
    print(", ".join(f"{name} {value:.3f}" for name, value in scores.items()))
