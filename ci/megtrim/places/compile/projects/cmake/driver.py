"""Runs CMake and Ninja in a shadow tree. A failure is reported by its first error.

A blank in a path separates arguments, ``;`` entries of CMake's lists, ``,`` those of ``-Wl``, ``:``
library folders; GNU ld replaces ``%``, and prefix maps are split at ``=``.
"""

import hashlib
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path

from megtrim.core.build_spec import BuildScript, BuildSpec, Toolchain
from megtrim.libs.render.markup import clean
from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.libs.util.files import guard_write, load_text, write_atomically
from megtrim.libs.util.process import CAPTURE_LIMIT_BYTES, Command, CompletedCommand, ProcessRunner
from megtrim.libs.util.shortage import find_shortage
from megtrim.libs.util.value import Value

CONFIGURE_TIMEOUT_S = 1800.0
_CONFIGURED = "configured.json"
BUILD_TIMEOUT_S = 6 * 3600.0
_DEFAULT_PATH = "/usr/bin:/bin"
_NINJA_STEP = re.compile(r"^\[(\d+)/(\d+)\] (.*)$")
_ERROR = re.compile(r"(?::\d+(?::\d+)?: (?:fatal )?error:|\berror:|CMake Error|: undefined )")
_UNUSED = "Manually-specified variables were not used by the project:"
_CMAKES_OWN = re.compile(
    r"(?:CMAKE|ANDROID|CPACK|CTEST|FETCHCONTENT)_\w+|BUILD_SHARED_LIBS|BUILD_TESTING", re.ASCII
)
"""Some of these CMake reads in the first run in a folder only."""

_CACHE = "CMakeCache.txt"
_FOUND_PROGRAM = re.compile(r"^\w+:FILEPATH=(/.+)$", re.MULTILINE | re.ASCII)
_CHECKS = "CMakeFiles"
_CHECKS_LOG = f"{_CHECKS}/CMakeConfigureLog.yaml"
_BUILT = "built.json"
_NOTHING_TO_DO = "ninja: no work to do."
_LOOK_TIMEOUT_S = 300.0
_BUILD = re.compile(r"[A-Za-z0-9_./+@~#^-]|[^\x00-\x7f]")
_SCRIPT = re.compile(r"[A-Za-z0-9_./+@-]")


class WorkTree(Value):
    root: Path
    inside: str = ""
    """Folder of the shadow in which the engine's own script builds; empty: ``root/build``."""

    @property
    def source(self) -> Path:
        return self.root / "src"

    @property
    def build(self) -> Path:
        return self.source / self.inside if self.inside else self.root / "build"

    @property
    def include(self) -> Path:
        return self.root / "include"

    @property
    def toolchain_file(self) -> Path:
        return self.root / "toolchain.cmake"


class Job(Value):
    source: Path
    build: Path
    options: tuple[tuple[str, str], ...]
    targets: tuple[str, ...]
    log: Path
    jobs: int
    env: Mapping[str, str]
    what: str = "the engine"
    places: Mapping[str, str] = field(default_factory=dict)
    """Options that CMake must use, and what a message about each begins with."""

    def set_entries(self) -> tuple[str, ...]:
        unset = (f"-U{name}" for name in self.watched)
        return (*unset, *(f"-D{name}={value}" for name, value in self.options))

    @property
    def watched(self) -> Mapping[str, str]:
        return {name: at for name, at in self.places.items() if not _CMAKES_OWN.fullmatch(name)}


class _Output:
    def __init__(self, job: Job, progress: Callable[[int, int, str], None]) -> None:
        self._job = job
        self._progress = progress
        self._listing = False
        self._unused: list[str] = []
        self.refused = threading.Event()

    def read(self, line: str) -> None:
        step = _NINJA_STEP.match(line)
        if step:
            self._progress(int(step[1]), int(step[2]), step[3])
        elif _UNUSED in line:
            self._listing = True
        elif self._listing and line.startswith("    "):
            self._unused.append(line.strip())
        elif line.strip() and self._listing:
            self._listing = False
            if not self._job.watched.keys().isdisjoint(self._unused):
                self.refused.set()

    def expect_used(self) -> None:
        unused = [at for name, at in self._job.watched.items() if name in self._unused]
        if unused:
            msg = "\n".join(
                f"{at}: {self._job.what} does not use this CMake option" for at in unused
            )
            hint = f"`cmake -N -LA {self._job.build}` lists its options"
            raise InputError(msg, hint=hint)


