import re

import yaml

from workflows.documents import ROOT

PINNED = re.compile(
    r"uses: ([\w.-]+/[\w.-]+)(?:/[\w.-]+)*@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$", re.M
)
TEXT = "".join(
    path.read_text(encoding="utf-8") for path in sorted((ROOT / ".github").rglob("*.yml"))
)


def test_every_action_of_others_is_pinned_at_one_version() -> None:
    used = set(PINNED.findall(TEXT))

    assert len(PINNED.findall(TEXT)) == len(re.findall(r"\buses: (?!\./)", TEXT))
    assert len({action for action, _, _ in used}) == len(used) == 6
    assert {action.split("/")[0] for action, _, _ in used} == {"actions"}


def test_dependabot_keeps_them() -> None:
    text = (ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8")
    updates = {update["package-ecosystem"]: update for update in yaml.safe_load(text)["updates"]}

    assert updates["github-actions"]["directories"] == ["/", "/.github/actions/*"]
