"""Model directories as models of timm: `timm.create_model("local-dir:DIRECTORY", pretrained=True)`.

    supernetic.register_timm()  # once in a process
    model = timm.create_model("local-dir:runs/photos/models/model-1", pretrained=True, num_classes=5)
    config = timm.data.resolve_model_data_config(model)

timm reads `config.json` of the directory and asks its registry for the network. What is registered here reads the rest
of the directory, with all its checksums. `features_only` is not supported: `network.trace` gives every map.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..errors import InputError
from ..nn.initialise import initialise
from ..nn.network import Network
from ..nn.timm_package import NEEDED, have_timm, timm
from .model import TIMM_NAME, load_model

SETTLED = ("pretrained_cfg_overlay", "cache_dir", "pretrained_model_args")  # of timm's, which change nothing here


@lru_cache(maxsize=1)
def register_timm() -> str:
    """Let timm create the networks of model directories, in this process.

    Returns:
        The name of the architecture in timm's registry, which every `config.json` has.
    """
    if not have_timm():
        raise InputError(f"registering models {NEEDED}")
    timm().models.register_model(supernetic_network)
    return TIMM_NAME


def supernetic_network(pretrained: bool = False, **options: Any) -> Network:
    """What timm calls for a model directory.

    Args:
        pretrained: Whether the weights of the directory are wanted, or random ones.
        options: What timm knows of the directory, `num_classes`, `in_chans`; anything else must not be set.

    Returns:
        The network, with the attributes that timm looks for.
    """
    given = dict(options.pop("pretrained_cfg", None) or {})
    config = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    place = str(config.get("file") or "")
    if config.get("source") != "local-dir" or not place:
        raise InputError(f"{TIMM_NAME} is made from a model directory: timm.create_model('local-dir:DIRECTORY')")
    network: Any = load_model(place)
    channels = options.pop("in_chans", network.blueprint.in_channels)
    if channels != network.blueprint.in_channels:
        raise InputError(f"{place}: in_chans must be {network.blueprint.in_channels}, got {channels}")
    classes = options.pop("num_classes", network.blueprint.classes)
    unknown = sorted(k for k, v in options.items() if k not in SETTLED and v)
    if unknown:
        raise InputError(f"{place}: timm's option {unknown[0]} is not one of this network")
    if not pretrained:
        initialise(network)
    if classes != network.blueprint.classes:
        network.reset_classifier(classes)
    network.num_classes, network.pretrained_cfg, network.default_cfg = classes, config, config
    made: Network = network
    return made
