"""Every action is pinned by the commit that a version's tag means, and that is written down."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from megtrim.util.process import Command, ProcessRunner
from workflows.documents import ROOT
from workflows.loaded import script

pin_actions = script("pin_actions")
PINS = json.loads((ROOT / ".github" / "pins.json").read_text(encoding="utf-8"))
WORKFLOW = """\
jobs:
  one:
    steps:
      - uses: some/one@{old} # v1.0.0
      - uses: some/one/inside@{old} # v1.0.0
      - uses: ./kit/.github/actions/set-up
"""


def test_the_workflows_use_what_is_recorded() -> None:
    """Neither more nor less, and one version of each."""
    used = {(action, sha, version) for _, action, sha, version in pin_actions.iter_used(ROOT)}

    assert used == {(pin["action"], pin["sha"], pin["version"]) for pin in PINS}
    assert len(used) == len(PINS) == 6


def test_no_pinned_line_is_overlooked() -> None:
    """What the script rewrites is all that there is."""
    text = "".join(path.read_text(encoding="utf-8") for path in pin_actions.files(ROOT))

    assert len(list(pin_actions.iter_used(ROOT))) == text.count("uses: actions/")


@pytest.mark.parametrize("pin", PINS, ids=lambda pin: pin["action"])
def test_a_record_says_where_and_when(pin: dict[str, str]) -> None:
    """The tag of the action's own repository, and the day."""
    assert sorted(pin) == ["action", "read", "sha", "source", "version"]
    assert pin["source"] == f"https://github.com/{pin['action']}, tag {pin['version']}"
    assert date(2026, 11, 21) <= date.fromisoformat(pin["read"])


class Repositories:
    """An action's repository on this machine, and a kit that uses it."""

    def __init__(self, folder: Path, processes: ProcessRunner) -> None:
        self.base = folder / "base"
        self.action = self.base / "some" / "one"
        self.kit = folder / "kit"
        self._processes = processes
        self.action.mkdir(parents=True)
        self.git("init", "--quiet")

    def git(self, *words: str) -> str:
        """Run git in the action's repository."""
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        command = Command(argv=("git", *who, *words), cwd=self.action, timeout_s=60)
        outcome = self._processes.run(command)
        assert outcome.rc == 0, outcome.stderr
        return outcome.stdout.strip()

    def commit(self, tag: str, *, annotated: bool) -> str:
        """Add a commit with a tag; return the commit."""
        self.git("commit", "--quiet", "--allow-empty", "--message", tag)
        self.git("tag", tag, *(("--message", tag) if annotated else ()))
        return self.git("rev-parse", "HEAD")

    def use(self, old: str) -> Path:
        """Write a kit whose workflow uses the action."""
        path = self.kit / ".github" / "workflows" / "w.yml"
        path.parent.mkdir(parents=True)
        path.write_text(WORKFLOW.format(old=old), encoding="utf-8")
        return path


@pytest.fixture
def repositories(tmp_path: Path, processes: ProcessRunner) -> Repositories:
    """Everything on this machine: no test asks GitHub."""
    return Repositories(tmp_path, processes)


def test_the_newest_version_is_pinned_by_its_commit(repositories: Repositories) -> None:
    """By number, not by text; annotated tags peeled; what is no vX.Y.Z left out."""
    repositories.commit("v9.0.0", annotated=False)
    newest = repositories.commit("v10.0.0", annotated=True)
    repositories.commit("v11.0.0-rc1", annotated=False)
    repositories.commit("v12", annotated=True)
    path = repositories.use("1" * 40)

    lines = list(pin_actions.update(repositories.kit, str(repositories.base), "2026-12-01"))

    assert lines == [f"some/one v10.0.0 {newest}"]
    assert path.read_text(encoding="utf-8") == WORKFLOW.replace(
        "{old} # v1.0.0", f"{newest} # v10.0.0"
    )
    assert json.loads((repositories.kit / ".github" / "pins.json").read_text(encoding="utf-8")) == [
        {
            "action": "some/one",
            "version": "v10.0.0",
            "sha": newest,
            "source": f"{repositories.base}/some/one, tag v10.0.0",
            "read": "2026-12-01",
        }
    ]


def test_a_moved_tag_is_found(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tag that means another commit than it did is someone's doing."""
    before = repositories.commit("v1.0.0", annotated=True)
    repositories.use(before)
    base = str(repositories.base)
    list(pin_actions.update(repositories.kit, base, "2026-12-01"))
    monkeypatch.setattr(pin_actions, "ROOT", repositories.kit)

    assert pin_actions.main(["--check", "--from", base]) == 0

    repositories.git("tag", "--delete", "v1.0.0")
    now = repositories.commit("v1.0.0", annotated=False)
    assert pin_actions.main(["--check", "--from", base]) == 1
    assert capsys.readouterr().err == (
        f"pin_actions.py: some/one v1.0.0: was {before}, is now {now}\n"
    )

    repositories.git("tag", "--delete", "v1.0.0")
    repositories.commit("v2.0.0", annotated=False)
    assert pin_actions.main(["--check", "--from", base]) == 1
    assert "is now nothing" in capsys.readouterr().err


def test_a_repository_without_versions_is_refused(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written then, nor where there is no repository at all."""
    repositories.git("commit", "--quiet", "--allow-empty", "--message", "one")
    path = repositories.use("1" * 40)
    before = path.read_text(encoding="utf-8")
    monkeypatch.setattr(pin_actions, "ROOT", repositories.kit)

    assert pin_actions.main(["--from", str(repositories.base)]) == 3
    assert "some/one has no tag vX.Y.Z" in capsys.readouterr().err
    assert pin_actions.main(["--from", str(repositories.base / "gone")]) == 3
    assert path.read_text(encoding="utf-8") == before
    assert not (repositories.kit / ".github" / "pins.json").exists()
