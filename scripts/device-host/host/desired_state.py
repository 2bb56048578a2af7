"""The resources of a device host, from its spec. Pure, so that a plan can be read and tested."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from host.resources import (
    AdbServer,
    File,
    Folder,
    Kit,
    Old,
    Package,
    Prerequisite,
    Resource,
    Runner,
    Touches,
    Unit,
    User,
)
from host.spec import ADB, HostSpec

CONFIG = Path("/etc/megtrim-host")
INSTALLED = Path("/usr/local/lib/megtrim-host")
RUNNERS = Path("/opt/megtrim-host")
DATA = Path("/var/lib/megtrim-host")
UNITS = Path("/etc/systemd/system")
RULES = Path("/etc/udev/rules.d/60-megtrim-phones.rules")
TOKEN = CONFIG / "github-token"
DRAIN = CONFIG / "drain"
"""While this file exists, no new job is taken."""

_PACKAGES = ("ca-certificates", "git", "passwd", "python3", "python3-venv")
_PLACE = re.compile(r"@([a-z][a-z0-9_]*)@")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """The facts of the machine that decide what else is needed."""

    booted: bool
    """Whether systemd runs here; it does not while an image is built."""
    listeners: tuple[Touches, ...]
    """Services that run here and must be notified of changed files."""
    drained: bool
    """Whether a person keeps new jobs away."""
    icu: str
    """The package of the Unicode library that GitHub's runner needs; empty if unknown."""
    runners: tuple[Path, ...] = ()
    """Unpacked runners on this machine."""
    instances: tuple[int, ...] = ()
    """Runner units that start with the machine."""
    other_adbs: tuple[Path, ...] = ()
    """Other programs called adb in the usual folders."""


def list_desired(
    spec: HostSpec, state: HostState, texts: Mapping[str, str]
) -> tuple[Resource, ...]:
    """Return all resources, in the order to make them. ``texts``: templates by name."""
    runner = RUNNERS / f"runner-{spec.runner_sha256[:16]}"
    values = _values(spec, runner, texts["sandbox"])
    return (
        *_list_prerequisites(spec, state),
        *(Package(name=name) for name in _packages(spec, state)),
        User(name=spec.user, home=Path("/nonexistent")),
        User(name=f"{spec.user}-adb", home=DATA / "adb"),
        User(name=f"{spec.user}-jit", home=Path("/nonexistent")),
        *(Folder(path=path) for path in (CONFIG, INSTALLED, RUNNERS, DATA, DATA / "libraries")),
        _own(DATA / "adb", f"{spec.user}-adb"),
        _own(DATA / "state", spec.user),
        *_files(texts, values),
        Kit(
            megtrim=spec.megtrim,
            user=spec.user,
            script=spec.checkout / "scripts" / "kit.py",
            cache=DATA / "libraries",
        ),
        Runner(path=runner, archive=spec.runner_archive, sha256=spec.runner_sha256),
        *_units(spec, state),
        *(Old(path=path) for path in state.runners if path != runner),
    )


def _own(path: Path, user: str) -> Folder:
    return Folder(path=path, owner=user, group=user, mode="0700")


def _list_prerequisites(spec: HostSpec, state: HostState) -> tuple[Resource, ...]:
    only_root = (("owner", "root"), ("mode", "0600"), ("filled", "yes"))
    token = Prerequisite(
        path=TOKEN,
        desired=only_root,
        hint=f"put the token there: install -D -m 0600 /dev/stdin {TOKEN} (paste, then Ctrl-D)",
    )
    checkout = Prerequisite(
        path=spec.checkout,
        desired=(("owner", "root"), ("others may write", "no")),
        hint="systemd starts megtrim from this checkout: only root may be able to change it",
    )
    others = (
        Prerequisite(
            path=adb,
            desired=(("use", f"none: {spec.adb} is the one adb"),),
            hint="a second adb of another version kills the server under a job: remove it",
        )
        for adb in state.other_adbs
    )
    return (token, checkout, *others)


def _packages(spec: HostSpec, state: HostState) -> tuple[str, ...]:
    adb = ("adb",) if spec.adb == ADB else ()
    hubs = ("uhubctl",) if spec.power_hubs else ()
    icu = (state.icu,) if state.icu else ()
    return tuple(sorted((*_PACKAGES, *adb, *hubs, *icu)))


def _files(texts: Mapping[str, str], values: Mapping[str, str]) -> tuple[File, ...]:
    def file(path: Path, *touches: Touches, mode: str = "0644", plain: bool = False) -> File:
        text = texts[path.name]
        content = text if plain else fill(text, values)
        return File(path=path, content=content, mode=mode, touches=touches)

    scripts = ("job.sh", "workspace.sh", "register.py")
    return (
        file(CONFIG / "environment"),
        file(CONFIG / "registration"),
        *(file(INSTALLED / name, mode="0755", plain=True) for name in scripts),
        file(RULES, Touches.UDEV),
        file(UNITS / "megtrim-adb.service", Touches.SYSTEMD, Touches.ADB_SERVER),
        file(UNITS / "megtrim-jit@.service", Touches.SYSTEMD),
        # A changed runner unit counts from the next job on; the running one is not disturbed.
        file(UNITS / "megtrim-runner@.service", Touches.SYSTEMD),
    )


def _units(spec: HostSpec, state: HostState) -> tuple[Resource, ...]:
    at_work = state.booted and not state.drained
    server = (AdbServer(adb=spec.adb),) if state.booted else ()
    too_many = (number for number in state.instances if number > spec.runners)
    return (
        Unit(name="megtrim-adb.service", running=state.booted),
        *server,
        *(
            Unit(name=f"megtrim-runner@{number}.service", running=at_work)
            for number in range(1, spec.runners + 1)
        ),
        *(
            Unit(name=f"megtrim-runner@{number}.service", running=False, at_boot=False)
            for number in too_many
        ),
    )


def _values(spec: HostSpec, runner: Path, sandbox: str) -> dict[str, str]:
    names = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY")
    proxy = [*(f"{name}={spec.proxy}" for name in names), "no_proxy=localhost,127.0.0.1"]
    usb = "DevicePolicy=closed\nDeviceAllow=char-usb_device rw"
    return {
        "user": spec.user,
        "adb_user": f"{spec.user}-adb",
        "jit_user": f"{spec.user}-jit",
        "cpu_class": spec.cpu_class,
        "scope": spec.scope,
        "runner_group": str(spec.runner_group),
        "api_url": spec.api_url,
        "adb": str(spec.adb),
        "adb_home": str(DATA / "adb"),
        "state": str(DATA / "state"),
        "config": str(CONFIG),
        "lib": str(INSTALLED),
        "runner": str(runner),
        "megtrim": str(spec.megtrim),
        "proxy": "\n".join(proxy) if spec.proxy else "",
        "devices": usb if spec.power_hubs else "PrivateDevices=yes",
        "vendors": _vendors(spec.usb_vendors),
        "hubs": "".join(_hub(spec.user, *hub) for hub in spec.power_hubs),
        "sandbox": sandbox.rstrip("\n"),
    }


def _vendors(vendors: Sequence[str]) -> str:
    return f'ATTR{{idVendor}}=="{"|".join(vendors)}", ' if vendors else ""


def _hub(user: str, vendor: str, product: str) -> str:
    which = f'ATTR{{idVendor}}=="{vendor}", ATTR{{idProduct}}=="{product}"'
    return f'{which}, GROUP="{user}", MODE="0660"\n'


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace ``@name@`` in a template; an unknown name is a bug."""
    filled = _PLACE.sub(lambda place: values[place[1]], text)
    return filled.rstrip("\n") + "\n"
