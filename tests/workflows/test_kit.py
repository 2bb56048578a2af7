import os
import re
import sys
import threading
import time
import tomllib
from pathlib import Path

import pytest

from megtrim.libs.util.process import Command, ProcessRunner
from workflows.documents import ROOT, script

kit = script("kit")
LOCK = ROOT / "requirements" / "kit.txt"


class Installer:
    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.fails = ""
        self.pause_s = 0.0

    def __call__(self, argv: list[str]) -> None:
        self.calls.append(argv)
        time.sleep(self.pause_s)
        if self.fails and self.fails in argv:
            msg = f"{self.fails} failed"
            raise kit.Refusal(msg, rc=3)
        if "venv" in argv:
            python = Path(argv[-1], "bin", "python")
            python.parent.mkdir(parents=True, exist_ok=True)
            python.unlink(missing_ok=True)
            python.symlink_to(sys.executable)


@pytest.fixture
def installer(monkeypatch: pytest.MonkeyPatch) -> Installer:
    made = Installer()
    monkeypatch.setattr(kit, "run", made)
    return made


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "kit.txt"
    path.write_text("click==8 --hash=sha256:00\n", encoding="utf-8")
    return path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "some kit"
    root.mkdir()
    (root / "ci").symlink_to(ROOT / "ci")
    (root / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    return root


def test_libraries_are_installed_by_hash_and_once(
    installer: Installer, lock: Path, tmp_path: Path
) -> None:
    first = kit.libraries(lock, tmp_path / "cache")
    second = kit.libraries(lock, tmp_path / "cache")

    folder = first.parent.parent
    assert first == second
    assert first == folder / "bin" / "python"
    assert folder.parent == tmp_path / "cache"
    assert installer.calls == [
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [
            str(first),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--only-binary",
            ":all:",
            "--require-hashes",
            "-r",
            str(lock),
        ],
    ]


def test_a_link_to_the_cache_may_go_away(installer: Installer, lock: Path, tmp_path: Path) -> None:
    """Programs of an environment name its folder, so it is made where the link leads."""
    (tmp_path / "kept").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "kept")
    found = kit.libraries(lock, link)
    link.unlink()

    assert found.exists()
    assert kit.libraries(lock, tmp_path / "kept") == found
    assert len(installer.calls) == 2


@pytest.mark.parametrize("differs", ["place", "lock", "Python"])
def test_libraries_are_of_a_place_a_lock_and_a_python(
    installer: Installer, lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, differs: str
) -> None:
    """An environment that was moved would start programs by its old folder."""
    before = kit.libraries(lock, tmp_path / "place")
    if differs == "lock":
        lock.write_text("click==9 --hash=sha256:00\n", encoding="utf-8")
    if differs == "Python":
        monkeypatch.setattr(sys, "version", "3.99.0")
    place = "elsewhere" if differs == "place" else "place"

    assert kit.libraries(lock, tmp_path / place).parents[1].name != before.parents[1].name
    assert len(installer.calls) == 4


def test_two_jobs_at_once_install_once(installer: Installer, lock: Path, tmp_path: Path) -> None:
    installer.pause_s = 0.1
    found: list[Path] = []
    jobs = [
        threading.Thread(target=lambda: found.append(kit.libraries(lock, tmp_path)))
        for _ in range(3)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(timeout=30)

    assert len(found) == 3
    assert len(set(found)) == 1
    assert len(installer.calls) == 2


def test_libraries_that_are_half_made_or_whose_python_is_gone_are_made_again(
    installer: Installer, lock: Path, tmp_path: Path
) -> None:
    installer.fails = "--require-hashes"
    with pytest.raises(kit.Refusal, match="failed") as refusal:
        kit.libraries(lock, tmp_path)
    assert refusal.value.rc == 3

    installer.fails = ""
    python = kit.libraries(lock, tmp_path)
    assert len(installer.calls) == 4
    assert (python.parent.parent / "ready").is_file()

    python.unlink()
    python.symlink_to(tmp_path / "gone")
    installer.fails = "--require-hashes"
    with pytest.raises(kit.Refusal):
        kit.libraries(lock, tmp_path)
    assert not (python.parent.parent / "ready").exists()  # a job that is cut off is not finished

    installer.fails = ""
    assert kit.libraries(lock, tmp_path) == python
    assert len(installer.calls) == 8
    assert python.readlink() == Path(sys.executable)


def test_another_version_of_the_kit_takes_the_place_of_the_first(
    checkout: Path, processes: ProcessRunner
) -> None:
    kit.place(checkout, Path(sys.executable))
    path = checkout / "pyproject.toml"
    path.write_text(
        '[project]\nname = "megtrim"\nversion = "99.0"\n'
        '[project.scripts]\nmegtrim = "megtrim.core.cli.main:run"\n',
        encoding="utf-8",
    )

    kit.place(checkout, Path(sys.executable))

    site = checkout / ".venv" / "site"
    assert [each.name for each in site.iterdir()] == ["megtrim-99.0.dist-info"]


def test_the_launcher_runs_the_checkout(checkout: Path, processes: ProcessRunner) -> None:
    kit.place(checkout, Path(sys.executable))
    kit.place(checkout, Path(sys.executable))  # a second time changes nothing

    launcher = checkout / ".venv" / "bin" / "megtrim"
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]
    hostile = ProcessRunner({**processes.env, "PYTHONPATH": "/nowhere", "PYTHONHOME": "/nowhere"})
    command = Command(argv=(str(launcher), "--version"), cwd=checkout.parent, timeout_s=60)
    outcome = hostile.run(command)
    assert (outcome.rc, outcome.stderr) == (0, "")
    assert outcome.stdout == f"megtrim, version {version}\n"


