"""From the command that links a target to a call that repeats the link with another output.

clang prints how it calls its linker, and megtrim calls the linker like that. zig rejects most
linker flags, so it allows nothing else. Other compilers are called themselves.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path, PurePath

from megtrim.core.build_spec import Toolchain
from megtrim.libs.elf.layout import NO_BUILD_ID
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.places.compile.projects import application
from megtrim.places.compile.projects.cmake import driver

_COMPILER = re.compile(r"collect2 version |\s*/")
"""The first line of gcc's output, and a line that shows a call."""

_LTO = (b".gnu.lto_", b"`\nBC\xc0\xde")
"""Marks of link-time optimisation: in GCC's objects, and before clang's in an archive."""

_LTO_OBJECT = b"BC\xc0\xde"
LINK_TIMEOUT_S = 1800.0
ASK_TIMEOUT_S = 300.0
_PLAIN = re.compile(
    r"""(?: \\. | '[^']*+' | "[^"\\$`]*+(?:\\.[^"\\$`]*+)*" | (?<=\s)&&(?=\s)
        | [^\\'"$`;|&<>()*?\[\n]++ )*""",
    re.VERBOSE | re.DOTALL,
)
"""What a shell reads as only words and ``&&`` between commands.

Only repeats of one character are possessive: a group with alternatives that is, some Pythons match
wrongly. 3.11.2 does, 3.11.7 does not.
"""

_QUOTED = re.compile(r"""\\.|'[^']*+'|"[^"\\]*+(?:\\.[^"\\]*+)*\"""", re.DOTALL)
_ESCAPED = re.compile(r"\\([$`])|\\.", re.DOTALL)
_SHOWN = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*)"')
_OURS = ("--dependency-file", "-dependency-file", "--Map", "-Map")
"""Options that name a further output, after ``=`` or as the next word."""

_STRIPS = frozenset({"-s", "--strip-all", "-S", "--strip-debug"})
_FILE_COMMANDS = ("make_directory", "remove", "create_symlink", "copy", "copy_if_different")
"""Commands of ``cmake -E`` that a target may have after its link."""
_HINT = "megtrim repeats a target's own link command, which must be one plain link"


class Linker(StrEnum):
    """Linkers in which a script's assignment replaces a name's definition.

    In objects, archives and (lld) full-LTO bitcode: seen with lld 11, 14 and 21, and GNU ld 2.40.
    gold 1.16 keeps a body that something refers to, and drops the names of local functions that it
    folds, so that nothing can be proved.
    """

    LLD = "lld"
    GNU = "GNU ld"


_SIGNS = (
    (Linker.LLD, re.compile(r"^(?:\S+ )?LLD \d", re.MULTILINE)),
    (Linker.GNU, re.compile(r"^GNU ld\b", re.MULTILINE)),
)
UNFOLDED = {
    # Under full LTO an inlined function has no address of its own, so that no list contains it. At
    # -O2 lld (seen with 21 and 22) lets callers jump past a function that is only a jump.
    Linker.LLD: ("-Wl,--icf=none", "-Wl,--lto-O0", "-Wl,-O1", NO_BUILD_ID),
    Linker.GNU: (NO_BUILD_ID,),
}
"""Every function keeps its own bytes. No build id, which the program that ships has alone."""


class LinkEnvironment(Value):
    toolchain: Toolchain
    processes: ProcessRunner
    tree: Path
    build: Path
    scratch: Path
    log: Path
    env: Mapping[str, str]

    def run(
        self, argv: tuple[str, ...], timeout_s: float, *, merged: bool = True
    ) -> CompletedCommand:
        command = Command(
            argv=argv,
            timeout_s=timeout_s,
            cwd=self.build,
            env=self.env,
            merge_stderr=merged,
            log=self.log,
        )
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"$ {command}\n")
        return self.processes.run(command)

    def expect(self, outcome: CompletedCommand, what: str) -> None:
        driver.expect(outcome, build=self.build, log=self.log, what=what)


class LinkCall(Value):
    argv: tuple[str, ...]
    linker: Linker
    direct: bool

    def adapt_flags(self, flags: tuple[str, ...]) -> tuple[str, ...]:
        return linker_words(flags) if self.direct else flags


