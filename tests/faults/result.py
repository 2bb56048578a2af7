"""A run of the suite as JSON.

{"version": 1, "phones": 8, "wall_s": 1200.0, "programs": {"adb": "...", "qemu": "..."},
 "runs": [{"case": 1, "fault": "kill", ..., "verdict": "pass", "wrong": []}, ...],
 "measures": [{"what": "...", "target": "30 s", "seen": "9.1 s", "met": true}, ...]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from faults.judge import Judged, Seen, Tally, tally
from faults.matrix import Case, Fault, Moment, Plant, Purpose, Verdict, Way
from megtrim.util.process import ProcessRunner
from virtual_phone.system import rootfs


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One number that was asked for, taken with the waiting times that users have."""

    what: str
    target: str
    seen: str
    met: bool

    def encode(self) -> dict[str, Any]:
        return asdict(self)


def encode(judged: Judged) -> dict[str, Any]:
    case, seen = judged.case, judged.seen
    return {
        "case": case.number,
        "fault": case.fault,
        "moment": case.moment,
        **asdict(case.way),
        "verdict": seen.verdict,
        "text": seen.text,
        "fired": seen.fired,
        "wall_s": round(seen.wall_s, 2),
        "bound_s": round(seen.bound_s, 2),
        "attempts": list(seen.attempts),
        "left": list(seen.left),
        "delivered": judged.delivered,
        "given up": judged.given_up,
        "wrong": list(judged.wrong),
    }


def summary(judged: Sequence[Judged]) -> str:
    total: Tally = tally(judged)
    return (
        f"{total.runs} runs ({total.planted} planted), {total.delivered} delivered, "
        f"{total.given_up} given up, {total.wrong} wrong, {total.void} void, "
        f"{total.left} directories left, longest {total.longest_s:.0f} s"
    )


def decode(run: Mapping[str, Any]) -> Judged:
    """Return what :func:`encode` was given, as far as it is counted and shown."""
    way = Way(
        purpose=Purpose(run["purpose"]),
        plant=Plant(run["plant"]),
        spare=run["spare"],
        lasting=run["lasting"],
        turn=run["turn"],
    )
    case = Case(
        number=run["case"], fault=Fault(run["fault"]), moment=Moment(run["moment"]), way=way
    )
    seen = Seen(
        verdict=Verdict(run["verdict"]),
        text=run["text"],
        fired=run["fired"],
        wall_s=run["wall_s"],
        bound_s=run["bound_s"],
        attempts=tuple(run["attempts"]),
        left=tuple(run["left"]),
    )
    return Judged(case=case, seen=seen, wrong=tuple(run["wrong"]))


def versions(processes: ProcessRunner) -> dict[str, str]:
    emulator = processes.capture("qemu-aarch64-static", "--version").splitlines()[0]
    client = processes.capture("adb", "version").splitlines()[1]
    packages = (name.removesuffix(".deb") for name in rootfs.provide(processes).packages)
    daemon = next(name for name in packages if name.startswith("adbd_"))
    return {
        "adb": client.removeprefix("Version "),
        "adbd": daemon.split("_")[1],
        "qemu": emulator.removeprefix("qemu-aarch64 version "),
    }
