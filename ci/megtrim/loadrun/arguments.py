"""The command line of ``load_and_run``: what a scenario adds, and what a user may give.

Flags are read as the engine's own parser (gflags) reads them: one or two dashes, ``-`` and
``_`` alike in names, a value behind ``=`` or as the next argument. Pure: it only makes and
judges arguments, it never runs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from megtrim.errors import InputError

_SWITCHES = frozenset(
    {
        *("binary_equal_between_batch", "c_opr_lib_with_param", "check_dispatch", "const_shape"),
        *("copy_to_host", "cpu", "cpu_default", "cuda", "disable_assert_throw"),
        *("disable_mem_opt", "enable_chwn4", "enable_fuse_conv_bias_nonlinearity"),
        *("enable_fuse_conv_bias_with_z", "enable_fuse_preprocess", "enable_ioc16"),
        *("enable_jit", "enable_nchw32", "enable_nchw4", "enable_nchw44", "enable_nchw44_dot"),
        *("enable_nchw64", "enable_nchw88", "enable_nhwcd4", "fake_first", "fast_run"),
        *("fitting", "full_run", "fuse_grain", "help", "io_dump_stderr", "io_dump_stdout"),
        *("lite", "mdl", "model_info", "no_sanity_check", "optimize_for_inference"),
        *("record_comp_seq", "record_comp_seq2", "reproducible", "share_param_mem", "tensorrt"),
        *("verbose", "version", "wait_gdb", "weight_preprocess", "winograd_transform"),
    }
)
"""Flags that take no value of their own argument; every other flag does."""

_RESERVED = {
    "input": "use the key inputs, so that each file is bound by its digest",
    "bin_out_dump": "leave it out: verification adds it",
    "fast_run_algo_policy": "use the key algo_cache, or fast_run: true",
    "fast_run": "use the key fast_run: a search is timing and must not happen at every run",
    "flagfile": "write its flags into args, so that they are bound to the trace",
    "fromenv": "write its flags into args, so that they are bound to the trace",
    "tryfromenv": "write its flags into args, so that they are bound to the trace",
}

_INPUT_SUFFIXES = (".json", ".npy", ".pgm", ".ppm")
_LITE_GENERATION = 20220507


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag as given: its name with ``_`` only, and its value where it has one."""

    name: str
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One run of the program. Paths are those of the device."""

    program: str
    model: str
    arguments: tuple[str, ...]
    """What the user asks for, without what the fields below stand for."""
    inputs: tuple[tuple[str, str], ...] = ()
    """Input name and file."""
    threads: int = 1
    algo_cache: str | None = None
    search: bool = False
    """Search for the fastest algorithms and write them to ``algo_cache``."""
    dump_dir: str | None = None
    """Existing folder that receives the outputs, one file each."""


def flags(arguments: Sequence[str], *, source: str) -> tuple[Flag, ...]:
    """Read arguments as the program will. Raises InputError for one that is no flag."""
    return tuple(_flags(iter(arguments), source))


def _flags(rest: Iterator[str], source: str) -> Iterator[Flag]:
    for argument in rest:
        name, equals, value = argument.lstrip("-").partition("=")
        dashes = len(argument) - len(argument.lstrip("-"))
        if dashes not in (1, 2) or not name:
            msg = f"{source}: found the argument {argument!r}, expected a flag such as --cpu"
            raise InputError(msg, hint="the model is given by the key file; values follow flags")
        name = name.replace("-", "_")
        if equals:
            yield Flag(name, value)
        elif name in _SWITCHES or name.removeprefix("no") in _SWITCHES:
            yield Flag(name, None)
        else:
            yield Flag(name, _value(name, rest, source))


def _value(name: str, rest: Iterator[str], source: str) -> str:
    value = next(rest, None)
    if value is None:
        msg = f"{source}: the flag --{name} lacks its value"
        raise InputError(msg, hint="write the value behind it as an argument of its own")
    return value


def check_arguments(arguments: Sequence[str], *, generation: int, source: str) -> None:
    """Refuse what megtrim sets itself, and what this generation of the engine does not know.

    ``source`` says whose arguments they are (``megtrim.yaml:12``) and begins every message.
    """
    for flag in flags(arguments, source=source):
        # A switch can be turned off as --noNAME, which collides just as well.
        for name in (flag.name, flag.name.removeprefix("no")):
            if name in _RESERVED:
                msg = f"{source}: the flag --{flag.name} is not for args"
                raise InputError(msg, hint=_RESERVED[name])
        if flag.name == "winograd_transform" and generation >= _LITE_GENERATION:
            msg = f"{source}: the flag --winograd-transform is unknown to this engine"
            raise InputError(msg, hint="its name is --weight-preprocess from version 1.7 on")


def compose(invocation: Invocation) -> tuple[str, ...]:
    """Return the whole command line. The user's arguments stand behind the model, unchanged."""
    argv = [invocation.program, invocation.model, *invocation.arguments]
    given = {flag.name for flag in flags(invocation.arguments, source=invocation.model)}
    if invocation.threads > 1 and not given & {"multithread", "multithread_default"}:
        argv += ["--multithread", str(invocation.threads)]
    if invocation.search:
        argv.append("--fast-run")
    if invocation.algo_cache is not None:
        argv += ["--fast-run-algo-policy", invocation.algo_cache]
    if invocation.inputs:
        argv += ["--input", ";".join(_input(name, path) for name, path in invocation.inputs)]
    if invocation.dump_dir is not None:
        argv += ["--bin_out_dump", invocation.dump_dir]
    return tuple(argv)


def _input(name: str, path: str) -> str:
    """Return one input in the program's grammar: the first ``:`` ends the name, ``;`` the file."""
    if not name or ":" in name or ";" in name:
        msg = f"the input name {name!r} cannot be passed on: expected no ':' and no ';'"
        raise InputError(msg, hint="megtrim model show FILE lists the names of a model's inputs")
    if ";" in path or not path.endswith(_INPUT_SUFFIXES):
        msg = f"the input file {path!r} cannot be passed on"
        raise InputError(
            msg, hint=f"expected a file without ';' whose name ends in {', '.join(_INPUT_SUFFIXES)}"
        )
    return f"{name}:{path}"
