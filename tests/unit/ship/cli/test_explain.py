"""``megtrim explain``: who needs a region, what a scenario needs, the verdict, and a crash."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.chain.result_store import Store
from megtrim.core.checks.invocation import Invocation, suggest_for_keep_set
from megtrim.core.trim.committed_keepset import write_committed
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import VerdictResult, to_json
from support.crash_documents import CERTAIN, DOCUMENTS, encode, proto_tombstone
from support.crash_reports import fill_layouts, list_places
from support.made_programs import ID, STAYS, STUB_AT, tombstone
from unit.core.chain.made_trims import trim_by_functions
from unit.core.cli.support import Shell
from unit.core.trim.stages.support import CONFIG, keep_set
from unit.core.verdict.examples import TUNED, facts, trapped
from unit.ship.crashes.made_programs import numbered
from unit.ship.release.examples import write_release


@pytest.fixture
def project(shell: Shell) -> Shell:
    shell.configure(CONFIG)
    write_committed(shell.folder / "megtrim" / "keepset", keep_set(1, 2))
    return shell


@pytest.mark.parametrize("thing", ["m", "m/s@any"])
def test_explain_reports_of_a_model_and_a_scenario(project: Shell, thing: str) -> None:
    assert json.loads(project("explain", "--json", thing).expect(0).out) == {
        "m/s@any": {
            "arguments": "--cpu",
            "model": "sha256 " + "a" * 64,
            "trace": "sha256 " + "b" * 64,
            "regions": 2,
            "regions that no other scenario needs": ["kern<1>", "kern<2>"],
        }
    }


@pytest.mark.parametrize(("thing", "regions"), [("kern", [1, 2]), ("kern<2>", [2])])
def test_explain_reports_of_a_tag_and_a_region(
    project: Shell, thing: str, regions: list[int]
) -> None:
    found = json.loads(project("explain", "--json", thing).expect(0).out)
    assert list(found) == [f"kern<{number}>" for number in regions]
    assert all(facts["needed by"] == ["m/s@any"] for facts in found.values())


def test_explain_in_words(project: Shell) -> None:
    assert project("explain", "m").out.splitlines() == [
        "m/s@any",
        "  arguments: --cpu",
        "  model: sha256 " + "a" * 64,
        "  trace: sha256 " + "b" * 64,
        "  regions: 2",
        "  regions that no other scenario needs: 2",
        "    kern<1>",
        "    kern<2>",
    ]


@pytest.mark.parametrize(
    "thing", ["megdnn_fallback_winograd", "megdnn_fallback_winograd<-1290123641, 0>", "ns::one()"]
)
def test_explain_knows_what_trapped(project: Shell, thing: str) -> None:
    text = "it trapped: the function ns::one() is not kept, because the keep set does not list it"
    verdict = join(facts(scenarios=(replace(trapped(), text=text),)))

    def produce(folder: Path) -> VerdictResult:
        (folder / "verdict.json").write_text(to_json(verdict), encoding="utf-8")
        return VerdictResult(verdict=verdict.verdict)

    Store(project.folder / "megtrim-out").ensure("verdict", "verdict", {}, produce, VerdictResult)
    found = json.loads(project("explain", "--json", thing).out)

    assert list(found) == [thing]
    assert found[thing]["kept"] == f"no, and it is needed: {TUNED} trapped without it"
    assert found[thing]["what to do"] == suggest_for_keep_set(Invocation())


@pytest.mark.parametrize(("typed", "meant"), [("kern<3>", "kern<2>"), ("m/s@ayn", "m/s@any")])
def test_explain_suggests_what_was_meant(project: Shell, typed: str, meant: str) -> None:
    project("explain", typed).expect(2, f"(did you mean {meant}?)")


def test_explain_does_not_know_everything(project: Shell) -> None:
    unknown = project("explain", "nothing")
    verdict = project("explain", "verdict")
    (project.folder / "megtrim" / "keepset" / "m" / "s@any.json").unlink()
    no_keep_set = project("explain", "m")

    assert [answer.status for answer in (unknown, verdict, no_keep_set)] == [2, 2, 2]
    assert "know no model, scenario, tag, region or function 'nothing'\n" in unknown.err
    assert "there is no verdict in megtrim-out yet" in verdict.err
    assert "megtrim trim --config megtrim.yaml\n" in verdict.err
    assert "there is no keep set at" in no_keep_set.err


PROJECT = """\
version: 1
engine: {{kind: cmake, source: project, target: app}}
trim: {{level: function}}
scenarios: [{{name: first, args: [--cpu]{}}}]
"""
TO_BE_SURE = "to be sure, run this with the arguments and inputs of your user"


@pytest.fixture
def crashed(project: Shell) -> Shell:
    trim_by_functions(project.folder / "megtrim-out")
    return project


def ask(shell: Shell, *words: str, report: bytes = b"") -> dict[str, Any]:
    (shell.folder / "tombstone_04").write_bytes(report or LEFT_OUT)
    facts: dict[str, Any] = json.loads(shell("explain", *words, "--json").out)
    return facts


CRASH = ("--crash", "tombstone_04")
LEFT_OUT = tombstone([(STUB_AT, "/data/lib/app"), (STAYS, "/data/lib/app")], build_id=ID)


def test_a_certain_name_and_what_to_do(crashed: Shell) -> None:
    (crashed.folder / "tombstone_04").write_bytes(LEFT_OUT)
    assert crashed("explain", *CRASH).expect(0).out.splitlines() == [
        "crash: trimming left it out",
        "why: no scenario ran it, and no pattern in trim.keep keeps it",
        "program: app",
        "certain: True",
        "candidates: 1",
        "  the function first()",
        "nearest scenario: m/s@any",
        f"{TO_BE_SURE}: megtrim probe --config megtrim.yaml m -- --cpu",
        "a scenario to add (2 lines):",
        "  # a scenario of m, with the arguments and inputs of your user",
        '  - {name: field, args: ["--cpu"], inputs: {}}',
        "or lines that keep it (3 lines):",
        "  trim:",
        "    keep:",
        '      - "first()"',
    ]


def test_the_command_runs_what_the_scenario_runs(crashed: Shell) -> None:
    config = CONFIG.replace("{name: s}", '{name: s, application: a, args: ["{model}"]}')
    (crashed.folder / "app").mkdir()
    (crashed.folder / "app/CMakeLists.txt").touch()
    (crashed.folder / "megtrim.yaml").write_text(
        f"{config}applications:\n- {{name: a, source: app}}\n", encoding="utf-8"
    )

    command = ask(crashed, *CRASH)[TO_BE_SURE]
    assert command == "megtrim probe --config megtrim.yaml --application a m -- --cpu"


@pytest.mark.parametrize(
    ("more", "probed"),
    [
        ("", "app"),
        (", program: other}]\napplications: [{name: other", "other"),
    ],
)
def test_the_command_of_a_command_starts_its_program(shell: Shell, more: str, probed: str) -> None:
    shell.configure(PROJECT.format(more))
    (shell.folder / "project").mkdir()
    (shell.folder / "project/CMakeLists.txt").touch()
    record = replace(keep_set(1).scenarios[0], id="first@any", model_sha256="")
    trim_by_functions(shell.folder / "megtrim-out", keep=replace(keep_set(1), scenarios=(record,)))

    command = ask(shell, *CRASH)[TO_BE_SURE]
    assert command == f"megtrim probe --config megtrim.yaml {probed} -- --cpu"


NO_ID = {"why it is not certain": ["the report has no build id: it may be of another build"]}


@pytest.mark.parametrize(
    ("words", "report", "facts"),
    [
        (
            CRASH,
            tombstone([(STAYS + 4, "/data/lib/app")], build_id=ID, signal=11),
            {
                "crash": "trimming is not at fault",
                "why": "it ended with signal 11 (SIGSEGV); what is left out ends with a trap, "
                "SIGTRAP or SIGILL",
                "certain": True,
            },
        ),
        (
            ("--address", hex(STAYS)),
            b"",
            {
                "crash": "no sign that trimming is at fault, but it cannot be ruled out",
                "why": "it crashed in stays(), which was kept",
                "program": "app",
                "certain": False,
            }
            | NO_ID,
        ),
        (
            CRASH,
            tombstone([(STUB_AT, "/data/lib/app")], build_id="ff" * 20),
            {
                "crash": "these results cannot tell",
                "why": f"another build of app crashed: its build id is {'ff' * 20}, here {ID}",
                "certain": False,
                "what to do": "name that build: its folder of results with --out, or its release "
                "with --release",
            },
        ),
    ],
    ids=["another signal", "kept", "another build"],
)
def test_a_crash_that_names_nothing_to_add(
    crashed: Shell, words: tuple[str, str], report: bytes, facts: dict[str, Any]
) -> None:
    assert ask(crashed, *words, report=report) == facts


def test_an_address_is_not_certain(crashed: Shell) -> None:
    facts = ask(crashed, "--address", hex(STUB_AT))

    assert facts["crash"] == "trimming may have left out one of the candidates"
    assert (facts["certain"], facts["candidates"]) == (False, ["the function first()"])
    assert NO_ID.items() <= facts.items()


NEWER_ID = "ab" * 20
BREAKPADS_ID = "0302010005040706" + ID[16:32]


@pytest.mark.parametrize("build_id", [ID, NEWER_ID, ID[:32], ID[-32:]])
def test_a_crash_of_an_older_trim_in_the_folder_is_found(crashed: Shell, build_id: str) -> None:
    trim_by_functions(crashed.folder / "megtrim-out", build_id=NEWER_ID, link="7f" * 32)

    data = tombstone([(STUB_AT, "/data/lib/app")], build_id=build_id)
    facts = ask(crashed, *CRASH, report=data)
    assert (facts["crash"], facts["certain"]) == ("trimming left it out", True)

    breakpad = f"SIGTRAP\nThread 1 (crashed)\n 0  app + 0x{STUB_AT:x}\n{BREAKPADS_ID}0 app\n"
    facts = ask(crashed, *CRASH, report=breakpad.encode())
    assert (facts["crash"], facts["certain"]) == ("trimming left it out", True)
    other = ask(crashed, *CRASH, report=tombstone([(STUB_AT, "/lib/app")], build_id="cd" * 20))
    assert other["why"].endswith(f"here {NEWER_ID}")


PLACE = replace(list_places(numbered(), {"first()": STUB_AT}, STAYS + 4)[0], build_id=ID)
TOMBSTONE = encode(proto_tombstone(PLACE))


@pytest.mark.parametrize("name", sorted(CERTAIN))
def test_the_report_of_a_service_is_certain(crashed: Shell, name: str) -> None:
    facts = ask(crashed, *CRASH, report=json.dumps(DOCUMENTS[name](PLACE)).encode())
    assert (facts["certain"], facts["candidates"]) == (True, ["the function first()"])


def test_a_tombstone_in_protobuf_is_certain(crashed: Shell) -> None:
    facts = ask(crashed, *CRASH, report=TOMBSTONE)
    assert (facts["certain"], facts["candidates"]) == (True, ["the function first()"])


@pytest.mark.parametrize(
    ("report", "message"),
    [
        (
            TOMBSTONE[:-9],
            "found neither text nor a tombstone in protobuf: field 17 ends after the end",
        ),
        (b"\x7fELF\0\0", "found neither text nor a tombstone in protobuf: "),
        (b'{"exception": {"values": [', "it begins as JSON, and is damaged or cut short"),
        (b'{"event_id": "0", "exception": []}', "a report of Sentry: it has 0 of what should be"),
        (b"#0  0x0000007f8a2c3a14 main", "a line that looks like a frame was not understood: #0"),
        (b'{"pc_address": "0x10020"}', "no address in it says where it crashed"),
    ],
)
def test_a_report_that_is_refused(crashed: Shell, report: bytes, message: str) -> None:
    (crashed.folder / "tombstone_04").write_bytes(report)
    crashed("explain", *CRASH).expect(2, message)


SYSTEMD = """\
        Signal: 5 (TRAP)
                Module {name} without build-id.
                Stack trace of thread 4711:
                #0  0x0000007f8a2c3a14 n/a ({name} + 0x{at:x})
                #1  0x000000557d001a30 main (camera-app + 0x1a30)
