"""A project's own tests, run where it was built, with its own file or a trimmed one in place."""

import itertools
import json
import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path

from megtrim.core.build_spec import REST_SUFFIX
from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.libs.util.files import guard_write
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.places.compile.projects import watcher
from megtrim.places.compile.projects.linked_files import find_copies, join_libraries

_OURS = ("cmake", "ctest", "ninja")
_CTEST = "ctest"
_LIST = ("--show-only=json-v1",)
_MESON = "meson"
_TEST = "test"
_INTROSPECT = ("introspect", "--tests")
_MESON_FOLDER = "-C"
_MESON_OPTIONS = ("--no-rebuild", "--print-errorlogs")
_GLOB = frozenset("*?[")
_SPECIAL = frozenset("[].^$|\\?*+()")
_ASIDE = "own"
_RECORD = "seen.json"
_HOME = "home"
_LIST_TIMEOUT_S = 600.0
_LARGEST_RECORD_BYTES = 4096


class OwnTest(Value):
    name: str
    argv: tuple[str, ...]


class SuiteRun(Value):
    rc: int
    timed_out: bool
    loaded: bool
    """A process of it loaded the file that was put in the place of the project's own."""
    trapped: bool
    """Such a process got the signal of a trap."""
    place: int | None
    """Offset in the file of the first trap; None: it is not known."""
    argument: int
    """What was in the register of the first argument then."""
    said: str

    @property
    def passed(self) -> bool:
        return self.rc == 0 and not self.timed_out

    def describe(self) -> str:
        return "it did not end in time" if self.timed_out else f"it ended with {self.rc}"


class _ReplacedFile(Value):
    file: Path
    folder: Path
    """Where it really is: a test may leave a link in the place of a folder."""
    aside: Path
    beside: Path
    """Where the companion file goes."""

    def put(self, program: Path, rest: Path | None) -> None:
        # A test may have left a link there.
        self.beside.unlink(missing_ok=True)
        shutil.copy2(program, self.file)
        if rest is not None:
            shutil.copy2(rest, self.beside)

    def restore(self) -> None:
        """A file whose folder is no longer there is for the build to make again."""
        if self.folder.is_dir() and self.file.parent.resolve() == self.folder:
            self.beside.unlink(missing_ok=True)
            self.aside.replace(self.file)