class LinkCommand(Value):
    """One linking call of a compiler driver, without outputs and stripping."""

    driver: tuple[str, ...]
    """One word, or two (``zig c++``)."""
    words: tuple[str, ...]
    output: str
    """Relative to the build folder."""


def identify_by_version(output: str, *, target: str) -> Linker:
    for linker, sign in _SIGNS:
        if sign.search(output):
            return linker
    lines = [line for line in output.splitlines() if line.strip()]
    # A compiler may print lines first.
    own = next((line for line in lines if not _COMPILER.match(line)), "nothing")
    msg = f"the linker of {target} cannot leave functions out: it prints {own[:100]!r}"
    raise InputError(msg, hint="choose a toolchain with lld or GNU ld, or trim.level: region")


def read_expecting_code(words: Sequence[str], build: Path, linker: Linker, *, target: str) -> None:
    """A list of functions that ran would miss those that a linker other than lld inlines."""
    if linker is Linker.LLD or not any(word.startswith("-flto") for word in words):
        return
    for word in words:
        path = build / word
        if not word.endswith((".o", ".a")) or not path.is_file():
            continue
        data = path.read_bytes()
        if data.startswith(_LTO_OBJECT) or any(sign in data for sign in _LTO):
            msg = f"{target}: {linker} compiles {word} while it links, and inlines functions"
            raise InputError(msg, hint="choose a toolchain with lld, or compile without -flto")


def find(command: LinkCommand, target: str, link_env: LinkEnvironment) -> LinkCall:
    """Raises InputError if the linker cannot leave functions out, or is not known."""
    if link_env.toolchain.kind == "zig":
        return _by_zig(command, target, link_env)
    if application.is_clang(link_env.toolchain):
        return _by_clang(command, target, link_env)
    argv = (*command.driver, *command.words)
    linker = _detect_linker(
        (*argv, "-o", str(link_env.scratch / "none"), "-Wl,--version"), target, link_env
    )
    return LinkCall(argv=argv, linker=linker, direct=False)


def _by_clang(command: LinkCommand, target: str, link_env: LinkEnvironment) -> LinkCall:
    argv = (*command.driver, "-###", *command.words, "-o", str(link_env.scratch / "none"))
    outcome = link_env.run(argv, ASK_TIMEOUT_S)
    link_env.expect(outcome, f"{target} does not link again")
    shown = shown_by_clang(outcome.stdout)
    if not shown or any(word.startswith("@") for word in shown):
        msg = f"{link_env.toolchain.version} does not show how it links {target}"
        raise InputError(msg, hint="choose another toolchain, or trim.level: region")
    linker = _detect_linker((shown[0], "--version"), target, link_env)
    argv = (shown[0], *without_output(shown[1:]))
    return LinkCall(argv=argv, linker=linker, direct=True)


def _by_zig(command: LinkCommand, target: str, link_env: LinkEnvironment) -> LinkCall:
    spaced = next((word for word in command.words if len(word.split()) != 1), None)
    if spaced is not None:
        msg = f"zig cannot show how it links {target}: {spaced!r} has blanks"
        raise InputError(msg, hint="choose another toolchain, or trim.level: region")
    # zig links while it prints. Use -s, as for the target itself: without it zig has other
    # libraries, with symbols, and would build those first.
    argv = (*command.driver, "-###", *command.words, "-s", "-o", str(link_env.scratch / "none"))
    outcome = link_env.run(argv, LINK_TIMEOUT_S)
    link_env.expect(outcome, f"{target} does not link again")
    shown = shown_by_zig(outcome.stdout)
    if not shown:
        msg = f"zig {link_env.toolchain.version} does not show how it links {target}"
        raise InputError(msg, hint="choose another toolchain, or trim.level: region")
    argv = (command.driver[0], "ld.lld", *without_output(shown[1:]))
    return LinkCall(argv=argv, linker=Linker.LLD, direct=True)


def _detect_linker(argv: tuple[str, ...], target: str, link_env: LinkEnvironment) -> Linker:
    return identify_by_version(link_env.run(argv, ASK_TIMEOUT_S).stdout, target=target)