def test_an_environment_of_someone_is_left_alone(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "pyvenv.cfg").touch()

    with pytest.raises(kit.Refusal, match="did not create") as refusal:
        kit.place(checkout, Path(sys.executable))
    assert refusal.value.rc == 2
    assert [path.name for path in (checkout / ".venv").iterdir()] == ["pyvenv.cfg"]


def test_only_missing_packages_are_brought(
    installer: Installer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for program in ("git", "qemu-aarch64-static"):
        (tmp_path / program).touch(mode=0o755)
    wanted = ["git", "qemu-user-static", "lld-14", "ccache"]
    apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "Acquire::Retries=3"]
    steps = [
        [*apt, "update"],
        [*apt, "install", "-y", "--no-install-recommends", "lld-14", "ccache"],
    ]

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    kit.bring(wanted, {"PATH": str(tmp_path)})
    assert installer.calls == steps

    installer.calls.clear()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    kit.bring(wanted, {"PATH": str(tmp_path)})
    assert installer.calls == [["sudo", "-n", *step] for step in steps]

    installer.calls.clear()
    kit.bring(wanted[:2], {"PATH": str(tmp_path)})
    assert installer.calls == []


@pytest.mark.parametrize("name", ["a;b", "-o", "A", "$(id)", "git=1"])
def test_what_is_no_package_is_refused(installer: Installer, name: str) -> None:
    with pytest.raises(kit.Refusal, match="--apt: found") as refusal:
        kit.bring(["git", name], {"PATH": ""})
    assert refusal.value.rc == 2
    assert installer.calls == []


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"RUNNER_TOOL_CACHE": "."}, "./megtrim"),
        ({"XDG_CACHE_HOME": "/c", "RUNNER_TOOL_CACHE": "/gone"}, "/c/megtrim"),
        ({}, str(Path.home() / ".cache" / "megtrim")),
    ],
)
def test_where_libraries_are_kept(env: dict[str, str], folder: str) -> None:
    assert kit.cache_root(env) == Path(folder)


def test_no_job_of_a_lasting_runner_finds_libraries_of_another(
    installer: Installer, lock: Path, tmp_path: Path
) -> None:
    """A complete folder, by its looks, that the job before left where all jobs look."""
    shared = tmp_path / "shared"
    own = tmp_path / "temp"
    env = {"RUNNER_TOOL_CACHE": str(shared), "RUNNER_TEMP": str(own)}
    shared.mkdir()
    assert kit.libraries(lock, kit.cache_root(env)).is_relative_to(shared)
    env["RUNNER_ENVIRONMENT"] = "self-hosted"

    assert kit.libraries(lock, kit.cache_root(env)).is_relative_to(own)
    assert len(installer.calls) == 4


def test_a_refusal_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert kit.main(["--apt", "a;b"]) == 2
    assert capsys.readouterr().err == (
        "kit.py: --apt: found 'a;b', expected the name of a Debian package\n"
    )


def test_the_lock_holds_all_that_megtrim_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = (*project["dependencies"], *project["optional-dependencies"]["zig"])
    text = LOCK.read_text(encoding="utf-8")
    entries = re.split(r"^(?=[a-z])", text.replace("\\\n", ""), flags=re.MULTILINE)[1:]
    names = {re.split(r"==", entry)[0] for entry in entries}

    assert {re.split(r"[^\w-]", need)[0] for need in wanted} <= names
    for entry in entries:
        assert re.match(r"[a-z0-9._-]+==\S+ .*--hash=sha256:[0-9a-f]{64}\b", entry), entry
    assert "://" not in text
