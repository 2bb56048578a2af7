"""A run of tests that fails although no test did."""

from __future__ import annotations

import pytest


def report_failure(session: pytest.Session, subject: str, text: str) -> None:
    """Let a run fail that no test failed."""
    report = pytest.TestReport(
        nodeid=subject,
        location=("", None, subject),
        keywords={},
        outcome="failed",
        longrepr=text,
        when="teardown",
    )
    session.config.hook.pytest_runtest_logreport(report=report)
    if session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
