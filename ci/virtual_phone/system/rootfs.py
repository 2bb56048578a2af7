"""The files that all virtual phones of a machine share, unpacked from Debian's own packages."""

import shutil
import tempfile
from pathlib import Path

from filelock import FileLock

from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from virtual_phone.system.mounts import MOUNT_POINT

SUITE = "trixie"
PACKAGES = ("adbd", "coreutils", "mksh", "toybox", "iproute2")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

_RECIPE = 2
"""Raise it when a root is made differently, so that older ones are made again."""
_MAKING = ".making-"
_UPDATE_S = 600.0
_UNPACK_S = 60.0
_HINT_DEBIAN = "this needs apt-get and dpkg-deb; elsewhere use the image docker/virtual-phone"
_HINT_KEYRING = "on Debian and Ubuntu: apt-get install debian-archive-keyring"
_HINT_MIRROR = "name one with --mirror, such as the one in another Debian's sources"

_SETTINGS = """\
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Install-Recommends "false";
APT::Sandbox::User "";
APT::Architectures {{ "{architecture}"; }};
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
DPkg::Post-Invoke {{}};
APT::Update::Post-Invoke {{}};
APT::Update::Post-Invoke-Success {{}};
"""


def cache_folder(processes: ProcessRunner) -> Path:
    home = processes.env.get("HOME") or "/"
    base = Path(processes.env.get("XDG_CACHE_HOME") or Path(home) / ".cache")
    return base / "megtrim" / "virtual-phone"


def provide(processes: ProcessRunner, *, mirror: str | None = None) -> Path:
    """Return the root, made now if there is none.

    Raises InputError where none can be made, InfrastructureFailure if a mirror does not deliver.
    """
    folder = cache_folder(processes)
    root = _path(processes)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            if not root.is_dir():
                for left in folder.glob(f"{_MAKING}*"):
                    shutil.rmtree(left, ignore_errors=True)  # of one that was killed
                _make(processes, root, mirror or own_mirror(processes))
    except OSError as error:
        msg = f"{folder}: a root for virtual phones cannot be made: {error.strerror}"
        raise InfrastructureFailure(msg) from None
    return root


def describe(processes: ProcessRunner) -> str:
    """Raise InputError where there is no root and none can be made here."""
    root = _path(processes)
    if root.is_dir():
        return str(root)
    _require_keyring()
    return f"made on first use from {own_mirror(processes)}"


def _path(processes: ProcessRunner) -> Path:
    return cache_folder(processes) / f"{SUITE}-{_architecture(processes)}-{_RECIPE}"


def own_mirror(processes: ProcessRunner) -> str:
    form = "$(LABEL) $(REPO_URI)"
    listing = _apt(processes, "indextargets", "--format", form, "Created-By: Packages")
    lines = [line.split() for line in listing.stdout.splitlines()]
    mirrors = [words[1] for words in lines if len(words) == 2 and words[0] == "Debian"]
    if not mirrors:
        msg = "virtual phone: this machine's package sources name no mirror of Debian"
        raise InputError(msg, hint=_HINT_MIRROR)
    return mirrors[0].rstrip("/")


def _architecture(processes: ProcessRunner) -> str:
    for tool in ("apt-get", "dpkg-deb", "dpkg"):
        if shutil.which(tool, path=processes.env.get("PATH")) is None:
            msg = f"virtual phone: there is no {tool} here"
            raise InputError(msg, hint=_HINT_DEBIAN)
    return processes.capture("dpkg", "--print-architecture").strip()


def _make(processes: ProcessRunner, root: Path, mirror: str) -> None:
    _require_keyring()
    with tempfile.TemporaryDirectory(dir=root.parent, prefix=_MAKING) as scratch:
        packages = _download(processes, Path(scratch), mirror)
        made = Path(scratch) / "root"
        for package in packages:
            argv = ("dpkg-deb", "--extract", str(package), str(made))
            _demand(processes.run(Command(argv=argv, timeout_s=_UNPACK_S)))
        _finish(made, sorted(package.name for package in packages))
        made.rename(root)


def _require_keyring() -> None:
    if not KEYRING.is_file():
        msg = f"virtual phone: there is no {KEYRING} to check packages with"
        raise InputError(msg, hint=_HINT_KEYRING)


def _download(processes: ProcessRunner, folder: Path, mirror: str) -> list[Path]:
    for name in ("state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    source = f"deb [signed-by={KEYRING}] {mirror} {SUITE} main\n"
    (folder / "sources.list").write_text(source, encoding="utf-8")
    settings = folder / "apt.conf"
    text = _SETTINGS.format(folder=folder, architecture=_architecture(processes))
    settings.write_text(text, encoding="utf-8")
    _demand(_apt(processes, "update", settings=settings))
    _demand(_apt(processes, "install", "--yes", "--download-only", *PACKAGES, settings=settings))
    return sorted((folder / "cache" / "archives").glob("*.deb"))


def _apt(processes: ProcessRunner, *words: str, settings: Path | None = None) -> CompletedCommand:
    env = {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    if settings is not None:
        env["APT_CONFIG"] = str(settings)
    return processes.run(Command(argv=("apt-get", *words), env=env, timeout_s=_UPDATE_S))


def _demand(outcome: CompletedCommand) -> None:
    if outcome.ok:
        return
    lines = (outcome.stderr or outcome.stdout).strip().splitlines()
    why = lines[-1] if lines else "no message"
    if outcome.timed_out:
        why = "it took too long"
    msg = f"virtual phone: {' '.join(outcome.argv[:2])} ended with {outcome.rc}: {why}"
    raise InfrastructureFailure(msg, hint="is the mirror reachable? another: --mirror")


def _finish(made: Path, packages: list[str]) -> None:
    for name in ("lib", "lib64", "bin", "sbin"):
        if (made / "usr" / name).is_dir() and not (made / name).exists():
            (made / name).symlink_to(f"usr/{name}")
    (made / MOUNT_POINT).mkdir()
    (made / "packages").write_text("\n".join(packages) + "\n", encoding="utf-8")
