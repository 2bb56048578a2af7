"""What the project's own tests reach: each runs with the link that shows its functions."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from megtrim.core.build_spec import Link
from megtrim.core.chain.graph import LINKED, REACHED
from megtrim.core.chain.session import Session
from megtrim.core.config.own_tests import id_of_test
from megtrim.core.functions import probes
from megtrim.core.functions.kept_functions import without_chance
from megtrim.core.functions.observables import (
    FunctionList,
    Observables,
    dump_list,
    read_list,
    read_observables,
)
from megtrim.core.keep.keepset import ScenarioRecord
from megtrim.core.trim.builds import links as linking
from megtrim.core.trim.builds import suites
from megtrim.core.trim.results import ReachedTest, SuiteRecordResult
from megtrim.core.trim.runs.scenario_runs import describe_toolchain
from megtrim.core.trim.runs.tracing import FORM
from megtrim.libs.elf.symbol_table import FunctionTable, read_table
from megtrim.libs.util.input_files import read_bytes
from megtrim.places.compile.projects.tested import OwnTest, SuiteFolder

_FOLDER = "reached"
_LARGEST_RECORD_BYTES = 2**20
_OTHERS = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 100
_NAMELESS = "test"
_HINT = "does a test write to the file that MEGTRIM_FUNCTIONS names?"


def inputs(session: Session) -> dict[str, str]:
    target = suites.find_target(session)
    files = session.done[LINKED].files
    return suites.describe_inputs(session) | {
        "form": FORM,
        "link": linking.identities(session.results)[target],
        "program": files[linking.locate_unstripped(Link.PROBED, target)],
    }


def record(session: Session, folder: Path) -> SuiteRecordResult:
    """A test that fails or does not load the file keeps nothing."""
    target = suites.find_target(session)
    links = session.done[LINKED]
    program = links.file(linking.locate_unstripped(Link.PROBED, target))
    observed = read_observables(links.file(linking.observables(target)))
    table = read_table(program)
    limit_s = suites.find_asked(session).timeout_s
    reached = []
    (folder / _FOLDER).mkdir()
    with suites.open_suite(session, folder) as place:
        tests = place.list_tests(suites.find_asked(session).commands)
        with place.put(program, rest=None):
            for test, id_ in zip(tests, name_tests(tests), strict=True):
                found = _run(test, place, table, observed, timeout_s=limit_s)
                if found is None:
                    continue
                file = f"{_FOLDER}/{id_}.txt"
                (folder / file).write_text(dump_list(found), encoding="utf-8")
                reached.append(ReachedTest(id=id_, name=test.name, file=file))
    session.console.say(
        f"  {len(reached)} of {len(tests)} tests pass and reach functions of {target}"
    )
    return SuiteRecordResult(tests=len(tests), reached=tuple(reached))


def _run(
    test: OwnTest,
    place: SuiteFolder,
    table: FunctionTable,
    observed: Observables,
    *,
    timeout_s: float,
) -> FunctionList | None:
    (variable,) = probes.ENVIRONMENT
    left = place.scratch / probes.RECORD_FILE
    left.unlink(missing_ok=True)
    seen = place.run(test, "", timeout_s=timeout_s, variables={variable: str(left)})
    if not seen.passed or not left.exists():
        return None
    return read_reached(left, table, observed, source=test.name)


def read_reached(
    record: Path, table: FunctionTable, observed: Observables, *, source: str
) -> FunctionList | None:
    """Return the functions that ``record`` marks; None: there are none.

    Raises InputError for what the link cannot have written.
    """
    expected = "a record of functions"
    data = read_bytes(record, most_bytes=_LARGEST_RECORD_BYTES, expected=expected, hint=_HINT)
    if not data:
        return None
    ran = probes.find_marked(data, table, source=f"record of {source}")
    names = observed.ran(ran)
    return FunctionList(link_sha256=observed.link_sha256, names=names) if names else None


def name_tests(tests: Iterable[OwnTest]) -> Iterator[str]:
    """Yield what the keep set calls each: a name for a file, which no other test has."""
    taken: set[str] = set()
    for test in tests:
        name = _OTHERS.sub("-", test.name)[:_LONGEST_NAME].strip("._-") or _NAMELESS
        number = 1
        free = name
        while free in taken:
            number += 1
            free = f"{name}-{number}"
        taken.add(free)
        yield id_of_test(free)


def list_records(
    session: Session, links: dict[str, linking.UnfoldedLink]
) -> Iterator[ScenarioRecord]:
    """Yield what the keep set has of each test that reaches functions."""
    folder = session.done.get(REACHED)
    if folder is None:
        return
    link = links[suites.find_target(session)]
    for test in folder.result_as(SuiteRecordResult).reached:
        found = read_list(folder.file(test.file))
        needed = without_chance(
            found.names, unseen=link.unseen, code=link.code, observables=link.observables
        )
        if not needed:
            continue
        yield ScenarioRecord(
            id=test.id,
            model_sha256="",
            toolchain=describe_toolchain(session),
            arguments=(test.name,),
            inputs=(),
            algo_cache_sha256=None,
            threads=1,
            trace_sha256=folder.files[test.file],
            regions=(),
            functions=needed,
            link_sha256=found.link_sha256,
        )
