import runpy
from pathlib import Path

import yaml

from workflows.documents import ROOT, action, workflow


def test_updates_cool_down() -> None:
    text = (ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8")
    updates = {each["package-ecosystem"]: each for each in yaml.safe_load(text)["updates"]}

    assert sorted(updates) == ["github-actions", "gomod", "pip"]
    assert {each["cooldown"]["default-days"] for each in updates.values()} == {7}
    assert updates["github-actions"]["directories"] == ["/", "/.github/actions/*"]
    assert list((ROOT / updates["pip"]["directory"].strip("/")).glob("*.txt"))
    assert (ROOT / updates["gomod"]["directory"].strip("/") / "go.mod").is_file()
    assert "insecure-external-code-execution" not in text


def test_what_runs_elsewhere_has_owners() -> None:
    text = (ROOT / ".github" / "CODEOWNERS").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]

    assert {place for place, _ in lines} >= {"/.github/", "/ci/", "/requirements/", "/scripts/"}
    assert {owner for _, owner in lines} == {"@megtrim/maintainers"}
    for place, _ in lines:
        assert (ROOT / place.strip("/")).exists(), place


def test_ci_installs_what_the_lanes_need() -> None:
    sessions = runpy.run_path(str(ROOT / "noxfile.py"))
    steps = workflow("ci").jobs["tests"]["steps"]
    install = next(step["run"] for step in steps if " install " in step.get("run", ""))
    words = install.split()

    assert words[:7] == [
        *("sudo", "-n", "apt-get", "-qq", "install", "-y", "--no-install-recommends")
    ]
    assert set(words[7:]) == set(sessions["TESTS"]) - {"chromium", "chromium-driver"}


def test_ci_runs_what_people_run() -> None:
    ci = workflow("ci")
    sessions = ci.jobs["checks"]["strategy"]["matrix"]["session"]
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    last = ci.jobs["tests"]["steps"][-1]

    assert sessions == ["lint", "types", "workflows"]
    assert all(f"\ndef {session}(" in noxfile for session in sessions)
    assert last["run"] == "python3 scripts/fresh.py tests"
    assert last["env"] == {"MEGTRIM_LANES": "required"}
    assert sorted(ci.events) == ["merge_group", "pull_request", "push"]


def test_one_python_everywhere() -> None:
    steps = [*action("set-up").steps(), *workflow("ci").steps()]
    versions = {
        step["with"]["python-version"]
        for _, step in steps
        if step.get("uses", "").startswith("actions/setup-python@")
    }

    assert versions == {"3.11"}


def test_a_team_is_shown_what_to_set() -> None:
    text = Path(ROOT, "SECURITY.md").read_text(encoding="utf-8")

    for word in ("megtrim-devices", "size / verdict", "pull_request_target", "actions/*"):
        assert word in text
