"""Which stand-in act takes for which action: by the pins that the workflows themselves write."""

import re
from pathlib import Path

STAND_INS = Path(__file__).parents[1] / "actions"
_USES = re.compile(r"uses:\s*([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)(/[^@\s]*)?@([0-9a-f]{40})\b")


def stand_ins(*trees: Path) -> tuple[str, ...]:
    found = {
        (match.group(1), match.group(3))
        for tree in trees
        for file in sorted((tree / ".github").rglob("*.yml"))
        for match in _USES.finditer(file.read_text(encoding="utf-8"))
    }
    return tuple(
        f"--local-repository={action}@{sha}={STAND_INS / action.partition('/')[2]}"
        for action, sha in sorted(found)
        if action.startswith("actions/")
    )
