"""What a device host consists of, from an order: pure, so that a plan can be read and tested."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from host.items import (
    AdbServer,
    File,
    Folder,
    Given,
    Item,
    Kit,
    Old,
    Package,
    Runner,
    Touches,
    Unit,
    User,
)
from host.order import ADB, Order

CONFIG = Path("/etc/megtrim-host")
INSTALLED = Path("/usr/local/lib/megtrim-host")
RUNNERS = Path("/opt/megtrim-host")
DATA = Path("/var/lib/megtrim-host")
UNITS = Path("/etc/systemd/system")
RULES = Path("/etc/udev/rules.d/60-megtrim-phones.rules")
TOKEN = CONFIG / "github-token"
DRAIN = CONFIG / "drain"
"""While this file is there, no new job is taken."""

_PACKAGES = ("ca-certificates", "git", "passwd", "python3", "python3-venv")
_PLACE = re.compile(r"@([a-z][a-z0-9_]*)@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What the machine brings along that decides what else is wanted."""

    booted: bool
    """Whether systemd runs here: not so while an image is made."""
    hears: tuple[Touches, ...]
    """Who runs here, and can be told of changed files."""
    drained: bool
    """Whether a person keeps new jobs away."""
    icu: str
    """The package of the Unicode library that GitHub's runner needs; empty: none is known."""
    runners: tuple[Path, ...] = ()
    """Unpacked runners that are there."""
    instances: tuple[int, ...] = ()
    """Runner units that start with the machine."""
    other_adbs: tuple[Path, ...] = ()
    """Programs called adb in the usual folders, beside the one."""


def wanted(order: Order, around: Around, texts: Mapping[str, str]) -> tuple[Item, ...]:
    """Return everything, in the order in which it can be made. ``texts``: templates by name."""
    runner = RUNNERS / f"runner-{order.runner_sha256[:16]}"
    values = _values(order, runner, texts["sandbox"])
    return (
        *_given(order, around),
        *(Package(name=name) for name in _packages(order, around)),
        User(name=order.user, home=Path("/nonexistent")),
        User(name=f"{order.user}-adb", home=DATA / "adb"),
        User(name=f"{order.user}-jit", home=Path("/nonexistent")),
        *(Folder(path=path) for path in (CONFIG, INSTALLED, RUNNERS, DATA, DATA / "libraries")),
        _own(DATA / "adb", f"{order.user}-adb"),
        _own(DATA / "state", order.user),
        *_files(texts, values),
        Kit(
            megtrim=order.megtrim,
            user=order.user,
            script=order.checkout / "scripts" / "kit.py",
            cache=DATA / "libraries",
        ),
        Runner(path=runner, archive=order.runner_archive, sha256=order.runner_sha256),
        *_units(order, around),
        *(Old(path=path) for path in around.runners if path != runner),
    )


def _own(path: Path, user: str) -> Folder:
    return Folder(path=path, owner=user, group=user, mode="0700")


def _given(order: Order, around: Around) -> tuple[Item, ...]:
    only_root = (("owner", "root"), ("mode", "0600"), ("filled", "yes"))
    token = Given(
        path=TOKEN,
        wanted=only_root,
        hint=f"put the token there: install -D -m 0600 /dev/stdin {TOKEN} (paste, then Ctrl-D)",
    )
    checkout = Given(
        path=order.checkout,
        wanted=(("owner", "root"), ("others may write", "no")),
        hint="systemd starts megtrim from this checkout: it must be root's alone",
    )
    others = (
        Given(
            path=adb,
            wanted=(("use", f"none: {order.adb} is the one adb"),),
            hint="a second adb of another version kills the server under a job: remove it",
        )
        for adb in around.other_adbs
    )
    return (token, checkout, *others)


def _packages(order: Order, around: Around) -> tuple[str, ...]:
    adb = ("adb",) if order.adb == ADB else ()
    hubs = ("uhubctl",) if order.power_hubs else ()
    icu = (around.icu,) if around.icu else ()
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
        # A changed runner unit counts from the next job on; the one that runs is left in peace.
        file(UNITS / "megtrim-runner@.service", Touches.SYSTEMD),
    )


def _units(order: Order, around: Around) -> tuple[Item, ...]:
    at_work = around.booted and not around.drained
    server = (AdbServer(adb=order.adb),) if around.booted else ()
    too_many = (number for number in around.instances if number > order.runners)
    return (
        Unit(name="megtrim-adb.service", running=around.booted),
        *server,
        *(
            Unit(name=f"megtrim-runner@{number}.service", running=at_work)
            for number in range(1, order.runners + 1)
        ),
        *(
            Unit(name=f"megtrim-runner@{number}.service", running=False, at_boot=False)
            for number in too_many
        ),
    )


def _values(order: Order, runner: Path, sandbox: str) -> dict[str, str]:
    names = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY")
    proxy = [*(f"{name}={order.proxy}" for name in names), "no_proxy=localhost,127.0.0.1"]
    usb = "DevicePolicy=closed\nDeviceAllow=char-usb_device rw"
    return {
        "user": order.user,
        "adb_user": f"{order.user}-adb",
        "jit_user": f"{order.user}-jit",
        "cpu_class": order.cpu_class,
        "scope": order.scope,
        "runner_group": str(order.runner_group),
        "api_url": order.api_url,
        "adb": str(order.adb),
        "adb_home": str(DATA / "adb"),
        "state": str(DATA / "state"),
        "config": str(CONFIG),
        "lib": str(INSTALLED),
        "runner": str(runner),
        "megtrim": str(order.megtrim),
        "proxy": "\n".join(proxy) if order.proxy else "",
        "devices": usb if order.power_hubs else "PrivateDevices=yes",
        "vendors": _vendors(order.usb_vendors),
        "hubs": "".join(_hub(order.user, *hub) for hub in order.power_hubs),
        "sandbox": sandbox.rstrip("\n"),
    }


def _vendors(vendors: Sequence[str]) -> str:
    return f'ATTR{{idVendor}}=="{"|".join(vendors)}", ' if vendors else ""


def _hub(user: str, vendor: str, product: str) -> str:
    which = f'ATTR{{idVendor}}=="{vendor}", ATTR{{idProduct}}=="{product}"'
    return f'{which}, GROUP="{user}", MODE="0660"\n'


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put values into a template's ``@name@`` places; an unknown name is our own mistake."""
    filled = _PLACE.sub(lambda place: values[place[1]], text)
    return filled.rstrip("\n") + "\n"
