"""Where a library has its C++ runtime from: made libraries."""

from __future__ import annotations

import pytest

from megtrim.elf.cxx_runtime import CxxRuntime, RuntimeLink, find_cxx_runtime
from megtrim.errors import InputError
from unit.elf.made_objects import shared_library
from unit.elf.test_needed_libraries import elf


def find(data: bytes) -> CxxRuntime:
    return find_cxx_runtime(data, source="lib.so")


def test_a_runtime_that_can_be_called() -> None:
    """It is linked in, and its functions are exported; those of the interface are none of it."""
    found = find(shared_library("LITE_run", "_Znwm", "__cxa_throw"))

    assert found == CxxRuntime(link=RuntimeLink.EXPORTED, exported=("_Znwm", "__cxa_throw"))


def test_a_hidden_runtime() -> None:
    """Names that the file has for debuggers are not exported."""
    assert find(shared_library("LITE_run", symbols=("_Znwm",))).link is RuntimeLink.HIDDEN


def test_the_runtime_of_the_app() -> None:
    """The library names it."""
    data = elf("libc.so", "libc++_shared.so")

    assert find(data) == CxxRuntime(link=RuntimeLink.SHARED)


@pytest.mark.parametrize("data", [b"the library\n", shared_library("f")[:-70]])
def test_what_is_no_library_is_an_error(data: bytes) -> None:
    """It names the file."""
    with pytest.raises(InputError, match=r"lib\.so: a damaged ELF file"):
        find(data)
