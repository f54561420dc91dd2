"""oneDNN is told how many compiled kernels to keep, unless the user has said so."""

import os
import subprocess
import sys

import pytest

VARIABLE = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
SCRIPT = f"import os, supernetic.nn.network; print(os.environ[{VARIABLE!r}])"


@pytest.mark.parametrize(("given", "kept"), [(None, "8192"), ("77", "77")])
def test_number_of_kept_kernels(given: str | None, kept: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k != VARIABLE} | ({VARIABLE: given} if given else {})
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == kept
