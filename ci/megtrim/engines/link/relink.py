"""Linking a built target once more, beside the tree's own outputs, by its own link command."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

from megtrim.build_spec import LinkSpec
from megtrim.engines.cmake import driver
from megtrim.engines.link import command_line, invocation, linkers, stubbed_objects
from megtrim.engines.link.command_line import LinkCommand
from megtrim.engines.link.invocation import ASK_TIMEOUT_S, LINK_TIMEOUT_S, LinkCall, LinkEnvironment
from megtrim.errors import InputError
from megtrim.store import cannot_write, write_atomically

LINKS = "links"
STRIPPED = "stripped"
_COMPILE = (
    *("-c", "-O2", "-fPIC", "-fno-lto"),
    # A part may run before the program's start-up is done, and nothing unwinds through a trap.
    *("-fno-stack-protector", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
)
_RESPONSE_FILE = re.compile(r"\s@")
_REFUSED = re.compile(
    r"unknown (?:argument|option|directive|linker script)|unrecognized (?:command-line )?option"
    r"|syntax error|malformed number|file format not recognized|unsupported linker arg"
)


def make(spec: LinkSpec, built: Path, bench: LinkEnvironment, folder: Path) -> None:
    """Link ``built`` as ordered into ``folder/links/<label>/<target>``, with its symbols.

    ``stripped/<target>`` lies beside it where that is asked, and ``<target>.map``. Raises
    InputError for a linker that cannot do it, ProductFailure for a link that fails.
    """
    made = folder / LINKS / spec.label / spec.target
    stripped = made.parent / STRIPPED / spec.target
    _clear(bench.scratch, stripped.parent if spec.strip else made.parent)
    command = _command(built, bench)
    objects = tuple(_compile_source(each, command, bench) for each in spec.sources)
    # Before every other object, so that what starts programs has ours start first.
    command = replace(command, words=(*objects, *command.words))
    call = invocation.find(command, spec.target, bench)
    if spec.unfolded:
        _expect_code(command, call, spec.target, bench)
    argv = (*call.argv, *_last(spec, call, bench))
    if spec.emptied or not spec.unwind_tables:
        argv = stubbed_objects.copies(argv, bench=bench, spec=spec)
    mapped = call.adapt_flags((f"-Wl,-Map={made}.map",)) if spec.map else ()
    _link((*argv, *mapped), made, spec, bench)
    if spec.strip and bench.toolchain.strip:
        _copy(made, stripped)
        bench.processes.capture(*bench.toolchain.strip, str(stripped))
    elif spec.strip:
        _link((*argv, "-s"), stripped, spec, bench)


def expect_linkable(target: str, built: Path, bench: LinkEnvironment) -> None:
    """Raise InputError for a linker that cannot leave functions out of ``built``."""
    _clear(bench.scratch)
    command = _command(built, bench)
    _expect_code(command, invocation.find(command, target, bench), target, bench)


def _expect_code(command: LinkCommand, call: LinkCall, target: str, bench: LinkEnvironment) -> None:
    linkers.read_expecting_code(command.words, bench.build, call.linker, target=target)


def _clear(scratch: Path, *wanted: Path) -> None:
    """Empty the scratch folder, and make those that are wanted beside it."""
    shutil.rmtree(scratch, ignore_errors=True)
    for each in (scratch, *wanted):
        try:
            each.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(each, error) from None


def _copy(made: Path, copy: Path) -> None:
    try:
        shutil.copy2(made, copy)
    except OSError as error:
        raise cannot_write(copy, error) from None


def _command(built: Path, bench: LinkEnvironment) -> LinkCommand:
    """Ask Ninja for the command that made ``built``."""
    name = str(built.relative_to(bench.build))
    ninja = (bench.processes.build_tool("ninja"), "-C", str(bench.build), "-t")
    said = bench.processes.capture(*ninja, "commands", "-s", name, timeout_s=ASK_TIMEOUT_S)
    lines = [each for each in said.splitlines() if not each.startswith("ninja: ")]
    if not lines:
        msg = f"Ninja has no command that makes {name}"
        raise InputError(msg, hint="functions are trimmed in targets that the engine's build links")
    text = lines[-1]
    if _RESPONSE_FILE.search(text):
        # Ninja takes the file away once the command ended, and knows what was in it.
        listed = bench.processes.capture(*ninja, "compdb", "-x", timeout_s=ASK_TIMEOUT_S)
        own = (each["command"] for each in json.loads(listed) if each["output"] == name)
        text = next(own, text)
    return command_line.parse(text, target=name)


def _compile_source(named: tuple[str, str], command: LinkCommand, bench: LinkEnvironment) -> str:
    """Compile a source of ours for the same target, and return the object's path."""
    name, text = named
    source, made = bench.scratch / name, bench.scratch / f"{name}.o"
    write_atomically(source, text)
    compiler = (*bench.toolchain.c_compiler, *bench.toolchain.compile_flags)
    words = (*command_line.compile_words(command.words), *_COMPILE)
    outcome = bench.run((*compiler, *words, str(source), "-o", str(made)), ASK_TIMEOUT_S)
    bench.expect(outcome, f"{name} does not compile with {bench.toolchain.version}")
    return str(made)


def _last(spec: LinkSpec, call: LinkCall, bench: LinkEnvironment) -> tuple[str, ...]:
    """Return what goes behind the target's own words: the last of two contrary options wins."""
    unfolded = linkers.UNFOLDED[call.linker] if spec.unfolded else ()
    flags = call.adapt_flags((*unfolded, *spec.flags))
    if not spec.script:
        return flags
    # The linker knows it by its content: text is a script.
    script = bench.scratch / "functions.ld"
    write_atomically(script, spec.script)
    return (*flags, str(script))


def _link(argv: tuple[str, ...], output: Path, spec: LinkSpec, bench: LinkEnvironment) -> None:
    outcome = bench.run((*argv, "-o", str(output)), LINK_TIMEOUT_S)
    if outcome.ok:
        return
    output.unlink(missing_ok=True)
    what = f"{spec.target} does not link again ({spec.label})"
    if _REFUSED.search(outcome.stdout):
        msg = f"{what}:\n{driver.first_error(outcome.stdout)}"
        raise InputError(msg, hint="choose a toolchain with lld, or trim.level: region")
    bench.expect(outcome, what)
