from pathlib import Path
from typing import cast

import pytest

from integration.conftest import MakeProject
from integration.links import KINDS
from megtrim.core import stages
from megtrim.core.build_spec import Link
from megtrim.core.chain.graph import LINKED, Stage, functions_task, tasks, tasks_up_to
from megtrim.core.chain.session import Session
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.session.setup import open_session
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.functions import linker_script
from megtrim.core.functions.observables import read_list, read_observables
from megtrim.core.trim.builds import links as linking
from megtrim.libs.elf.symbol_table import read_table
from megtrim.places.devices.local import Local
from support.megtrim_cli import Project

MODEL = "tiny-mobile"
TARGET = "load_and_run"


def recorded(project: Project, *, kind: str = "") -> tuple[Session, list[Path]]:
    options = Options(config=project.config, out=project.out, engine=None, jobs=None, quiet=True)
    session = open_session(options)
    for device in session.services.devices.values() if kind else ():
        cast("Local", device).kind = kind
    config = session.config
    stages.run(tasks_up_to(Stage.FUNCTIONS, tasks(config)), session)
    scenarios = all_scenarios(config)
    return session, [session.done[functions_task(e)].file("functions.txt") for e in scenarios]


@pytest.fixture(params=KINDS[:3])
def project(request: pytest.FixtureRequest, make_project: MakeProject) -> Project:
    made = make_project(MODEL, toolchain=request.param)
    emulator = {"name": "emulator", "kind": "qemu", "class": "any"}
    config = made.read() | {"trim": {"level": "function", "base": "plain"}, "devices": [emulator]}
    made.write(config)
    return made


def test_a_log_and_probes_give_the_same_bytes(project: Project) -> None:
    """Under one CPU; and on this machine itself, where it runs the program.

    No emulator sees what a board runs, so probes record there.
    """
    _, logged = recorded(project)
    session, probed = recorded(project, kind="board")
    bytes_logged = [each.read_bytes() for each in logged]

    assert {*logged}.isdisjoint(probed)
    assert [each.read_bytes() for each in probed] == bytes_logged
    if project.read()["toolchain"] == {"kind": "host"}:
        here = {"name": "here", "kind": "local", "class": "any"}
        project.change(devices=[here])
        _, native = recorded(project)
        assert [each.read_bytes() for each in native] == bytes_logged
    links = session.done[LINKED]
    observables = read_observables(links.file(linking.observables(TARGET)))
    table = read_table(links.file(linking.locate_unstripped(Link.UNFOLDED, TARGET)))
    assert {*linker_script.droppable(table, (), observables)} <= observables.names
    for each in logged:
        found = read_list(each)
        assert found.link_sha256 == observables.link_sha256
        assert found.names == observables.ran(found.names)
