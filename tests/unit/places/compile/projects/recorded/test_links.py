import pytest

from megtrim.libs.util.errors import InputError
from megtrim.places.compile.projects.recorded.calls import RecordedCall, Role
from megtrim.places.compile.projects.recorded.links import (
    RecordedLink,
    expect_repeatable,
    find_link,
    find_links,
    list_units,
    read_link,
)


def call(text: str, role: Role = Role.COMPILER) -> RecordedCall:
    return RecordedCall(role=role, cwd="/src/a", program="/bin/cc", arguments=tuple(text.split()))


def link(text: str, role: Role = Role.COMPILER) -> RecordedLink:
    found = read_link(call(text, role))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "name", "output", "words"),
    [
        ("a.o -o prog", "prog", "/src/a/prog", "a.o"),
        ("-oprog a.o", "prog", "/src/a/prog", "a.o"),
        ("a.o", "a.out", "/src/a/a.out", "a.o"),
        ("a.o -o ../out/./prog", "prog", "/src/out/prog", "a.o"),
        ("-L lib a.o -lm -o prog", "prog", "/src/a/prog", "-L lib a.o -lm"),
        (
            "-shared a.o -Wl,-soname,libx.so.1 -o libx.so.1.2",
            "libx.so.1",
            "/src/a/libx.so.1.2",
            "-shared a.o -Wl,-soname,libx.so.1",
        ),
        (
            "-shared a.o -Wl,-soname -Wl,libx.so.1 -o .libs/l",
            "libx.so.1",
            "/src/a/.libs/l",
            "-shared a.o -Wl,-soname -Wl,libx.so.1",
        ),
        (
            "-shared a.o -Wl,-soname=libx.so -o l",
            "libx.so",
            "/src/a/l",
            "-shared a.o -Wl,-soname=libx.so",
        ),
        (
            "-shared a.o -Xlinker -h -Xlinker libx.so -o l",
            "libx.so",
            "/src/a/l",
            "-shared a.o -Xlinker -h -Xlinker libx.so",
        ),
    ],
)
def test_a_link_is_read(text: str, name: str, output: str, words: str) -> None:
    found = link(text)

    assert (found.name, found.output, found.words) == (name, output, tuple(words.split()))
    assert (found.cwd, found.program, found.direct) == ("/src/a", "/bin/cc", False)


@pytest.mark.parametrize(
    "text",
    [
        "-c a.c -o a.o",
        "-S a.c",
        "-E a.c",
        "-M a.c",
        "-r a.o b.o -o c.o",
        "--version",
        "-v",
        "-dumpmachine",
        "-print-file-name=libc.so a.o",
        "-### a.o -o b",
        "-fsyntax-only a.c",
        "-o prog",
        "",
    ],
)
def test_another_call_is_no_link(text: str) -> None:
    assert read_link(call(text)) is None


def test_an_archive_is_no_link() -> None:
    assert read_link(call("rcs liba.a a.o", Role.ARCHIVER)) is None


def test_the_last_of_a_name_counts() -> None:
    found = find_links([call("a.o -o p"), call("b.o -o q"), call("c.o -o p")])

    assert {name: each.words for name, each in found.items()} == {"p": ("c.o",), "q": ("b.o",)}


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("a.o b.a -lm", ()),
        ("a.c b.o c.cpp", ("a.c", "c.cpp")),
        ("-include x.c a.c -I y.c", ("a.c",)),
        ("start.S a.o", ("start.S",)),
    ],
)
def test_sources_that_a_link_compiles(text: str, sources: tuple[str, ...]) -> None:
    assert link(text).sources == sources


def test_what_concerns_the_compiler_alone() -> None:
    text = (
        "-O2 -I inc -DX=1 a.c b.o -Wl,--as-needed -Xlinker -z -Llib -L lib -lm -l z "
        "-shared -fPIC -pthread -o libx.so -std=c11 -static-libgcc -s"
    )

    assert link(text).compile_words == (
        "-O2",
        "-I",
        "inc",
        "-DX=1",
        "-fPIC",
        "-pthread",
        "-std=c11",
    )


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a.o", ()),
        ("a.o -fuse-ld=lld -Wl,-Ttext,0x1000 -Ttext=0x1000", ()),
        ("a.o -fuse-ld=/x/ld", ("/x/ld",)),
        ("a.o -B/x -B y", ("/x", "y")),
        ("a.o -T s.ld -Ts2.ld", ("s.ld", "s2.ld")),
        ("a.o -Wl,-T,s.ld -Wl,--script=t.ld", ("s.ld", "t.ld")),
        ("a.o -Xlinker --version-script -Xlinker v.map", ("v.map",)),
        ("a.o -specs=x.specs --specs=y.specs", ("x.specs", "y.specs")),
        ("a.o -fplugin=p.so -Wl,-plugin,q.so -Wl,--plugin=r.so", ("p.so", "q.so", "r.so")),
        ("a.o --ld-path=/x/ld", ("/x/ld",)),
    ],
)
def test_files_that_options_name(text: str, read: tuple[str, ...]) -> None:
    assert link(text).files_read == read


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (link("-o p a.o", Role.LINKER), "p is linked by /bin/cc itself"),
        (link("a.o -Wl,@x.rsp -o p"), "p: @x.rsp of its link is a file that the linker itself"),
        (link("a.o -Xlinker @x.rsp -o p"), "p: @x.rsp of its link is a file that the linker"),
        (link("a.o -wrapper gdb,--args -o p"), "p: its link has -wrapper"),
    ],
)
def test_a_link_that_cannot_be_repeated(found: RecordedLink, message: str) -> None:
    with pytest.raises(InputError) as caught:
        expect_repeatable(found)

    assert caught.value.message.startswith(message)


def test_a_target_that_was_not_linked() -> None:
    with pytest.raises(InputError, match="`make` linked nothing that megtrim could see"):
        find_link({}, "p", command="make")
    with pytest.raises(InputError, match="`make` linked no q, but p"):
        find_link(find_links([call("a.o -o p")]), "q", command="make")


@pytest.mark.parametrize(
    ("text", "output", "words"),
    [
        ("-O2 -c a.c -o b.o", "/src/a/b.o", "/bin/cc -O2 -c a.c"),
        ("-c ../x/a.cc", "/src/a/a.o", "/bin/cc -c ../x/a.cc"),
        ("-c a.c -o /tmp/a.o", "/tmp/a.o", "/bin/cc -c a.c"),
        ("a.c -o prog", "", ""),
        ("-c a.c b.c", "", ""),
        ("-c -", "", ""),
    ],
)
def test_units_are_read_from_calls_that_compile_one_source(
    text: str, output: str, words: str
) -> None:
    found = [(str(each.output), " ".join(each.words)) for each in list_units([call(text)])]
    assert found == ([(output, words)] if output else [])
    assert not [*list_units([call(text, Role.LINKER)])]
