"""From recorded calls to links: what each made, from what, and the words to do it again. Pure."""

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value
from megtrim.places.compile.projects.link.splitting import CompiledUnit
from megtrim.places.compile.projects.recorded.calls import RecordedCall, Role

SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".S", ".s")
_NO_LINK = frozenset(
    {
        "-c",
        "-S",
        "-E",
        "-M",
        "-MM",
        "-r",
        "-Wl,-r",
        "-fsyntax-only",
        "-###",
        "--version",
        "--help",
        "-dumpversion",
        "-dumpmachine",
        "-dumpfullversion",
        "-dumpspecs",
    }
)
_ASKS = ("-print-", "--print-", "--help=")
_WITH_VALUE = frozenset(
    {
        "-o",
        "-I",
        "-L",
        "-l",
        "-D",
        "-U",
        "-x",
        "-T",
        "-u",
        "-z",
        "-e",
        "-B",
        "-h",
        "-A",
        "-F",
        "-G",
        "-MF",
        "-MT",
        "-MQ",
        "-isystem",
        "-iquote",
        "-idirafter",
        "-include",
        "-imacros",
        "-iprefix",
        "-iwithprefix",
        "-isysroot",
        "-imultilib",
        "-arch",
        "-target",
        "-wrapper",
        "-aux-info",
        "-dumpbase",
        "-dumpdir",
        "-mllvm",
        "-plugin",
        "-Xlinker",
        "-Xassembler",
        "-Xpreprocessor",
        "-Xclang",
        "--param",
        "--sysroot",
    }
)
"""Options of compiler drivers whose value may be the next word, which then is no input."""

_OF_LINKS = ("-Wl,", "-l", "-L", "-shared", "-static")
_ONLY_LINKS = frozenset({"-s", "-pie", "-no-pie", "-rdynamic", "-Xlinker", "-z", "-u", "-T", "-e"})
_READ = (
    "-B",
    "-T",
    "-specs=",
    "--specs=",
    "-fplugin=",
    "-fuse-ld=",
    "--ld-path=",
    "-plugin=",
    "--plugin=",
    "-plugin",
    "--plugin",
    "--script=",
    "--script",
    "--version-script=",
    "--version-script",
    "--dynamic-list=",
    "--dynamic-list",
    "--just-symbols=",
    "--just-symbols",
)
"""Options that name a program to run or a file to read, at once or as the next word; long first
where one begins like another."""

_UNNAMED = "a.out"
_ADDRESSES = ("-Ttext", "-Tdata", "-Tbss", "-Trodata", "-Tldata")


class RecordedLink(Value):
    name: str
    """Of a shared object, the name that programs load it by, otherwise the file's own."""
    output: str
    cwd: str
    program: str
    words: tuple[str, ...]
    """Without the output."""
    direct: bool = False
    """Whether it calls the linker itself, not a compiler that calls it."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Those that it compiles as well."""
        return tuple(word for word in iter_inputs(self.words) if word.endswith(SOURCES))

    @property
    def files_read(self) -> tuple[str, ...]:
        """Files and programs that its options name, as they are spelt."""
        return tuple(_iter_files_read(self.words))

    @property
    def compile_words(self) -> tuple[str, ...]:
        """What concerns the compiler alone."""
        kept: list[str] = []
        words = iter(self.words)
        for word in words:
            value = (next(words, ""),) if word in _WITH_VALUE else ()
            if not word.startswith("-") or word.startswith(_OF_LINKS) or word in _ONLY_LINKS:
                continue
            kept += (word, *value)
        return tuple(kept)


