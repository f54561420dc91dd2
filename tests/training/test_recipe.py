import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import tomli_w

from supernetic.datasets import augment
from supernetic.errors import InputError, UnknownNameError
from supernetic.samplers.attentive import Attentive
from supernetic.samplers.sandwich import Sandwich
from supernetic.samplers.strict_fair import StrictFair
from supernetic.training.recipe import Recipe, parse_duration, read_recipe, recipe
from supernetic.training.schedule import plan_of

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda p: p.stem)
def test_every_recipe_is_valid(path: Path) -> None:
    read = read_recipe(path)
    assert read.title
    assert read.source
    augment.parse(read.augment)
    plan = plan_of(read, 1000)
    lrs = [plan.lr(s) for s in range(0, plan.steps, max(1, plan.steps // 100))]
    assert max(lrs) <= read.lr
    assert min(lrs) > 0
    assert recipe(tomllib.loads(tomli_w.dumps(read.settings()))) == read
    used = set(tomllib.loads(path.read_text()))
    idle = {k for k in used if k not in ("title", "source", "sampler") and getattr(read, k) == getattr(Recipe(), k)}
    assert idle <= {"batch_size", "lr", "length", "decay_factor"}, "a key that only repeats its default"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nasbench101", {"optimiser": "rmsprop", "lr": 0.2, "eps": 1.0, "weight_decay": 1e-4, "length": "108 epochs"}),
        ("nasbench201", {"nesterov": True, "lr": 0.1, "weight_decay": 5e-4, "length": "200 epochs"}),
        (
            "ranking-supernet",
            {"lr": 0.025, "lr_end": 1e-5, "weight_decay": 3e-4, "batch_size": 256, "decay_all": False},
        ),
        ("ranking-supernet-clip", {"clip_norm": 5.0}),
        ("scarlet-s1-fair", {"length": "60 epochs", "sampler": StrictFair()}),
        ("scarlet-standalone", {"lr": 0.256, "decay_factor": 0.99, "decay_every": "2.4 epochs", "batch_size": 4096}),
        (
            "attentive-supernet",
            {"lr": 0.8, "batch_size": 2048, "clip_value": 1.0, "sampler": Sandwich(2, Attentive(3))},
        ),
        ("scalenet-supernet", {"lr": 0.12, "length": "750_000 steps", "warmup": "3750 steps", "batch_size": 1024}),
        ("scalenet-retrain", {"ema": 0.9999, "lr": 0.08, "decay_factor": 0.97, "warmup": "3 epochs"}),
        ("spos-supernet", {"lr": 0.5, "schedule": "linear", "length": "150_000 steps"}),
    ],
)
def test_published_settings(name: str, expected: dict[str, object]) -> None:
    read = read_recipe(next(p for p in RECIPES if p.stem == name))
    assert {k: getattr(read, k) for k in expected} == expected


def test_there_is_a_recipe_for_every_reduced_supernet() -> None:
    assert {"cpu-macro", "cpu-nasbench201", "cpu-attentive", "cpu-scalenet"} <= {p.stem for p in RECIPES}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rat": 0.1}, "unknown setting of recipe 'learning_rat'"),
        ({"label_smooting": 0.1}, "did you mean 'label_smoothing'"),
        ({"optimiser": "sdg"}, "did you mean 'sgd'"),
        ({"schedule": 3}, "unknown recipe: schedule '3'"),
        ({"lr": "fast"}, "recipe: lr must be float, got 'fast'"),
        ({"nesterov": 1}, "recipe: nesterov must be bool, got 1"),
        ({"batch_size": 2.5}, "recipe: batch_size must be int, got 2.5"),
        ({"decay_at": [8, 11]}, r"decay_at must be text or a list of texts, got \[8, 11\]"),
        ({"lr": 0}, "lr must be positive and finite, got 0"),
        ({"lr": float("nan")}, "lr must be positive and finite, got nan"),
        ({"ema": 1.0}, "ema must lie in 0..1"),
        ({"weight_decay": -1.0}, "weight_decay must be finite and not negative"),
        ({"length": "ten epochs"}, "length must be a number of steps or epochs, such as '5 epochs', got 'ten epochs'"),
        ({"warmup": "5"}, "warmup must be a number of steps or epochs"),
        ({"schedule": "step"}, "needs decay_every or decay_at"),
        ({"optimiser": "adam", "nesterov": True}, "nesterov needs sgd"),
        ({"sampler": {"name": "sandwich", "between": {"name": "atentive"}}}, "did you mean 'attentive'"),
    ],
)
def test_refusals(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipe(settings)


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("lr = 0.1\nmomentun = 0.9\n")
    with pytest.raises(InputError, match=r"bad\.toml: unknown setting of recipe 'momentun': did you mean 'momentum'"):
        read_recipe(path)
    path.write_text("lr = ")
    with pytest.raises(InputError, match="not readable as TOML"):
        read_recipe(path)
    with pytest.raises(InputError, match="not readable as TOML"):
        read_recipe(tmp_path / "missing.toml")
    with pytest.raises(UnknownNameError):
        replace(Recipe(), sampler=None) and recipe({"sampler": "unifrom"})


def test_durations() -> None:
    assert parse_duration("x", "250 epochs") == (250, "epochs")
    assert parse_duration("x", "1 step") == (1, "steps")
    assert parse_duration("x", "2.4epochs") == (2.4, "epochs")
    assert parse_duration("x", "750_000 steps") == (750_000, "steps")


def test_balancing_is_recorded_where_it_is_used() -> None:
    assert "balance" not in Recipe().settings()
    assert recipe({"balance": "sampling"}).settings()["balance"] == "sampling"
    with pytest.raises(InputError, match="balance"):
        recipe({"balance": "auto"})
