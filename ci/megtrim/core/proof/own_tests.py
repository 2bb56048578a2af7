"""The project's own tests, with the trimmed file in the place of the one that it built.

A test that passes with the plain file must pass with the trimmed one and its rest, and without the
rest either pass or trap. It counts only if a process of it loads the trimmed file.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path

from megtrim.core.build_spec import REST_SUFFIX
from megtrim.core.chain.graph import PLAIN, REDUCED, defers_functions
from megtrim.core.chain.result_store import code_digest, content_of
from megtrim.core.chain.session import Session, binary
from megtrim.core.config.own_tests import OwnTestsConfig
from megtrim.core.proof.results import FailedTest, SuiteResult
from megtrim.core.trim.builds import applications, variants
from megtrim.core.trim.builds import links as linking
from megtrim.libs.elf.layout import parse_build_id
from megtrim.libs.util.limits import clean_log
from megtrim.places.compile.projects.tested import OwnTest, SuiteFolder, SuiteRun

_ALONE = "without the companion file"
_WHOLE = "with the companion file"
_TRIMMED = "with the trimmed file"
_TAIL_LINES = 12
_LOG = "build.log"


def inputs(session: Session) -> dict[str, str]:
    asked = _find_asked(session)
    named = {
        "plain": content_of(session.done[PLAIN]),
        "reduced": content_of(session.done[REDUCED]),
        "timeout": str(asked.timeout_s),
        "megtrim": code_digest(),
    }
    for number, words in enumerate(asked.build):
        named[f"build {number}"] = shlex.join(words)
    for number, words in enumerate(asked.commands):
        named[f"command {number}"] = shlex.join(words)
    return named


def work(session: Session, folder: Path) -> SuiteResult:
    asked = _find_asked(session)
    target = applications.linked_again(session)[0]
    with variants.open_tests(session, linking.make_base_spec(session), target, folder) as place:
        place.prepare(asked.build, timeout_s=_find_build_limit(asked), log=folder / _LOG)
        return _Trial(session, target, place, asked).run()


def _find_asked(session: Session) -> OwnTestsConfig:
    asked = session.config.tests
    if asked is None:
        msg = "the configuration names no tests"
        raise TypeError(msg)
    return asked


def _find_build_limit(asked: OwnTestsConfig) -> float:
    return max(asked.timeout_s, 3600.0)


class _Trial:
    def __init__(
        self, session: Session, target: str, place: SuiteFolder, asked: OwnTestsConfig
    ) -> None:
        self._target = target
        self._place = place
        self._asked = asked
        self._say = session.console.say
        self._program = binary(session.done[REDUCED], target)
        self._build_id = parse_build_id(self._program.read_bytes())
        self._defers = defers_functions(session.config)

    def run(self) -> SuiteResult:
        tests = self._place.list_tests(self._asked.commands)
        passing = tuple(each for each in tests if self._run(each, "").passed)
        self._say(f"  {len(passing)} of {len(tests)} tests pass with the plain file")
        alone = self._run_trimmed(passing, whole=False)
        whole = self._run_trimmed(passing, whole=True) if self._defers else {}
        loads = {
            each.name
            for each in passing
            if any(seen[each.name].loaded for seen in (alone, whole) if seen)
        }
        failed = (*_judge(alone, loads, self._name_way()), *_judge(whole, loads, _WHOLE))
        return SuiteResult(
            target=self._target,
            tests=len(tests),
            passing=len(passing),
            counted=len(loads),
            trapped=sum(_has_trapped(alone[name]) for name in loads),
            unloaded=tuple(each.name for each in passing if each.name not in loads),
            failed=failed,
            deferring=self._defers,
        )

    def _name_way(self) -> str:
        return _ALONE if self._defers else _TRIMMED

    def _run_trimmed(self, tests: tuple[OwnTest, ...], *, whole: bool) -> dict[str, SuiteRun]:
        rest = self._program.with_name(f"{self._program.name}{REST_SUFFIX}") if whole else None
        with self._place.put(self._program, rest=rest):
            return {each.name: self._run(each, self._build_id) for each in tests}

    def _run(self, test: OwnTest, build_id: str) -> SuiteRun:
        return self._place.run(test, build_id, timeout_s=self._asked.timeout_s)


def _has_trapped(seen: SuiteRun) -> bool:
    return seen.trapped and not seen.passed


def _judge(runs: dict[str, SuiteRun], loads: set[str], way: str) -> Iterator[FailedTest]:
    for name in sorted(loads & runs.keys()):
        seen = runs[name]
        traps = way != _WHOLE and _has_trapped(seen)
        if seen.passed or traps:
            continue
        lines = seen.said.splitlines()[-_TAIL_LINES:]
        yield FailedTest(
            name=name,
            how=f"{way}, {seen.describe()}",
            whole=way == _WHOLE,
            said=clean_log("\n".join(lines)),
        )