class SuiteFolder(Value):
    folder: Path
    """Where the commands start."""
    file: Path
    """What the project built, and what is replaced."""
    places: tuple[Path, ...]
    """Folders where the build may have copies of it, which are replaced, too."""
    scratch: Path
    processes: ProcessRunner
    is_stale: bool
    """Its build makes the file again, should megtrim be ended while another one is in its place."""
    is_joined: bool = False
    """What is built finds libraries in its own folder alone, so they are linked to from there."""

    def prepare(self, commands: Sequence[tuple[str, ...]], *, timeout_s: float, log: Path) -> None:
        """Raises ProductFailure for a command that fails."""
        for words in commands:
            shown = shlex.join(words)
            command = Command(
                argv=self._resolve(words),
                cwd=self.folder,
                env=self._make_places(),
                timeout_s=timeout_s,
                merge_stderr=True,
                log=log,
            )
            ended = self.processes.for_builds().run(command)
            if not ended.ok:
                msg = f"`{shown}` of tests.build fails with {ended.rc}"
                raise ProductFailure(msg, hint=f"the end of its output is in {log}")
        if self.is_joined:
            with guard_write(self.folder):
                join_libraries(self.folder)

    def list_tests(self, commands: Sequence[tuple[str, ...]]) -> tuple[OwnTest, ...]:
        """A call of ctest or of meson test stands for each of its tests."""
        found: list[OwnTest] = []
        for words in commands:
            argv = self._resolve(words)
            if words[0] == _CTEST:
                found += self._list_of_ctest(words, argv)
            elif Path(words[0]).name == _MESON and words[1:2] == (_TEST,):
                found += self._list_of_meson(words, argv)
            else:
                found.append(OwnTest(name=shlex.join(words), argv=argv))
        return tuple(found)

    def _list_of_ctest(self, words: tuple[str, ...], argv: tuple[str, ...]) -> Iterator[OwnTest]:
        ended = self._ask((*argv, *_LIST))
        try:
            names = [each["name"] for each in json.loads(ended.stdout)["tests"]]
        except (ValueError, KeyError, TypeError, RecursionError):
            names = []
        if not names or not all(isinstance(name, str) for name in names):
            raise _refuse_list(words, ended)
        for name in dict.fromkeys(names):
            pattern = "".join(f"\\{each}" if each in _SPECIAL else each for each in name)
            yield OwnTest(name=name, argv=(*argv, "--output-on-failure", "-R", f"^{pattern}$"))

    def _list_of_meson(self, words: tuple[str, ...], argv: tuple[str, ...]) -> Iterator[OwnTest]:
        """Its own list shows which tests the words select, and in each version in another form.

        It would build the replaced file again, so what tests.build makes is what is tested.
        """
        described = self._ask((argv[0], *_INTROSPECT, find_meson_build(words)))
        listed = self._ask((*argv, *_MESON_OPTIONS, "--list"))
        names = read_meson_tests(described.stdout, listed.stdout)
        if not names:
            raise _refuse_list(words, described if described.rc else listed)
        # Meson runs all tests that any of its words names.
        options = tuple(word for word in argv if not _names_test(word, names))
        times = Counter(name for _, name in names)
        for project, name in names:
            pattern = "".join(f"[{each}]" if each in _GLOB else each for each in name)
            shown = name if times[name] == 1 else f"{project}:{name}"
            yield OwnTest(name=shown, argv=(*options, *_MESON_OPTIONS, f"{project}:{pattern}"))

    def _ask(self, argv: tuple[str, ...]) -> CompletedCommand:
        command = Command(
            argv=argv,
            cwd=self.folder,
            env=self._make_places(),
            timeout_s=_LIST_TIMEOUT_S,
            tested=True,
        )
        return self.processes.for_builds().run(command)

    @contextmanager
    def put(self, program: Path, *, rest: Path | None) -> Iterator[None]:
        """Put a trimmed file in the places of the project's own, which come back at the end."""
        # The linked file is the first to go and the last to come back: should megtrim be ended in
        # between, the build makes it, and so its copies, again.
        with guard_write(self.file):
            self.scratch.mkdir(parents=True, exist_ok=True)
            files = (self.file, *find_copies(self.file, self.places))
        replaced: list[_ReplacedFile] = []
        try:
            with guard_write(self.file):
                for number, file in enumerate(files):
                    place = self._describe(file, number, program)
                    file.replace(place.aside)
                    replaced.append(place)
                    place.put(program, rest)
                    if self.is_stale:
                        os.utime(file, (0, 0))
            yield
        finally:
            _restore(replaced)

    def _describe(self, file: Path, number: int, program: Path) -> _ReplacedFile:
        return _ReplacedFile(
            file=file,
            folder=file.parent.resolve(),
            aside=self.scratch / f"{_ASIDE}-{number}",
            beside=file.with_name(f"{program.name}{REST_SUFFIX}"),
        )

    def run(
        self,
        test: OwnTest,
        build_id: str,
        *,
        timeout_s: float,
        variables: Mapping[str, str] | None = None,
    ) -> SuiteRun:
        """``build_id``: of the trimmed file; empty: nobody watches what is loaded.

        What a test has left that did not pass with the trimmed file is removed: another run of it,
        or another test, would meet it.
        """
        env = {**self._make_places(), **(variables or {})}
        record = self.scratch / _RECORD
        record.unlink(missing_ok=True)
        argv = test.argv
        if build_id:
            watching = (sys.executable, "-I", "-S", watcher.__file__, str(record), build_id)
            argv = (*watching, *argv)
        command = Command(
            argv=argv,
            cwd=self.folder,
            env=env,
            timeout_s=timeout_s,
            merge_stderr=True,
            tested=True,
        )
        before = self._list_entries() if build_id else frozenset()
        ended = self.processes.for_builds().run(command)
        if build_id and not ended.ok:
            self._remove_new(before)
        seen = _read_record(record) if build_id and not ended.timed_out else {}
        return SuiteRun(
            rc=ended.rc,
            timed_out=ended.timed_out,
            loaded=seen.get("loaded") is True,
            trapped=seen.get("trapped") is True,
            place=_read_number(seen, "place"),
            argument=_read_number(seen, "argument") or 0,
            said=ended.stdout,
        )

    def _list_entries(self) -> frozenset[Path]:
        return frozenset(
            Path(place, name)
            for folder in self.places
            for place, folders, files in os.walk(folder)
            for name in (*folders, *files)
        )

    def _remove_new(self, before: frozenset[Path]) -> None:
        # The longest paths first: a folder is empty when its turn comes.
        for path in sorted(self._list_entries() - before, reverse=True):
            with suppress(OSError):
                if path.is_dir() and not path.is_symlink():
                    path.rmdir()
                else:
                    path.unlink()

    def _resolve(self, words: tuple[str, ...]) -> tuple[str, ...]:
        name, *others = words
        if name in _OURS:
            name = self.processes.build_tool(name)
        return (name, *others)

    def _make_places(self) -> dict[str, str]:
        home = self.scratch / _HOME
        with guard_write(home):
            home.mkdir(parents=True, exist_ok=True)
        return {"HOME": str(home), "TMPDIR": str(home)}


