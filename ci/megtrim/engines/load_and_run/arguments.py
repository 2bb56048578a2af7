"""The command line of ``load_and_run``: what a scenario adds, and what a user may add.

Flags that megtrim adds are spelt so that every release accepts them.
"""

from collections.abc import Iterable, Sequence

from megtrim.libs.programs.application_arguments import Places
from megtrim.libs.programs.flags import Dialect, is_on, list_names, parse_flags, spell_flag
from megtrim.libs.util.errors import InputError

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
INPUT_SUFFIXES = (".json", ".npy", ".pgm", ".ppm")


def check_arguments(arguments: Sequence[str], *, dialect: Dialect, source: str) -> None:
    """``source`` is the place of the arguments (``megtrim.yaml:12``), with which messages begin."""
    check_reserved(arguments, source=source)
    found = parse_flags(arguments, dialect=dialect, source=source)
    if dialect.dumps_warm_ups and is_on(found, _FAKE_FIRST, dialect):
        msg = f"{source}: the flag {spell_flag(_FAKE_FIRST)} is not allowed in args"
        raise InputError(msg, hint=_NO_OUTPUTS)


def check_reserved(arguments: Iterable[str], *, source: str) -> None:
    for name in list_names(arguments):
        # A switch can be turned off as --noNAME, which collides just as well.
        reason = _RESERVED.get(name) or _RESERVED.get(name.removeprefix("no"))
        if reason is not None:
            msg = f"{source}: the flag --{name} is not allowed in args"
            raise InputError(msg, hint=reason)


def compose(
    program: str, arguments: Sequence[str], places: Places, *, search: bool, dumps: bool
) -> tuple[str, ...]:
    if places.model is None:
        msg = f"{program} runs models, and was given none"
        raise TypeError(msg)
    argv = [program, places.model, *arguments]
    own = {"multithread", "multithread_default"} & set(list_names(arguments))
    if places.threads > 1 and not own:
        argv += ["--multithread", str(places.threads)]
    if search:
        argv.append("--fast-run")
    if places.algo_cache is not None:
        argv += ["--fast-run-algo-policy", places.algo_cache]
    if places.inputs:
        inputs = (_input(name, path) for name, path in sorted(places.inputs.items()))
        argv += ["--input", ";".join(inputs)]
    if dumps:
        argv += ["--bin-out-dump", places.outputs]
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
