"""The items of a device host, from its spec and the facts that decide what else is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from host.items import (
    Facts,
    Item,
    adb_server,
    file,
    folder,
    kit,
    old_folder,
    package,
    prerequisite,
    read_owner,
    runner,
    unit,
    user,
)
from host.spec import ADB, HostSpec
from host.system import look

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
_ADB_PLACES = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    is_booted: bool
    """systemd does not run while an image is built."""
    is_drained: bool
    icu: str
    """Empty if unknown."""
    runners: tuple[Path, ...] = ()
    instances: tuple[int, ...] = ()
    other_adbs: tuple[Path, ...] = ()


def inspect_host(spec: HostSpec) -> HostState:
    packages = look("apt-cache", "search", "--names-only", "^libicu[0-9]+$")[1]
    versions = [int(number) for number in re.findall(r"^libicu(\d+) ", packages, re.M)]
    wants = (UNITS / "multi-user.target.wants").glob("megtrim-runner@*.service")
    numbers = (re.fullmatch(r"megtrim-runner@(\d+)\.service", path.name) for path in wants)
    adbs = {Path(place, "adb").resolve() for place in _ADB_PLACES} - {spec.adb.resolve()}
    return HostState(
        is_booted=Path("/run/systemd/system").is_dir(),
        is_drained=DRAIN.exists(),
        icu=f"libicu{max(versions)}" if versions else "",
        runners=tuple(sorted(RUNNERS.glob("runner-*"))),
        instances=tuple(sorted(int(number[1]) for number in numbers if number)),
        other_adbs=tuple(sorted(adb for adb in adbs if adb.exists())),
    )


def list_items(spec: HostSpec, state: HostState, texts: Mapping[str, str]) -> tuple[Item, ...]:
    """In the order to make them. ``texts``: templates by name."""
    unpacked = RUNNERS / f"runner-{spec.runner_sha256[:16]}"
    optional = {"adb": spec.adb == ADB, "uhubctl": bool(spec.power_hubs), state.icu: state.icu}
    packages = {*_PACKAGES, *(name for name, needed in optional.items() if needed)}
    script = spec.checkout / "scripts" / "kit.py"
    return (
        *_list_prerequisites(spec, state),
        *(package(name) for name in sorted(packages)),
        user(spec.user),
        user(f"{spec.user}-adb", DATA / "adb"),
        user(f"{spec.user}-jit"),
        *(folder(path) for path in (CONFIG, INSTALLED, RUNNERS, DATA, DATA / "libraries")),
        folder(DATA / "adb", f"{spec.user}-adb", "0700"),
        folder(DATA / "state", spec.user, "0700"),
        *_list_files(texts, make_values(spec, unpacked, texts["sandbox"])),
        kit(spec.megtrim, spec.user, script, DATA / "libraries"),
        runner(unpacked, spec.runner_archive, spec.runner_sha256),
        *_list_units(spec, state),
        *(old_folder(path) for path in state.runners if path != unpacked),
    )


def _list_prerequisites(spec: HostSpec, state: HostState) -> Iterator[Item]:
    def read_token() -> Facts | None:
        facts = read_owner(TOKEN, is_folder=False)
        return facts and {**facts, "filled": "yes" if TOKEN.stat().st_size else "no"}

    def read_checkout() -> Facts | None:
        facts = read_owner(spec.checkout, is_folder=True)
        open_to_others = facts and bool(spec.checkout.stat().st_mode & 0o022)
        return facts and {**facts, "others may write": "yes" if open_to_others else "no"}

    yield prerequisite(
        TOKEN,
        {"owner": "root", "mode": "0600", "filled": "yes"},
        read_token,
        hint=f"put the token there: install -D -m 0600 /dev/stdin {TOKEN} (paste, then Ctrl-D)",
    )
    yield prerequisite(
        spec.checkout,
        {"owner": "root", "others may write": "no"},
        read_checkout,
        hint="systemd starts megtrim from this checkout: only root may be able to change it",
    )
    for adb in state.other_adbs:
        yield prerequisite(
            adb,
            {"use": f"none: {spec.adb} is the one adb"},
            lambda: {"use": "on the search path"},
            hint="a second adb of another version kills the server under a job: remove it",
        )


def _list_files(texts: Mapping[str, str], values: Mapping[str, str]) -> Iterator[Item]:
    for name in ("environment", "registration"):
        yield file(CONFIG / name, fill(texts[name], values))
    for name in ("job.sh", "workspace.sh", "register.py"):
        yield file(INSTALLED / name, texts[name], "0755")
    yield file(RULES, fill(texts[RULES.name], values), notify=("udev",))
    # A changed runner unit counts from the next job on; the running one is not disturbed.
    for name, more in (("adb", ("adb",)), ("jit@", ()), ("runner@", ())):
        path = UNITS / f"megtrim-{name}.service"
        yield file(path, fill(texts[path.name], values), notify=("systemd", *more))


def _list_units(spec: HostSpec, state: HostState) -> Iterator[Item]:
    yield unit("megtrim-adb.service", is_running=state.is_booted)
    if state.is_booted:
        yield adb_server(spec.adb)
    at_work = state.is_booted and not state.is_drained
    for number in range(1, spec.runners + 1):
        yield unit(f"megtrim-runner@{number}.service", is_running=at_work)
    for number in state.instances:
        if number > spec.runners:
            yield unit(f"megtrim-runner@{number}.service", is_running=False, at_boot=False)


def make_values(spec: HostSpec, unpacked: Path, sandbox: str) -> dict[str, str]:
    """What templates name as ``@name@``."""
    names = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY")
    proxy = [*(f"{name}={spec.proxy}" for name in names), "no_proxy=localhost,127.0.0.1"]
    usb = "DevicePolicy=closed\nDeviceAllow=char-usb_device rw"
    vendors = "|".join(spec.usb_vendors)
    hubs = (
        f'ATTR{{idVendor}}=="{vendor}", ATTR{{idProduct}}=="{product}", '
        f'GROUP="{spec.user}", MODE="0660"\n'
        for vendor, product in spec.power_hubs
    )
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
        "runner": str(unpacked),
        "megtrim": str(spec.megtrim),
        "proxy": "\n".join(proxy) if spec.proxy else "",
        "devices": usb if spec.power_hubs else "PrivateDevices=yes",
        "vendors": f'ATTR{{idVendor}}=="{vendors}", ' if vendors else "",
        "hubs": "".join(hubs),
        "sandbox": sandbox.rstrip("\n"),
    }


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace ``@name@`` in a template; an unknown name is a bug."""
    filled = _PLACE.sub(lambda place: values[place[1]], text)
    return filled.rstrip("\n") + "\n"
