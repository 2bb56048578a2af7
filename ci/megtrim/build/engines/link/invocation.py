"""From the command that links a target to a call that repeats the link with another output.

clang prints how it calls its linker, and megtrim calls the linker like that: the call then names
every input, including the toolchain's. zig rejects most linker flags, so it allows nothing else.
Other compilers are called themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from megtrim.build.engines import application
from megtrim.build.engines.cmake import driver
from megtrim.build.engines.link import command_line
from megtrim.build.engines.link.command_line import LinkCommand
from megtrim.build_spec import Toolchain
from megtrim.elf.layout import NO_BUILD_ID
from megtrim.util.errors import InputError
from megtrim.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.util.value import Value


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

_COMPILER = re.compile(r"collect2 version |\s*/")
"""The first line of gcc's output, and a line that shows a call."""

UNFOLDED = {
    # Under full LTO an inlined function has no address of its own, so that no list contains it. At
    # -O2 lld (seen with 21 and 22) lets callers jump past a function that is only a jump.
    Linker.LLD: ("-Wl,--icf=none", "-Wl,--lto-O0", "-Wl,-O1", NO_BUILD_ID),
    Linker.GNU: (NO_BUILD_ID,),
}
"""Every function keeps its own bytes; later options override earlier ones.

Without a build id, which the program that ships has alone.
"""

_LTO = (b".gnu.lto_", b"`\nBC\xc0\xde")
"""Marks of link-time optimisation: in GCC's objects, and before clang's in an archive."""
_LTO_OBJECT = b"BC\xc0\xde"


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


LINK_TIMEOUT_S = 1800.0
ASK_TIMEOUT_S = 300.0


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
        return command_line.linker_words(flags) if self.direct else flags


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
    shown = command_line.shown_by_clang(outcome.stdout)
    if not shown or any(word.startswith("@") for word in shown):
        msg = f"{link_env.toolchain.version} does not show how it links {target}"
        raise InputError(msg, hint="choose another toolchain, or trim.level: region")
    linker = _detect_linker((shown[0], "--version"), target, link_env)
    argv = (shown[0], *command_line.without_output(shown[1:]))
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
    shown = command_line.shown_by_zig(outcome.stdout)
    if not shown:
        msg = f"zig {link_env.toolchain.version} does not show how it links {target}"
        raise InputError(msg, hint="choose another toolchain, or trim.level: region")
    argv = (command.driver[0], "ld.lld", *command_line.without_output(shown[1:]))
    return LinkCall(argv=argv, linker=Linker.LLD, direct=True)


def _detect_linker(argv: tuple[str, ...], target: str, link_env: LinkEnvironment) -> Linker:
    return identify_by_version(link_env.run(argv, ASK_TIMEOUT_S).stdout, target=target)