def parse(text: str, *, target: str) -> LinkCommand:
    """Raises InputError for a line that is not exactly one link between ``:`` and ``:``."""
    if _PLAIN.fullmatch(text) is None:
        plain = _PLAIN.match(text)
        odd = text[plain.end() :][:60] if plain else text[:60]
        msg = f"the link command of {target} is more than plain words: {odd!r}"
        raise InputError(msg, hint=_HINT)
    commands = [command for command in _commands(_words(text)) if command != [":"]]
    while len(commands) > 1 and _manages_files(commands[-1]):
        commands.pop()  # before the link, a folder would be another one for all its paths
    if len(commands) != 1:
        found = shlex.join(commands[-1])[:200] if commands else "nothing"
        msg = f"{target} is made by {len(commands)} commands, expected one link: found {found}"
        raise InputError(msg, hint=_HINT)
    words = commands[0]
    count = 2 if PurePath(words[0]).name == "zig" else 1
    kept, output = _without_outputs(words[count:])
    if output is None:
        msg = f"the link command of {target} names no output: {shlex.join(words)[:200]}"
        raise InputError(msg, hint=_HINT)
    return LinkCommand(driver=tuple(words[:count]), words=tuple(kept), output=output)


def _words(text: str) -> list[str]:
    return shlex.split(_QUOTED.sub(lambda quoted: _unescape_quoted(quoted[0]), text))


def _unescape_quoted(quoted: str) -> str:
    """A shell removes them between double quotes, and shlex does not."""
    if not quoted.startswith('"'):
        return quoted
    return _ESCAPED.sub(lambda found: found[1] or found[0], quoted)


def _commands(words: Sequence[str]) -> Iterator[list[str]]:
    command: list[str] = []
    for word in (*words, "&&"):
        if word != "&&":
            command.append(word)
        elif command:
            yield command
            command = []


def _manages_files(command: Sequence[str]) -> bool:
    """A shared library may be linked so, and then linked to from a folder of Python files."""
    match command:
        case ["cd", _]:
            return True
        case [program, "-E", verb, *_]:
            return PurePath(program).name == "cmake" and verb in _FILE_COMMANDS
        case _:
            return False


def _without_outputs(words: Sequence[str]) -> tuple[list[str], str | None]:
    kept: list[str] = []
    output = None
    rest = iter(words)
    for word in rest:
        if word == "-o":
            output = next(rest, None)
        elif word == "-Xlinker":
            option = next(rest, "")
            if option in _OURS:  # its value follows another -Xlinker
                next(rest, None), next(rest, None)
            elif not _is_ours(option):
                kept += (word, option)
        elif word.startswith("-Wl,"):
            pieces = _pieces(word.split(",")[1:])
            kept += (",".join(("-Wl", *pieces)),) if pieces else ()
        elif word != "-s":
            kept.append(word)
    return kept, output


def _pieces(pieces: Sequence[str]) -> list[str]:
    kept: list[str] = []
    rest = iter(pieces)
    for piece in rest:
        if piece in _OURS:
            next(rest, None)
        elif not _is_ours(piece):
            kept.append(piece)
    return kept


def _is_ours(option: str) -> bool:
    return option in _STRIPS or option.partition("=")[0] in _OURS


def shown_by_clang(text: str) -> tuple[str, ...]:
    lines = [line for line in text.splitlines() if line.startswith(' "')]
    words = _SHOWN.findall(lines[-1]) if lines else []
    return tuple(re.sub(r"\\(.)", r"\1", word) for word in words)


def shown_by_zig(text: str) -> tuple[str, ...]:
    lines = [line for line in text.splitlines() if line.startswith("ld.lld ")]
    return tuple(lines[-1].split()) if lines else ()


def without_output(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(_without_outputs(words)[0])


def compile_words(words: Sequence[str]) -> tuple[str, ...]:
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in ("-target", "-isysroot", "-B"):
            kept += (word, next(rest, ""))
        elif word.startswith(
            ("--target=", "--sysroot=", "--gcc-toolchain=", "-march=", "-m", "-B")
        ):
            kept.append(word)
    return tuple(kept)


def linker_words(flags: Sequence[str]) -> tuple[str, ...]:
    words: list[str] = []
    for flag in flags:
        words += flag.split(",")[1:] if flag.startswith("-Wl,") else [flag]
    return tuple(words)
