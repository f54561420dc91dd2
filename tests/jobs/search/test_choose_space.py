from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from supernetic import catalog
from supernetic.blueprint import Blueprint
from supernetic.costs import costs_of
from supernetic.costs.graph import cost_graph_of
from supernetic.costs.macs import cost
from supernetic.datasets import Dataset, load
from supernetic.errors import BudgetError, DataError, InputError, UnknownNameError
from supernetic.jobs.search.choose_space import (
    MACRO_STEM_CHANNELS,
    RESNET_REACH,
    _resnet_like,
    check_budget,
    check_images,
    choose_space,
    count_networks,
)
from supernetic.objective import Constraint, parse_where
from supernetic.space import Space
from supernetic.spaces.macro import Macro
from supernetic.spaces.mixed import Mixed

SMALL = Macro(channels=8, resolution=16, head=160)


@pytest.fixture(scope="module")
def images() -> Dataset:
    return load(limit=300)


def sized(dataset: Dataset, resolution: int, channels: int = 1) -> Dataset:
    pixels = np.zeros((len(dataset.images), resolution, resolution, channels), dtype=np.uint8)
    return dataclasses.replace(dataset, images=pixels)


def limits(*texts: str) -> list[Constraint]:
    return [parse_where(t) for t in texts]


def share(space: Space, name: str, high: float) -> float:
    archs = space.sample(np.random.default_rng(7), 3000)
    return float((costs_of(space, archs, name) <= high).mean())


# --- images -----------------------------------------------------------------------------------------------------------


def write(root: Path, counts: dict[str, int], break_: Callable[[bytes], bytes] = lambda data: data) -> Path:
    """A folder of so many images per class."""
    rng = np.random.default_rng(0)
    for name, n in counts.items():
        (root / name).mkdir(parents=True)
        for i in range(n):
            file = root / name / f"{i}.png"
            Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(file)
            file.write_bytes(break_(file.read_bytes()))
    return root


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({}, "{path} is empty"),
        ({"cat": 5}, "{path}: a task needs two classes or more, got cat"),
        ({"cat": 5, "dog": 0}, "the class 'dog' has no image"),
        ({"cat": 1, "dog": 1}, "{path}: the split valid is empty, a search needs images to choose architectures by"),
        ({"train/cat": 1, "train/dog": 0, "test/cat": 3, "test/dog": 3}, "the class 'dog' has no image"),
        ({"cat": 2, "dog": 2}, "{path}: the split test is empty, a search needs images to test the models on"),
    ],
)
def test_images_that_will_not_do_are_refused_in_one_line(tmp_path: Path, counts: dict[str, int], message: str) -> None:
    path = tmp_path / "images"
    path.mkdir()
    write(path, counts)
    with pytest.raises(DataError) as caught:
        check_images(load(path))
    assert str(caught.value).startswith(message.format(path=path))
    assert "\n" not in str(caught.value)


def test_fewer_images_than_classes(tmp_path: Path) -> None:
    images = np.zeros((3, 8, 8, 1), dtype=np.uint8)
    np.savez(tmp_path / "few.npz", images=images, labels=[0, 1, 2], classes=["a", "b", "c", "d"])
    with pytest.raises(DataError, match="4 classes need as many training images or more, got 3"):
        load(tmp_path / "few.npz")


def test_corrupt_files_are_named(tmp_path: Path) -> None:
    write(tmp_path, {"cat": 12, "dog": 12})
    (tmp_path / "dog" / "3.png").write_bytes((tmp_path / "dog" / "3.png").read_bytes()[:60])
    with pytest.raises(DataError) as caught:
        load(tmp_path)
    assert "dog/3.png" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_odd_about_images_is_said(tmp_path: Path, images: Dataset) -> None:
    write(tmp_path, {"cat": 40, "dog": 40})
    for i in range(40):
        (tmp_path / "dog" / f"{i}.png").write_bytes((tmp_path / "cat" / f"{i}.png").read_bytes())
    notes = check_images(load(tmp_path))
    assert any("under different labels" in n for n in notes)
    assert "the split valid has 8 images: an accuracy of 90 % is uncertain by 20.8 points" in notes
    assert not any("uncertain" in n for n in check_images(load()))


# --- the space --------------------------------------------------------------------------------------------------------


def test_a_named_space_is_completed_from_the_data(images: Dataset) -> None:
    space, text, reasons = choose_space(images, (), "macro:channels=8")
    assert space == Macro(channels=8, resolution=28, in_channels=1)
    assert (text, reasons) == ("macro:channels=8", ("from the data: in_channels=1, resolution=28",))
    assert choose_space(images, (), SMALL) == (SMALL, "macro", ())
    with pytest.raises(UnknownNameError, match="did you mean 'macro'"):
        choose_space(images, (), "makro")


