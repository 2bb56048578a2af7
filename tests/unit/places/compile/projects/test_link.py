import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from megtrim.core.build_spec import LinkSpec
from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.places.compile.projects.link import invocation, relink
from megtrim.places.compile.projects.link.invocation import (
    UNFOLDED,
    LinkCall,
    LinkCommand,
    LinkEnvironment,
    Linker,
    compile_words,
    identify_by_version,
    linker_words,
    parse,
    read_expecting_code,
    shown_by_clang,
    shown_by_zig,
    without_output,
)
from unit.libs.elf.made_objects import Named, Part, archive, object_file
from unit.places.compile.projects.support import TOOLCHAIN, bench, write

LLD = "Debian LLD 14.0.6 (compatible with GNU linkers)\n"
GNU = "GNU ld (GNU Binutils for Debian) 2.40\n"
WORD = st.text(st.characters(codec="ascii", exclude_characters="\0\n@"), min_size=1, max_size=20)


class Compiler(ProcessRunner):
    def __init__(self, *answers: str, rc: int = 0) -> None:
        super().__init__({})
        self.calls: list[tuple[str, ...]] = []
        self._answers = list(answers)
        self._rc = rc

    def run(self, command: Command) -> CompletedCommand:
        self.calls.append(command.argv)
        return CompletedCommand(
            argv=command.argv, rc=self._rc, stdout=self._answers.pop(0), stderr="",
            wall_s=0.0, timed_out=False,
        )  # fmt: skip


def link_environment(folder: Path, kind: str, cxx: str, compiler: Compiler) -> LinkEnvironment:
    toolchain = replace(TOOLCHAIN, kind=kind, version=f"{cxx} 14", cxx_compiler=(cxx,))
    return replace(bench(folder, folder / "scratch", toolchain), processes=compiler)


def command(*driver: str, words: tuple[str, ...] = ("a.o", "-lm")) -> LinkCommand:
    return LinkCommand(driver=driver, words=words, output="program")


@pytest.mark.parametrize(
    ("kind", "driver", "shown", "call", "asked", "flags"),
    [
        (
            "clang-linux-arm64",
            "clang++",
            'clang version 14\n "/usr/bin/ld.lld" "-z" "relro" "-o" "none" "crt1.o" "a.o" "-lm"\n',
            ("/usr/bin/ld.lld -z relro crt1.o a.o -lm", Linker.LLD),
            "clang++ -### a.o -lm -o",
            "-z now",
        ),
        # It passes the question on to its linker, and takes flags as they are.
        (
            "host",
            "g++",
            f"collect2 version 12\n{GNU}",
            ("g++ a.o -lm", Linker.GNU),
            "g++ a.o -lm",
            "-Wl,-z,now",
        ),
        # Without symbols: with them, zig would first build other libraries.
        (
            "zig",
            "zig c++",
            "ld.lld --build-id -o none crt1.o a.o\n",
            ("zig ld.lld --build-id crt1.o a.o", Linker.LLD),
            "zig c++ -### a.o -lm -s",
            "-z now",
        ),
    ],
    ids=["clang", "gcc", "zig"],
)
def test_a_compiler_is_asked_for_its_linker(
    tmp_path: Path,
    kind: str,
    driver: str,
    shown: str,
    call: tuple[str, Linker],
    asked: str,
    flags: str,
) -> None:
    compiler = Compiler(shown, LLD)
    link_env = link_environment(tmp_path, kind, driver.split(maxsplit=1)[0], compiler)

    found = invocation.find(command(*driver.split()), "program", link_env)

    argv = tuple(call[0].split())
    linker = call[1]
    assert found == LinkCall(argv=argv, linker=linker, direct=kind != "host")
    assert found.adapt_flags(("-Wl,-z,now",)) == tuple(flags.split())
    assert " ".join(compiler.calls[0]).startswith(asked)
    if kind == "clang-linux-arm64":
        assert compiler.calls[0][-1] == str(tmp_path / "scratch" / "none")
        assert compiler.calls[1:] == [("/usr/bin/ld.lld", "--version")]
        assert (tmp_path / "log").read_text(encoding="utf-8").count("$ ") == 2
    if kind == "host":
        assert compiler.calls[0][-1] == "-Wl,--version"
    if kind == "zig":
        # It prints words without quotes, so it is not even asked.
        compiler.calls.clear()
        with pytest.raises(InputError, match=r"'my file\.o' has blanks"):
            invocation.find(command("zig", "c++", words=("my file.o",)), "program", link_env)
        assert compiler.calls == []


