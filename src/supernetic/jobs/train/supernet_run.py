"""What a training began with, and what it left in its run directory: the supernet, its data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import RunError
from ...families.efficientnet_lite import PRETRAINED
from ...runs.directory import naming_damage, read_settings, require_settings
from ...runs.files import SETTINGS, SUPERNET
from ...runs.space_record import space_of
from ...runs.trust import opens_runs

if TYPE_CHECKING:
    from ...datasets import Dataset
    from ...space import Space
    from ...supernets.supernet import Supernet

CONVERTED = "convert"  # the job of a run that holds a released supernet
TASK = "supernet"  # its name in metrics.jsonl and among the checkpoints


@opens_runs
def load_supernet(
    run: str | Path, step: int | None = None, *, device: str = "cpu", trust_code: bool = False
) -> tuple[Supernet, Dataset]:
    """Load the trained supernet of a run.

    Args:
        run: The run directory.
        step: Take the snapshot after this step; by default the final weights.
        device: Where the supernet is put.
        trust_code: Run Python code that the run directory names (docs/received-runs.md).

    Returns:
        The supernet, ready for evaluation, and the data that it was trained on.
    """
    from ...supernets.supernet import Supernet
    from ...training.checkpoint import snapshots

    path = Path(run)
    settings = read_settings(path)
    require_supernet(path, settings)
    if step is None:
        weights = finished_weights(path)
    else:
        kept = snapshots(path)
        if step not in kept:
            raise RunError(f"{path} has no snapshot of step {step}, only of {', '.join(map(str, kept)) or 'none'}")
        weights = kept[step]
    space = space_of(path, settings)
    return _with_weights(Supernet(space), weights, device), data_of(path, settings)


def require_supernet(path: str | Path, settings: Mapping[str, Any], *, data: bool = True) -> None:
    """Refuse a run that holds no supernet, and one whose settings are damaged.

    Args:
        path: The run.
        settings: Its settings.
        data: Whether its images are needed too; a supernet that others released has none.
    """
    if settings.get("job") == CONVERTED:
        if data:
            raise RunError(f"{path} holds a supernet that others released, without images: train it first (--start)")
        require_settings(path, settings, {"space": dict, "seed": int, "stabiliser": str})
        return
    if "load" not in settings or "stabiliser" not in settings:
        raise RunError(f"{path} holds no supernet, it is a run of {settings.get('job', 'something else')!r}")
    kinds = {"load": dict, "space": dict, "seed": int, "steps": int, "stabiliser": str, "data.fingerprint": str}
    require_settings(path, settings, kinds)


def data_of(run: Path, settings: Mapping[str, Any]) -> Dataset:
    """The images of a run, loaded again; if they are others by now, that is an error.

    Args:
        run: The run directory.
        settings: Of the run.

    Returns:
        The data.
    """
    from ...datasets import load

    if "load" not in settings:
        raise RunError(f"{run} does not say which images it was made from")
    with naming_damage(run / SETTINGS):
        dataset, expected = load(**settings["load"]), settings["data"]["fingerprint"]
    if dataset.fingerprint != expected:
        raise RunError(f"{run} was trained on other data than {dataset.source} holds now")
    return dataset


def trained_supernet(supernet: Supernet, run: Path, device: str = "cpu") -> Supernet:
    """The supernet with the weights that its run ended with, ready for evaluation on a device."""
    return _with_weights(supernet, finished_weights(run), device)


def _with_weights(supernet: Supernet, file: Path, device: str) -> Supernet:
    import torch

    from ...training.checkpoint import read

    supernet.load_state_dict(read(file)[0])
    supernet.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return supernet.eval()


def finished_weights(path: Path) -> Path:
    """The weights of a run that is finished."""
    if not (path / SUPERNET).exists():
        raise RunError(
            f"{path} is not finished: it has no {SUPERNET} yet; train again with the same settings to resume"
        )
    return path / SUPERNET


def untrained(space: Space, stabiliser: str, seed: int, start: str | None = None, weights: str = "he") -> Supernet:
    """A supernet with random weights, or with those that it starts from: of a run, or of a pretrained network."""
    from ...supernets.supernet import Supernet
    from ...training.checkpoint import read

    beginning = stabiliser.partition(":")[2] or "random"
    zero_residual = space.sharing == "elastic"
    supernet = Supernet(space, seed=seed, zero_residual=zero_residual, stabiliser=beginning, weights=weights)
    if start is not None and start in PRETRAINED:
        from ...pretrained import load_pretrained
        from ...pretrained.elastic import require_inside, start_from

        require_inside(space, start)
        start_from(supernet, load_pretrained(start).network)
    elif start is not None:
        settings = read_settings(start)
        require_supernet(start, settings, data=False)
        theirs = space_of(Path(start), settings)
        if theirs != space and theirs.fingerprint != space.fingerprint:  # a Python file makes a new class each time
            raise RunError(f"{start} holds a supernet of {theirs}, not of {space}")
        supernet.load_state_dict(read(finished_weights(Path(start)))[0])
    return supernet


def first_supernet(run: str | Path) -> Supernet:
    """The supernet of a run as it was before the first step."""
    settings = read_settings(run)
    space = space_of(Path(run), settings)
    weights = settings["recipe"].get("initial_weights", "he")
    return untrained(space, settings["stabiliser"], settings["seed"], settings.get("start"), weights).eval()
