"""The models that are compared, from what was asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from ...datasets import Dataset
from ...errors import InputError
from ...families import CandidateModel
from ...model_names import parse_models

DEFAULT_MODELS = ("logistic", "mlp", "convnet", "resnet", "inception", "nb101-1")  # small enough for a CPU
CONTINUATION = re.compile(r"\w+=|\d+$")  # a part between commas that is a setting or an option of the model before it


def read_models(asked: str | Sequence[str] | None, dataset: Dataset, size: str = "cpu") -> list[CandidateModel]:
    """Members by name; of several names in one text, or a file with one per line."""
    said = joined_model_names(asked)
    names = DEFAULT_MODELS if said is None else names_of(said)
    shape = len(dataset.classes), dataset.channels, dataset.resolution
    found = [m for name in names for m in parse_models(name, *shape, size)]
    for first, second in combinations(found, 2):
        if first.name == second.name:
            raise InputError(f"the model {first.name} is named twice")
        if first.fingerprint == second.fingerprint:
            raise InputError(f"{first.name} and {second.name} are the same model")
    if len(found) < 2:
        raise InputError(f"a choice needs two models or more, got {', '.join(m.name for m in found) or 'none'}")
    return found


def joined_model_names(asked: str | Sequence[str] | None) -> str | None:
    """What was asked for in one text, with the lines of files in it, as a run can keep it."""
    if asked is None:
        return None
    return ",".join(name for text in ([asked] if isinstance(asked, str) else asked) for name in names_of(text))


def names_of(text: str) -> list[str]:
    """Names between commas, or of a text file's lines; settings of a model may have commas too."""
    path = Path(text)
    if path.suffix == ".txt":
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: not readable as text: {error}") from None
        kept = [line.partition("#")[0].strip() for line in lines]
        return [line for line in kept if line]
    names: list[str] = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        if names and CONTINUATION.match(part):
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names