@pytest.mark.parametrize(
    ("kind", "cxx", "shown", "message"),
    [
        ("clang-linux-arm64", "clang++", "nothing\n", "clang++ 14 does not show how it links"),
        ("clang-linux-arm64", "clang++", ' "ld" "@file"\n', "clang++ 14 does not show how"),
        ("zig", "zig", "", "does not show how it links program"),
    ],
)
def test_a_link_that_is_not_shown_is_refused(
    tmp_path: Path, kind: str, cxx: str, shown: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        invocation.find(
            command(cxx), "program", link_environment(tmp_path, kind, cxx, Compiler(shown))
        )

    assert message in caught.value.message
    assert "trim.level: region" in caught.value.hint


def test_a_compiler_that_fails_is_a_product_failure(tmp_path: Path) -> None:
    compiler = Compiler("clang: error: no such file: a.o\n", rc=1)
    link_env = link_environment(tmp_path, "clang-linux-arm64", "clang++", compiler)

    with pytest.raises(
        ProductFailure, match=r"^program does not link again:\nclang: error: no such"
    ):
        invocation.find(command("clang++"), "program", link_env)


@pytest.mark.parametrize(
    ("said", "linker"),
    [
        ("LLD 11.0.5 (/buildbot/tmp 1234) (compatible with GNU linkers)\n", Linker.LLD),
        ("Debian LLD 14.0.6 (compatible with GNU linkers)\n", Linker.LLD),
        ("GNU ld (GNU Binutils for Debian) 2.40\nCopyright (C) 2023\n", Linker.GNU),
        ("warning: something first\nDebian LLD 14.0.6\n", Linker.LLD),
    ],
)
def test_a_linker_is_known_by_its_version(said: str, linker: Linker) -> None:
    assert identify_by_version(said, target="program") is linker


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ("mold 2.4.0 (compatible with GNU ld)\n", "mold 2.4.0 \\(compatible with GNU ld\\)"),
        ("collect2 version 12.2.0\n/usr/bin/ld.gold -plugin x\nGNU gold 1.16\n", "GNU gold 1.16"),
        ("\n@(#)PROGRAM:ld  PROJECT:ld64-820.1\n", "PROGRAM:ld  PROJECT:ld64"),
        ("", "nothing"),
    ],
)
def test_another_linker_is_refused(said: str, first: str) -> None:
    with pytest.raises(InputError, match=f"the linker of program .* prints '.*{first}") as caught:
        identify_by_version(said, target="program")
    assert "a toolchain with lld" in caught.value.hint


