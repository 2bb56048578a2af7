"""What checks add up to."""

from __future__ import annotations

import pytest

from megtrim.verdict.statuses import CheckStatus, VerdictKind, decide

PASS, FAIL, SKIPPED = CheckStatus.PASS, CheckStatus.FAIL, CheckStatus.SKIPPED
UNVERIFIED, INCONCLUSIVE = CheckStatus.UNVERIFIED, CheckStatus.INCONCLUSIVE
INFRASTRUCTURE = CheckStatus.INFRASTRUCTURE


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([PASS], VerdictKind.PASS),
        ([PASS, SKIPPED], VerdictKind.PASS),
        ([], VerdictKind.INCONCLUSIVE),
        ([SKIPPED], VerdictKind.INCONCLUSIVE),
        ([PASS, INCONCLUSIVE], VerdictKind.INCONCLUSIVE),
        ([PASS, INCONCLUSIVE, UNVERIFIED], VerdictKind.UNVERIFIED),
        ([PASS, INFRASTRUCTURE], VerdictKind.UNVERIFIED),
        ([UNVERIFIED], VerdictKind.UNVERIFIED),
        ([PASS, FAIL], VerdictKind.FAIL),
        ([FAIL, UNVERIFIED, INFRASTRUCTURE, INCONCLUSIVE, SKIPPED], VerdictKind.FAIL),
    ],
)
def test_the_worst_status_decides(statuses: list[CheckStatus], expected: VerdictKind) -> None:
    """A failure outweighs the unverified, that the inconclusive; skipped alone proves nothing."""
    assert expected is decide(statuses)
    assert expected is decide(reversed(statuses))