@pytest.mark.parametrize("minutes", [None, 10.0])
@pytest.mark.parametrize("resolution", [28, 100])
def test_a_size_that_was_asked_for_is_kept(
    images: Dataset, resolution: int, minutes: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supernetic.jobs.search.choose_space._why_plain", lambda dataset: "it is faster here")
    small = limits("macs<=1")  # for which `auto` would make images smaller
    space, text, _ = choose_space(sized(images, resolution, 3), small, minutes=minutes, image_size=resolution)
    assert f"resolution={resolution}," in text
    assert space.blueprint(tuple(space.sample(np.random.default_rng(0), 1)[0].tolist())).resolution == resolution
    with pytest.raises(InputError, match="see 16 pixels or more, got 8"):
        choose_space(sized(images, 8), image_size=8)


@pytest.mark.parametrize("resolution", [8, 28, 32, 48, 64, 65, 100, 224, 500])
def test_auto_says_a_text_that_makes_the_space_again(images: Dataset, resolution: int) -> None:
    dataset = sized(images, resolution, 3)
    space, text, reasons = choose_space(dataset)
    assert catalog.space(text) == space
    assert choose_space(dataset) == (space, text, reasons)
    arch = tuple(space.sample(np.random.default_rng(0), 1)[0].tolist())
    blueprint = space.blueprint(arch)
    assert (blueprint.classes, blueprint.in_channels) == (10, 3)
    assert (
        blueprint.resolution == max(16, resolution)
        if resolution <= 64
        else 64 <= blueprint.resolution <= min(resolution, 224)
    )
    last = next(x for x in blueprint.layers if x.kind == "gap")
    assert last.resolution >= 2
    assert text.partition(":")[0] in reasons[0]
    assert f"{resolution}x{resolution}" in reasons[0]
    assert "MACs" in reasons[1]


@pytest.fixture
def plain_is_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which inverted bottlenecks are trained as fast as plain convolutions."""
    monkeypatch.setattr("supernetic.jobs.search.choose_space._why_plain", lambda _: "")


@pytest.fixture
def plain_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which they are not."""
    monkeypatch.setattr("supernetic.jobs.search.choose_space._why_plain", lambda _: "2 images/s against 1")


@pytest.mark.parametrize("limit", ["macs<=2M", "macs<=5M", "macs<=10M", "params<=100K", "params<=350K"])
@pytest.mark.parametrize("resolution", [28, 32, 128])
@pytest.mark.usefixtures("plain_is_slower")
def test_the_budget_lies_well_within_the_space(images: Dataset, resolution: int, limit: str) -> None:
    constraint = parse_where(limit)
    space, _, reasons = choose_space(sized(images, resolution), [constraint], minutes=600)
    smallest = share(space, constraint.name, constraint.high)
    narrowest = choose_space(sized(images, resolution), limits("macs<=1"))[0]
    assert 0.65 <= smallest <= 0.999 or space == narrowest
    assert reasons[1].startswith(f"sized so that most networks satisfy {constraint}")


@pytest.mark.parametrize(("faster", "slower", "kind"), [(1.0, 2.0, "mixed"), (2.0, 1.0, "macro")])
def test_the_speed_of_this_machine_decides_the_kind(
    images: Dataset, faster: float, slower: float, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed: list[float] = []

    def pass_seconds(network: Blueprint, *_: object) -> float:
        timed.append(cost(network).macs)
        return faster if len(timed) % 2 else slower

    monkeypatch.setattr("supernetic.jobs.glance.pass_seconds", pass_seconds)
    space, text, reasons = choose_space(images, minutes=10)
    assert space.name == kind
    assert catalog.space(text) == space
    assert max(timed) < 2 * min(timed)  # a plain stack and bottlenecks of about as many MACs
    assert ("64 images/s are trained on by a plain stack, 32 by bottlenecks" in reasons[0]) == (kind == "mixed")
    timed.clear()
    assert choose_space(images)[0].name == "macro"  # without a time limit, and on a GPU, nothing is timed
    assert choose_space(images, minutes=10, device="cuda")[0].name == "macro"
    assert not timed


@pytest.mark.parametrize("limit", ["macs<=2M", "macs<=10M", "macs<=100M", "params<=100K", "params<=1M"])
@pytest.mark.parametrize("resolution", [8, 28, 64, 65, 128])
@pytest.mark.usefixtures("plain_is_faster")
def test_mixed_is_sized_so_that_a_resnet_of_it_comes_close(images: Dataset, resolution: int, limit: str) -> None:
    constraint = parse_where(limit)
    space, text, reasons = choose_space(sized(images, resolution), [constraint], minutes=1e5)
    assert catalog.space(text) == space
    assert reasons[1].startswith(f"sized so that a plain ResNet of it comes close to {constraint}")
    assert check_budget(space, [constraint]) == () or count_networks(space, [constraint])
    if "channels=4," not in text:  # the narrowest is taken if none fits
        high = constraint.high * RESNET_REACH
        assert costs_of(space, np.array([_resnet_like(space)], dtype=np.int8), constraint.name)[0] <= high


@pytest.mark.usefixtures("plain_is_faster")
def test_mixed_grows_with_the_time(images: Dataset) -> None:
    spaces = [choose_space(images, minutes=m)[0] for m in (0.01, 0.3, 3, 30)]
    widths = [space.channels for space in spaces if isinstance(space, Mixed)]
    assert len(widths) == 4
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


@pytest.mark.usefixtures("plain_is_slower")
def test_more_than_the_time_can_train_is_not_taken(images: Dataset) -> None:
    free, ample = choose_space(images)[0], choose_space(images, limits("macs<=300M"))
    assert ample[0] == free
    assert ample[2][1].startswith("sized for the available time, smaller than macs<=300M allows")
    less, more = (choose_space(images, minutes=m)[0] for m in (5, 600))
    macs = [cost_graph_of(s).extremes()[1] for s in (less, free, more) if isinstance(s, Macro)]
    assert macs == sorted(set(macs))
    assert len(macs) == 3
    fast = choose_space(images, limits("macs<=300M"), device="cuda")
    assert share(fast[0], "macs", 300e6) < 1
    assert "most networks satisfy" in fast[2][1]


def test_lower_limits_ask_for_more(images: Dataset) -> None:
    space, _, reasons = choose_space(images, limits("macs in 90M..100M"))
    assert share(space, "macs", 100e6) - share(space, "macs", 90e6) > 0.1
    assert reasons[1].startswith("sized so that macs>=90M leaves a choice")
    assert check_budget(space, limits("macs in 90M..100M"))
    large = choose_space(images, limits("macs>=100G"))[0]
    assert isinstance(large, Macro)
    assert large.channels == MACRO_STEM_CHANNELS[-1]
    with pytest.raises(BudgetError):
        check_budget(large, limits("macs>=100G"))


def test_many_classes_widen_the_head(images: Dataset) -> None:
    many = dataclasses.replace(images, classes=tuple(f"class {i}" for i in range(5000)))
    space = choose_space(many, limits("macs<=3M"))[0]
    assert isinstance(space, Macro)
    assert (space.classes, space.head) == (5000, 1280)


# --- the budget -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "error", "message"),
    [
        (["macs<=1K"], BudgetError, "macro: no architecture has macs<=1K; its macs run from 122.4K to 2.042M"),
        (["macs>=1G"], BudgetError, "macro: no architecture has macs>=1G; its macs run from 122.4K to 2.042M"),
        (["params<=1K"], BudgetError, "macro: no architecture has params<=1K; its params run from"),
        (["macs<=1M", "macs>=2M"], InputError, "the constraints on macs contradict each other: macs<=1M and macs>=2M"),
        (["macs<=1M", "cost/macs>=2M"], InputError, "the constraints on macs contradict each other"),
        (["macs<=150K", "params>=200K"], BudgetError, "macro: 0 of 1 architectures satisfied macs<=150K and params>="),
        (["latency<=1ms", "latency>=2ms"], InputError, "the constraints on latency contradict each other"),
        (["macs in 122500..122600"], BudgetError, "the nearest costs are"),
    ],
)
def test_budgets_that_cannot_be_met(where: list[str], error: type[InputError], message: str) -> None:
    with pytest.raises(error) as caught:
        check_budget(SMALL, limits(*where))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_budgets_that_can_be_met() -> None:
    assert check_budget(SMALL, ()) == ()
    assert check_budget(SMALL, limits("latency<=8ms", "valid/accuracy>=50%")) == ()
    assert check_budget(SMALL, limits("macs<=1G")) == (
        "macs<=1G excludes no network: macs of macro run from 122.4K to 2.042M",
        "3,969 networks satisfy macs<=1G",
    )
    assert check_budget(SMALL, limits("cost/macs<=122.5K")) == ("1 network satisfies macs<=122.5K",)
    assert check_budget(catalog.space("scarlet-s1"), limits("macs<=300M")) == ()


def test_networks_are_counted_as_by_brute_force() -> None:
    archs = {SMALL.canonical(tuple(a)) for a in np.ndindex(*(3,) * 8)}
    macs = costs_of(SMALL, np.array(sorted(archs), dtype=np.int8))
    assert count_networks(SMALL) == len(archs) == 3969
    assert count_networks(SMALL, limits("macs<=1M")) == int((macs <= 1e6).sum())
    assert count_networks(SMALL, limits("macs<1M", "params>=60K", "latency<=3ms")) is not None
    scarlet = catalog.space("scarlet-s1")
    assert count_networks(scarlet) is None
    assert count_networks(scarlet, limits("macs<=23.5M")) in range(1, 20_000)


def test_a_space_that_can_only_be_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supernetic.jobs.search.choose_space.MAX_TRIALS", 50)
    monkeypatch.setattr("supernetic.jobs.search.choose_space.SAMPLED_ARCHS", 50)
    space = catalog.space("nasbench101:channels=8,cells=1,resolution=8")
    assert check_budget(space, limits("params<=1G"))
    with pytest.raises(BudgetError, match="0 of 1 architectures satisfied params<=1"):
        check_budget(space, limits("params<=1"))
