from __future__ import annotations

import re
import subprocess
import sys

import pytest

from supernetic.capacity import free_memory, require_memory, require_weights, show_bytes
from supernetic.errors import InputError, memory_words


def test_what_does_not_fit_is_refused_with_both_figures() -> None:
    require_memory("nothing", 0)
    require_weights("a small network", 1000)
    with pytest.raises(
        InputError, match=r"the network, of 10,000,000,000,000 parameters, needs 40\.0 TB of memory, .* free"
    ):
        require_weights("the network", 10**13)


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of addresses")
def test_a_limit_of_addresses_counts() -> None:
    code = (
        "import resource\nfrom supernetic.capacity import free_memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9))\nprint(free_memory())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 10**9
    assert free_memory() > 0


def test_bytes_for_people() -> None:
    assert [show_bytes(b) for b in (1500, 2e6, 3.5e9, 4e12)] == ["1.5 kB", "2.0 MB", "3.5 GB", "4.0 TB"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError("Unable to allocate 37.3 GiB for an array with shape (1,)"), "37.3 GiB more were asked for"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000000000 bytes."), "4.0 GB"),
        (RuntimeError("you tried to allocate 5000000 bytes"), "5.0 MB"),
        (RuntimeError("could not create a primitive"), "not enough memory; lower"),
        (OSError(12, "Cannot allocate memory"), "not enough memory; lower"),
        (MemoryError(), "not enough memory; lower"),
        (SystemError("<_lru_cache_wrapper> returned NULL without setting an exception"), "not enough memory; lower"),
    ],
)
def test_memory_that_ran_out_is_said_in_one_line(error: BaseException, words: str) -> None:
    assert words in str(memory_words(error))


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of addresses")
def test_the_line_says_what_there_was() -> None:
    code = (
        "import resource\nfrom supernetic.capacity import memory_in_use\nprint(memory_in_use())\n"
        "resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9))\nprint(memory_in_use())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    free, limited = done.stdout.splitlines()
    assert re.fullmatch(r"this process has [\d.]+ MB", free)
    assert re.fullmatch(r"this process has [\d.]+ MB of addresses, ulimit -v allows 1.0 GB", limited)
    words = str(memory_words(RuntimeError("you tried to allocate 5000000 bytes"), limited))
    assert f"5.0 MB more were asked for, {limited}; lower" in words


def test_an_error_may_be_the_reason_of_another() -> None:
    outer = RuntimeError("the export failed")
    outer.__cause__ = ValueError()
    outer.__cause__.__context__ = MemoryError("Unable to allocate 3.1 GiB for an array")
    assert "3.1 GiB more were asked for" in str(memory_words(outer))


def test_other_errors_are_no_matter_of_memory() -> None:
    assert memory_words(RuntimeError("shapes do not fit")) is None
    assert memory_words(RuntimeError("could not create a primitive descriptor for a convolution")) is None


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize(("limit", "said"), [(4 * 10**9, False), (0, True)])
def test_an_error_after_memory_was_short_is_told_as_such(limit: int, said: bool) -> None:
    """Whatever it says: here a package that hides why an import failed."""
    code = f"""
import resource, sys
from supernetic import cli
def hidden(*_, **__):
    raise ImportError("cannot import name 'a' from 'b'")
cli.app = hidden
peak = next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmPeak:"))
resource.setrlimit(resource.RLIMIT_AS, ({limit} or 1024 * peak + 10**7,) * 2)
cli.main(["spaces"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ("not enough memory: it ended with ImportError, this process has" in done.stderr) == said
    assert ("Traceback" in done.stderr) != said
    assert done.returncode == (2 if said else 1)
