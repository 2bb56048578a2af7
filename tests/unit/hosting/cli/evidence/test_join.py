import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from megtrim.core.build_spec import Origin
from megtrim.core.evidence.evidence import EvidenceSet, JobPurpose, parse_set
from megtrim.core.evidence.fields import EarlyExit
from megtrim.core.report.comment import Links
from megtrim.core.verdict.model import parse_verdict, to_json
from megtrim.hosting.cli.evidence import join
from megtrim.libs.util.strict_json import dump
from support.clock import clock_at
from unit.core.cli.support import Answer, Shell
from unit.core.verdict.examples import failing, passing
from unit.lab.evidence.support import (
    DAY,
    SCENARIO,
    bundle,
    changed,
    evidence,
    proven,
    put,
    time_bundle,
    write_evidence,
    written,
)


class Final:
    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.results = shell.folder / "results"
        self.results.mkdir()
        self.evidence = shell.folder / "evidence" / "a"

    def bundle(self, **changes: Any) -> None:
        folder = self.shell.folder / "bundle"
        folder.mkdir()
        (folder / "bundle.json").write_text(dump(bundle(**changes)), encoding="utf-8")

    def build(self, text: str = to_json(passing()), **changes: Any) -> None:
        """Leave what a build does: a verdict and a bundle."""
        self.verdict(text)
        self.bundle(**changes)

    def verdict(self, text: str) -> None:
        (self.results / "verdict.json").write_text(text, encoding="utf-8")

    def __call__(self, *more: str) -> Answer:
        given = ("--verdict", "results/verdict.json", "--bundle", "bundle", "--to", "report")
        with clock_at(DAY):
            return self.shell("ci", "evidence", "join", *given, *more)

    def read(self, name: str) -> str:
        return (self.shell.folder / "report" / name).read_text("utf-8")

    def checks(self) -> dict[str, str]:
        verdict = parse_verdict(self.read("verdict.json"), source="x")
        return {check.id: check.text for check in verdict.checks if check.kind == "device"}

    def left(self) -> list[str]:
        return sorted(path.name for path in (self.shell.folder / "report").iterdir())


