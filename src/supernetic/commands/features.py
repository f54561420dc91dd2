"""`features`: what the options of one layer of a trained supernet make of the same images.

Paper: SCARLET-NAS, figures 1, 4 and 11: cosine similarities, angles in a plane, feature maps.
Differences: the earlier layers are those of one network, the paper's are not named; `derivation.features` says how
feature vectors are projected to a plane.
"""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, RunError
from ..hardware import settle_hardware
from ..lab.study_page import standalone
from ..reports import svg as plots
from ..reports.series_plots import HEIGHT, WIDTH, matrix, style_of
from ..result import Result
from ..runs.trust import opens_runs

if TYPE_CHECKING:
    from torch import Tensor

FILES = ("similarity.svg", "angles.svg", "maps.png")
TILE, GAP = 48, 4  # pixels of a feature map in the picture, and between two


@dataclass(frozen=True)
class FeaturesResult(Result):
    """How alike the options of a layer are."""

    run: str
    space: str
    layer: int  # from 1
    network: str  # whose earlier layers were run
    images: int
    options: tuple[str, ...]
    similarity: tuple[tuple[float, ...], ...]  # cosine, of any two options
    mean: float  # over pairs of different options
    angles: tuple[float, ...]  # degrees, to the first option
    points: tuple[tuple[float, float], ...]  # in the plane: along the first option's features, and away from them
    files: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain records."""
        return asdict(self)

    def lines(self) -> list[str]:
        """A summary for people."""
        width = max(map(len, self.options))
        head = "".join(f"{i:>7}" for i in range(1, len(self.options) + 1))
        rows = [
            f"  {i} {name:<{width}}" + "".join(f"{v:>7.2f}" for v in row) + f"{angle:>8.0f}°"
            for i, (name, row, angle) in enumerate(zip(self.options, self.similarity, self.angles, strict=True), 1)
        ]
        written = [f"written: {', '.join(self.files)}"] if self.files else []
        return [
            f"layer {self.layer} of {self.space} behind {self.network}, {self.images} validation images",
            f"cosine similarity {self.mean:.3f} on average; angles are to {self.options[0]}",
            "",
            f"    {'':<{width}}{head}    angle",
            *rows,
            *written,
        ]


@opens_runs
def features(
    run: str | Path,
    *,
    layer: int = 3,
    arch: str = "",
    images: int = 32,
    maps: int = 8,
    device: str = "auto",
    seed: int = 0,
    out: str | Path | None = None,
    trust_code: bool = False,
) -> FeaturesResult:
    """Compare the features of the options of one layer.

    Args:
        run: A run of `train` whose space is a chain of layers.
        layer: Its number, from 1.
        arch: The network whose earlier layers are run; by default a random one.
        images: Validation images.
        maps: Channels of each option in the picture of feature maps, those of the first image.
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto`: a GPU that CUDA knows, else the CPU.
        seed: Draws the network.
        out: A directory for the drawings: similarities, angles and feature maps. By default nothing is written.
        trust_code: Run Python code that a run directory names (docs/received-runs.md).

    Returns:
        Similarities and angles.
    """
    from ..datasets.batches import Batches
    from ..derivation.features import angles, choice_features, mean_similarity, project, similarity
    from ..jobs.train.supernet_run import load_supernet
    from ..space import SequentialSpace

    for name, value in (("layer", layer), ("images", images), ("maps", maps)):
        if value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")
    where = settle_hardware(device).device
    supernet, dataset = load_supernet(run, device=where)
    space = supernet.space
    if not isinstance(space, SequentialSpace) or not space.is_chain:
        raise RunError(f"{run}: only a chain of layers has options with the same input, got {space.name}")
    if layer > len(space.slots):
        raise InputError(f"{space.name} has layers 1 to {len(space.slots)}, got {layer}")
    drawn: tuple[int, ...] = tuple(space.sample(np.random.default_rng(seed), 1)[0].tolist())
    genes = space.parse(arch) if arch else drawn
    x = next(Batches(dataset, "valid", images, device=where).evaluate())[0]
    found = {name: y.cpu() for name, y in choice_features(supernet, x, genes, layer - 1).items()}
    alike, points = similarity(found), project(found)
    result = FeaturesResult(
        run=str(run),
        space=space.name,
        layer=layer,
        network=space.format(genes),
        images=len(x),
        options=tuple(found),
        similarity=tuple(tuple(round(float(v), 4) for v in row) for row in alike),
        mean=round(mean_similarity(alike), 4),
        angles=tuple(round(float(a), 1) for a in angles(points)),
        points=tuple((round(float(a), 4), round(float(b), 4)) for a, b in points),
        files=() if out is None else tuple(str(Path(out) / name) for name in FILES),
    )
    if out is not None:
        _draw(Path(out), result, found, maps)
    return result


def _draw(folder: Path, result: FeaturesResult, features: dict[str, Tensor], maps: int) -> None:
    """The three drawings, each put in place whole."""
    from ..runs.directory import write_atomically

    folder.mkdir(parents=True, exist_ok=True)
    shares = [[min(1.0, max(0.0, v)) for v in row] for row in result.similarity]
    arrows = [
        plots.Line(name, (0.0, x), (0.0, y), f"series {style_of(i)}")
        for i, (name, (x, y)) in enumerate(zip(result.options, result.points, strict=True))
    ]
    along, away = f"along the features of {result.options[0]}", "away from them"
    plane = plots.lines(arrows, along, away, "features of the options in a plane", width=WIDTH, height=HEIGHT)
    legend = [(style_of(i), name) for i, name in enumerate(result.options)]
    write_atomically(folder / FILES[0], standalone(matrix(shares, result.options), []))
    write_atomically(folder / FILES[1], standalone(plane, legend))
    write_atomically(folder / FILES[2], picture(features, maps))


def picture(features: dict[str, Tensor], maps: int) -> bytes:
    """Feature maps of the first image as a PNG: a row for each option, a column for each channel.

    Args:
        features: By option: images x channels x height x width.
        maps: Channels to show; options with fewer leave the rest of their row empty.

    Returns:
        The file. In each map black is the least value, white the largest.
    """
    from PIL import Image

    sheet = np.full((len(features) * (TILE + GAP) - GAP, maps * (TILE + GAP) - GAP), 255, dtype=np.uint8)
    for row, values in enumerate(features.values()):
        for column, one in enumerate(values[0, :maps].float().numpy()):
            low, high = float(one.min()), float(one.max())
            shade = ((one - low) / (high - low or 1.0) * 255).astype(np.uint8)
            tile = Image.fromarray(shade).resize((TILE, TILE), Image.Resampling.NEAREST)
            top, left = row * (TILE + GAP), column * (TILE + GAP)
            sheet[top : top + TILE, left : left + TILE] = np.asarray(tile)
    file = io.BytesIO()
    Image.fromarray(sheet).save(file, "PNG")
    return file.getvalue()
