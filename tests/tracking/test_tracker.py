from pathlib import Path

from supernetic.tracking.tracker import flat_settings, numbers_of, shared_folder


def test_files_of_many_runs_are_beside_the_outermost_run(tmp_path: Path) -> None:
    inner = tmp_path / "photos/finishes/1"
    inner.mkdir(parents=True)
    for run in (inner, tmp_path / "photos"):
        (run / "run.toml").touch()
    assert shared_folder(inner) == (tmp_path, "photos/finishes/1")
    assert shared_folder(tmp_path / "photos") == (tmp_path, "photos")


def test_settings_without_tables_in_tables() -> None:
    assert flat_settings({"seed": 1, "recipe": {"lr": 0.1, "sampler": {"name": "uniform"}}}) == {
        "seed": 1,
        "recipe.lr": 0.1,
        "recipe.sampler.name": "uniform",
    }


def test_numbers_of_a_result() -> None:
    result = {
        "run": "runs/photos",
        "seed": 3,
        "dry": False,
        "loss": None,
        "front": [1, 2],
        "networks": [{"name": "model-1", "test": {"test/accuracy": 0.5}}, {"score": 7}],
    }
    assert numbers_of(result) == {"seed": 3, "networks/model-1/test/test/accuracy": 0.5}
