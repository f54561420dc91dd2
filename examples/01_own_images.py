"""Images of your own: from a folder of pictures and a budget to models that can be used.

    python examples/01_own_images.py [FOLDER]

FOLDER holds one folder per class. Without one, a small folder is made from the images that come with the package.
Half a minute of processor time with the settings below. They are for a first look: for real work leave STEPS to the
recipes, or say how many `minutes` there are.
"""

import sys
from pathlib import Path

from PIL import Image

import supernetic
from supernetic.datasets import load

WHERE = ["macs<=300K"]  # the budget of every model
STEPS = {"steps": 20, "network_steps": 10}  # updates of the supernet, and of each finished network
SEARCH = {"population": 8, "generations": 1, "keep": 2}
MACHINE = {"threads": 1, "workers": 1}
OUT = Path("runs/example-01")


def make_folder(folder: Path) -> None:
    """300 images of three classes as PNG files, one folder per class."""
    data = load("embedded", classes=["trouser", "sneaker", "bag"], limit=300)
    for i, (image, label) in enumerate(zip(data.images, data.labels, strict=True)):
        directory = folder / data.classes[label]
        directory.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image[:, :, 0]).save(directory / f"{i:03d}.png")


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else OUT.with_name("example-01-images"))
    if not folder.exists():
        make_folder(folder)
    found = supernetic.search(folder, where=WHERE, **STEPS, **SEARCH, **MACHINE, out=OUT, on_event=print)
    print(found)  # the models, their controls, and what may be believed
    picture = next(folder.rglob("*.png"))
    print(supernetic.predict(found.models["model-1"], [picture], top=1))


if __name__ == "__main__":
    main()