def _refuse_list(words: tuple[str, ...], ended: CompletedCommand) -> InputError:
    msg = f"`{shlex.join(words)}` of tests.commands lists no test"
    if said := ended.stderr[:200].strip():
        msg += f": {said}"
    return InputError(msg, hint="does the build make the project's tests?")


def find_meson_build(words: tuple[str, ...]) -> str:
    """Return the folder of the build that ``meson test`` is asked for."""
    folder = "."
    for word, following in itertools.pairwise((*words, "")):
        if word.startswith(_MESON_FOLDER):
            folder = word.removeprefix(_MESON_FOLDER) or following
    return folder


def read_meson_tests(described: str, listed: str) -> tuple[tuple[str, str], ...]:
    """Return project and name of each test that is listed; empty: there is none, or it is no list.

    A line of the list is a name, or ends in one after its project and suites.
    """
    lines = listed.splitlines()
    found: dict[tuple[str, str], None] = {}
    try:
        for each in json.loads(described):
            name = each["name"]
            project = each["suite"][0].partition(":")[0]
            if any(_is_line_of(line, project, name) for line in lines):
                found[project, name] = None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ()
    return tuple(found)


def _is_line_of(line: str, project: str, name: str) -> bool:
    whole = f"{project}:{name}"
    if line in (name, whole) or line.endswith(f" - {whole}"):
        return True
    return line.startswith((f"{project}:", f"{project} / ")) and line.endswith(f" / {name}")


def _names_test(word: str, names: Sequence[tuple[str, str]]) -> bool:
    """Tell whether a word of ``meson test`` is a test's name, or a pattern of names."""
    if word.startswith("-"):
        return False
    return any(fnmatch(name, word) or fnmatch(f"{project}:{name}", word) for project, name in names)


def _restore(replaced: Sequence[_ReplacedFile]) -> None:
    """What a test left in the place of one file does not keep the others from coming back."""
    with ExitStack() as stack:
        for place in replaced:
            stack.enter_context(guard_write(place.file))
            stack.callback(place.restore)


def _read_number(seen: Mapping[str, object], name: str) -> int | None:
    number = seen.get(name)
    return number if isinstance(number, int) else None


def _read_record(record: Path) -> dict[str, object]:
    try:
        with record.open("rb") as stream:
            found = json.loads(stream.read(_LARGEST_RECORD_BYTES))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        msg = "a test left no record of the files that its processes load"
        raise InfrastructureFailure(msg, hint="may processes be traced here (ptrace)?")
    return found
