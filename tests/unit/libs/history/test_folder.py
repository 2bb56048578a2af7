"""A history in a folder, and on a branch."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from megtrim.core.size.history import SIZE_FILES
from megtrim.libs.history.branch import DataBranch, is_branch_name
from megtrim.libs.history.entries import parse_time
from megtrim.libs.history.folder import append_to_folder, read_folder
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.times.nights.history import RUN_FILES
from support.history_entries import make_run, make_sizes

RUNS = tuple(make_run(night) for night in range(40))


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    append_to_folder(tmp_path, RUNS[::-1])

    assert read_folder(tmp_path, RUN_FILES).entries == RUNS
    assert read_folder(tmp_path, RUN_FILES, date(2026, 2, 1)).entries == RUNS[31:]


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda run: append_to_folder(tmp_path, [run]), RUNS))
    append_to_folder(tmp_path, RUNS[:1])

    assert read_folder(tmp_path, RUN_FILES).entries == RUNS


def test_a_run_is_never_written_again(tmp_path: Path) -> None:
    (name,) = append_to_folder(tmp_path, RUNS[:1])
    (tmp_path / name).write_text("damaged", encoding="utf-8")

    append_to_folder(tmp_path, RUNS[:1])

    assert (tmp_path / name).read_text(encoding="utf-8") == "damaged"


def test_broken_files_cost_themselves_alone(tmp_path: Path) -> None:
    names = append_to_folder(tmp_path, RUNS[:4])
    (tmp_path / names[0]).write_text("{", encoding="utf-8")
    (tmp_path / names[1]).unlink()
    (tmp_path / names[1]).symlink_to("/etc/passwd")
    (tmp_path / names[2]).write_bytes(b" " * 2_000_000)
    (tmp_path / "runs/2026/01/notes.json").write_text("{", encoding="utf-8")

    found = read_folder(tmp_path, RUN_FILES)

    assert found.entries == RUNS[3:4]
    assert [each.path for each in found.unreadable] == list(names[:3])


def test_a_folder_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "history").mkdir()
    (tmp_path / "history/runs").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(InfrastructureFailure, match="is a link"):
        append_to_folder(tmp_path / "history", RUNS[:1])
    assert read_folder(tmp_path / "history", RUN_FILES).entries == ()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_no_folder_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found no folder"):
        read_folder(tmp_path / "nowhere", RUN_FILES)


@pytest.mark.parametrize("text", ["2026-1-4T02:00:00Z", "2026-01-04T02:00:00+00:00", "", "now"])
def test_only_one_way_to_write_a_time(text: str) -> None:
    with pytest.raises(ValueError, match="expected a time"):
        parse_time("measured_at", text)


def test_kinds_keep_apart() -> None:
    run = make_run()
    sizes = make_sizes(1, 100)

    assert RUN_FILES.select([run.path, sizes.path]) == (run.path,)
    assert SIZE_FILES.select([run.path, sizes.path]) == (sizes.path,)


def test_too_many_files_ask_for_a_first_day() -> None:
    few = replace(SIZE_FILES, most=1)

    with pytest.raises(InputError, match="found 2 commits in a history, expected at most 1") as e:
        few.select([make_sizes(1, 1).path, make_sizes(2, 1).path])
    assert "--since" in e.value.hint


@pytest.mark.parametrize("name", ["perf-history", "data/perf", "v1.2_x"])
def test_plain_names_are_taken(name: str) -> None:
    assert is_branch_name(name)


@pytest.mark.parametrize(
    ("name", "remote", "message"),
    [
        *((name, "origin", "branch") for name in ("", "-f", "--upload-pack=x", "a..b", "a b")),
        *(
            (name, "origin", "branch")
            for name in ("a:b", "+a", "a/", "/a", "a.lock", "a\n", "HEAD")
        ),
        *(("perf-history", remote, "remote") for remote in ("", "--upload-pack=x", "a\nb")),
    ],
)
def test_odd_names_are_refused(name: str, remote: str, message: str) -> None:
    """An option in a remote's place would run a program."""
    with pytest.raises(InputError, match=message):
        DataBranch(ProcessRunner({}), Path(), name, remote=remote)
