"""From the command that links a target to the call that links it again, but for its output.

A compiler that is clang's says how it calls its linker, and the linker is called like that: every
input then stands in the call, those of the toolchain too. zig refuses most flags for its linker,
so nothing else would do. Other compilers are called themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from megtrim.build_spec import Toolchain
from megtrim.engines import application
from megtrim.engines.cmake import driver
from megtrim.engines.link import command_line, linkers
from megtrim.engines.link.command_line import LinkCommand
from megtrim.engines.link.linkers import Linker
from megtrim.errors import InputError
from megtrim.process import Command, CompletedCommand, ProcessRunner

LINK_TIMEOUT_S = 1800.0
ASK_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkEnvironment:
    """Where links are made, and with what."""

    toolchain: Toolchain
    processes: ProcessRunner
    tree: Path
    """Folder that everything of the build lies below."""
    build: Path
    """The build folder, in which the target's own link ran."""
    scratch: Path
    """Folder for what a link needs and nobody keeps."""
    log: Path
    env: Mapping[str, str]

    def run(
        self, argv: tuple[str, ...], timeout_s: float, *, merged: bool = True
    ) -> CompletedCommand:
        """Run in the build folder, both streams as one if ``merged``; the log has it all."""
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
        """Raise where a step failed: ``what`` says which."""
        driver.expect(outcome, build=self.build, log=self.log, what=what)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCall:
    """A link that lacks only its output."""

    argv: tuple[str, ...]
    linker: Linker
    direct: bool
    """The linker is called itself, and not by a compiler."""

    def adapt_flags(self, flags: tuple[str, ...]) -> tuple[str, ...]:
        """Return a compiler's flags for links as this call takes them."""
        return command_line.linker_words(flags) if self.direct else flags


def find(command: LinkCommand, target: str, bench: LinkEnvironment) -> LinkCall:
    """Return the call of ``command``.

    Raises InputError where the linker cannot leave functions out, or is not told of.
    """
    if bench.toolchain.kind == "zig":
        return _by_zig(command, target, bench)
    if application.is_clang(bench.toolchain):
        return _by_clang(command, target, bench)
    argv = (*command.driver, *command.words)
    linker = _detect_linker(
        (*argv, "-o", str(bench.scratch / "none"), "-Wl,--version"), target, bench
    )
    return LinkCall(argv=argv, linker=linker, direct=False)


def _by_clang(command: LinkCommand, target: str, bench: LinkEnvironment) -> LinkCall:
    argv = (*command.driver, "-###", *command.words, "-o", str(bench.scratch / "none"))
    outcome = bench.run(argv, ASK_TIMEOUT_S)
    bench.expect(outcome, f"{target} does not link again")
    shown = command_line.shown_by_clang(outcome.stdout)
    if not shown or any(word.startswith("@") for word in shown):
        msg = f"{bench.toolchain.version} does not tell how it links {target}"
        raise InputError(msg, hint="choose another toolchain, or trim.level: region")
    linker = _detect_linker((shown[0], "--version"), target, bench)
    argv = (shown[0], *command_line.without_output(shown[1:]))
    return LinkCall(argv=argv, linker=linker, direct=True)


def _by_zig(command: LinkCommand, target: str, bench: LinkEnvironment) -> LinkCall:
    spaced = next((word for word in command.words if len(word.split()) != 1), None)
    if spaced is not None:
        msg = f"zig cannot tell how it links {target}: {spaced!r} has blanks"
        raise InputError(msg, hint="choose another toolchain, or trim.level: region")
    # It links while it tells. With -s, as the target is linked: its libraries are others with
    # symbols, and it would make those first.
    argv = (*command.driver, "-###", *command.words, "-s", "-o", str(bench.scratch / "none"))
    outcome = bench.run(argv, LINK_TIMEOUT_S)
    bench.expect(outcome, f"{target} does not link again")
    shown = command_line.shown_by_zig(outcome.stdout)
    if not shown:
        msg = f"zig {bench.toolchain.version} does not tell how it links {target}"
        raise InputError(msg, hint="choose another toolchain, or trim.level: region")
    argv = (command.driver[0], "ld.lld", *command_line.without_output(shown[1:]))
    return LinkCall(argv=argv, linker=Linker.LLD, direct=True)


def _detect_linker(argv: tuple[str, ...], target: str, bench: LinkEnvironment) -> Linker:
    return linkers.identify_by_version(bench.run(argv, ASK_TIMEOUT_S).stdout, target=target)
