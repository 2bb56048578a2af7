"""The project's own tests, with the trimmed file in the place of the one that it built.

A test that passes with the plain file must pass with the trimmed one and its rest, and without the
rest either pass or trap in a function that is named. Where what tests reach is kept, it must pass
without the rest as well. It counts only if a process of it loads the trimmed file, or if it does
not end in time with that in place.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from megtrim.core.build_spec import REST_SUFFIX
from megtrim.core.chain.filenames import KEEP_SET_FILE
from megtrim.core.chain.graph import FUNCTIONS, REDUCED, defers_functions
from megtrim.core.chain.result_store import content_of
from megtrim.core.chain.session import Session, binary
from megtrim.core.config.own_tests import is_test
from megtrim.core.keep.keepset_files import read_keep_set
from megtrim.core.proof.results import FailedTest, SuiteResult, TrappedTest
from megtrim.core.proof.trap_diagnosis import SymbolizingLink, named_program, read_function
from megtrim.core.trim.builds import suites
from megtrim.libs.elf.layout import parse_build_id
from megtrim.libs.util.limits import clean_log
from megtrim.libs.util.value import Value
from megtrim.places.compile.projects.tested import OwnTest, SuiteFolder, SuiteRun

_ALONE = "without the companion file"
_WHOLE = "with the companion file"
_TRIMMED = "with the trimmed file"
_TAIL_LINES = 12


def inputs(session: Session) -> dict[str, str]:
    reduced = content_of(session.done[REDUCED])
    named = {**suites.describe_inputs(session), "reduced": reduced}
    if suites.find_asked(session).keep:
        named["keep set"] = session.done[FUNCTIONS].files[KEEP_SET_FILE]
    return named


def work(session: Session, folder: Path) -> SuiteResult:
    trial = _Trial(session)
    with suites.open_suite(session, folder) as place:
        seen = trial.run(place)
    functions: dict[str, str] = {}
    trapped = seen.list_trapped()
    # The link that names functions starts from the same tree, which is not ours meanwhile.
    named = named_program(trial.target, session) if trapped else None
    if named is not None:
        with suites.open_suite(session, folder) as place:
            functions = trial.name_traps(trapped, named, place)
    return judge(
        seen,
        functions,
        target=trial.target,
        kept=_list_kept(session),
        defers=defers_functions(session.config),
    )


def _list_kept(session: Session) -> frozenset[str] | None:
    """Return the names of the tests in the keep set; None: what tests reach is not kept."""
    if not suites.find_asked(session).keep:
        return None
    keep = read_keep_set(session.done[FUNCTIONS].file(KEEP_SET_FILE))
    return frozenset(name for each in keep.scenarios if is_test(each.id) for name in each.arguments)


class SeenTests(Value):
    tests: int
    """All that there are."""
    passing: tuple[OwnTest, ...]
    """Those that pass with the plain file."""
    alone: Mapping[str, SuiteRun]
    """By name: without the companion file, if there is one."""
    whole: Mapping[str, SuiteRun]
    """By name: with the companion file; empty: there is none."""

    def list_counted(self) -> tuple[OwnTest, ...]:
        return tuple(each for each in self.passing if self._loads(each.name))

    def list_trapped(self) -> tuple[OwnTest, ...]:
        return tuple(each for each in self.list_counted() if _has_trapped(self.alone[each.name]))

    def _loads(self, name: str) -> bool:
        """What is ended leaves no record; with the plain file, it ended in time."""
        runs = [runs[name] for runs in (self.alone, self.whole) if name in runs]
        return any(run.loaded or run.timed_out for run in runs)


class _Trial:
    def __init__(self, session: Session) -> None:
        self.target = suites.find_target(session)
        self._asked = suites.find_asked(session)
        self._say = session.console.say
        self._program = binary(session.done[REDUCED], self.target)
        self._build_id = parse_build_id(self._program.read_bytes())
        self._defers = defers_functions(session.config)

    def run(self, place: SuiteFolder) -> SeenTests:
        tests = place.list_tests(self._asked.commands)
        plain = self._run(tests, "", place)
        passing = tuple(each for each in tests if plain[each.name].passed)
        self._say(f"  {len(passing)} of {len(tests)} tests pass with the plain file")
        whole: dict[str, SuiteRun] = {}
        # A test that traps may leave the folder as no test expects it, so such runs come last.
        if self._defers:
            rest = self._program.with_name(f"{self._program.name}{REST_SUFFIX}")
            with place.put(self._program, rest=rest):
                whole = self._run(passing, self._build_id, place)
        with place.put(self._program, rest=None):
            alone = self._run(passing, self._build_id, place)
        return SeenTests(tests=len(tests), passing=passing, alone=alone, whole=whole)

    def name_traps(
        self, trapped: tuple[OwnTest, ...], named: SymbolizingLink, place: SuiteFolder
    ) -> dict[str, str]:
        """Run the tests with the link that names functions, and return what each lacked first."""
        build_id = parse_build_id(named.program.read_bytes())
        with place.put(named.program, rest=None):
            again = self._run(trapped, build_id, place)
        functions = {}
        for name, seen in again.items():
            lacked = None if seen.place is None else named.locate(seen.place, seen.argument)
            if lacked is not None:
                functions[name] = read_function(lacked)
        return functions

    def _run(
        self, tests: Iterable[OwnTest], build_id: str, place: SuiteFolder
    ) -> dict[str, SuiteRun]:
        limit_s = self._asked.timeout_s
        return {each.name: place.run(each, build_id, timeout_s=limit_s) for each in tests}


def judge(
    seen: SeenTests,
    functions: Mapping[str, str],
    *,
    target: str,
    kept: frozenset[str] | None,
    defers: bool,
) -> SuiteResult:
    """``functions``: by test, the first that it lacked; ``kept``: the tests that the keep set has,
    if what tests reach is kept.
    """
    counted = seen.list_counted()
    names = frozenset(each.name for each in counted)
    traps = tuple(
        TrappedTest(name=each.name, function=functions.get(each.name, ""))
        for each in seen.list_trapped()
    )
    excused: frozenset[str] = frozenset()
    if kept is None:
        excused = frozenset(trap.name for trap in traps if trap.function)
    way = _ALONE if defers else _TRIMMED
    alone = {name: each for name, each in seen.alone.items() if name not in excused}
    described = {trap.name: trap.describe() for trap in traps}
    return SuiteResult(
        target=target,
        tests=seen.tests,
        passing=len(seen.passing),
        counted=len(counted),
        traps=tuple(trap for trap in traps if trap.name in excused),
        unloaded=tuple(each.name for each in seen.passing if each.name not in names),
        failed=(
            *_judge(alone, names, way, described),
            *_judge(seen.whole, names, _WHOLE, {}),
        ),
        deferring=defers,
        keeping=kept is not None,
        unrecorded=tuple(sorted(names - kept)) if kept is not None else (),
    )


def _has_trapped(seen: SuiteRun) -> bool:
    return seen.trapped and not seen.passed


def _judge(
    runs: Mapping[str, SuiteRun], names: frozenset[str], way: str, traps: Mapping[str, str]
) -> Iterator[FailedTest]:
    for name in sorted(names & runs.keys()):
        seen = runs[name]
        if seen.passed:
            continue
        lines = seen.said.splitlines()[-_TAIL_LINES:]
        yield FailedTest(
            name=name,
            how=f"{way}, {traps.get(name) or seen.describe()}",
            whole=way == _WHOLE,
            said=clean_log("\n".join(lines)),
        )
