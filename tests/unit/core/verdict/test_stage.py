from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.core.chain.graph import REDUCED
from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.verdict.stage import page_checks
from megtrim.libs.elf.layout import LOADED, Segment
from megtrim.libs.elf.pages import LINK_AGAIN
from unit.core.trim.stages.built import built, finish
from unit.core.trim.stages.support import changed
from unit.libs.elf.made_objects import with_segments

FITS = "fits memory pages of 16 KiB, 0 bytes of padding between its segments"
MISFIT = "load_and_run: LOAD segment 1 of 1, at 0x0, is aligned to 4,096 bytes, expected 16,384"


@pytest.mark.parametrize(
    ("alignment", "page_bytes", "found"),
    [
        (16_384, 16_384, [("pages:load_and_run", CheckStatus.PASS, FITS, "")]),
        (4096, 16_384, [("pages:load_and_run", CheckStatus.FAIL, MISFIT, LINK_AGAIN)]),
        (4096, 0, []),
    ],
)
def test_what_ships_fits_the_pages_of_the_phones(
    tmp_path: Path, alignment: int, page_bytes: int, found: list[Any]
) -> None:
    toolchain = cast("Any", SimpleNamespace(page_bytes=page_bytes))
    made = changed(built(tmp_path, programs={}), toolchain=toolchain)
    assert list(page_checks(made)) == []
    program = with_segments(Segment(LOADED, 5, 0, 0, 0, 64, 64, alignment))
    finish(made, REDUCED, {"bin/load_and_run": program.decode("utf-8", "surrogateescape")})

    checks = page_checks(made)
    assert [(each.id, each.status, each.text, each.hint) for each in checks] == found
