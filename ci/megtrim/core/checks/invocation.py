"""What megtrim was asked for, and the call that every command that it prints repeats. Pure."""

import posixpath
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.config.config_id import DEFAULT_CONFIG, split, suffix_of
from megtrim.core.config.units import WORK
from megtrim.libs.util.value import Value

if TYPE_CHECKING:
    from megtrim.core.checks.check import Check

DEFAULT_OUT = "megtrim-out"
REPORT_ARTIFACT = "megtrim-report"
BASELINE_FILE = "baseline.json"
_ROOM = 105
"""Percent of its size that a first budget allows."""
_WEIGH = ("size", "trim", "stage verdict")


class Options(Value):
    config: Path = Path(DEFAULT_CONFIG)
    out: Path = Path(DEFAULT_OUT)
    engine: Path | None = None
    jobs: int | None = None
    quiet: bool = False
    as_json: bool = False
    committed: bool = False
    """The keep set is the file that the team committed, and nothing is traced."""
    accept: bool = False
    records: bool = False
    """A committed keep set that lacks something gets it; what only asks leaves it as it is."""
    again: bool = False
    form: str = ""
    scenario: str | None = None
    baseline: Path | None = None
    """Sizes that growth is measured against, in place of those that the configuration names."""
    against: str | None = None
    """A commit whose sizes growth is measured against: its own word for ``baseline``."""
    require_baseline: bool = False
    """Refuse to trim where growth cannot be measured."""
    traces: tuple[Path, ...] = ()
    device: str | None = None
    """Name or kind of the device to use, instead of the first of its class."""
    image: str | None = None
    quick: bool = False
    """Trim by functions from the plain build alone; the committed keep set is left as it is."""
    neighbours: bool = False
    """Try every neighbour of every scenario, not only those that a budget asks for."""
    base: Path | None = None
    """Folder of results of an earlier commit, whose plain program times are compared with."""
    base_name: str = ""
    reuse: Path | None = None
    no_docker: bool = False
    recompile: bool = False
    reached: tuple[Path, ...] = ()
    """What programs recorded in the field: those functions stay."""
    kept: tuple[str, ...] = ()
    """Patterns of functions that stay besides those of the configuration: what a patch keeps."""
    of_release: Path | None = None
    """The release that a crash is of; None: it is of the results."""
    of_releases: tuple[Path, ...] = ()
    """The releases that records have lines of."""

    @property
    def results(self) -> Path:
        """The folder of results, spelled as compilers spell it in their records: without ``..``."""
        return self.out.resolve()


class Invocation(Value):
    """Those options that decide what a call works on, and how; empty: not given.

    Paths are as the reader has to write them: relative to the folder in which megtrim was called,
    or to the top of the checkout if a CI job called it.
    """

    config: str = DEFAULT_CONFIG
    out: str = ""
    engine: str = ""
    image: str = ""
    no_docker: bool = False
    device: str = ""
    baseline: str = ""
    traces: tuple[str, ...] = ()
    committed: bool = False
    quick: bool = False
    keep_set: str = "megtrim/keepset"
    """The file that a team commits; not an option, but a path like the others."""

    @property
    def place(self) -> tuple[str, ...]:
        named = (
            ("--config", self.config),
            ("--out", self.out),
            ("--engine", self.engine),
            ("--image", self.image),
        )
        words: list[str] = []
        for option, value in named:
            if value:
                words += [option, value]
        if self.no_docker:
            words.append("--no-docker")
        return tuple(words)

    @property
    def options(self) -> tuple[str, ...]:
        device = ("--device", self.device) if self.device else ()
        return (*self.place, *self._mode, *device)

    @property
    def _mode(self) -> tuple[str, ...]:
        words = []
        if self.committed:
            words.append("--committed")
        if self.quick:
            words.append("--quick")
        return tuple(words)

    def again(self, verb: str, *words: str) -> str:
        """Traces from other machines need the whole chain, so with them it is ``trim``."""
        verb, words = ("trim", self._brought) if self.traces else (verb, words)
        weighs = bool(self.baseline) and verb in _WEIGH
        baseline = ("--baseline", self.baseline) if weighs else ()
        return shlex.join(("megtrim", *verb.split(), *self.options, *baseline, *words))

    def verify(self, scenario: str) -> str:
        return self.again("verify", "--scenario", scenario, "--again")

    def price(self) -> str:
        """No device has a part in it."""
        return shlex.join(("megtrim", "size", "prices", *self.place, *self._mode))

    def trim(self, *words: str) -> str:
        """A full trim, which records: whatever was asked for before."""
        device = ("--device", self.device) if self.device else ()
        return shlex.join(("megtrim", "trim", *self.place, *device, *self._brought, *words))

    def accept(self) -> str:
        return self.trim("--accept")

    @property
    def _brought(self) -> tuple[str, ...]:
        return tuple(word for trace in self.traces for word in ("--traces", trace))


