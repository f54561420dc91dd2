from __future__ import annotations

from pathlib import Path

import pytest

from supernetic.errors import InputError
from supernetic.lab.study_file import apply_change, read_study, settings_of_space, space_text

FILE = """
title = "A study"
seeds = [0, 3]
[base]
space = "nasbench201:cells=2,without=avg_pool_3x3"
recipe = { lr = 0.1, length = "5 steps" }
[measure]
kind = "ranking"
truth = "c10_test_200"
[grid.mask]
all = {}
"no zero" = { without = ["none"] }
[grid.training]
plain = {}
warm = { recipe = { warmup = "1 step" }, space = { channels = 8, share_cells = false } }
[[figures]]
title = "Both"
variants = ["no zero, *", "all, plain"]
[[claims]]
text = "a claim"
metric = "tau_a"
variant = "no zero, warm"
below = "all, plain"
"""


def written(folder: Path, text: str = FILE, name: str = "mine.toml") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text)
    return path


def test_axes_are_multiplied_and_changes_merged(tmp_path: Path) -> None:
    study = read_study(written(tmp_path))
    assert [v.name for v in study.variants] == ["all, plain", "all, warm", "no zero, plain", "no zero, warm"]
    assert study.variants[0].training == {
        "space": "nasbench201:cells=2,without=avg_pool_3x3",
        "recipe": {"lr": 0.1, "length": "5 steps"},
    }
    assert study.variants[3].training == {
        "space": "nasbench201:cells=2,channels=8,share_cells=false,without=avg_pool_3x3+none",
        "recipe": {"lr": 0.1, "length": "5 steps", "warmup": "1 step"},
    }
    assert (study.name, study.seeds, study.data) == ("mine", (0, 3), "embedded")
    assert study.figures[0].variants == ("no zero, plain", "no zero, warm", "all, plain")
    assert (study.claims[0].relation, study.claims[0].other) == ("below", "all, plain")


def test_images_have_a_size_and_a_number(tmp_path: Path) -> None:
    text = FILE.replace("[measure]", "image_size = 24\nvalid = 0.2\n[measure]", 1)
    study = read_study(written(tmp_path, text))
    assert all((v.training["image_size"], v.training["valid"]) == (24, 0.2) for v in study.variants)
    study = read_study(written(tmp_path, text), training={"valid": 500})
    assert all((v.training["image_size"], v.training["valid"]) == (24, 500) for v in study.variants)
    with pytest.raises(InputError, match="base: image_size must be a number, got '24'"):
        read_study(written(tmp_path, text.replace("= 24", "= '24'")))


def test_data_can_be_others_and_a_figure_is_made_up(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, FILE.partition("[[figures]]")[0]), data="elsewhere")
    assert study.data == "elsewhere"
    assert [f.variants for f in study.figures] == [tuple(v.name for v in study.variants)]


def test_files_take_from_files(tmp_path: Path) -> None:
    written(tmp_path, 'lr = 0.5\nbatch_size = 7\ntitle = "theirs"\n', "recipes/a.toml")
    written(tmp_path, FILE, "whole.toml")
    small = '[base]\nspace = { cells = 1 }\nrecipe = { lr = 0.9 }\n[measure]\nvalid = 50\n[grid.mask]\n"no zero" = {}\n'
    written(tmp_path, small, "settings/small.toml")
    path = written(tmp_path, 'title = "Ours"\nfrom = ["whole.toml", "settings/small.toml"]\nseeds = [5]\n', "ours.toml")
    study = read_study(path)
    assert (study.title, study.seeds, study.name) == ("Ours", (5,), "ours")
    assert study.measure == {"kind": "ranking", "truth": "c10_test_200", "valid": 50}
    assert study.variants[2].training == {
        "space": "nasbench201:cells=1,without=avg_pool_3x3",
        "recipe": {"lr": 0.9, "length": "5 steps"},
    }
    text = 'title = "Other recipe"\nfrom = "whole.toml"\n[base]\nrecipe = "recipes/a.toml"\n'
    replaced = read_study(written(tmp_path, text, "replaced.toml"))
    assert replaced.variants[1].training["recipe"] == {"lr": 0.5, "batch_size": 7, "warmup": "1 step"}


def test_files_that_read_one_another_end(tmp_path: Path) -> None:
    path = written(tmp_path, 'from = "mine.toml"\n')
    with pytest.raises(InputError, match="read one another"):
        read_study(path)


def test_spaces_as_text() -> None:
    assert settings_of_space("macro") == ("macro", {})
    assert space_text("a", {"z": 1, "b": True, "without": ["x", "y"]}) == "a:b=true,without=x+y,z=1"
    assert apply_change({"space": "a:b=1"}, {"space": "c"}) == {"space": "c"}
    assert apply_change({"space": "a:b=1"}, {"space": {"b": 2}}) == {"space": "a:b=2"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title =", "titel =", "did you mean 'title'"),
        ('title = "A study"', "", "needs a title"),
        ("seeds = [0, 3]", "seeds = [0, 0]", "seeds must be different, got 0, 0"),
        ("seeds = [0, 3]", "seeds = [-1]", "whole numbers"),
        ('kind = "ranking"', "", "must have a kind"),
        ("lr = 0.1", "lr = ", "not readable as TOML"),
        ('space = "nasbench201:cells=2,without=avg_pool_3x3"', "", "must name the space"),
        ("warm = {", "warm = { batch = 3,", "argument of a training in 'warm': 'batch'"),
        ('without = ["none"]', 'without = "none"', "without must be a list"),
        ('"all, plain"]', '"nothing"]', "unknown variant in a figure 'nothing'"),
        ('below = "all, plain"', 'below = "plain"', "unknown variant in the claim"),
        ("all = {}", "all = 3", "must be a table"),
        ('recipe = { lr = 0.1, length = "5 steps" }', 'recipe = "no.toml"', "recipe .*no.toml"),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in FILE
    with pytest.raises(InputError, match=said) as caught:
        read_study(written(tmp_path, FILE.replace(old, new)))
    assert str(caught.value).startswith(str(tmp_path / "mine.toml"))
    assert "\n" not in str(caught.value)
