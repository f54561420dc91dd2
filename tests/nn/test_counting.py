from torch import nn

from supernetic.nn.counting import counted


def test_costs_counted_by_hand() -> None:
    norm = nn.BatchNorm2d(6)
    network = nn.Sequential(nn.Conv2d(3, 6, 3, 2, 1), norm, nn.Flatten(), nn.Linear(6 * 16, 10))
    assert counted(network, 3, 8) == (3 * 6 * 9 * 16 + 96 * 10, 3 * 6 * 9 + 6 + 12 + 96 * 10 + 10)
    assert network.training
    assert norm.num_batches_tracked == 0
