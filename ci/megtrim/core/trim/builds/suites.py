"""The project's own tests, opened where the plain file was built."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from megtrim.core.chain.graph import PLAIN
from megtrim.core.chain.result_store import code_digest, content_of
from megtrim.core.chain.session import Session
from megtrim.core.config.own_tests import OwnTestsConfig
from megtrim.core.trim.builds import applications, variants
from megtrim.core.trim.builds import links as linking
from megtrim.places.compile.projects.tested import SuiteFolder

_LOG = "build.log"
_SHORTEST_BUILD_LIMIT_S = 3600.0


def describe_inputs(session: Session) -> dict[str, str]:
    asked = find_asked(session)
    named = {
        # A test may be a script, which changes nothing that is built.
        "engine": session.services.engine.identity().digest,
        "plain": content_of(session.done[PLAIN]),
        "timeout": str(asked.timeout_s),
        "megtrim": code_digest(),
    }
    for number, words in enumerate(asked.build):
        named[f"build {number}"] = shlex.join(words)
    for number, words in enumerate(asked.commands):
        named[f"command {number}"] = shlex.join(words)
    return named


def find_asked(session: Session) -> OwnTestsConfig:
    asked = session.config.tests
    if asked is None:
        msg = "the configuration names no tests"
        raise TypeError(msg)
    return asked


def find_target(session: Session) -> str:
    """Return the file that is replaced for the tests."""
    return applications.linked_again(session)[0]


@contextmanager
def open_suite(session: Session, folder: Path) -> Iterator[SuiteFolder]:
    """Give out where the tests run, with what tests.build makes."""
    asked = find_asked(session)
    spec = linking.make_base_spec(session)
    limit_s = max(asked.timeout_s, _SHORTEST_BUILD_LIMIT_S)
    with variants.open_tests(session, spec, find_target(session), folder) as place:
        place.prepare(asked.build, timeout_s=limit_s, log=folder / _LOG)
        yield place
