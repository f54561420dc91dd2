"""Draw the picture of the transfer from a finished run: `python docs/pictures/plantdoc.py RUN`.

Test images are drawn at random with a fixed seed, not chosen, as many right and wrong ones as in the whole split.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from supernetic.jobs.train.supernet_run import data_of
from supernetic.runs.directory import read_settings
from supernetic.runs.predictions import read_predictions

COLUMNS, ROWS, SIDE, TEXT, GAP = 5, 2, 150, 34, 8
RIGHT, WRONG, GRAY = "#1a7f37", "#cf222e", "#57606a"


def main(run: Path) -> None:
    """Ten test images with what the network says of them, and the truth where it is wrong."""
    settings = read_settings(run)
    data = data_of(run, settings)
    found = read_predictions(run, len(data.classes))
    assert found is not None
    (network,) = found.networks.values()
    rows = data.splits["test"]
    right, rng = network.predicted == found.labels, np.random.default_rng(0)
    shown = round(COLUMNS * ROWS * float(right.mean()))
    drawn = [rng.permutation(np.flatnonzero(part)) for part in (right, ~right)]
    chosen = rng.permutation(np.concatenate([drawn[0][:shown], drawn[1][: COLUMNS * ROWS - shown]]))
    picture = Image.new("RGB", (COLUMNS * (SIDE + GAP) + GAP, ROWS * (SIDE + TEXT + GAP) + GAP), "white")
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(11)
    for i, image in enumerate(chosen):
        x, y = GAP + i % COLUMNS * (SIDE + GAP), GAP + i // COLUMNS * (SIDE + TEXT + GAP)
        picture.paste(Image.fromarray(data.images[rows[image]]).resize((SIDE, SIDE)), (x, y))
        said, truth = data.classes[network.predicted[image]], data.classes[found.labels[image]]
        draw.text((x, y + SIDE + 2), _short(said), RIGHT if said == truth else WRONG, font)
        if said != truth:
            draw.text((x, y + SIDE + 16), f"is {_short(truth)}", GRAY, font)
    picture.save(Path(__file__).with_suffix(".jpg"), quality=85)
    print(f"{len(chosen)} of {len(rows)} test images; {100 * float(right.mean()):.1f} % of all are right")


def _short(name: str) -> str:
    return name if len(name) <= 24 else name[:23] + "…"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
