from __future__ import annotations

import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from megtrim.build.engines.link.command_line import (
    compile_words,
    linker_words,
    parse,
    shown_by_clang,
    shown_by_zig,
    without_output,
)
from megtrim.util.errors import InputError

WORD = st.text(st.characters(codec="ascii", exclude_characters="\0\n@"), min_size=1, max_size=20)


def words(text: str) -> tuple[str, ...]:
    return parse(f": && /bin/c++ {text} -o bin/program && :", target="program").words


def test_the_one_link_between_two_colons_is_taken() -> None:
    found = parse(": && /bin/c++ -O3 a.o b.a -o bin/program -lm && :", target="program")

    assert found.driver == ("/bin/c++",)
    assert found.words == ("-O3", "a.o", "b.a", "-lm")
    assert found.output == "bin/program"


def test_a_link_of_zig_has_a_driver_of_two_words() -> None:
    found = parse("/x/zig c++ -target aarch64-linux-musl a.o -o program", target="program")

    assert found.driver == ("/x/zig", "c++")
    assert found.words == ("-target", "aarch64-linux-musl", "a.o")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"-Wl,-rpath,\$ORIGIN", "-Wl,-rpath,$ORIGIN"),
        (r'-Wl,-rpath,"\$ORIGIN/lib"', "-Wl,-rpath,$ORIGIN/lib"),
        (r"'-Wl,-rpath,\$ORIGIN'", r"-Wl,-rpath,\$ORIGIN"),
        ('"with blank.o"', "with blank.o"),
        (r"with\ blank.o", "with blank.o"),
        ("'a;b|c.o'", "a;b|c.o"),
        (r"""-Wl,"it's",x\$y,"it's \$z" """, "-Wl,it's,x$y,it's $z"),
        (r'"a\\\$b\"c.o"', r'a\$b"c.o'),
    ],
)
def test_quotes_are_a_shells(text: str, expected: str) -> None:
    assert words(text) == (expected,)


@pytest.mark.parametrize(
    "outputs",
    [
        "-Xlinker --dependency-file=program.d",
        "-Xlinker --dependency-file -Xlinker program.d",
        "-Wl,--dependency-file=program.d",
        "-Wl,--dependency-file,program.d",
        "-Wl,-Map=program.map",
        "-Wl,-Map,program.map",
        "-Xlinker -Map -Xlinker program.map",
        "-s",
        "-Wl,-s",
        "-Wl,--strip-all",
        "-Xlinker --strip-debug",
    ],
)
def test_what_the_link_would_write_or_strip_is_left_out(outputs: str) -> None:
    assert words(f"-Wl,--gc-sections {outputs} a.o") == ("-Wl,--gc-sections", "a.o")


def test_other_pieces_of_the_same_word_stay() -> None:
    kept = words("-Wl,--gc-sections,-s,-Map,x.map,-z,now -Xlinker -z -Xlinker now")

    assert kept == ("-Wl,--gc-sections,-z,now", "-Xlinker", "-z", "-Xlinker", "now")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (": && c++ a.o -o p && strip p && :", "2 commands, expected one link: found strip p"),
        (": && :", "0 commands, expected one link: found nothing"),
        ("c++ a.o -o p; rm p", "'; rm p'"),
        ("c++ a.o -o p > log", "'> log'"),
        ("c++ $(ls) -o p", "'\\$\\(ls\\) -o p'"),
        ('c++ "$HOME/a.o" -o p', "'\"\\$HOME"),
        ("c++ `ls` -o p", "'`ls`"),
        ("c++ *.o -o p", "'\\*.o -o p'"),
        ("c++ a.o -o p & rm p", "'& rm p'"),
        ("c++ a.o -o p &&rm p", "'&&rm p'"),
        ("c++ 'a.o -o p", '"\'a.o -o p"'),
        ("c++ a.o -o p\\", "'\\\\\\\\'"),
        ("c++ a.o", "names no output: c\\+\\+ a.o"),
        ("c++ a.o -o", "names no output"),
    ],
)
def test_anything_but_one_link_is_refused(text: str, found: str) -> None:
    with pytest.raises(InputError, match=found) as caught:
        parse(text, target="program")
    assert "megtrim repeats a target's own link command" in caught.value.hint


@given(st.lists(WORD.filter(lambda word: not word.startswith("-")), min_size=1))
def test_every_quoted_word_is_read_back(given_words: list[str]) -> None:
    inputs = [word for word in given_words if word != "&&"]
    text = f": && c++ {shlex.join(inputs)} -o out && :"

    assert parse(text, target="out").words == tuple(inputs)


@given(st.text(max_size=200))
@example("'" * 50 + "\\")
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse(text, target="program")
    except InputError as refused:
        assert refused.message


def test_clang_shows_its_linker_last() -> None:
    shown = (
        "Debian clang version 14.0.6\nTarget: aarch64-unknown-linux-gnu\n"
        ' "/usr/bin/ld.lld" "-EL" "-o" "none" "b c.o" "-rpath" "\\$ORIGIN\\"x"\n'
    )
    found = shown_by_clang(shown)

    assert found == ("/usr/bin/ld.lld", "-EL", "-o", "none", "b c.o", "-rpath", '$ORIGIN"x')
    assert without_output(found) == ("/usr/bin/ld.lld", "-EL", "b c.o", "-rpath", '$ORIGIN"x')
    assert shown_by_clang("clang: error: no input files\n") == ()


def test_zig_shows_its_linker_without_quotes() -> None:
    shown = "ar rcs libc++.a x.o\nld.lld -o first a.o\nld.lld -s -o none crt1.o a.o\n"

    assert shown_by_zig(shown) == ("ld.lld", "-s", "-o", "none", "crt1.o", "a.o")
    assert shown_by_zig("error: FileNotFound\n") == ()


def test_what_a_compiler_must_know_is_taken_from_the_link() -> None:
    said = "--target=aarch64-linux-gnu -O3 --sysroot=/r -target x -march=armv8-a -m64 -Lm a.o -lm"

    assert compile_words(said.split()) == (
        *("--target=aarch64-linux-gnu", "--sysroot=/r", "-target", "x"),
        *("-march=armv8-a", "-m64"),
    )


def test_a_drivers_flags_become_the_linkers() -> None:
    assert linker_words(("-Wl,--icf=none", "-Wl,-z,now", "-s")) == ("--icf=none", "-z", "now", "-s")