def iter_inputs(words: Sequence[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            yield word


def list_units(calls: Iterable[RecordedCall]) -> Iterator[CompiledUnit]:
    """Yield the calls that compile one source to one object."""
    for call in calls:
        if call.role is not Role.COMPILER or "-c" not in call.arguments:
            continue
        words, output = _split_output(call.arguments)
        sources = [word for word in iter_inputs(words) if word.endswith(SOURCES)]
        if len(sources) != 1:
            continue
        made = PurePosixPath(sources[0]).with_suffix(".o").name if output == _UNNAMED else output
        yield CompiledUnit(
            output=Path(call.cwd, made),
            words=(call.program, *words),
            folder=Path(call.cwd),
        )


def find_links(calls: Iterable[RecordedCall]) -> dict[str, RecordedLink]:
    """Return them by name; of several with one name, the last."""
    found = (link for call in calls if (link := read_link(call)) is not None)
    return {link.name: link for link in found}


def read_link(call: RecordedCall) -> RecordedLink | None:
    """Return None for a call that links nothing."""
    if call.role is Role.ARCHIVER:
        return None
    given = set(call.arguments)
    if not given.isdisjoint(_NO_LINK) or any(word.startswith(_ASKS) for word in given):
        return None
    words, output = _split_output(call.arguments)
    if not any(True for _ in iter_inputs(words)):
        return None
    whole = posixpath.normpath(str(PurePosixPath(call.cwd, output)))
    return RecordedLink(
        name=_find_soname(words) or PurePosixPath(whole).name,
        output=whole,
        cwd=call.cwd,
        program=call.program,
        words=words,
        direct=call.role is Role.LINKER,
    )


def _split_output(arguments: Sequence[str]) -> tuple[tuple[str, ...], str]:
    kept: list[str] = []
    output = _UNNAMED
    rest = iter(arguments)
    for word in rest:
        if word == "-o":
            output = next(rest, output)
        elif word.startswith("-o"):
            output = word[2:]
        else:
            kept.append(word)
            if word in _WITH_VALUE:
                kept += [value for value in (next(rest, None),) if value is not None]
    return tuple(kept), output


def _linker_words(words: Sequence[str]) -> list[str]:
    """All words, those that a compiler hands to its linker in their own spelling."""
    flat: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-Xlinker":
            flat.append(next(rest, ""))
        elif word.startswith("-Wl,"):
            flat += word.split(",")[1:]
        else:
            flat.append(word)
    return flat


def _find_soname(words: Sequence[str]) -> str:
    flat = _linker_words(words)
    for word, following in zip(flat, (*flat[1:], ""), strict=True):
        if word in ("-soname", "--soname", "-h"):
            return PurePosixPath(following).name
        if word.startswith(("-soname=", "--soname=")):
            return PurePosixPath(word.partition("=")[2]).name
    return ""


def _iter_files_read(words: Sequence[str]) -> Iterator[str]:
    flat = _linker_words(words)
    for word, following in zip(flat, (*flat[1:], ""), strict=True):
        if word.startswith(_ADDRESSES):
            continue
        option = next((each for each in _READ if word.startswith(each)), None)
        if option is None:
            continue
        named = word[len(option) :] or following
        # -fuse-ld=lld names no file.
        if option != "-fuse-ld=" or "/" in named:
            yield named


def expect_repeatable(link: RecordedLink) -> None:
    """Raise InputError for a link whose inputs cannot be seen or changed."""
    if link.direct:
        msg = f"{link.name} is linked by {link.program} itself"
        hint = "let the compiler link it, as with `$(CC) -o NAME OBJECTS`"
        raise InputError(msg, hint=hint)
    flat = _linker_words(link.words)
    hidden = next((word for word in flat if word.startswith("@")), None)
    if hidden is not None:
        msg = f"{link.name}: {hidden} of its link is a file that the linker itself reads"
        hint = "hand it to the compiler, as @FILE, not to the linker, as -Wl,@FILE"
        raise InputError(msg, hint=hint)
    if "-wrapper" in link.words:
        msg = f"{link.name}: its link has -wrapper, which starts another program"
        raise InputError(msg, hint="build without it")


def find_link(links: dict[str, RecordedLink], target: str, *, command: str) -> RecordedLink:
    """Raises InputError for a target that the build did not link."""
    link = links.get(target)
    if link is not None:
        return link
    if not links:
        msg = f"`{command}` linked nothing that megtrim could see"
        hint = (
            "a build that finds its files up to date links nothing: clean it; compilers are seen "
            "by name, such as CC=gcc, not by path, such as CC=/usr/bin/gcc"
        )
        raise InputError(msg, hint=hint)
    shown = ", ".join(sorted(links)[:8])
    more = f" and {len(links) - 8} more" if len(links) > 8 else ""
    msg = f"`{command}` linked no {target}, but {shown}{more}"
    raise InputError(msg, hint="name one of these as engine.target")
