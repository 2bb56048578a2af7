"""What a technician requests, each value checked, because these values end up in units and rules.

Reads nothing but the command line; the machine's state is read elsewhere.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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
    """Its ``.venv/bin/megtrim`` looks after the phones between jobs."""
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
_OWNER = _matching(_LABEL, "the name of an organisation")
_REPOSITORY = _matching(rf"{_LABEL}/[A-Za-z0-9._-]{{1,100}}", "OWNER/NAME")
_SHA256 = _matching(r"[0-9a-f]{64}", "64 small hexadecimal digits")
_VENDOR = _matching(r"[0-9a-f]{4}", "4 small hexadecimal digits, as lsusb shows before the colon")
_HUB = _matching(r"[0-9a-f]{4}:[0-9a-f]{4}", "VENDOR:PRODUCT as lsusb shows it, such as 2109:2817")
_PROXY = _matching(r"https?://[A-Za-z0-9.\[\]:-]+", "http://HOST:PORT, without a password")
_API = _matching(
    r"https://[A-Za-z0-9.-]+(:\d+)?(/[a-z0-9/]+)?|http://(127\.0\.0\.1|localhost)(:\d+)?",
    "https://HOST, with /api/v3 behind it for a server of your own",
)
_PATH = _matching(r"/[A-Za-z0-9._+/-]+", "an absolute path without spaces")


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        msg = f"found {text!r}, expected a whole number from 1"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


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
    add("--class", dest="cpu_class", type=_CLASS, required=True, help="CPU class of the phones")
    where = made.add_mutually_exclusive_group(required=True)
    where.add_argument("--repository", type=_REPOSITORY, help="OWNER/NAME that jobs come from")
    where.add_argument("--organisation", type=_OWNER, help="the same for an organisation")
    add("--runner-archive", type=Path, required=True, help="actions-runner-linux-….tar.gz")
    add("--runner-sha256", type=_SHA256, required=True, help="its digest, from GitHub's own page")
    add("--runner-group", type=_count, help="number of the runner group; with --organisation")
    add("--runners", type=_count, default=1, help="jobs at the same time (default: 1)")
    add("--adb", type=_PATH, default=str(ADB), help=f"the one adb (default: {ADB})")
    add("--usb-vendor", type=_VENDOR, action="append", help="only phones of this USB vendor")
    add("--power-hub", type=_HUB, action="append", help="USB hub whose ports jobs may switch")
    add("--proxy", type=_PROXY, help="the way to GitHub, for runner and jobs")
    add("--api-url", type=_API, default="https://api.github.com", help="for GitHub servers")
    act = made.add_mutually_exclusive_group()
    act.add_argument("--dry-run", action="store_true", help="print every change, make none")
    act.add_argument("--check", action="store_true", help="name every difference, change nothing")
    return made


def read(parsed: argparse.Namespace, *, checkout: Path) -> HostSpec:
    """Raise ArgumentTypeError if two arguments do not fit."""
    if parsed.organisation and parsed.runner_group is None:
        msg = "--organisation needs --runner-group: a group that is open to the right repositories"
        raise argparse.ArgumentTypeError(msg)
    _PATH(str(checkout))
    hubs = [tuple(hub.split(":")) for hub in parsed.power_hub or ()]
    return HostSpec(
        user=parsed.user,
        cpu_class=parsed.cpu_class,
        scope=f"repos/{parsed.repository}" if parsed.repository else f"orgs/{parsed.organisation}",
        # A repository has no runner groups except the one that GitHub numbers 1.
        runner_group=parsed.runner_group or 1,
        runners=parsed.runners,
        runner_archive=parsed.runner_archive,
        runner_sha256=parsed.runner_sha256,
        adb=Path(parsed.adb),
        checkout=checkout,
        usb_vendors=tuple(sorted({*(parsed.usb_vendor or ())})),
        power_hubs=tuple(sorted((vendor, product) for vendor, product in hubs)),
        proxy=parsed.proxy or "",
        api_url=parsed.api_url,
    )
