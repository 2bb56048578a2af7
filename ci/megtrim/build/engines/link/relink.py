"""Links a built target again by its own link command, without touching the tree's outputs."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

from megtrim.build.engines.cmake import driver
from megtrim.build.engines.link import command_line, inputs, invocation
from megtrim.build.engines.link.command_line import LinkCommand
from megtrim.build.engines.link.invocation import (
    ASK_TIMEOUT_S,
    LINK_TIMEOUT_S,
    LinkCall,
    LinkEnvironment,
)
from megtrim.build_spec import LinkSpec
from megtrim.util.errors import InputError
from megtrim.util.files import cannot_write, write_atomically

LINKS = "links"
STRIPPED = "stripped"
_COMPILE = (
    *("-c", "-O2", "-fPIC", "-fno-lto"),
    # A source may run before the program's start-up is done, and nothing unwinds through a trap.
    *("-fno-stack-protector", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
)
_RESPONSE_FILE = re.compile(r"\s@")
_REFUSED = re.compile(
    r"unknown (?:argument|option|directive|linker script)|unrecognized (?:command-line )?option"
    r"|syntax error|malformed number|file format not recognized|unsupported linker arg"
)


def make(spec: LinkSpec, built: Path, link_env: LinkEnvironment, folder: Path) -> None:
    """Link to ``folder/links/LABEL/TARGET``, with symbols; ``stripped/TARGET`` is next to it.

    Raises InputError if the linker cannot do it, ProductFailure if the link fails.
    """
    linked = folder / LINKS / spec.label / spec.target
    stripped = linked.parent / STRIPPED / spec.target
    _clear(link_env.scratch, stripped.parent if spec.strip else linked.parent)
    command = _command(built, link_env)
    objects = tuple(_compile_source(each, command, link_env) for each in spec.sources)
    # Before every other object, so that our start-up code runs first.
    command = replace(command, words=(*objects, *command.words))
    call = invocation.find(command, spec.target, link_env)
    if spec.unfolded:
        _expect_code(command, call, spec.target, link_env)
    argv = (*call.argv, *_last(spec, call, link_env))
    if spec.emptied or not spec.unwind_tables:
        argv = inputs.copies(argv, link_env=link_env, spec=spec)
    map_flags = call.adapt_flags((f"-Wl,-Map={linked}.map",)) if spec.map else ()
    _link((*argv, *map_flags), linked, spec, link_env)
    if spec.strip and link_env.toolchain.strip:
        _copy(linked, stripped)
        link_env.processes.capture(*link_env.toolchain.strip, str(stripped))
    elif spec.strip:
        _link((*argv, "-s"), stripped, spec, link_env)


def expect_linkable(target: str, built: Path, link_env: LinkEnvironment) -> None:
    _clear(link_env.scratch)
    command = _command(built, link_env)
    _expect_code(command, invocation.find(command, target, link_env), target, link_env)


def _expect_code(
    command: LinkCommand, call: LinkCall, target: str, link_env: LinkEnvironment
) -> None:
    invocation.read_expecting_code(command.words, link_env.build, call.linker, target=target)


def _clear(scratch: Path, *folders: Path) -> None:
    shutil.rmtree(scratch, ignore_errors=True)
    for each in (scratch, *folders):
        try:
            each.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(each, error) from None


def _copy(linked: Path, copy: Path) -> None:
    try:
        shutil.copy2(linked, copy)
    except OSError as error:
        raise cannot_write(copy, error) from None


def _command(built: Path, link_env: LinkEnvironment) -> LinkCommand:
    name = str(built.relative_to(link_env.build))
    ninja = (link_env.processes.build_tool("ninja"), "-C", str(link_env.build), "-t")
    output = link_env.processes.capture(*ninja, "commands", "-s", name, timeout_s=ASK_TIMEOUT_S)
    lines = [each for each in output.splitlines() if not each.startswith("ninja: ")]
    if not lines:
        msg = f"Ninja has no command that makes {name}"
        raise InputError(msg, hint="functions are trimmed in targets that the engine's build links")
    text = lines[-1]
    if _RESPONSE_FILE.search(text):
        # Ninja deletes the response file after the command, but knows its content.
        listed = link_env.processes.capture(*ninja, "compdb", "-x", timeout_s=ASK_TIMEOUT_S)
        own = (each["command"] for each in json.loads(listed) if each["output"] == name)
        text = next(own, text)
    return command_line.parse(text, target=name)


def _compile_source(named: tuple[str, str], command: LinkCommand, link_env: LinkEnvironment) -> str:
    name, text = named
    source, made = link_env.scratch / name, link_env.scratch / f"{name}.o"
    write_atomically(source, text)
    compiler = (*link_env.toolchain.c_compiler, *link_env.toolchain.compile_flags)
    words = (*command_line.compile_words(command.words), *_COMPILE)
    outcome = link_env.run((*compiler, *words, str(source), "-o", str(made)), ASK_TIMEOUT_S)
    link_env.expect(outcome, f"{name} does not compile with {link_env.toolchain.version}")
    return str(made)


def _last(spec: LinkSpec, call: LinkCall, link_env: LinkEnvironment) -> tuple[str, ...]:
    """Later options override earlier ones."""
    unfolded = invocation.UNFOLDED[call.linker] if spec.unfolded else ()
    flags = call.adapt_flags((*unfolded, *spec.flags))
    if not spec.script:
        return flags
    # The linker recognises a script by its content, which is text.
    script = link_env.scratch / "functions.ld"
    write_atomically(script, spec.script)
    return (*flags, str(script))


def _link(argv: tuple[str, ...], output: Path, spec: LinkSpec, link_env: LinkEnvironment) -> None:
    outcome = link_env.run((*argv, "-o", str(output)), LINK_TIMEOUT_S)
    if outcome.ok:
        return
    output.unlink(missing_ok=True)
    what = f"{spec.target} does not link again ({spec.label})"
    if _REFUSED.search(outcome.stdout):
        msg = f"{what}:\n{driver.first_error(outcome.stdout)}"
        raise InputError(msg, hint="choose a toolchain with lld, or trim.level: region")
    link_env.expect(outcome, what)