def test_lld_alone_compiles_at_the_link_without_inlining() -> None:
    assert UNFOLDED == {
        Linker.LLD: ("-Wl,--icf=none", "-Wl,--lto-O0", "-Wl,-O1", "-Wl,--build-id=none"),
        Linker.GNU: ("-Wl,--build-id=none",),
    }


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("main.o", b"BC\xc0\xde and more"),
        ("main.o", b"\x7fELF .gnu.lto_.decls"),
        ("libparts.a", b"!<arch>\npart.o/ 0`\nBC\xc0\xde and more"),
    ],
)
def test_objects_that_the_link_compiles_are_refused(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    (tmp_path / "plain.o").write_bytes(b"\x7fELF")
    words = ("-flto=full", "plain.o", "-o", "gone.o", name)

    read_expecting_code(words, tmp_path, Linker.LLD, target="program")
    read_expecting_code(words[1:], tmp_path, Linker.GNU, target="program")
    read_expecting_code(words[:2], tmp_path, Linker.GNU, target="program")
    with pytest.raises(InputError, match=f"program: GNU ld compiles {name} while it links"):
        read_expecting_code(words, tmp_path, Linker.GNU, target="program")


def words(text: str) -> tuple[str, ...]:
    return parse(f": && /bin/c++ {text} -o bin/program && :", target="program").words


@pytest.mark.parametrize(
    ("text", "driver", "words", "output"),
    [
        (": && /c++ -O3 a.o b.a -o p -lm && :", "/c++", "-O3 a.o b.a -lm", "p"),
        (
            ": && /c++ a.o -o p && cd /b && /x/cmake -E remove -f /q && cmake -E copy p q && :",
            "/c++",
            "a.o",
            "p",
        ),
        ("/x/zig c++ -target linux a.o -o program", "/x/zig c++", "-target linux a.o", "program"),
    ],
)
def test_the_one_link_of_a_command_is_taken(
    text: str, driver: str, words: str, output: str
) -> None:
    found = parse(text, target="program")

    assert found == LinkCommand(
        driver=tuple(driver.split()), words=tuple(words.split()), output=output
    )


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
        (": && c++ a.o -o p && cmake -E rename q p", "2 commands, expected one link"),
        ("cd /b && c++ a.o -o p && cmake -E remove q", "2 commands, expected one link"),
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
    # Zig shows its own without quotes; a driver's flags become the linker's.
    shown = "ar rcs libc++.a x.o\nld.lld -o first a.o\nld.lld -s -o none crt1.o a.o\n"
    assert shown_by_zig(shown) == ("ld.lld", "-s", "-o", "none", "crt1.o", "a.o")
    assert shown_by_zig("error: FileNotFound\n") == ()
    flags = ("-Wl,--icf=none", "-Wl,-z,now", "-s")
    assert linker_words(flags) == ("--icf=none", "-z", "now", "-s")


def test_what_a_compiler_must_know_is_taken_from_the_link() -> None:
    said = "--target=aarch64-linux-gnu -O3 --sysroot=/r -target x -march=armv8-a -m64 -Lm a.o -lm"

    assert compile_words(said.split()) == (
        "--target=aarch64-linux-gnu",
        "--sysroot=/r",
        "-target",
        "x",
        "-march=armv8-a",
        "-m64",
    )


ARCHIVE = b"!<arch>\n"
PLAIN = b"\x7fELF"
OBJECT = object_file(
    [Part(name=".text.gone", content=bytes(16)), Part(name=".text.kept", content=bytes(16))],
    [Named(name=name, part=f".text.{name}", size=16) for name in ("gone", "kept")],
)
KEPT = object_file(
    [Part(name=".text.kept", content=bytes(16))], [Named(name="kept", part=".text.kept", size=16)]
)
ORDER = LinkSpec(target="program", label="shipped", emptied=("gone",))


def found(root: Path, *words: str) -> dict[str, str]:
    made = root / "tree/made"
    for folder in (made, root / "tree/build"):
        folder.mkdir(parents=True, exist_ok=True)
    place = bench(root / "tree", made, replace(TOOLCHAIN, image="sha256:0"))
    reported = relink.resolve_argv(words, place)
    mirrored = str(made / "image") + str(root)
    return {word: str(path).replace(mirrored, "IMAGE") for word, path in reported if path}


@pytest.mark.parametrize("word", ["{}/libthin.a", "-lthin"])
def test_a_thin_archive_is_refused_by_name(tmp_path: Path, word: str) -> None:
    """What its objects refer to would not be seen."""
    files(tmp_path, lib__libthin_a=b"!<thin>\n")
    (tmp_path / "made").mkdir()
    place = bench(tmp_path, tmp_path / "made", TOOLCHAIN)
    folder = tmp_path / "lib"
    with pytest.raises(InputError, match=r"lib/libthin\.a is a thin archive") as caught:
        list(relink.resolve_argv((f"-L{folder}", word.format(folder)), place))
    assert caught.value.hint == "make it with ar, without T and --thin"


@pytest.mark.parametrize(
    ("in_the_way", "message"),
    [("image{}/usr", "cannot be copied out of this machine"), ("image", "image cannot be written")],
)
def test_a_copy_that_fails_is_nobodys_fault_but_the_machines(
    tmp_path: Path, in_the_way: str, message: str
) -> None:
    files(tmp_path, usr__one_o=PLAIN)
    write(tmp_path / "tree/made", {in_the_way.format(tmp_path): ""})

    with pytest.raises(InfrastructureFailure, match=message) as reported:
        found(tmp_path, f"{tmp_path}/usr/one.o")
    assert "{" not in in_the_way or str(tmp_path / "tree/log") in str(reported.value.hint)


def files(root: Path, **contents: bytes) -> None:
    """Write files; ``__`` is a slash, and the last ``_`` a dot."""
    for name, content in contents.items():
        path = root / ".".join(name.replace("__", "/").rsplit("_", 1))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def test_what_lies_outside_of_the_tree_is_copied(tmp_path: Path) -> None:
    files(tmp_path, tree__build__one_o=PLAIN, usr__two_o=PLAIN, usr__lib__libx_a=ARCHIVE)
    two = f"{tmp_path}/tree/../usr/two.o"
    folder = f"-L{tmp_path}/usr/sub/../lib"

    assert found(tmp_path, "one.o", two, folder, "-lx", "-ly", f"{tmp_path}/usr/none.o") == {
        "one.o": str(tmp_path / "tree/build/one.o"),
        two: "IMAGE/usr/two.o",
        "-lx": "IMAGE/usr/lib/libx.a",
    }
    assert sorted(path.name for path in (tmp_path / "tree/made").rglob("*") if path.is_file()) == [
        "libx.a",
        "two.o",
    ]


def test_the_libraries_that_one_stands_for_are_copied_too(tmp_path: Path) -> None:
    files(tmp_path, usr__libx_a=b"INPUT(-lone -ltwo)", real_a=ARCHIVE, usr__libtwo_a=ARCHIVE)
    (tmp_path / "usr/libone.a").symlink_to("../real.a")

    assert found(tmp_path, f"-L{tmp_path}/usr", "-lx") == {
        "-lone": "IMAGE/usr/libone.a",
        "-ltwo": "IMAGE/usr/libtwo.a",
    }
    assert not (tmp_path / f"tree/made/image{tmp_path}/usr/libone.a").is_symlink()


def test_what_no_one_may_change_can_be_copied(tmp_path: Path) -> None:
    files(tmp_path, usr__libx_a=b"INPUT(-lone)", usr__libone_a=ARCHIVE)
    (tmp_path / "usr/libx.a").chmod(0o444)
    (tmp_path / "usr").chmod(0o555)

    assert found(tmp_path, f"-L{tmp_path}/usr", "-lx") == {"-lone": "IMAGE/usr/libone.a"}
    copied = tmp_path / f"tree/made/image{tmp_path}/usr"
    assert copied.stat().st_mode & (copied / "libx.a").stat().st_mode & 0o200


def test_a_shared_library_is_still_the_one_that_the_linker_takes(tmp_path: Path) -> None:
    files(tmp_path, usr__libx_so=PLAIN, usr__libx_a=ARCHIVE)
    assert found(tmp_path, f"-L{tmp_path}/usr", "-lx") == {}


def linked(root: Path, *words: str) -> tuple[str, ...]:
    made = relink.copy_inputs(("ld.lld", *words), bench(root, root / "made"), ORDER)
    assert made[0] == "ld.lld"
    return tuple(word.replace(str(root / "made/inputs"), "COPIES") for word in made[1:])


def test_inputs_that_differ_are_copies(tmp_path: Path) -> None:
    files(
        tmp_path / "build", one_o=OBJECT, kept_o=KEPT, lib__libx_a=archive({"one.o/": OBJECT}),
        version_ld=b"{ local: *; };",
    )  # fmt: skip
    words = ("-z", "now", "one.o", "kept.o", "--version-script=version.ld", "version.ld")

    assert linked(tmp_path, *words, "lib/libx.a", "gone") == (
        "-z",
        "now",
        "COPIES/0/one.o",
        *words[3:],
        "COPIES/2/libx.a",
        "gone",
    )
    assert (tmp_path / "made/inputs/0/one.o").read_bytes() != OBJECT
    assert len((tmp_path / "made/inputs/0/one.o").read_bytes()) == len(OBJECT)
    assert (tmp_path / "build/one.o").read_bytes() == OBJECT


def test_a_library_is_the_one_that_the_linker_takes(tmp_path: Path) -> None:
    """In the first folder that has it, and there the shared one, where that may be taken."""
    lib = archive({"one.o/": OBJECT})
    files(tmp_path / "build", a__libx_so=OBJECT, a__libx_a=lib, b__libx_a=lib, b__liby_a=lib)
    words = ("-La", "-L", "b")

    assert linked(tmp_path, *words, "-lx", "-ly", "-lz", "-l:liby.a", "b/liby.a") == (
        *words,
        "-lx",
        "COPIES/0/liby.a",
        "-lz",
        "COPIES/0/liby.a",
        "COPIES/0/liby.a",
    )


@pytest.mark.parametrize("word", ["-Bstatic", "-static", "-dn"])
def test_a_static_library_is_taken_where_that_is_asked(tmp_path: Path, word: str) -> None:
    lib = archive({"one.o/": OBJECT})
    files(tmp_path / "build", a__libx_so=OBJECT, a__libx_a=lib)

    assert linked(tmp_path, "-La", word, "-lx", "-Bdynamic", "-lx") == (
        "-La",
        word,
        "COPIES/0/libx.a",
        "-Bdynamic",
        "-lx",
    )


def test_a_library_that_stands_for_others(tmp_path: Path) -> None:
    lib = archive({"one.o/": OBJECT})
    files(
        tmp_path / "build", b__libcxx_a=b"INPUT(-lcxx_static -lcxxabi)\n", b__libcxx_static_a=lib,
        b__libm_a=b"GROUP ( /usr/lib/libm-2.36.a )",
    )  # fmt: skip
    # Spelt with underscores by ``files``.
    (tmp_path / "build/b/libcxx_static.a").write_bytes(lib)

    assert linked(tmp_path, "-Lb", "-Bstatic", "-lcxx", "-lm") == (
        "-Lb",
        "-Bstatic",
        "COPIES/0/libcxx_static.a",
        "-lcxxabi",
        "-lm",
    )


@pytest.mark.parametrize("name", ["libc.a", "libgcc.a", "crt1.o"])
def test_the_platforms_own_inputs_stay(tmp_path: Path, name: str) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / name).write_bytes(OBJECT)
    assert linked(tmp_path, name) == (name,)


@pytest.mark.parametrize(
    ("data", "in_the_way", "fault", "message"),
    [
        (OBJECT[:-50], False, InputError, r"build/one\.o: a damaged object or archive"),
        (OBJECT, True, InfrastructureFailure, r"one\.o cannot be written"),
    ],
    ids=["damaged", "not written"],
)
def test_what_cannot_be_copied_is_shown_by_its_path(
    tmp_path: Path, data: bytes, in_the_way: bool, fault: type[MegtrimError], message: str
) -> None:
    files(tmp_path / "build", one_o=data)
    if in_the_way:
        (tmp_path / "made").write_text("in the way")

    with pytest.raises(fault, match=message):
        linked(tmp_path, "one.o")
