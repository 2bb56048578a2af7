"""The command line of ``load_and_run``: what a scenario adds, and what a user may add.

Flags are parsed as the engine's own program parses them. Those that megtrim adds are spelt so that
every release accepts them.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from megtrim.engines.load_and_run.dialects import Dialect
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

_RESERVED = {
    "input": "use the key inputs, so that each file is bound by its digest",
    "bin_out_dump": "leave it out: verification adds it",
    "fast_run_algo_policy": "use the key algo_cache, or fast_run: true",
    "fast_run": "use the key fast_run: a search is timing and must not happen at every run",
    "flagfile": "write its flags into args, so that they are bound to the trace",
    "fromenv": "write its flags into args, so that they are bound to the trace",
    "tryfromenv": "write its flags into args, so that they are bound to the trace",
}

_FAKE_FIRST = "fake_first"
_NO_OUTPUTS = (
    "leave it out: this engine crashes where it is to dump outputs after a run that computed "
    "nothing; it changes no output, and `megtrim perf run --experiment fake-first` times it"
)
_OFF = ("0", "f", "false", "n", "no")
"""Values by which gflags turns a switch off."""
INPUT_SUFFIXES = (".json", ".npy", ".pgm", ".ppm")
_LITERAL = re.compile(r"--[A-Za-z0-9][A-Za-z0-9-]*")
_CLOSE = 0.7
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag; its name has ``_`` instead of ``-``."""

    name: str
    value: str | None


class ProgramArguments(Value):
    program: str
    model: str
    arguments: tuple[str, ...]
    inputs: tuple[tuple[str, str], ...] = ()
    threads: int = 1
    algo_cache: str | None = None
    search: bool = False
    dump_dir: str | None = None


def flags(arguments: Sequence[str], *, dialect: Dialect, source: str) -> tuple[Flag, ...]:
    rest = list(reversed(arguments))
    found = []
    while rest:
        argument = rest.pop()
        name, equals, value = argument.lstrip("-").partition("=")
        dashes = len(argument) - len(argument.lstrip("-"))
        if dashes not in (1, 2) or not name:
            msg = f"{source}: found the argument {argument!r}, expected a flag such as --cpu"
            raise InputError(msg, hint="the key file names the model; values follow flags")
        if dialect.literal:
            _expect_literal(argument, source)
        found.append(_flag(_plain(name), value if equals else None, rest, dialect, source))
    return tuple(found)


def _flag(name: str, value: str | None, rest: list[str], dialect: Dialect, source: str) -> Flag:
    if not dialect.knows(name):
        msg = f"{source}: the flag {_spell_flag(name)} is unknown to this engine"
        raise InputError(msg, hint=_suggestion(name, dialect))
    if value is not None or dialect.is_switch(name):
        return Flag(name, value)
    if name in dialect.optional and (not rest or rest[-1].startswith("--")):
        return Flag(name, None)
    if not rest:
        msg = f"{source}: the flag {_spell_flag(name)} has no value"
        raise InputError(msg, hint="write the value after it as a separate argument")
    return Flag(name, rest.pop())


def _expect_literal(argument: str, source: str) -> None:
    if _LITERAL.fullmatch(argument):
        return
    name, equals, value = argument.lstrip("-").partition("=")
    spelled = _spell_flag(_plain(name)) + (f" and {value}, as two arguments" if equals else "")
    msg = f"{source}: found the argument {argument!r}, which load_and_run up to 1.6 does not accept"
    raise InputError(msg, hint=f"write it as {spelled}")


def check_arguments(arguments: Sequence[str], *, dialect: Dialect, source: str) -> None:
    """``source`` is the place of the arguments (``megtrim.yaml:12``), with which messages begin."""
    check_reserved(arguments, source=source)
    found = flags(arguments, dialect=dialect, source=source)
    fakes = [each.value for each in found if each.name == _FAKE_FIRST]
    if dialect.dumps_warm_ups and fakes and (fakes[-1] or "").lower() not in _OFF:
        msg = f"{source}: the flag {_spell_flag(_FAKE_FIRST)} is not allowed in args"
        raise InputError(msg, hint=_NO_OUTPUTS)


def check_reserved(arguments: Iterable[str], *, source: str) -> None:
    for name in _names(arguments):
        # A switch can be turned off as --noNAME, which collides just as well.
        reason = _RESERVED.get(name) or _RESERVED.get(name.removeprefix("no"))
        if reason is not None:
            msg = f"{source}: the flag --{name} is not allowed in args"
            raise InputError(msg, hint=reason)


def _names(arguments: Iterable[str]) -> Iterator[str]:
    for argument in arguments:
        if argument.startswith("-"):
            yield _plain(argument.lstrip("-").partition("=")[0])


def _suggestion(name: str, dialect: Dialect) -> str:
    other = dialect.other_names.get(name)
    if other is not None and dialect.knows(other):
        return f"this engine calls it {_spell_flag(other)}"
    every = sorted(dialect.switches | dialect.values)
    close = difflib.get_close_matches(name[:_LONGEST], every, n=1, cutoff=_CLOSE)
    return (
        f"did you mean {_spell_flag(close[0])}?"
        if close
        else f"it was looked for in {dialect.name}"
    )


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _spell_flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def compose(invocation: ProgramArguments) -> tuple[str, ...]:
    argv = [invocation.program, invocation.model, *invocation.arguments]
    own = {"multithread", "multithread_default"} & set(_names(invocation.arguments))
    if invocation.threads > 1 and not own:
        argv += ["--multithread", str(invocation.threads)]
    if invocation.search:
        argv.append("--fast-run")
    if invocation.algo_cache is not None:
        argv += ["--fast-run-algo-policy", invocation.algo_cache]
    if invocation.inputs:
        argv += ["--input", ";".join(_input(name, path) for name, path in invocation.inputs)]
    if invocation.dump_dir is not None:
        argv += ["--bin-out-dump", invocation.dump_dir]
    return tuple(argv)


def _input(name: str, path: str) -> str:
    """The first ``:`` ends the name, ``;`` the file."""
    if not name or ":" in name or ";" in name:
        msg = f"the input name {name!r} cannot be passed on: expected no ':' and no ';'"
        raise InputError(msg, hint="`megtrim model show FILE` lists the names of a model's inputs")
    if ";" in path or not path.endswith(INPUT_SUFFIXES):
        msg = f"the input file {path!r} cannot be passed on"
        raise InputError(
            msg, hint=f"expected a file without ';' whose name ends in {', '.join(INPUT_SUFFIXES)}"
        )
    return f"{name}:{path}"


def render_flags(flags: Sequence[Flag], dialect: Dialect) -> tuple[str, ...]:
    words: list[str] = []
    for flag in flags:
        shown = "--" + flag.name.replace("_", "-")
        if flag.value is None:
            words.append(shown)
        elif dialect.is_switch(flag.name):
            words.append(f"{shown}={flag.value}")
        else:
            words += [shown, flag.value]
    return tuple(words)


def without(flags: Iterable[Flag], *names: str) -> tuple[Flag, ...]:
    gone = {*names, *(f"no{name}" for name in names)}
    return tuple(flag for flag in flags if flag.name not in gone)


def set_flag(flags: Sequence[Flag], name: str, value: str | None) -> tuple[Flag, ...]:
    return (*without(flags, name), Flag(name, value))


def is_on(flags: Iterable[Flag], name: str, dialect: Dialect) -> bool:
    on = False
    for flag in flags:
        if flag.name == name:
            on = flag.value is None or flag.value.lower() not in _OFF
        elif flag.name == f"no{name}" and not dialect.literal:
            on = False
    return on
