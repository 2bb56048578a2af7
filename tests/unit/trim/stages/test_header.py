import hashlib
import io
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.chain.session import Session
from megtrim.models.operators import OperatorNeeds
from megtrim.regions.header import macro_file, tag_file
from megtrim.regions.keepset_files import dump_keep_set, read_keep_set
from megtrim.trim.results import HeaderResult
from megtrim.trim.stages import header
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from unit.trim.stages.support import HEADER_TASK, commit, keep_set, make_header, open_committed


@pytest.fixture
def opened(tmp_path: Path, processes: ProcessRunner) -> tuple[Session, io.StringIO]:
    return open_committed(tmp_path, processes)


@pytest.fixture
def now(opened: tuple[Session, io.StringIO]) -> Session:
    return opened[0]


def test_the_header_is_made_from_the_committed_file(now: Session) -> None:
    commit(now, keep_set(1, 2))

    folder = make_header(now)

    assert read_keep_set(folder.file("keepset.json")) == keep_set(1, 2)
    text = folder.file("include/midout.h").read_text(encoding="utf-8")
    assert text.count("kern") > 0
    assert folder.result == HeaderResult(regions=2, operators=0, warnings=())
    files = {name for name in folder.files if name.startswith("include/")}
    scopes = now.services.engine.scopes()
    assert files == {
        *("include/bin_reduce.h", "include/midout.h"),
        *(f"include/{tag_file(tag)}" for tag in scopes.tags),
        *(f"include/{macro_file(macro)}" for macro in scopes.macros),
    }
    assert len(scopes.tags) > 20


def test_operators_are_counted(now: Session) -> None:
    needs = OperatorNeeds(
        hashes=(), dtypes=(), operators=(("Conv", ("m",)), ("Pool", ("m",))), elemwise_modes=()
    )
    commit(now, replace(keep_set(1), operators=needs))

    assert make_header(now).result == HeaderResult(regions=1, operators=2, warnings=())


def test_the_order_of_lines_changes_nothing(now: Session) -> None:
    """A merge by line is the same keep set: the same key, and the file is the normal form."""
    path = commit(now, keep_set(1, 2)) / "m/s@any.json"
    whole = path.read_text(encoding="utf-8")
    before = header.inputs(HEADER_TASK, now)
    lines = whole.splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if '"region' in line]
    lines[places[0]], lines[places[1]] = lines[places[1]], lines[places[0]]
    path.write_text("".join(lines), encoding="utf-8")

    assert path.read_text(encoding="utf-8") != whole
    assert header.inputs(HEADER_TASK, now) == before
    assert make_header(now).file("keepset.json").read_text(encoding="utf-8") == whole


def test_the_file_is_bound_by_its_digest(now: Session) -> None:
    commit(now, keep_set(1))
    named = header.inputs(HEADER_TASK, now)

    digest = hashlib.sha256(dump_keep_set(keep_set(1)).encode()).hexdigest()
    assert named["committed keep set"] == digest
    assert named["scenarios"] == "m/s@any"
    assert named["generation"] == "20220507"
    assert set(named) == {
        *("generation", "layout", "elementwise modes", "committed keep set"),
        *("scenarios", "files of their own"),
    }
    commit(now, keep_set(1, 2))
    assert header.inputs(HEADER_TASK, now) != named


def test_what_is_kept_for_no_one_is_warned_of(now: Session) -> None:
    """A scenario that was taken out of the configuration still costs bytes."""
    [record] = keep_set(1).scenarios
    commit(now, replace(keep_set(1), scenarios=(record, replace(record, id="old/s@any"))))

    assert make_header(now).result_as(HeaderResult).warnings == (
        "the keep set keeps regions for old/s@any, which is not configured any more",
    )


def test_without_the_file_nothing_can_be_trimmed(now: Session) -> None:
    with pytest.raises(InputError) as caught:
        header.inputs(HEADER_TASK, now)

    assert caught.value.message == (
        "megtrim/keepset: there is no keep set, which --committed trims by"
    )
    assert caught.value.hint == ("make it, and commit it: megtrim trim --accept")
