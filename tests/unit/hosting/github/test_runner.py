import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.hosting.github.runner import (
    LARGEST_SUMMARY_BYTES,
    add_summary,
    annotation,
    describe_fork,
    parse_build_runner,
    write_output,
)
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.wording import one_line

CUT = "\n\n_The rest does not fit a job summary; the report holds all of it._\n"


def outputs(text: str) -> dict[str, str]:
    found = {}
    lines = iter(text.split("\n"))
    for line in lines:
        if line:
            name, _, end = line.partition("<<")
            value = []
            for each in lines:
                if each == end:
                    break
                value.append(each)
            found[name] = "\n".join(value)
    return found


def test_outputs_are_added(tmp_path: Path) -> None:
    env = {"GITHUB_OUTPUT": str(tmp_path / "output")}

    write_output(env, "device", '{"include":[]}')
    write_output(env, "device-jobs", "")
    write_output(env, "_text", "a\n\nb\n")

    assert outputs((tmp_path / "output").read_text(encoding="utf-8")) == {
        "device": '{"include":[]}',
        "device-jobs": "",
        "_text": "a\n\nb\n",
    }


@given(st.lists(st.sampled_from(["a", "\n", "b<<end", "x=y", "::", "\r", "ü"])).map("".join))
def test_no_value_makes_another_output(
    tmp_path_factory: pytest.TempPathFactory, value: str
) -> None:
    path = tmp_path_factory.mktemp("runner") / "output"
    env = {"GITHUB_OUTPUT": str(path)}

    write_output(env, "first", value)
    # Someone who has seen an output knows how it ends, and cannot use that in the next.
    write_output(env, "second", path.read_text(encoding="utf-8") + "evil=1\n")

    with path.open(encoding="utf-8", newline="") as stream:
        found = outputs(stream.read())
    assert found["first"] == value
    assert sorted(found) == ["first", "second"]


@pytest.mark.parametrize("name", ["", "a b", "a=b", "a\nb", "1a", "ä", "a<<b", "x" * 101])
def test_an_output_has_a_plain_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not the name of an output"):
        write_output({"GITHUB_OUTPUT": str(tmp_path / "output")}, name, "1")


def test_an_output_is_bounded(tmp_path: Path) -> None:
    """GitHub counts UTF-16 and drops what exceeds 1 MB, all outputs of a job together."""
    env = {"GITHUB_OUTPUT": str(tmp_path / "output")}

    write_output(env, "most", "x" * 516_096)
    with pytest.raises(InputError) as raised:
        write_output(env, "more", "x" * 516_097)

    assert raised.value.message == (
        "output more: found 516097 characters, expected at most half a million"
    )


def test_without_a_runner_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    write_output({}, "a", "1")
    add_summary({}, "text")

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureFailure, match="cannot be written: Is a directory"):
        write_output({"GITHUB_OUTPUT": str(tmp_path)}, "a", "1")
    with pytest.raises(InfrastructureFailure, match="cannot be written: Is a directory"):
        add_summary({"GITHUB_STEP_SUMMARY": str(tmp_path)}, "a")


