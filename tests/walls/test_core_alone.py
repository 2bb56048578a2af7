"""What a tree without the parts and MegEngine's package has: `nox -s core_alone`."""

from typing import Any

from support.megtrim_cli import ROOT
from workflows.documents import script

core_alone: Any = script("core_alone")

WITH_PARTS = {
    "core/cli/session/test_build_host.py",
    "core/cli/session/test_preflight.py",
    "core/cli/session/test_session.py",
    "core/cli/test_hostile_inputs.py",
    "core/cli/test_size.py",
    "core/cli/session/test_templates.py",
    "core/evidence/test_evidence.py",
    "core/size/test_byte_table.py",
    "core/size/test_history.py",
    "core/size/test_memory.py",
    "core/trim/builds/test_builds.py",
    "core/trim/stages/test_applications.py",
    "core/trim/stages/test_build.py",
    "core/trim/stages/test_contract.py",
    "core/trim/stages/test_recordings.py",
    "libs/history/test_folder.py",
    "places/compile/projects/test_application.py",
    "places/compile/projects/test_engines.py",
    "places/test_github_event.py",
}
"""Tests of the core, grounds and shared packages of engines that import a part, or MegEngine's."""


def test_lines_of_parts_go_and_others_stay() -> None:
    text = (ROOT / "ci/megtrim/parts.py").read_text(encoding="utf-8")
    alone = core_alone.without_absent(text)

    assert '"sample": "engines.sample:SampleEngine"' in alone
    assert "megengine" not in alone
    assert "PartVerb(name=" not in alone
    compile(alone, "parts.py", "exec")


def test_few_tests_of_the_core_import_a_part() -> None:
    alone, left = core_alone.list_tests(ROOT)

    assert len(alone) > 115
    assert {path.removeprefix("tests/unit/") for path in left} == WITH_PARTS | {*core_alone.ASKING}
