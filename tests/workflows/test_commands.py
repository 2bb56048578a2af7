import shlex

import pytest

from support.pages import find_refusal
from workflows.documents import actions, workflows

WAYS = ("--quick", "--committed")
"""What a size check may put where a step says ``$WAY``."""
VALUES = {
    '"$PENDING"': "late",
    **dict.fromkeys(('"$PULL_REQUEST"', '"$JOBS"', '"$PICKUP"', '"$RUN"'), "1"),
}
"""What a step may put where an option takes no other text."""
COMMANDS = sorted(
    {
        step["run"]
        .replace('"$WAY"', way)
        .replace('"$COMMENT"', "--no-comment")
        .replace('"$CHECKS"', "--token-starts-checks")
        .replace('"$DEVICE"', "--emulated")
        for document in (*workflows(), *actions())
        for _, step in document.steps()
        if ".venv/bin/megtrim " in step.get("run", "")
        for way in WAYS
    }
)


@pytest.mark.parametrize("run", COMMANDS)
def test_the_command_line_takes_it(run: str) -> None:
    words = (VALUES.get(word, word) for word in run.partition(".venv/bin/")[2].split())
    assert find_refusal(" ".join(words)) == ""


def test_steps_were_found() -> None:
    verbs = {
        " ".join(w for w in shlex.split(run)[1:4] if not w.startswith("-")) for run in COMMANDS
    }

    assert verbs == {
        *("ci github baseline", "ci github wait", "ci github publish", "ci github propose"),
        *("ci github image", "ci github logs", "ci github names"),
        *("trim", "stage build", "ci gate report"),
        *("ci evidence pack", "ci evidence run", "ci evidence join"),
        *("ci github base", "ci github history", "ci github regression-issues"),
        *("ci sources fetch", "release build ../draft", "release prove draft", "ci github release"),
        *("ci github toolchains", "ci github release-files"),
    }
