"""Models in the form of Hugging Face's hub: `save_pretrained`, `from_pretrained`, `push_to_hub`.

    HubModel.of("runs/photos/models/model-1").save_pretrained("photos-model")
    HubModel.from_pretrained("photos-model")       # or the name of a repository

`config.json` holds blueprint, classes and preprocessing, `model.safetensors` the weights: nothing that runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from huggingface_hub import PyTorchModelHubMixin
from torch import Tensor, nn

from ..blueprint import Blueprint
from ..errors import InputError
from ..nn.network import Network
from .model import MAX_RESOLUTION, load_model, read_card


class HubModel(nn.Module, PyTorchModelHubMixin, library_name="supernetic", pipeline_tag="image-classification"):
    """A network with what its images must look like; `model(images) -> logits`.

    Args:
        blueprint: The layers, as `Blueprint.to_json` writes them.
        classes: Names in the order of the logits.
        mean: Of pixels in 0..1, per channel: what is subtracted first.
        std: By which is divided then.
    """

    def __init__(
        self,
        blueprint: Sequence[Mapping[str, Any]],
        classes: Sequence[str] = (),
        mean: Sequence[float] = (),
        std: Sequence[float] = (),
    ) -> None:
        super().__init__()
        try:
            layers = Blueprint.from_json([dict(layer) for layer in blueprint])
        except (TypeError, KeyError, ValueError) as error:
            raise InputError(f"the configuration holds no blueprint: {error}") from None
        if not layers.layers or not 1 <= layers.resolution <= MAX_RESOLUTION:
            raise InputError(f"the configuration holds no network for images of 1 to {MAX_RESOLUTION} pixels")
        self.network = Network(layers)
        self.classes, self.mean, self.std = tuple(classes), tuple(mean), tuple(std)

    @classmethod
    def of(cls, model: str | PathLike[str]) -> HubModel:
        """The model of a model directory.

        Args:
            model: The directory; all of its files are checked.

        Returns:
            The same network, in evaluation mode.
        """
        network, card = load_model(model), read_card(model)
        made = cls(network.blueprint.to_json(), list(card.classes), list(card.mean), list(card.std))
        made.network.load_state_dict(network.state_dict())
        return made.eval()

    def forward(self, x: Tensor) -> Tensor:
        """Logits of a batch of prepared images."""
        logits: Tensor = self.network(x)
        return logits

    def forward_features(self, x: Tensor) -> Tensor:
        """The map that the global pooling reads."""
        return self.network.forward_features(x)

    @property
    def num_features(self) -> int:
        """Channels of that map."""
        return self.network.num_features

    def get_classifier(self) -> nn.Module:
        """The linear map at the end."""
        return self.network.get_classifier()

    def reset_classifier(self, classes: int) -> None:
        """Replace it by a new one."""
        self.network.reset_classifier(classes)
        self.classes = tuple(map(str, range(classes)))
