"""``megtrim explain --crash``: from a report to what to do."""

from __future__ import annotations

import json

import pytest

from support.crash_reports import fill_layouts, list_places
from unit.chain.made_trims import trim_by_functions
from unit.cli.support import SAMPLE_MODEL, Shell
from unit.crashes.made_programs import ID, STAYS, STUB_AT, numbered
from unit.crashes.reports import tombstone
from unit.release.made_releases import write_release
from unit.trim.stages.support import CONFIG

TO_BE_SURE = "to be sure, with the arguments and inputs that the field used"


@pytest.fixture
def project(shell: Shell) -> Shell:
    """A configuration, and a trim with crash ids."""
    (shell.folder / "m.mge").write_bytes(SAMPLE_MODEL)
    (shell.folder / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    trim_by_functions(shell.folder / "megtrim-out")
    data = tombstone([(STUB_AT, "/data/lib/app"), (STAYS, "/data/lib/app")], build_id=ID)
    (shell.folder / "tombstone_04").write_bytes(data)
    return shell


def test_a_certain_name_and_what_to_do(project: Shell) -> None:
    """The function, the nearest scenario, the command to be sure, and lines to add."""
    answer = project("explain", "--crash", "tombstone_04")

    assert answer.status == 0
    assert answer.out.splitlines() == [
        "crash: trimming left it out",
        "why: it was left out",
        "program: app",
        "certain: True",
        "candidates: 1",
        "  the function first()",
        "nearest scenario: m/s@any",
        f"{TO_BE_SURE}: megtrim probe --config megtrim.yaml m -- --cpu",
        "a scenario to add: 2",
        "  # a scenario of m, with the arguments and inputs that the field used",
        '  - {name: field, args: ["--cpu"], inputs: {}}',
        "or lines that keep it: 3",
        "  trim:",
        "    keep:",
        '      - "first()"',
    ]


def test_the_command_runs_what_the_scenario_runs(project: Shell) -> None:
    """Also where that is an application."""
    config = CONFIG.replace("{name: s}", '{name: s, application: a, args: ["{model}"]}')
    text = f"{config}applications:\n- {{name: a, source: app}}\n"
    (project.folder / "app").mkdir()
    (project.folder / "app/CMakeLists.txt").touch()
    (project.folder / "megtrim.yaml").write_text(text, encoding="utf-8")
    answer = project("explain", "--crash", "tombstone_04", "--json")

    assert answer.err == ""
    command = json.loads(answer.out)[TO_BE_SURE]
    assert command == "megtrim probe --config megtrim.yaml --application a m -- --cpu"


def test_an_address_is_not_certain(project: Shell) -> None:
    """Anyone can mistake a build for another."""
    answer = project("explain", "--address", hex(STUB_AT), "--json")

    facts = json.loads(answer.out)
    assert (facts["certain"], facts["candidates"]) == (False, ["the function first()"])
    assert facts["why it is not certain"] == [
        "the report has no build id: it may be of another build"
    ]


def test_no_fault_of_trimming(project: Shell) -> None:
    """Another signal; nothing to add."""
    data = tombstone([(STAYS + 4, "/data/lib/app")], build_id=ID, signal=11)
    (project.folder / "tombstone_04").write_bytes(data)
    answer = project("explain", "--crash", "tombstone_04", "--json")

    assert answer.status == 0
    assert json.loads(answer.out) == {
        "crash": "trimming is not at fault",
        "why": "it ended with signal 11 (SIGSEGV); what is left out ends with a trap, "
        "SIGTRAP or SIGILL",
        "certain": True,
    }


def test_code_that_was_kept_is_not_certain_without_a_build_id(project: Shell) -> None:
    """It says why, and adds nothing."""
    answer = project("explain", "--address", hex(STAYS), "--json")

    assert json.loads(answer.out) == {
        "crash": "no sign that trimming is at fault",
        "why": "it crashed in stays(), which was kept",
        "program": "app",
        "certain": False,
        "why it is not certain": ["the report has no build id: it may be of another build"],
    }


def test_another_build_is_not_judged(project: Shell) -> None:
    """It says which results are needed."""
    data = tombstone([(STUB_AT, "/data/lib/app")], build_id="ff" * 20)
    (project.folder / "tombstone_04").write_bytes(data)
    answer = project("explain", "--crash", "tombstone_04", "--json")

    assert json.loads(answer.out) == {
        "crash": "these results cannot tell",
        "why": f"another build of app crashed: its build id is {'ff' * 20}, here {ID}",
        "certain": False,
        "what to do": "name that build: its folder of results with --out, or its release with "
        "--release",
    }


def test_what_bugly_shows_is_certain(project: Shell) -> None:
    """Its page, one line, and an export: the build id stands in brackets behind the path."""
    program = numbered()
    places = list_places(program, {"first()": STUB_AT}, STAYS + 4)
    reports = [each for each in fill_layouts(places) if each.title.startswith("bugly: whole")]
    assert len(reports) > 20
    for report in reports:
        (project.folder / "report.txt").write_text(report.text, encoding="utf-8")
        facts = json.loads(project("explain", "--crash", "report.txt", "--json").out)
        headline = "trimming left it out" if report.place.name else "trimming is not at fault"
        assert (facts["crash"], facts["certain"]) == (headline, True), report.title


def test_a_release_is_enough(shell: Shell) -> None:
    """Neither results nor configuration nor engine: the same answer as from the results."""
    write_release(shell.folder / "camera-1.4", numbered())
    data = tombstone([(STUB_AT, "/data/lib/app"), (STAYS, "/data/lib/app")], build_id=ID)
    (shell.folder / "tombstone_04").write_bytes(data)
    answer = shell("explain", "--crash", "tombstone_04", "--release", "camera-1.4", "--json")

    facts = json.loads(answer.out)
    assert (facts["crash"], facts["certain"]) == ("trimming left it out", True)
    assert facts["candidates"] == ["the function first()"]
    assert facts["or lines that keep it"] == ["trim:", "  keep:", '    - "first()"']


def test_what_a_release_does_not_answer(shell: Shell) -> None:
    """One that is damaged is no basis for an answer, and one is asked about crashes alone."""
    folder = write_release(shell.folder / "camera-1.4", numbered())
    (folder / "bin/app").write_bytes(b"another")
    damaged = shell("explain", "--address", "0x1", "--release", "camera-1.4")
    asked = shell("explain", "resnet50", "--release", "camera-1.4")

    assert (damaged.status, asked.status) == (1, 2)
    assert "bin/app was changed" in damaged.err
    assert "--release needs --crash or --address" in asked.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "expected one of THING, --crash FILE and --address 0x"),
        (("m", "--address", "0x1"), "expected one of THING, --crash FILE and --address 0x"),
        (("--address", "main"), "--address: found 'main'"),
        (("--crash", "none"), "none: cannot be read"),
        (("--address", "0x1", "--out", "elsewhere"), "there is no trimmed program in"),
    ],
)
def test_what_cannot_be_looked_up(project: Shell, words: tuple[str, ...], message: str) -> None:
    """Exit status 2, and what to do."""
    answer = project("explain", *words)

    assert answer.status == 2
    assert message in answer.err