@pytest.fixture
def final_(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Final:
    for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    return Final(shell)


def test_a_report_has_all_its_forms(final_: Final) -> None:
    final_.build()
    (final_.results / "sizes.json").write_text("sizes", encoding="utf-8")
    write_evidence(final_.evidence, written(evidence()))
    answer = final_("--evidence", "evidence", "--run-url", "https://ci.example/1").expect(0)

    assert answer.out.startswith("unverified: load_and_run: ")
    assert answer.out.endswith(", 1 of 2 proven on devices\n")
    assert final_.left() == [
        "comment.md",
        "evidence.json",
        "index.html",
        "junit.xml",
        "report.md",
        "sizes.json",
        "verdict.json",
    ]
    assert final_.read("sizes.json") == "sizes"
    assert final_.read("comment.md") == final_.read("report.md")
    assert "(https://ci.example/1)" in final_.read("comment.md")
    assert "pixel-6" in final_.read("junit.xml")
    assert parse_set(final_.read("evidence.json"), source="x").entries == (evidence(),)
    assert final_.checks()[f"device:{SCENARIO}"].startswith("pixel-6: outputs equal")


@pytest.mark.parametrize("left", [True, False])
def test_every_page_has_the_name_of_the_project(
    final_: Final, monkeypatch: pytest.MonkeyPatch, left: bool
) -> None:
    monkeypatch.setenv("GITHUB_REPOSITORY", "acme/vision-app")
    if left:
        final_.build(to_json(replace(passing(), origin=Origin(project="project"))))
    assert final_().status == 0

    assert left or 'value="vision-app"' in final_.read("junit.xml")
    names = ["comment.md"]
    if left:
        names += ["index.html", "verdict.json"]
    for name in names:
        assert "vision-app" in final_.read(name), name


def test_a_bundle_that_was_changed_is_refused(final_: Final) -> None:
    final_.build()
    path = final_.shell.folder / "bundle" / "bundle.json"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert final_("--sha256", digest).status == 0
    path.write_bytes(path.read_bytes().replace(b'"max_age_s"', b' "max_age_s"'))
    final_("--sha256", digest).expect(2, f"expected {digest}")

    assert "verdict.json" not in final_.left()
    assert final_("--sha256", "").status == 0


def test_silence_has_its_reason(final_: Final) -> None:
    final_.build()

    assert final_("--pending", "fork", "--evidence", "gone").status == 0
    assert "a pull request from a fork" in final_.checks()[f"device:{SCENARIO}"]
    assert final_("--pending", "").status == 0
    assert final_.checks()[f"device:{SCENARIO}"].endswith(
        "the device job delivered no result for it"
    )
    assert final_("--pending", "lazy").status == 2


@pytest.mark.parametrize(
    ("pending", "runner", "count"),
    [("fork", '["self-hosted", "big"]', 1), ("fork", "ubuntu-24.04", 0), ("late", "big", 0)],
)
def test_a_fork_alone_learns_where_it_was_built(
    final_: Final, pending: str, runner: str, count: int
) -> None:
    final_.build()

    assert final_("--pending", pending, "--build-runner", runner).status == 0
    warnings = parse_verdict(final_.read("verdict.json"), source="x").warnings
    assert sum(text.startswith("built on ubuntu-24.04, not on ") for text in warnings) == count


def test_a_label_that_is_none_ends_the_report(final_: Final) -> None:
    final_.verdict(to_json(passing()))
    final_("--build-runner", "[big").expect(2, "the input build-runner: found '[big'")

    assert "ending.json" in final_.left()


def test_earlier_proofs_are_used_and_handed_on(final_: Final) -> None:
    final_.build(scenarios=(), proven=(proven(),))
    before = dump(EvidenceSet(entries=(evidence(day="2027-01-28"),)))
    (final_.shell.folder / "proofs.json").write_text(before, encoding="utf-8")

    assert final_("--proofs", "proofs.json").status == 0
    assert final_.checks()[f"device:{SCENARIO}"] == (
        "pixel-6 proved this program 3 days ago, so no device was used"
    )
    assert final_.read("evidence.json") == before
    assert "pixel-6 proved this program 3 days ago" in final_.read("comment.md")


def test_proofs_that_no_one_kept_are_none(final_: Final) -> None:
    final_.build()
    answer = final_("--proofs", "proofs.json")
    (final_.shell.folder / "proofs.json").write_text("{", encoding="utf-8")

    assert (answer.status, answer.err) == (0, "no earlier proofs: there is no proofs.json\n")
    assert final_("--proofs", "proofs.json").status == 2


def test_evidence_that_cannot_be_used_is_a_warning(final_: Final) -> None:
    final_.build()
    write_evidence(final_.evidence, "\x1b[31m{")
    assert final_("--evidence", "evidence").status == 0

    verdict = parse_verdict(final_.read("verdict.json"), source="x")
    assert verdict.warnings[-1].startswith(
        "evidence that cannot be used: evidence/a/evidence.json:1: found no JSON here"
    )
    assert verdict.verdict == "unverified"
    write_evidence(final_.evidence.with_name("b"), written(evidence()))
    final_("--evidence", "evidence")
    assert final_.checks()[f"device:{SCENARIO}"].startswith("pixel-6: outputs equal")


def test_evidence_that_contradicts_itself_ends_the_report(final_: Final) -> None:
    """It may hold a trap, so the gate is red, and says why; what cannot be read at all may not."""
    final_.build()
    path = ("entries", 0, "results", 0, "outputs", 0, "equal")
    write_evidence(final_.evidence, changed(written(evidence()), put(*path, value=False)))
    answer = final_("--evidence", "evidence").expect(2)

    said = f"{SCENARIO}: its status is pass, and output run0-var178 differs"
    assert answer.err.startswith(f"megtrim: evidence/a/evidence.json:1: {said}\n")
    assert final_.shell("ci", "gate", "report").status == 2
    assert said in final_.read("comment.md")


@pytest.mark.parametrize(
    ("verdict", "status", "gate", "said"),
    [
        # No one knows which devices had to be asked.
        (to_json(passing()), 3, 3, "the build job left no bundle in bundle"),
        (None, 0, 3, "the build job left no result"),
        *((text, 2, 2, "verdict.json:1: ") for text in ("", "{", '{"version": 1}')),
    ],
    ids=["no bundle", "nothing", "empty", "cut", "incomplete"],
)
def test_what_a_build_did_not_leave_is_no_pass(
    final_: Final, verdict: str | None, status: int, gate: int, said: str
) -> None:
    if verdict is not None:
        final_.verdict(verdict)
    answer = final_().expect(status)

    assert final_.left() == ["comment.md", "ending.json", "junit.xml", "report.md"]
    for text in (answer.err + answer.out, final_.read("comment.md")):
        assert said in text
    assert said in json.loads(final_.read("ending.json"))["message"]
    assert final_.shell("ci", "gate", "report").status == gate


def test_a_failed_build_fails_without_a_bundle(final_: Final) -> None:
    final_.verdict(to_json(failing()))

    assert final_().status == 0
    assert final_.checks() == {}
    assert final_.shell("ci", "gate", "report").status == 1


def test_a_build_that_ended_early_is_shown(final_: Final) -> None:
    final_.build()
    final_()
    (final_.results / "verdict.json").unlink()
    ending = dump(EarlyExit(exit=2, message="megtrim.yaml:3: @all no", hint="fix"))
    (final_.results / "ending.json").write_text(ending, encoding="utf-8")
    final_("--run-url", "https://ci.example/1").expect(
        0, out="no verdict: megtrim.yaml:3: @all no\n"
    )
    assert final_.left() == ["comment.md", "ending.json", "junit.xml", "report.md"]
    assert final_.read("ending.json") == ending
    assert final_.read("comment.md") == final_.read("report.md")
    assert "megtrim.yaml:3: @all no" in final_.read("comment.md")
    assert "[This run](https://ci.example/1)" in final_.read("comment.md")
    assert 'message="megtrim.yaml:3: @all no"' in final_.read("junit.xml")
    final_.shell("ci", "gate", "report").expect(2, out="  megtrim.yaml:3: @all no\n    fix\n")


def test_the_verdict_may_be_named_by_its_folder(final_: Final) -> None:
    final_.build()
    final_.shell("ci", "evidence", "join", "--verdict", "results", "--to", "report").expect(0)

    assert "verdict.json" in final_.left()


@pytest.mark.parametrize("left", ["verdict", "proofs", "evidence"])
def test_a_report_does_not_go_where_its_sources_lie(final_: Final, left: str) -> None:
    """The folder is cleared first: they would be lost, and the report would know nothing."""
    final_.build()
    (final_.shell.folder / "report").mkdir()
    file = final_.shell.folder / "report" / {"verdict": "verdict.json"}.get(left, "evidence.json")
    file.write_text(to_json(passing()), encoding="utf-8")
    given = {"proofs": "report/evidence.json", "evidence": "report", "verdict": "report"}[left]
    answer = final_("--to", "./report", f"--{left}", given).expect(2)

    assert answer.err.startswith("megtrim: --to report: found the folder of the inputs")
    assert file.read_text("utf-8") == to_json(passing())


def test_the_run_is_linked_from_its_environment() -> None:
    env = {
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "team/app",
        "GITHUB_RUN_ID": "17",
    }
    here = "https://github.com/team/app/actions/runs/17"

    assert join.links(env, "", "report") == Links(run=here, artifact="report")
    assert join.links(env, "https://ci/1", "") == Links(run="https://ci/1", artifact="")
    for name in env:
        assert join.links({**env, name: ""}, "", "") == Links(run="", artifact="")


ANDROID = "android/megtrim.yaml"
LINUX = "linux/megtrim.yaml"


def of(config: str) -> str:
    verdict = passing()
    return to_json(replace(verdict, invocation=replace(verdict.invocation, config=config)))


def test_what_belongs_together_is_joined(final_: Final) -> None:
    final_.build(of(ANDROID), config=ANDROID)
    write_evidence(final_.evidence, written(evidence(config=ANDROID)))

    assert final_("--config", f"./{ANDROID}", "--evidence", "evidence").status == 0
    assert final_.checks()[f"device:{SCENARIO}"].startswith("pixel-6: outputs equal")
    assert '<testsuites name="megtrim.android"' in final_.read("junit.xml")
    assert f"for `camera-app` (`{ANDROID}`)" in final_.read("comment.md").splitlines()[2]


@pytest.mark.parametrize(
    ("swapped", "said"),
    [
        ({"results": LINUX}, "results/verdict.json is of the configuration linux/megtrim.yaml"),
        ({"bundle": LINUX}, "the bundle is of the configuration linux/megtrim.yaml"),
        ({"evidence": LINUX}, "the evidence by pixel-6 is of the configuration linux/megtrim.yaml"),
        ({"proofs": LINUX}, "the earlier proof by pixel-6 is of the configuration linux/"),
        (
            dict.fromkeys(("results", "bundle", "evidence", "proofs"), LINUX),
            "results/verdict.json is of the configuration linux/megtrim.yaml",
        ),
    ],
)
def test_what_another_configuration_left_is_refused(
    final_: Final, swapped: dict[str, str], said: str
) -> None:
    configs = {**dict.fromkeys(("results", "bundle", "evidence", "proofs"), ANDROID), **swapped}
    final_.build(of(configs["results"]), config=configs["bundle"])
    folder = final_.shell.folder
    write_evidence(final_.evidence, written(evidence(config=configs["evidence"])))
    (folder / "proofs.json").write_text(written(evidence(config=configs["proofs"])), "utf-8")
    final_("--config", ANDROID, "--evidence", "evidence", "--proofs", "proofs.json").expect(
        2, said, f"expected one of {ANDROID}"
    )

    assert said in final_.read("comment.md")
    assert 'name="megtrim.android"' in final_.read("junit.xml")
    assert final_.shell("ci", "gate", "report").status == 2


def test_the_end_of_another_build_is_refused(final_: Final) -> None:
    ending = dump(EarlyExit(config=LINUX, exit=2, message="no models", hint=""))
    (final_.results / "ending.json").write_text(ending, encoding="utf-8")
    final_("--config", ANDROID).expect(
        2, "results/ending.json is of the configuration linux/megtrim.yaml"
    )

    assert "no models" not in final_.read("comment.md")
    assert (
        f"ended before a verdict (`{ANDROID}`): results/ending.json is of"
        in final_.read("comment.md").splitlines()[0]
    )


def test_times_of_another_configuration_are_refused(final_: Final) -> None:
    final_.verdict(of(ANDROID))
    (final_.shell.folder / "bundle").mkdir()
    asked = dump(time_bundle(config=ANDROID))
    (final_.shell.folder / "bundle" / "bundle.json").write_text(asked, encoding="utf-8")
    text = written(evidence(config=LINUX, purpose=JobPurpose.TIME, results=()))
    write_evidence(final_.evidence, text)
    final_("--config", ANDROID, "--evidence", "evidence").expect(
        2, "evidence/a: the evidence by pixel-6 is of the configuration linux/"
    )