ScenarioKind = Literal[
    CheckKind.TRAP,
    CheckKind.PARITY,
    CheckKind.ENGINE,
    CheckKind.TRACE,
    CheckKind.DEVICE,
    CheckKind.COVERAGE,
]

WAIT_FOR_DEVICE = (
    "nothing is known about the product on this device: look at the device job, or wait for it"
)
PUSH_BRANCH = (
    "a maintainer who has read the change pushes its branch to this repository, "
    "and starts the workflow on it by hand"
)
START_RUNNER = "bring the runner of this class back, and run the device job again"
APPROVE_JOB = "approve the device job in its run"
BRING_DEVICE_BACK = "bring a device of this class back, and run the check again"
CHECK_CLOCK = "look at the clock of the machine that ran it, and run the device job again"
LOOK_AT_DEVICE = "nothing is known about the product: look at the device, then try again"
_SUGGESTIONS: Mapping[ScenarioKind, str] = {
    # It was traced by this chain, so its runs differ from each other.
    CheckKind.TRAP: "it was traced just now and ran otherwise here: name its CPU in classes, "
    "record its algo_cache, or name the functions in trim.keep",
    CheckKind.PARITY: "compare the same scenario on plain and profile; "
    "verify.tolerance allows a difference that you accept",
    CheckKind.ENGINE: "nothing is missing from the keep set: look at the program's message and at "
    "its input",
    CheckKind.TRACE: "the run to be traced failed: fix the error in its log, and trim again",
    CheckKind.DEVICE: LOOK_AT_DEVICE,
    CheckKind.COVERAGE: "bring a device of its class back, and verify it there",
}


def suggest_accepting(invocation: Invocation) -> str:
    return (
        f"run `{invocation.accept()}` "
        f"and commit `{invocation.keep_set}`; the workflow megtrim refresh proposes the same"
    )


def suggest_for_scenario(kind: ScenarioKind, invocation: Invocation) -> str:
    if kind is CheckKind.TRAP and invocation.committed:
        return f"if that is intended, {suggest_accepting(invocation)}"
    if kind is CheckKind.TRACE and invocation.committed:
        return suggest_for_keep_set(invocation)
    return _SUGGESTIONS[kind]


def suggest_for_probe(invocation: Invocation) -> str:
    """A scenario that is only new needs no ``--accept``, which would also hide lost regions."""
    add = f"if users may run it like this, add it to {invocation.config} as a scenario"
    return f"{add}, run `{invocation.trim()}` and commit `{invocation.keep_set}`"


def suggest_for_keep_set(invocation: Invocation) -> str:
    return f"if the change is intended, {suggest_accepting(invocation)}"


def suggest_for_other_link(invocation: Invocation) -> str:
    return (
        f"if the source or a model changed, {suggest_accepting(invocation)}; if not, the toolchain "
        "auto found another compiler here than where the list was made: install that one (zig: pip "
        "install ziglang, and qemu-user-static), or name one as toolchain.kind, for all machines"
    )


