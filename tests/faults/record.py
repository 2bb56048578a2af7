"""A run of the suite as JSON, and the page that is published of a full one.

{"version": 1, "phones": 8, "wall_s": 1200.0, "programs": {"adb": "...", "qemu": "..."},
 "runs": [{"case": 1, "fault": "kill", ..., "verdict": "pass", "wrong": []}, ...]}
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from faults.matrix import (
    FAULTS,
    Case,
    Fault,
    Judged,
    Moment,
    Plant,
    Purpose,
    Seen,
    Tally,
    Verdict,
    Way,
    tally,
)
from megtrim.libs.util.process import ProcessRunner
from virtual_phone.system import rootfs

PAGE = "docs/explanation/faults.md"
RECORD = "tests/faults/published.json"

_ABOUT = {
    Fault.KILL: "its processes end until someone starts them again",
    Fault.FREEZE: "its processes stand still",
    Fault.UNPLUG: "its connections end, and no new one can be made",
    Fault.MUTE: "nothing arrives any more, but `adb devices` still lists it",
    Fault.DISK_FULL: "its storage is full",
    Fault.SLOW: "its link becomes slow",
    Fault.HOT: "it is at 90 °C and throttles",
    Fault.BATTERY: "its battery is at 2 %",
    Fault.VANISH: "it dies and is unplugged at once, in the middle of a transfer",
    Fault.REBOOT: "it reboots",
    Fault.UNAUTHORIZED: "a stub takes its place, and waits until a person allows the computer",
}


_HEAD = """\
# What device faults do to a verdict

This page shows that a failing phone never turns into a wrong verdict. `nox -s faults -- --publish`
writes it from a full run of the suite in [tests/faults](../../tests/faults/suite.py); a test
compares the page with the record of that run.

In the suite, a real adb talks to real adb daemons on virtual phones. Arm64 programs run on them,
through the same code as on phones. Each run makes one fault happen at a certain moment, which the
suite recognizes in the traffic of the connection. In half of the runs there is also a product
failure, which the fault might hide: a reduced program that traps, one that computes something
else, or a damaged trace.

A verdict is wrong if it blames the product for a fault of the device, if it is a pass in spite of a
product failure, or if it names another product failure. It is also wrong if the trace is not the
one that was written, if a run directory is left behind, or if a job exceeds its time limit.
*Unauthorized* is played by a stub, because that adb daemon has no authentication.
"""
_MATRIX = """\
## The matrix

Each cell shows: runs = runs that came to their own result + runs that ended as *infrastructure*.
"""


def page(result: Mapping[str, Any]) -> str:
    runs: list[Mapping[str, Any]] = result["runs"]
    return "\n".join((_HEAD, _counts(result, runs), _MATRIX, _matrix(runs)))


def _counts(result: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> str:
    planted = sum(run["plant"] != Plant.SOUND for run in runs)
    minutes = result["wall_s"] / 60
    programs = ", ".join(f"{name} {text}" for name, text in sorted(result["programs"].items()))
    rows = (
        ("runs", f"{len(runs)} on {result['phones']} phones, in {minutes:.0f} minutes"),
        ("with a product failure behind the fault", str(planted)),
        ("wrong", str(sum(bool(run["wrong"]) for run in runs))),
        ("came to their own result", str(sum(run["delivered"] for run in runs))),
        (
            "did not, because the only phone was gone for good or waited for a person",
            str(sum(not run["delivered"] and not run["given up"] for run in runs)),
        ),
        ("did not, and could have", str(sum(run["given up"] for run in runs))),
        ("run directories left", str(sum(len(run["left"]) for run in runs))),
        ("longest run", f"{max(run['wall_s'] for run in runs):.0f} s, with shortened waits"),
        ("programs", programs),
    )
    return _table(("what", "seen"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _matrix(runs: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for fault in FAULTS:
        cells = (
            _cell([run for run in runs if run["fault"] == fault and run["moment"] == moment])
            for moment in Moment
        )
        rows.append((fault.value, _ABOUT[fault], *cells))
    controls = _cell([run for run in runs if run["fault"] == Fault.NONE])
    rows.append(("none", "controls: nothing happens", controls, *([""] * (len(Moment) - 1))))
    return _table(("fault", "what happens", *(moment.value for moment in Moment)), rows)


def _cell(runs: Sequence[Mapping[str, Any]]) -> str:
    delivered = sum(run["delivered"] for run in runs)
    wrong = sum(bool(run["wrong"]) for run in runs)
    text = f"{len(runs)} = {delivered} + {len(runs) - delivered}"
    return f"{text}, **{wrong} wrong**" if wrong else text


def encode(judged: Judged) -> dict[str, Any]:
    case = judged.case
    seen = judged.seen
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
        **{name: run[name] for name in ("spare", "lasting", "turn")},
    )
    case = Case(
        number=run["case"], fault=Fault(run["fault"]), moment=Moment(run["moment"]), way=way
    )
    seen = Seen(
        verdict=Verdict(run["verdict"]),
        **{name: run[name] for name in ("text", "fired", "wall_s", "bound_s")},
        attempts=tuple(run["attempts"]),
        left=tuple(run["left"]),
    )
    return Judged(case=case, seen=seen, wrong=tuple(run["wrong"]))


def versions(processes: ProcessRunner) -> dict[str, str]:
    emulator = processes.capture("qemu-aarch64-static", "--version").splitlines()[0]
    client = processes.capture("adb", "version").splitlines()[1]
    packages = (
        name.removesuffix(".deb")
        for name in (rootfs.provide(processes) / "packages").read_text("utf-8").split()
    )
    daemon = next(name for name in packages if name.startswith("adbd_"))
    return {
        "adb": client.removeprefix("Version "),
        "adbd": daemon.split("_")[1],
        "qemu": emulator.removeprefix("qemu-aarch64 version "),
    }
