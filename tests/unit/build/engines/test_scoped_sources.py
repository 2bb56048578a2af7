from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build.engines.checkout import Checkout
from megtrim.build.engines.scoped_sources import SourceTexts
from megtrim.regions.header import MACROS, Scopes

FORCED = "src/bin_reduce_cmake.h"
KERNEL = b"MIDOUT_DECL(kern)\n"
HEADER = {"bin_reduce.h": "forced\n", "midout.h": "regions\n", "megtrim/tags/kern.h": "kern\n"}


@pytest.fixture
def sources(tmp_path: Path) -> SourceTexts:
    files = {
        FORCED: b"",
        "dnn/src/kern.cpp": KERNEL,
        "dnn/README.md": b"MIDOUT_DECL(shown)\n",
        "src/main.cpp": b"int main() {}\n",
    }
    for name, data in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return SourceTexts(Checkout(root=tmp_path, files=dict.fromkeys(files, ""), commit="", dirty=()))


def test_the_scopes_are_read_from_what_a_compiler_reads(sources: SourceTexts) -> None:
    assert sources.scopes == Scopes(tags=("kern",), macros=tuple(sorted(MACROS)))


def test_only_sources_that_name_a_generated_file_differ(sources: SourceTexts) -> None:
    assert sources.overrides(HEADER, forced=FORCED) == (
        (FORCED, "forced\n"),
        ("dnn/src/kern.cpp", '#include "megtrim/tags/kern.h"\n'),
    )
    assert sources.include(HEADER) == (
        ("midout.h", "regions\n"),
        ("megtrim/tags/kern.h", "kern\n"),
    )


def test_without_files_of_their_own_sources_stay_as_they_are(sources: SourceTexts) -> None:
    header = {"bin_reduce.h": "all\n"}

    assert sources.overrides(header, forced=FORCED) == ((FORCED, "all\n"),)
    assert sources.include(header) == ()


def test_without_a_header_nothing_differs(sources: SourceTexts) -> None:
    assert (sources.overrides({}, forced=FORCED), sources.include({})) == ((), ())