"""


def test_of_systemd_the_module_counts(crashed: Shell) -> None:
    """Neither ``n/a`` nor the name of a function is a file."""
    within = STUB_AT - numbered().first_address
    facts = ask(crashed, *CRASH, report=SYSTEMD.format(name="app", at=within).encode())
    assert facts["candidates"] == ["the function first()"]
    assert facts["certain"] is False


def test_what_bugly_shows_is_certain(crashed: Shell) -> None:
    places = list_places(numbered(), {"first()": STUB_AT}, STAYS + 4)
    reports = [each for each in fill_layouts(places) if each.title.startswith("bugly: whole")]
    assert len(reports) > 20
    for report in reports:
        crashed.write("report.txt", report.text)
        facts = json.loads(crashed("explain", "--crash", "report.txt", "--json").out)
        headline = "trimming left it out" if report.place.name else "trimming is not at fault"
        assert (facts["crash"], facts["certain"]) == (headline, True), report.title


def test_a_release_is_enough(shell: Shell) -> None:
    write_release(shell.folder / "camera-1.4", numbered())

    facts = ask(shell, *CRASH, "--release", "camera-1.4")
    assert (facts["crash"], facts["certain"]) == ("trimming left it out", True)
    assert facts["candidates"] == ["the function first()"]
    assert facts["or lines that keep it"] == ["trim:", "  keep:", '    - "first()"']


def test_what_a_release_does_not_answer(shell: Shell) -> None:
    (write_release(shell.folder / "camera-1.4", numbered()) / "bin/app").write_bytes(b"another")
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
def test_what_cannot_be_looked_up(crashed: Shell, words: tuple[str, ...], message: str) -> None:
    crashed("explain", *words).expect(2, message)
