"""`image_size` and `valid`, in the jobs that share them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from supernetic import catalog
from supernetic.datasets.image_files import ImageFiles
from supernetic.errors import InputError
from supernetic.jobs.search.job import SearchJob
from supernetic.jobs.search.request import SearchRequest
from supernetic.jobs.select.job import SelectJob
from supernetic.jobs.select.request import SelectRequest
from supernetic.jobs.train.job import TrainJob, train
from supernetic.jobs.train.prepare import loading_of
from supernetic.jobs.train.request import TrainRequest
from supernetic.jobs.train.score import SUBSET_METRICS, score
from supernetic.progress import ignore


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for name in ("hill", "lake"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(60):
            noise = Image.fromarray(rng.integers(0, 256, (80, 90, 3), dtype=np.uint8))
            noise.save(tmp_path / "photos" / name / f"{i}.jpg")
    return tmp_path / "photos"


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that were decoded in this process, again and again."""
    names: list[str] = []
    original = ImageFiles.decode

    def decode(self: ImageFiles, rows: Any) -> Any:
        names.extend(self.names[row] for row in rows)
        return original(self, rows)

    monkeypatch.setattr(ImageFiles, "decode", decode)
    return names


def test_they_are_recorded_only_if_they_are_given() -> None:
    assert loading_of("embedded", 300, 1) == {"source": "embedded", "limit": 300, "seed": 1}
    assert loading_of("embedded", None, 1, 32, 50)["resolution"] == 32
    assert loading_of("embedded", None, 1, None, 50) == {"source": "embedded", "limit": None, "seed": 1, "valid": 50}
    assert "image_size" not in TrainRequest("macro").record()
    assert TrainRequest("macro", image_size=8, valid=0.5).record()["valid"] == 0.5
    with pytest.raises(InputError, match="image_size must be at least 1, got 0"):
        SearchRequest(image_size=0)


def test_a_training_at_that_size_with_that_many_validation_images() -> None:
    request = TrainRequest("macro:channels=4,head=16", limit=300, steps=1, image_size=20, valid=50)
    training = TrainJob.prepare(request, ignore).training
    assert training.dataset.resolution == 20
    assert training.settings["load"]["resolution"] == 20
    assert len(training.dataset.splits["valid"]) == 50
    assert training.batches().batch(0)[0].shape[2:] == (20, 20)


def test_other_seeds_may_validate_on_the_same_images(tmp_path: Path) -> None:
    """And without images for temperatures, all others are trained on; scores need none of them."""
    space = "macro:channels=4,resolution=8,head=16"
    splits, weights = [], []
    for seed in (0, 1):
        request = TrainRequest(space, limit=300, steps=1, seed=seed, split_seed=5, calibrate=0)
        training = TrainJob.prepare(request, ignore).training
        splits.append(training.dataset.splits)
        weights.append(next(training.supernet.parameters()))
    assert len(splits[0]["calibrate"]) == 0
    assert all(np.array_equal(splits[0][name], splits[1][name]) for name in splits[0])
    assert not weights[0].equal(weights[1])
    own = TrainJob.prepare(TrainRequest(space, limit=300, steps=1, seed=1), ignore).training.dataset.splits
    assert not np.array_equal(own["valid"], splits[1]["valid"])
    run = train(space, limit=300, steps=1, calibrate=0, split_seed=5, out=tmp_path / "run").run
    assert run is not None
    answers = score(run, catalog.space(space), [(0,) * 8, (1,) * 8])
    assert set(answers[0]) == set(SUBSET_METRICS)


def test_a_space_that_says_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="networks of macro see images of 8 pixels, got an image size of 20"):
        train("macro:channels=4,head=16,resolution=8", limit=300, image_size=20, dry_run=True)


def test_patches_that_networks_resize_for_themselves() -> None:
    """AttentiveNAS: images of one size, which each network brings to its own by bicubic interpolation."""
    space = "attentive:resolutions=24+33,width=0.25"
    training = TrainJob.prepare(TrainRequest(space, limit=300, steps=1, image_size=40), ignore).training
    x, _ = training.batches().batch(0)
    assert x.shape[2:] == (40, 40)
    assert training.supernet.resolutions == {24, 33}
    assert training.supernet.resize(x, 24).shape[2:] == (24, 24)


def test_source_that_has_validation_images_keeps_them(photos: Path, tmp_path: Path) -> None:
    parted = tmp_path / "parted"
    parted.mkdir()
    photos.rename(parted / "train")
    for name in ("hill", "lake"):
        (parted / "val" / name).mkdir(parents=True)
        (parted / "train" / name / "0.jpg").rename(parted / "val" / name / "0.jpg")
    with pytest.raises(InputError, match="parted has validation images of its own: their number cannot be set, got 5"):
        TrainJob.prepare(TrainRequest("macro:channels=4,head=16,resolution=8", parted, valid=5), ignore)


@pytest.mark.parametrize("size", [None, 48])
def test_a_search_decodes_every_image_once(photos: Path, decoded: list[str], size: int | None) -> None:
    job = SearchJob.prepare(SearchRequest(data=photos, image_size=size), ignore)
    assert len(decoded) == len(set(decoded)) == 120
    if size:
        assert job.training.dataset.resolution == size
        arch = tuple(job.space.sample(np.random.default_rng(0), 1)[0].tolist())
        assert job.space.blueprint(arch).resolution == size


def test_so_does_a_selection(photos: Path, decoded: list[str]) -> None:
    models = "logistic,mlp:width=4,depth=1"
    job = SelectJob.prepare(SelectRequest(photos, models=models, image_size=16, valid=10), ignore)
    assert job.loading["resolution"] == 16
    assert len(job.dataset.splits["valid"]) == 10
    assert len(decoded) == 120
