from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

from supernetic import catalog
from supernetic.datasets import load
from supernetic.errors import InputError
from supernetic.evaluators import CombinedEvaluator, CostEvaluator, Evaluator
from supernetic.evaluators.on_cluster import ClusterEvaluator, on_workers, pack_evaluator, unpack_evaluator
from supernetic.evaluators.proxies import ProxyEvaluator
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.parallel import workers
from supernetic.parallel.cluster import Cluster, cluster
from supernetic.space import Arch, Space
from supernetic.supernets.supernet import Supernet


@pytest.fixture(scope="module")
def two() -> Iterator[Cluster]:
    with cluster("local:2", patience=60) as opened:
        workers._cluster.set(None)
        yield opened


@pytest.fixture(scope="module")
def space() -> Space:
    return catalog.space("macro:channels=4,resolution=8,head=16,in_channels=1")


@pytest.fixture(scope="module")
def evaluate(space: Space) -> Evaluator:
    images = load("embedded", limit=300, resolution=8, gray=True)
    supernet = Supernet(space, seed=3).eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    scores = SupernetEvaluator(supernet, images, ("valid/cross_entropy", "valid/accuracy"), images=64)
    return CombinedEvaluator((CostEvaluator(space, ("cost/macs",)), scores, ProxyEvaluator(space, images, ("jacov",))))


def some(space: Space, n: int) -> list[Arch]:
    return [tuple(a) for a in space.sample(np.random.default_rng(1), n).tolist()]


def test_the_same_answers_in_the_same_order(space: Space, evaluate: Evaluator, two: Cluster) -> None:
    archs = some(space, 9)
    with workers.install_cluster(two):
        spread = on_workers(evaluate)
        assert isinstance(spread, ClusterEvaluator)
        assert (spread.metrics, spread.test) == (evaluate.metrics, evaluate.test)
        answers = spread(archs)
        assert spread([]) == []
    assert answers == evaluate(archs)
    assert on_workers(evaluate) is evaluate


def test_images_are_not_sent_and_tensors_keep_their_order_in_memory(space: Space) -> None:
    images = load("embedded", limit=2000)
    supernet = Supernet(catalog.space("macro:channels=8,in_channels=1,resolution=28")).eval()
    supernet.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    sent = pack_evaluator(SupernetEvaluator(supernet, images, bn="batch"))
    weights = sum(4 * p.numel() for p in supernet.parameters())
    assert len(sent) < weights * 1.2 + 200_000 < weights + images.images.nbytes
    back = unpack_evaluator(sent)
    assert isinstance(back, SupernetEvaluator)
    for (name, before), after in zip(supernet.state_dict().items(), back.supernet.state_dict().values(), strict=True):
        assert torch.equal(before, after), name
        assert before.stride() == after.stride(), name


def test_a_worker_without_the_data_says_so_in_one_line(tmp_path: Path, space: Space, two: Cluster) -> None:
    rng = np.random.default_rng(0)
    for name in ("cat", "dog"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(20):
            pixels = rng.integers(0, 255, (8, 8), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "photos" / name / f"{i}.png")
    images = load(tmp_path / "photos")
    evaluate = ProxyEvaluator(space, images, ("jacov",), images=8)
    with workers.install_cluster(two):
        spread = on_workers(evaluate)
        assert spread(some(space, 2)) == evaluate(some(space, 2))
        shutil.move(tmp_path / "photos", tmp_path / "elsewhere")
        other = on_workers(ProxyEvaluator(space, images, ("jacov",), images=9))
        message = r"on the worker tcp://127.0.0.1:\d+: the data are not there: .*photos does not exist$"
        workers.map_in_workers(forget(), [0, 1], 1)  # a worker keeps the data that it has loaded
        with pytest.raises(InputError, match=message):
            other(some(space, 2))


def forget() -> Callable[..., None]:
    def work(item: int, report: object) -> None:
        import time

        from supernetic.networks.pool import _loaded

        _loaded.cache_clear()
        time.sleep(0.5)  # so that both workers do it

    return work


def test_what_cannot_be_sent_is_named(space: Space) -> None:
    class Unsendable:
        metrics = ("own/score",)
        test = frozenset[str]()

        def __init__(self) -> None:
            self.lock = threading.Lock()

        def __call__(self, archs: object) -> list[dict[str, float]]:
            return []

    with pytest.raises(InputError, match="the evaluator Unsendable cannot be sent to a cluster"):
        pack_evaluator(Unsendable())
