"""The models that are compared, from names or a file of names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from ...datasets import Dataset
from ...errors import InputError
from ...families import CandidateModel
from ...model_names import parse_models
from ...reading import read_text, reason

DEFAULT_MODELS = ("logistic", "mlp", "convnet", "resnet", "inception", "nb101-1")  # small enough for a CPU
CONTINUATION = re.compile(r"\w+=|\d+$")  # a part between commas that is a setting or an option of the model before it


def read_models(requested: str | Sequence[str] | None, dataset: Dataset, size: str = "cpu") -> list[CandidateModel]:
    """Parse the models that are compared.

    Args:
        requested: Names, several in one text, or a text file with one per line; None: the default models.
        dataset: The images, to which the models are fitted.
        size: Of models that name none: `cpu` or `full`.

    Returns:
        Two models or more, all different.
    """
    joined = joined_model_names(requested)
    names = DEFAULT_MODELS if joined is None else names_of(joined)
    shape = len(dataset.classes), dataset.channels, dataset.resolution
    models = [m for name in names for m in parse_models(name, *shape, size)]
    for first, second in combinations(models, 2):
        if first.name == second.name:
            raise InputError(f"the model {first.name} is named twice")
        if first.fingerprint == second.fingerprint:
            raise InputError(f"{first.name} and {second.name} are the same model")
    if len(models) < 2:
        raise InputError(f"a choice needs two models or more, got {', '.join(m.name for m in models) or 'none'}")
    return models


def joined_model_names(requested: str | Sequence[str] | None) -> str | None:
    """All names in one text, as a run keeps them; a file is replaced by its lines."""
    if requested is None:
        return None
    return ",".join(
        name for text in ([requested] if isinstance(requested, str) else requested) for name in names_of(text)
    )


def names_of(text: str) -> list[str]:
    """Names between commas, or of a text file's lines; settings of a model may have commas too."""
    path = Path(text)
    if path.suffix == ".txt":
        try:
            lines = read_text(path).splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: not readable as text: {reason(error)}") from None
        kept = [line.partition("#")[0].strip() for line in lines]
        return [line for line in kept if line]
    names: list[str] = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        if names and CONTINUATION.match(part):
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names
