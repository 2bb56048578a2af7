"""From one build under the recording wrappers to a configuration that repeats it."""

import os
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from megtrim.core.cli.session.starter import StarterFiles
from megtrim.core.cli.session.templates import ProjectStarter, name_keep_set, project_starter
from megtrim.core.config.model import is_shared_object
from megtrim.libs.elf.needed_libraries import list_needed
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.places.compile.projects import checkout, source_copy
from megtrim.places.compile.projects.builder import Progress
from megtrim.places.compile.projects.cmake.driver import WorkTree
from megtrim.places.compile.projects.recorded.builder import (
    find_kept_links,
    find_target,
    run_recorded,
)
from megtrim.places.compile.projects.recorded.calls import RecordedCall
from megtrim.places.compile.projects.recorded.links import RecordedLink, expect_repeatable

THEN = "--then"
"""Between two commands of a build."""


class RecordRequest(Value):
    commands: tuple[tuple[str, ...], ...]
    source: Path
    target: str
    config: Path


def split_commands(words: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    commands: list[list[str]] = [[]]
    for word in words:
        if word == THEN:
            commands.append([])
        else:
            commands[-1].append(word)
    if not all(commands):
        msg = "--record: found no command, expected the one that builds the project"
        raise InputError(msg, hint=f"megtrim init --record -- ./configure {THEN} make -j4")
    return tuple(tuple(command) for command in commands)


def plan_recorded(
    asked: RecordRequest, processes: ProcessRunner, progress: Progress
) -> StarterFiles:
    """Build a copy of the source once. Raises InputError where several targets could be meant."""
    if asked.config.exists():
        msg = f"{asked.config} already exists"
        raise InputError(msg, hint="edit it, or name another file with --config")
    taken = checkout.take(asked.source, processes)
    root = Path(tempfile.mkdtemp(prefix="megtrim-record-"))
    tree = WorkTree(root=root)
    source_copy.sync(taken, tree.source, {})
    calls = run_recorded(asked.commands, tree, processes, root / "build.log", progress)
    linked = find_kept_links(calls)
    target = _choose(linked, calls, tree, asked)
    users = [name for name, each in linked.items() if _loads(each, target.name)]
    sizes = {name: Path(each.output).stat().st_size for name, each in linked.items()}
    # Its log is of use only where something went wrong.
    shutil.rmtree(root)
    text = project_starter(
        ProjectStarter(
            source=os.path.relpath(asked.source.absolute(), asked.config.absolute().parent),
            target=target.name,
            compiler=Path(target.program).name,
            commands=asked.commands,
            programs=tuple(sorted(users)) if is_shared_object(target.name) else (),
            keep_set=name_keep_set(asked.config),
        )
    )
    found = (f"linked {_describe(name)}, {sizes[name]:,} bytes" for name in sorted(linked))
    return StarterFiles(
        files={asked.config: text}, lines=(*found, f"wrote {asked.config}, for {target.name}")
    )


def _choose(
    linked: dict[str, RecordedLink],
    calls: tuple[RecordedCall, ...],
    tree: WorkTree,
    asked: RecordRequest,
) -> RecordedLink:
    shown = shlex.join(asked.commands[-1])
    if not linked:
        msg = f"`{shown}` linked nothing that megtrim could see"
        hint = "clean the project first; name compilers without a folder, such as CC=gcc"
        raise InputError(msg, hint=hint)
    names = sorted(linked)
    if not asked.target and len(linked) > 1:
        msg = f"`{shown}` linked {', '.join(names)}"
        raise InputError(msg, hint=f"name the one to trim, such as --target {names[0]}")
    chosen = find_target(calls, asked.target or names[0], tree, command=shown)
    expect_repeatable(chosen)
    return chosen


def _loads(link: RecordedLink, library: str) -> bool:
    return not is_shared_object(link.name) and library in list_needed(Path(link.output))


def _describe(name: str) -> str:
    return f"{'shared object' if is_shared_object(name) else 'program'} {name}"
