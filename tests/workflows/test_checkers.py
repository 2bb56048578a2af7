import re
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.config.templates import Callers, Kit, Provision, workflows
from megtrim.util.process import Command, CompletedCommand, ProcessRunner
from workflows.documents import ROOT

ZIZMOR = (
    *("zizmor", "--offline", "--persona=auditor", "--strict-collection", "--no-progress"),
    "--color=never",
    "--no-exit-codes",
)
CALLERS = Callers(
    kit=Kit(
        repository="megtrim/megtrim", sha="0123456789abcdef" * 2 + "01234567", version="v1.2.3"
    ),
    branch="main",
    config="megtrim.yaml",
    keep_set="megtrim/keepset",
    packages="clang-14 g++-aarch64-linux-gnu",
)


def _run(processes: ProcessRunner, folder: Path, *argv: str) -> CompletedCommand:
    return processes.run(Command(argv=argv, cwd=folder, timeout_s=120))


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def team(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    _write(tmp_path, workflows(CALLERS))
    android = {"config": "android/megtrim.yaml", "keep_set": "android/megtrim/keepset"}
    _write(tmp_path, workflows(replace(CALLERS, **android)))  # type: ignore[arg-type]
    several = {"arm64": Provision(recipe="linux-arm64"), "desk": Provision(packages="g++")}
    both = replace(CALLERS, config="both/megtrim.yaml", packages="", toolchains=several)
    _write(tmp_path, workflows(both))
    return tmp_path


def test_zizmor_finds_nothing(processes: ProcessRunner) -> None:
    outcome = _run(processes, ROOT, *ZIZMOR[:-1], ".")

    assert outcome.rc == 0, outcome.stdout + outcome.stderr
    assert "No findings to report" in outcome.stdout
    assert outcome.stderr.count("completed ./.github/") >= 8


def test_actionlint_finds_nothing(processes: ProcessRunner) -> None:
    outcome = _run(processes, ROOT, "actionlint")

    assert (outcome.rc, outcome.stdout, outcome.stderr) == (0, "", "")


def test_the_callers_are_clean(processes: ProcessRunner, team: Path) -> None:
    lint = _run(processes, team, "actionlint")
    audit = _run(processes, team, *ZIZMOR[:-1], ".")

    assert (lint.rc, lint.stdout, lint.stderr) == (0, "", "")
    assert audit.rc == 0, audit.stdout
    assert "No findings to report. Good job!\n" in audit.stdout
    assert "ignore" not in "".join(workflows(CALLERS).values())


@pytest.mark.parametrize(
    ("old", "new", "audit"),
    [
        ("permissions: {}\n", "", "excessive-permissions"),
        (f"@{CALLERS.kit.sha} # v1.2.3", "@main", "unpinned-uses"),
        ("  pull_request:\n", "  pull_request_target:\n", "dangerous-triggers"),
        ("    with: {config", "    secrets: inherit\n    with: {config", "secrets-inherit"),
    ],
)
def test_zizmor_is_at_work(
    processes: ProcessRunner, team: Path, old: str, new: str, audit: str
) -> None:
    """A defect is found, so finding nothing means something."""
    path = team / ".github" / "workflows" / "megtrim.yml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")

    outcome = _run(processes, team, *ZIZMOR, ".")

    assert f"[{audit}]" in outcome.stdout


@pytest.mark.parametrize("reference", ["inputs.request", "needs.size", "steps.none.outputs.x"])
def test_actionlint_is_at_work(processes: ProcessRunner, team: Path, reference: str) -> None:
    """A name that no one sets is an empty text on GitHub, not an error."""
    path = team / ".github" / "workflows" / "megtrim.yml"
    text = path.read_text(encoding="utf-8").replace("inputs.pull-request", reference)
    path.write_text(text, encoding="utf-8")

    outcome = _run(processes, team, "actionlint")

    assert outcome.rc == 1
    assert "is not defined" in outcome.stdout or "is not allowed here" in outcome.stdout


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("zizmor.yml", r"(disable|ignore|config):"),
        (".github/actionlint.yaml", r"ignore:|- megtrim"),
    ],
)
def test_every_suppression_has_its_reason(name: str, key: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    places = [i for i, line in enumerate(lines) if re.match(rf" +{key}", line)]

    assert places
    for i in places:
        assert "# " in lines[i - 1] + lines[i] + lines[i + 1], lines[i]


def test_nothing_is_suppressed_in_the_files_themselves() -> None:
    found = [
        path.name
        for path in sorted((ROOT / ".github").rglob("*.yml"))
        if "zizmor:" in path.read_text(encoding="utf-8")
    ]

    assert found == []
