from pathlib import Path

import pytest

from megtrim.engines.midout.header import MACROS, Scopes
from megtrim.engines.source_texts import SourceTexts
from megtrim.places.compile.projects.checkout import Checkout

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


@pytest.mark.parametrize(
    ("header", "overrides", "include"),
    [
        (
            HEADER,
            ((FORCED, "forced\n"), ("dnn/src/kern.cpp", '#include "megtrim/tags/kern.h"\n')),
            (("midout.h", "regions\n"), ("megtrim/tags/kern.h", "kern\n")),
        ),
        ({"bin_reduce.h": "all\n"}, ((FORCED, "all\n"),), ()),
        ({}, (), ()),
    ],
    ids=["scoped", "without files of their own", "without a header"],
)
def test_only_sources_that_name_a_generated_file_differ(
    sources: SourceTexts, header: dict[str, str], overrides: object, include: object
) -> None:
    assert (sources.overrides(header, forced=FORCED), sources.include(header)) == (
        overrides,
        include,
    )