def drop_stale_tree(
    tree: WorkTree, toolchain: Toolchain, settings: Sequence[tuple[str, str]]
) -> None:
    """CMake keeps options that are no longer passed, flags of its first run and the programs that
    it found then, and Ninja does not notice a compiler that was replaced under the same name.
    """
    record = tree.root / _CONFIGURED
    wanted = json.dumps([sorted(toolchain.identity().items()), sorted(settings)])
    known = record.exists() and record.read_text(encoding="utf-8") == wanted
    if known and (toolchain.image or not _lost_a_program(tree)):
        return
    with guard_write(tree.build):
        if tree.build.exists():
            shutil.rmtree(tree.build)
    write_atomically(record, wanted)


def _lost_a_program(tree: WorkTree) -> bool:
    """Tell whether CMake found a program or file that is gone since, such as a Python of a virtual
    environment that was removed. Files of the tree itself may be made again.
    """
    try:
        cache = load_text(tree.build / _CACHE)
    except (OSError, ValueError):
        return False
    found = (Path(path) for path in _FOUND_PROGRAM.findall(cache))
    return any(not path.is_relative_to(tree.root) and not path.exists() for path in found)


def is_started(tree: WorkTree) -> bool:
    return (tree.root / _CONFIGURED).exists()


def is_build_tree(root: Path) -> bool:
    """Tell whether a version of megtrim that left no markers builds in this folder."""
    try:
        record = json.loads(load_text(root / _CONFIGURED))
    except (OSError, ValueError, RecursionError):
        return False
    lists = isinstance(record, list) and all(isinstance(each, list) for each in record)
    return lists and len(record) == 2 and not root.is_symlink()


def link_nothing(toolchain: Toolchain, job: Job, tree: WorkTree, processes: ProcessRunner) -> None:
    """What fails here fails in CMake's own checks of the compiler, which say why."""
    source = tree.root / "nothing.cpp"
    write_atomically(source, "int main() {}\n")
    compiler = (*toolchain.cxx_compiler, *toolchain.compile_flags)
    for flags in ((), toolchain.link_flags):  # CMake's first check links without
        argv = (*compiler, *flags, str(source), "-o", str(source.with_suffix("")))
        _run_logged(argv, job, processes, BUILD_TIMEOUT_S, _Output(job, lambda *_: None))


def run_script(
    script: BuildScript,
    job: Job,
    processes: ProcessRunner,
    progress: Callable[[int, int, str], None],
) -> None:
    tools = Path(processes.build_tool("cmake")).parent
    # A PATH that ends with a colon would include the current folder.
    path = processes.env.get("PATH") or _DEFAULT_PATH
    env = {"PATH": f"{tools}:{path}", **job.env}
    program = str(job.source / script.path)
    argv = ("bash", program, *script.arguments, "-j", str(job.jobs))
    progress(0, 0, f"configuring {job.what} by {script.path}")
    output = _Output(job, progress)
    with _sound_checks(job):
        outcome = _run_logged(argv, replace(job, env=env), processes, BUILD_TIMEOUT_S, output)
    output.expect_used()
    _expect(outcome, job, "does not build")


def run(job: Job, processes: ProcessRunner, progress: Callable[[int, int, str], None]) -> None:
    """Raises ProductFailure if the engine does not compile."""
    configure = (
        processes.build_tool("cmake"),
        "-G",
        "Ninja",
        "-S",
        str(job.source),
        "-B",
        str(job.build),
        f"-DCMAKE_MAKE_PROGRAM={processes.build_tool('ninja')}",
        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        *job.set_entries(),
    )
    progress(0, 0, f"configuring {job.what}")
    output = _Output(job, progress)
    with _sound_checks(job):
        outcome = _run_logged(configure, job, processes, CONFIGURE_TIMEOUT_S, output)
    output.expect_used()
    _expect(outcome, job, "does not configure")
    progress(0, 0, f"compiling {job.what}")
    build = (processes.build_tool("ninja"), "-C", str(job.build), "-j", str(job.jobs), *job.targets)
    outcome = _run_logged(build, job, processes, BUILD_TIMEOUT_S, output)
    _expect(outcome, job, "does not compile")


@contextmanager
def _sound_checks(job: Job) -> Iterator[None]:
    """Raise InfrastructureFailure for a check of CMake's that the machine ended, and forget all.

    Such a check counts as one that failed: CMake goes on, says nothing, and builds with other
    flags, now and in every later run. Its own log of the checks says why.
    """
    try:
        yield
        if shortage := _find_ended_check(job):
            raise shortage
    except InfrastructureFailure:
        _forget_checks(job)
        raise


