from pathlib import Path

import pytest

from megtrim.chain.graph import PROFILE, VERDICT, tasks
from megtrim.chain.session import Session
from megtrim.util.errors import ProductFailure
from megtrim.verdict import stage as verdict
from unit.trim.stages.support import changed, open_session


@pytest.fixture
def now(tmp_path: Path) -> Session:
    return changed(open_session(tmp_path)[0], committed=True)


@pytest.mark.parametrize(("committed", "subjects"), [(True, []), (False, ["build/profile"])])
def test_only_stages_of_the_plan_are_checked(
    now: Session, committed: bool, subjects: list[str]
) -> None:
    """A profile build that was made for a trap and failed is not one of them."""
    here = changed(now, committed=committed)
    here.results.failed[PROFILE] = ProductFailure("it does not compile")
    every = {task.id: task for task in tasks(here.request.config, committed=committed)}

    checks = verdict._stage_checks(every[VERDICT], here)

    assert [check.subject for check in checks] == subjects
