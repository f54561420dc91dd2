from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from math import isfinite

import pytest

from supernetic.errors import UnknownNameError
from supernetic.proxies import PROXIES, find_proxy, full_name
from supernetic.proxies.probe import Probe

Look = Callable[..., Probe]


@pytest.mark.parametrize("name", PROXIES)
def test_every_proxy_prefers_a_cell_of_convolutions_to_one_of_a_single_pool(look: Look, name: str) -> None:
    proxy = find_proxy(name)
    rich, poor = proxy(look((3,) * 6)), proxy(look((0, 0, 0, 4, 0, 0)))
    assert isfinite(rich)
    assert isfinite(poor)
    if name not in ("grad_norm", "snip", "swap"):  # which says little of the number of layers; 6 images saturate SWAP
        assert rich > poor


def test_names() -> None:
    assert find_proxy("proxy/jacov") is find_proxy("jacov")
    assert full_name("jacov") == full_name("proxy/jacov") == "proxy/jacov"
    with pytest.raises(UnknownNameError, match="unknown proxy 'jakov': did you mean 'jacov'"):
        find_proxy("jakov")


def test_listing_imports_nothing_heavy() -> None:
    code = "import sys; from supernetic.proxies import PROXIES; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
