"""A finished model: load it as a plain module, classify images, and run its ONNX file without torch.

    python examples/05_load_and_predict.py [MODEL]

MODEL is a model directory, such as runs/demo/models/model-1. Without one, a tiny search makes a model first (a quarter
of a minute of processor time). The ONNX part needs the extra: pip install 'supernetic[export]'.
"""

import sys
from pathlib import Path

import torch
from PIL import Image

import supernetic
from supernetic.datasets import load
from supernetic.exporters.model import read_card

SETTINGS = {
    "space": "macro:channels=4,resolution=16,head=16",
    "where": ["macs<=200K"],
    "steps": 15,
    "population": 6,
    "generations": 1,
    "keep": 1,
    "retrain": "none",
    "limit": 400,
    "threads": 1,
}
OUT = Path("runs/example-05")


def main() -> None:
    model = sys.argv[1] if len(sys.argv) > 1 else supernetic.search(**SETTINGS, out=OUT).models["model-1"]
    network = supernetic.load(model)  # checksums are verified; a torch.nn.Module in evaluation mode
    card = read_card(model)  # what the model says about itself
    print(f"{card.name}: {sum(p.numel() for p in network.parameters()):,} parameters, {card.macs:,} MACs")

    data = load("embedded", resolution=card.resolution, gray=card.channels == 1)
    rows = data.splits["test"][:200]
    images = card.prepare(data.images[rows])  # normalised as in training
    with torch.inference_mode():
        logits = network(images).numpy()
    print(f"{(logits.argmax(1) == data.labels[rows]).mean():.1%} of {len(rows)} test images are right")

    import onnxruntime

    session = onnxruntime.InferenceSession(Path(model) / "model.onnx")
    (other,) = session.run(["logits"], {"images": images.numpy()})
    print(f"onnxruntime differs by {abs(other - logits).max():.1g} at most")

    picture = OUT.with_suffix(".png")  # any picture will do: it is cut, resized and turned gray as the model wants it
    Image.fromarray(data.images[rows[0], :, :, 0]).save(picture)
    print(supernetic.predict(model, [picture], top=2))


if __name__ == "__main__":
    main()
