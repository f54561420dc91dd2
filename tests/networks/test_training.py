from __future__ import annotations

import torch

from supernetic.networks.training import one_thread


def test_threads_are_put_back() -> None:
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
