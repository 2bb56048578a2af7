from pathlib import Path
from typing import Any, cast

import pytest

from megtrim.build.engines.sample import SampleEngine, find_embedded_source
from megtrim.build_spec import BuildSpec, Link, LinkSpec, Variant
from megtrim.chain.graph import (
    HEADER,
    PLAIN,
    PROFILE,
    PROFILE_REFERENCES,
    REDUCED,
    SHIPPED_REFERENCES,
    Stage,
    Task,
    task_name,
)
from megtrim.chain.result_content import content_of
from megtrim.chain.session import Session
from megtrim.size.references import stage as references
from megtrim.util.process import ProcessRunner
from unit.build.engines.support import TOOLCHAIN
from unit.trim.stages.built import finish
from unit.trim.stages.support import changed, open_session


class Linker:
    def __init__(self) -> None:
        self.asked: list[tuple[Variant, LinkSpec]] = []

    def link(self, spec: BuildSpec, links: tuple[LinkSpec, ...], **_: Any) -> None:
        self.asked += [(spec.variant, each) for each in links]


@pytest.fixture
def linker() -> Linker:
    return Linker()


@pytest.fixture
def now(tmp_path: Path, processes: ProcessRunner, linker: Linker) -> Session:
    made, _ = open_session(tmp_path)
    engine = SampleEngine(find_embedded_source(), processes)
    session = changed(made, engine=engine, toolchain=TOOLCHAIN, builder=cast(Any, linker))
    for task in (PLAIN, PROFILE, REDUCED):
        finish(session, task, {"bin/load_and_run": task})
    finish(session, HEADER, {"include/bin_reduce.h": "forced"}, named={})
    return session


def _task(task_id: str) -> Task:
    return Task(stage=Stage.REFERENCES, name=task_name(task_id), needs=())


@pytest.mark.parametrize(
    ("task_id", "variant"),
    [(SHIPPED_REFERENCES, Variant.REDUCED), (PROFILE_REFERENCES, Variant.PROFILE)],
)
def test_a_program_is_linked_as_it_was_with_its_relocations(
    task_id: str, variant: Variant, now: Session, linker: Linker, tmp_path: Path
) -> None:
    result = references.work(_task(task_id), now, tmp_path)

    assert result.programs == ("load_and_run",)
    assert linker.asked == [
        (
            variant,
            LinkSpec(
                target="load_and_run",
                label=Link.REFERENCED,
                flags=("-Wl,--emit-relocs",),
                strip=False,
                map=True,
            ),
        )
    ]


def test_a_link_is_made_again_if_what_it_is_of_changed(now: Session) -> None:
    shipped = references.inputs(_task(SHIPPED_REFERENCES), now)

    assert shipped == {"linked again": content_of(now.results.done[REDUCED])}
