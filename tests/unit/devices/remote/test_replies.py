import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.devices.remote.scripts import (
    ExitReport,
    RemoteFile,
    SetupReply,
    forward_until,
    parse_digests,
    parse_exit,
    parse_files,
    parse_setup,
)

A, B = "a" * 64, "b" * 40
ENTRY = (
    f"megtrim root=/r/m\nmegtrim sum=sha256sum\nmegtrim file={A}\nmegtrim file={B}.part\n"
    "megtrim file=*\nmegtrim free=1234\n"
)
MADE = (
    "megtrim size=5 ./out/a b\nmegtrim size=0 ./t\n"
    f"{A}  ./out/a b\n{B}  ./t\nmegtrim surveyed=yes\n"
)
ENDED = "megtrim pid=77\nmegtrim rc=133\nmegtrim began=10.25\nmegtrim ended=11.50\n"


def test_an_entry() -> None:
    assert parse_setup(ENTRY) == SetupReply(
        root="/r/m", program="sha256sum", cached=frozenset({A}), free_kb=1234
    )


@pytest.mark.parametrize(("program", "name"), [("sha256sum", "sha256"), ("sha1sum", "sha1")])
def test_the_digest_that_the_machine_can_tell(program: str, name: str) -> None:
    entry = parse_setup(ENTRY.replace("sha256sum", program))
    assert entry is not None
    assert entry.algorithm == name


@pytest.mark.parametrize("key", ["root", "sum", "free"])
def test_an_entry_with_something_missing_is_none(key: str) -> None:
    lines = [line for line in ENTRY.splitlines() if not line.startswith(f"megtrim {key}=")]
    assert parse_setup("\n".join(lines)) is None


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("=/r/m", "=r/m"),
        ("=sha256sum", "=cksum"),
        ("=1234", "=-1"),
        ("34", "²"),
        ("34", "9" * 5000),
    ],
)
def test_an_entry_with_something_odd_is_none(right: str, wrong: str) -> None:
    assert parse_setup(ENTRY.replace(right, wrong)) is None


def test_digests() -> None:
    assert parse_digests(f"{A}  ./model.mge\n{B}  x\nnoise\n{A[1:]}  short\n") == {
        "model.mge": A,
        "x": B,
    }


def test_names_with_backslashes() -> None:
    assert parse_digests(f"\\{A}  ./a\\\\n\n{B}  ./b\\n\n") == {"a\\n": A, "b\\n": B}


def test_what_was_made() -> None:
    assert parse_files(MADE) == {
        "out/a b": RemoteFile(size_bytes=5, digest=A),
        "t": RemoteFile(size_bytes=0, digest=B),
    }
    assert parse_files("megtrim surveyed=yes\n") == {}


@pytest.mark.parametrize("line", range(5))
def test_a_survey_that_lost_a_line_is_none(line: int) -> None:
    lines = MADE.splitlines(keepends=True)
    del lines[line]
    assert parse_files("".join(lines)) is None


def test_how_a_run_ended() -> None:
    assert parse_exit(ENDED + MADE + "megtrim free=9\n") == ExitReport(
        rc=133,
        late=False,
        pid=77,
        wall_s=1.25,
        other_load=None,
        made={
            "out/a b": RemoteFile(size_bytes=5, digest=A),
            "t": RemoteFile(size_bytes=0, digest=B),
        },
        free_kb=9,
    )


def test_a_run_that_was_too_slow_on_a_machine_that_reports_little() -> None:
    reported = "megtrim rc=137\nmegtrim late=yes\nmegtrim began=\nmegtrim surveyed=yes\n"
    assert parse_exit(reported) == ExitReport(
        rc=137, late=True, pid=None, wall_s=None, other_load=None, made={}, free_kb=None
    )


@pytest.mark.parametrize(
    ("own", "load"), [("7 (sh) S" + 10 * " 0" + " 9 9 50 0 0", 0.25), ("", None)]
)
def test_what_others_took_is_without_the_program_itself(own: str, load: float | None) -> None:
    counted = "megtrim before=cpu  0 0 0 0 0\nmegtrim after=cpu  100 0 0 100 0\n"
    found = parse_exit(f"{ENDED}{counted}megtrim own={own}\n{MADE}")

    assert found is not None
    assert found.other_load == load


@pytest.mark.parametrize(
    "reported", ["", ENDED, "megtrim rc=x\n" + MADE, MADE, f"megtrim rc={'9' * 5000}\n{MADE}"]
)
def test_an_end_with_something_missing_is_none(reported: str) -> None:
    assert parse_exit(reported) is None


@given(st.text())
def test_nonsense_is_never_taken_for_something(text: str) -> None:
    assert parse_exit(text) is None
    assert parse_setup(text) is None


@pytest.mark.parametrize(
    ("lines", "reported"),
    [
        (["a", "b", "", "MARK", "report"], ["a", "b"]),
        (["a", "", "", "MARK", "report", "MARK"], ["a", ""]),
        (["", "a", "", "b"], ["", "a", "", "b"]),
        (["MARK"], []),
    ],
)
def test_lines_are_reported_up_to_the_mark(lines: list[str], reported: list[str]) -> None:
    heard: list[str] = []
    tell = forward_until("MARK", heard.append)
    for line in lines:
        tell(line)
    assert heard == reported