def suggest_next(
    invocation: Invocation,
    artifact: str,
    size_bytes: int,
    *,
    results: str,
    commits: bool,
    limited: bool,
    reached: bool = False,
    files: Sequence[str] = (),
) -> str:
    """``commits``: the keep set is yet to be committed; ``limited``: there are budgets.

    ``files`` that the configuration names, relative to it, git does not know yet. ``reached``:
    functions stay in this run alone. An export goes to the folder of ``results``, which git
    ignores.
    """
    file, _ = split(invocation.config)
    if reached:
        return f"keep what was reached in each run: write the lines printed above into {file}"
    if commits:
        folder, name = posixpath.split(file)
        keep_set = posixpath.relpath(invocation.keep_set, folder or ".")
        # `init` writes models and schemas next to the keep set, in a folder of their own.
        kept = keep_set if keep_set.count("/") != 1 else posixpath.dirname(keep_set)
        others = [each for each in files if each != name and not each.startswith(f"{kept}/")]
        paths = ("--", name, kept, *others)
        git = ("git", "-C", folder) if folder else ("git",)
        commit = (*git, "commit", "--message", "Keep what scenarios run", *paths)
        both = f"{shlex.join((*git, 'add', *paths))} && {shlex.join(commit)}"
        return f"commit the configuration and the keep set: {both}"
    if not limited:
        limit = -(-size_bytes * _ROOM // (100 * 1024))
        return f"set a budget, in {file}: budgets: [{{artifact: {artifact}, max: {limit} KiB}}]"
    return f"export it: {invocation.again('export', name_export(results, artifact))}"


_PASTED = ("megtrim ", "git ", "budgets: ")


def split_next(text: str) -> tuple[str, str]:
    """Return what a next step says, and the line of it that people paste; empty: it has none."""
    said, joint, line = text.partition(": ")
    return (said, line) if joint and line.startswith(_PASTED) else (text, "")


_OF_BYTES = (CheckKind.SIZE, CheckKind.GROWTH)
_OF_KEEP_SET = (CheckKind.HEADER, CheckKind.KEEP_SET, CheckKind.TRAP, CheckKind.TRACE)


def suggest_after(worst: "Check", invocation: Invocation) -> str:
    """Say what follows a trim with this check; empty if nothing can be typed."""
    if worst.status is CheckStatus.INFRASTRUCTURE and worst.reproduce:
        return f"try it again: {worst.reproduce}"
    if worst.status is not CheckStatus.FAIL:
        return ""
    if worst.kind in _OF_BYTES:
        return f"see what its bytes are for: {invocation.price()}"
    stale = invocation.committed and worst.kind in _OF_KEEP_SET
    if stale or "--accept" in worst.hint:
        return f"if the change is intended, accept it: {invocation.accept()}"
    return f"mend that, and trim again: {invocation.again('trim')}"


def name_export(results: str, artifact: str) -> str:
    return posixpath.join(results, f"{artifact}-trimmed")


USE_LESS = "make it use less, or raise the limit in the same change and say why"


def suggest_for_unknown_use(measure: str) -> str:
    """``measure``: one of a scenario's that has a limit, and is not known."""
    section = "work" if measure == WORK else "memory"
    return (
        f"bring what is missing; if it is meant that this is not known, set {section}."
        "inconclusive: warn in the same change and say why"
    )


def suggest_for_budget(*, lapsed: bool, owner: str = "") -> str:
    """``lapsed``: its waiver expired; ``owner`` decides about it."""
    leave = "have the owner of the waiver renew it" if lapsed else "add a waiver with a reason"
    asked = f"; {owner} owns this budget" if owner else ""
    return f"make it smaller, raise the budget, or {leave}{asked}"


def render_invocation(
    options: Options, *, here: Path, in_job: bool, keep_set: Path | None = None
) -> Invocation:
    """Return the call that repeats another one; ``keep_set`` is relative to the configuration.

    A person repeats it in the folder of the call, ``here``. What a job of GitHub Actions did is
    repeated at the top of a checkout, where the job ran: paths outside of it are the runner's own
    and are left out, and the baseline is in the report that people download.
    """

    def render_path(path: Path | None) -> str:
        if path is None:
            return ""
        if path.is_absolute() and path.is_relative_to(here):
            path = path.relative_to(here)
        outside = path.is_absolute() or ".." in path.parts
        return "" if in_job and outside else str(path)

    out = render_path(options.out)
    baseline = render_path(options.baseline)
    config = render_path(options.config) or str(options.config)
    if options.baseline and not baseline:
        baseline = f"{REPORT_ARTIFACT}{suffix_of(config)}/{BASELINE_FILE}"
    keep_set_path = Invocation().keep_set
    if keep_set:
        keep_set_path = render_path(options.config.parent / keep_set)
    return Invocation(
        config=config,
        out="" if out == DEFAULT_OUT else out,
        engine=render_path(options.engine),
        image=options.image or "",
        no_docker=options.no_docker,
        device=options.device or "",
        baseline=baseline,
        traces=tuple(filter(None, map(render_path, options.traces))),
        committed=options.committed,
        quick=options.quick,
        keep_set=keep_set_path,
    )