def _find_ended_check(job: Job) -> InfrastructureFailure | None:
    try:
        text = (job.build / _CHECKS_LOG).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    last_run = text.rpartition("\n---\n")[2]
    return find_shortage("a check of cmake's", 0, last_run, ())


def _forget_checks(job: Job) -> None:
    """What ``cmake --fresh`` does."""
    checked = job.build / _CHECKS
    with guard_write(checked):
        (job.build / _CACHE).unlink(missing_ok=True)
        if checked.is_dir():
            shutil.rmtree(checked)


def _run_logged(
    argv: tuple[str, ...], job: Job, processes: ProcessRunner, timeout_s: float, output: _Output
) -> CompletedCommand:
    command = Command(
        argv=argv,
        timeout_s=timeout_s,
        env=job.env,
        merge_stderr=True,
        log=job.log,
        on_line=output.read,
        abort=output.refused,
    )
    with job.log.open("a", encoding="utf-8") as log:
        log.write(f"$ {command}\n")
    return processes.for_builds().run(command)


def _expect(outcome: CompletedCommand, job: Job, what: str) -> None:
    expect(outcome, build=job.build, log=job.log, what=f"{job.what} {what}")


def expect(outcome: CompletedCommand, *, build: Path, log: Path, what: str) -> None:
    """Raises InfrastructureFailure for a timeout, else ProductFailure."""
    if outcome.ok:
        return
    if outcome.timed_out:
        msg = f"the build in {build} was stopped after {outcome.wall_s:.0f} s"
        raise InfrastructureFailure(msg, hint=f"the log is {log}")
    msg = f"{what}:\n{first_error(outcome.stdout)}"
    raise ProductFailure(msg, hint=f"the whole log is {log}")


def first_error(output: str) -> str:
    plain = clean(output, limit=CAPTURE_LIMIT_BYTES)
    lines = [line.strip()[:1000] for line in plain.splitlines()]
    failed = next((i for i, line in enumerate(lines) if line.startswith("FAILED:")), 0)
    error = next((i for i in range(failed, len(lines)) if _ERROR.search(lines[i])), None)
    if error is None:
        return "\n".join(lines[failed : failed + 12] if failed else lines[-12:])
    start = max(error - 3, failed + 2 if failed else 0)
    heading = lines[failed : failed + 2] if failed else []
    # The error itself first, because a title has no place for more.
    return "\n".join([lines[error], *heading, *lines[start : error + 10]])


def build_token(spec: BuildSpec, toolchain: Toolchain, digests: Sequence[str]) -> str:
    identity = sorted(toolchain.identity().items())
    text = json.dumps([repr(spec), identity, list(digests)])
    return hashlib.sha256(text.encode()).hexdigest()


def forget_build(tree: WorkTree) -> None:
    with guard_write(tree.root / _BUILT):
        (tree.root / _BUILT).unlink(missing_ok=True)


def note_build(tree: WorkTree, finished: str) -> None:
    write_atomically(tree.root / _BUILT, json.dumps(finished))


def is_up_to_date(
    tree: WorkTree, expected: str, built: Mapping[Path, Sequence[str]], processes: ProcessRunner
) -> bool:
    """``built`` maps build folders to targets. Ninja sees changes outside the tree as well."""
    try:
        if (tree.root / _BUILT).read_text(encoding="utf-8") != json.dumps(expected):
            return False
    except (OSError, ValueError):
        return False
    for build, targets in built.items():
        argv = (processes.build_tool("ninja"), "-C", str(build), "-n", *targets)
        outcome = processes.run(Command(argv=argv, timeout_s=_LOOK_TIMEOUT_S))
        if not outcome.ok or _NOTHING_TO_DO not in outcome.stdout:
            return False
    return True


def expect_plain(path: Path, what: str, *, script: bool = False, hint: str) -> None:
    """Raise InputError for a path that a build would split or change.

    ``script``: the engine's own shell script gets the path, too, and takes only ASCII letters.
    """
    text = str(path)
    plain = _SCRIPT if script else _BUILD
    wrong = next((c for c in text if not plain.fullmatch(c) or not c.isprintable()), None)
    if wrong is None:
        return
    letters = f"{'ASCII ' if script else ''}letters, digits and _ . / + @ -"
    msg = f"{what}: found {wrong!r} in {text!r}, which builds cannot have in their path"
    raise InputError(msg, hint=f"{hint}, whose whole path has only {letters}")
