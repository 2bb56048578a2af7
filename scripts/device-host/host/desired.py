"""What a technician requests, and the items that a device host needs for it.

Each value is checked, because these values end up in units and rules.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from host.items import (
    Facts,
    Item,
    file,
    folder,
    kit,
    look,
    old_folder,
    package,
    prerequisite,
    read_owner,
    runner,
    unit,
    user,
)

ADB = Path("/usr/bin/adb")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSpec:
    """One device host. ``scope`` is a path of GitHub's API: ``repos/O/R`` or ``orgs/O``."""

    user: str
    cpu_class: str
    scope: str
    runner_group: int
    runners: int
    runner_archive: Path
    runner_sha256: str
    adb: Path
    checkout: Path
    usb_vendors: tuple[str, ...] = ()
    power_hubs: tuple[tuple[str, str], ...] = ()
    """Vendor and product of USB hubs whose ports jobs may switch."""
    proxy: str = ""
    api_url: str = "https://api.github.com"

    @property
    def megtrim(self) -> Path:
        """The program that cleans phones before and after each job."""
        return self.checkout / ".venv" / "bin" / "megtrim"


def _matching(pattern: str, expected: str) -> Callable[[str], str]:
    compiled = re.compile(pattern)

    def check(text: str) -> str:
        if not compiled.fullmatch(text):
            msg = f"found {text!r}, expected {expected}"
            raise argparse.ArgumentTypeError(msg)
        return text

    return check


_LABEL = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
_USER = _matching(r"[a-z][a-z0-9-]{0,26}", "up to 27 small letters, digits and dashes")
_CLASS = _matching(_LABEL, "the name of a class in megtrim.yaml")
_OWNER = _matching(_LABEL, "the name of an organization")
_REPOSITORY = _matching(rf"{_LABEL}/[A-Za-z0-9._-]{{1,100}}", "OWNER/NAME")
_SHA256 = _matching(r"[0-9a-f]{64}", "64 small hexadecimal digits")
_VENDOR = _matching(r"[0-9a-f]{4}", "4 small hexadecimal digits, as lsusb shows before the colon")
_HUB = _matching(r"[0-9a-f]{4}:[0-9a-f]{4}", "VENDOR:PRODUCT as lsusb shows it, such as 2109:2817")
_PROXY = _matching(r"https?://[A-Za-z0-9.\[\]:-]+", "http://HOST:PORT, without a password")
_API = _matching(
    r"https://[A-Za-z0-9.-]+(:\d+)?(/[a-z0-9/]+)?|http://(127\.0\.0\.1|localhost)(:\d+)?",
    "https://HOST, with /api/v3 behind it for a server of your own",
)
_COUNT = _matching(r"[1-9]\d{0,8}", "a whole number from 1")
_PATH = _matching(r"/[A-Za-z0-9._+/-]+", "an absolute path without spaces")


def parser(description: str) -> argparse.ArgumentParser:
    """``@FILE`` is replaced by its lines as arguments."""
    made = argparse.ArgumentParser(
        prog="set_up.py",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        fromfile_prefix_chars="@",
        allow_abbrev=False,
    )
    add = made.add_argument
    add("--user", type=_USER, required=True, help="user that jobs run as; made if missing")
    add("--class", dest="cpu_class", type=_CLASS, required=True, help="CPU class of its devices")
    where = made.add_mutually_exclusive_group(required=True)
    where.add_argument("--repository", type=_REPOSITORY, help="OWNER/NAME that jobs come from")
    where.add_argument(
        "--organization",
        "--organisation",  # the spelling of version 0.2
        type=_OWNER,
        metavar="ORGANIZATION",
        help="the same for an organization",
    )
    add("--runner-archive", type=Path, required=True, help="actions-runner-linux-….tar.gz")
    add("--runner-sha256", type=_SHA256, required=True, help="its digest, from GitHub's own page")
    add("--runner-group", type=_COUNT, help="number of the runner group; with --organization")
    add("--runners", type=_COUNT, default=1, help="jobs at the same time (default: 1)")
    add("--adb", type=_PATH, default=str(ADB), help=f"the one adb (default: {ADB})")
    several = partial(add, action="append", default=[])
    several("--usb-vendor", dest="usb_vendors", type=_VENDOR, help="only phones of this USB vendor")
    several("--power-hub", dest="power_hubs", type=_HUB, help="USB hub whose ports jobs may switch")
    add("--proxy", type=_PROXY, help="the way to GitHub, for runner and jobs")
    add("--api-url", type=_API, default="https://api.github.com", help="for GitHub servers")
    add("--check", action="store_true", help="print every change, make none")
    return made


def read(parsed: argparse.Namespace, *, checkout: Path) -> HostSpec:
    """Raise ArgumentTypeError if two arguments do not fit."""
    if parsed.organization and parsed.runner_group is None:
        msg = "--organization needs --runner-group: a group that is open to the right repositories"
        raise argparse.ArgumentTypeError(msg)
    _PATH(str(checkout))
    values = {**vars(parsed), "adb": Path(parsed.adb), "proxy": parsed.proxy or ""}
    repository = values.pop("repository")
    organization = values.pop("organization")
    values["scope"] = f"repos/{repository}" if repository else f"orgs/{organization}"
    # A repository has no runner groups except the one that GitHub numbers 1.
    values["runner_group"] = int(parsed.runner_group or 1)
    values["runners"] = int(parsed.runners)
    values["usb_vendors"] = tuple(sorted({*parsed.usb_vendors}))
    hubs = (hub.split(":") for hub in parsed.power_hubs)
    values["power_hubs"] = tuple(sorted((vendor, product) for vendor, product in hubs))
    del values["check"]
    return HostSpec(checkout=checkout, **values)


CONFIG = Path("/etc/megtrim-host")
INSTALLED = Path("/usr/local/lib/megtrim-host")
RUNNERS = Path("/opt/megtrim-host")
DATA = Path("/var/lib/megtrim-host")
UNITS = Path("/etc/systemd/system")
RULES = Path("/etc/udev/rules.d/60-megtrim-phones.rules")
TOKEN = CONFIG / "github-token"
DRAIN = CONFIG / "drain"
"""While this file exists, no new job is taken."""

_PACKAGES = ("ca-certificates", "git", "openssh-client", "passwd", "python3", "python3-venv")
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
