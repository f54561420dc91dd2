"""Training of supernets and of networks: `fit` is a generator, the caller keeps the loop.

for progress in fit(supernet, batches, StrictFair(), recipe):
    print(progress.step, progress.loss)
"""