def test_summaries_are_added(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_text("before\n", encoding="utf-8")
    env = {"GITHUB_STEP_SUMMARY": str(path)}

    add_summary(env, "# größer \ud800\n\n")
    add_summary(env, "next")

    assert path.read_text(encoding="utf-8") == "before\n# größer \\ud800\nnext\n"


def test_a_summary_may_fill_the_room(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_bytes(b"x" * 1000)
    env = {"GITHUB_STEP_SUMMARY": str(path)}
    lines, rest = divmod(LARGEST_SUMMARY_BYTES - 1000 - 1, 99)  # the last byte ends the text
    text = ("ü" * 49 + "\n") * lines + "z" * rest

    add_summary(env, text)
    assert path.stat().st_size == LARGEST_SUMMARY_BYTES
    assert path.read_text(encoding="utf-8") == "x" * 1000 + text + "\n"

    path.write_bytes(b"x" * 1000)
    add_summary(env, text + "z")
    written = path.read_text(encoding="utf-8").removeprefix("x" * 1000)
    assert LARGEST_SUMMARY_BYTES - 200 < path.stat().st_size <= LARGEST_SUMMARY_BYTES
    assert written.endswith(CUT)
    assert set(written.removesuffix(CUT).split("\n")) == {"ü" * 49}


def test_a_full_summary_takes_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_bytes(b"x" * LARGEST_SUMMARY_BYTES)

    add_summary({"GITHUB_STEP_SUMMARY": str(path)}, "more")

    assert path.stat().st_size == LARGEST_SUMMARY_BYTES


# Annotations


def read(line: str) -> tuple[str, dict[str, str], str]:
    assert "\n" not in line
    assert "\r" not in line
    found = re.fullmatch(r"::([a-z]+) ([^:]*)::(.*)", line)
    assert found is not None
    level, given_, message = found.groups()
    properties = dict(each.split("=", 1) for each in given_.split(","))
    return level, {key: unescaped(text) for key, text in properties.items()}, unescaped(message)


def unescaped(text: str) -> str:
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


@pytest.mark.parametrize(
    ("level", "message", "places", "line"),
    [
        (
            "error",
            "17 bytes too large",
            {"title": "Size", "file": "megtrim.yaml", "line": 12},
            "::error file=megtrim.yaml,line=12,title=Size::17 bytes too large",
        ),
        # Of a file as a whole, of no file; a line without a file is none.
        ("notice", "b", {"title": "a", "file": "x.c"}, "::notice file=x.c,title=a::b"),
        ("warning", "b", {"title": "a", "line": 7}, "::warning title=a::b"),
        # A runner refuses an empty message.
        ("warning", "", {"title": "a,\nb"}, "::warning title=a%2C%0Ab::a,%0Ab"),
        (
            "error",
            "50%,\r\na:b",
            {"title": "t:1,2%", "file": "a,b:c%d"},
            "::error file=a%2Cb%3Ac%25d,title=t%3A1%2C2%25::50%25,%0D%0Aa:b",
        ),
        ("error", "a\x1b[31m\x00\ud800b\u2028", {"title": "t"}, "::error title=t::a [31m  b "),
    ],
)
def test_an_annotation_is_a_command(
    level: str, message: str, places: dict[str, Any], line: str
) -> None:
    assert annotation(level, message, **places) == line


@given(st.text(), st.text(min_size=1), st.text())
def test_any_text_stays_in_its_place(message: str, title: str, file: str) -> None:
    level, properties, read_message = read(annotation("error", message, title=title, file=file))

    assert level == "error"
    assert set(properties) == ({"file", "title"} if file else {"title"})
    assert len(read_message) == len(message or title)


def test_an_annotation_is_bounded() -> None:
    _, properties, message = read(annotation("error", "m" * 5000, title="t" * 300, file="f" * 300))

    assert (len(message), len(properties["title"]), len(properties["file"])) == (4000, 250, 250)


def test_an_annotation_has_a_level() -> None:
    with pytest.raises(ValueError, match="not a level"):
        annotation("add-mask", "x", title="t")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("all\n is\t well ", "all is well"),
        ("::error::no", ": :error: :no"),
        ("##[command]", "# #[command]"),
        ("a\x1b[31mb\u202ec", "a [31mb c"),
        ("", ""),
        ("x" * 20, "x" * 20),
        ("x" * 21, "x" * 19 + "…"),
    ],
)
def test_it_is_one_bounded_line_and_no_command(text: str, shown: str) -> None:
    assert one_line(text, most=20) == shown


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("ubuntu-24.04", ("ubuntu-24.04",)),
        ('["self-hosted", "builder_2"]', ("self-hosted", "builder_2")),
    ],
)
def test_a_label_or_a_list_of_labels(text: str, labels: tuple[str, ...]) -> None:
    assert parse_build_runner(text) == labels


@pytest.mark.parametrize(
    "text",
    ["", " ", "a b", "a,b", "[", "[]", '["a"', "[1]", '[["a"]]', '["a", ""]', "x\n", "é", '["-a"]',
     str(["a"] * 3), "[" * 100_000, '["' + '","'.join("abcdefghijklmnopqrstu") + '"]'],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected a label or a JSON list of labels"):
        parse_build_runner(text)


def test_a_fork_learns_where_it_was_built() -> None:
    assert describe_fork("ubuntu-24.04") == describe_fork('["ubuntu-24.04"]') == ""
    assert describe_fork('["self-hosted", "big"]') == (
        "built on ubuntu-24.04, not on self-hosted, big: "
        "a pull request from a fork gets no other runner"
    )
