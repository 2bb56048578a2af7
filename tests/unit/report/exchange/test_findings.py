"""What tools follow from run to run: one identity for the same finding, at one place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.report.exchange.findings import MOST_FINDINGS, WARNING, list_findings
from megtrim.verdict.statuses import CheckStatus
from unit.verdict import examples


def test_failures_come_first_and_warnings_last() -> None:
    """At the line of megtrim.yaml that each is about, with what to do."""
    verdict = replace(examples.failing(), warnings=("near the limit", "near the limit"))
    found = list_findings(verdict)

    failed = next(each for each in verdict.checks if each.status is CheckStatus.FAIL)
    assert (found[0].kind, found[0].status, found[0].line) == (
        failed.kind,
        CheckStatus.FAIL,
        failed.line,
    )
    assert failed.hint in found[0].text
    assert [each.text for each in found if each.kind == WARNING] == ["near the limit"]
    assert found[-1].kind == WARNING


def test_a_finding_keeps_its_identity_while_its_text_changes() -> None:
    """Else each run would report it as new and as fixed."""
    verdict = examples.failing()
    checks = tuple(replace(each, text=f"{each.text}!") for each in verdict.checks)
    identities = [each.identity for each in list_findings(verdict)]

    assert identities == [each.identity for each in list_findings(replace(verdict, checks=checks))]
    assert len({*identities}) == len(identities)


def test_two_configurations_share_no_finding() -> None:
    """One that is fixed in one of them is not fixed in the other."""
    verdict = examples.failing()
    other = replace(verdict, invocation=replace(verdict.invocation, config="a/megtrim.yaml#linux"))

    ours, theirs = ({each.identity for each in list_findings(one)} for one in (verdict, other))
    assert not ours & theirs


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ("megtrim.yaml", "megtrim.yaml"),
        ("megtrim.yaml#linux", "megtrim.yaml"),
        ("ci/android/megtrim.yaml", "ci/android/megtrim.yaml"),
        ("/builds/team/megtrim.yaml", "megtrim.yaml"),
        ("../megtrim.yaml", "megtrim.yaml"),
    ],
)
def test_a_path_is_from_the_top_of_the_checkout(config: str, path: str) -> None:
    """A configuration below it included."""
    verdict = examples.failing()
    invocation = replace(verdict.invocation, config=config)
    checks = tuple(replace(each, file="megtrim.yaml") for each in verdict.checks)

    found = list_findings(replace(verdict, invocation=invocation, checks=checks, warnings=()))
    assert {each.path for each in found} == {path}


def test_their_number_is_bounded() -> None:
    """Tools refuse documents that are too long; the worst are kept."""
    verdict = replace(examples.failing(), warnings=tuple(map(str, range(2 * MOST_FINDINGS))))

    found = list_findings(verdict)
    assert len(found) == MOST_FINDINGS
    assert found[0].status is CheckStatus.FAIL
