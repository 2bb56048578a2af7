"""What each task leaves, and for each file of it the tasks that rest on it.

Next to them stands the verdict, which depends on whatever any task found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unit.trim.stages.contract_facts import (
    ALL,
    ENGINES,
    HERE,
    KEPT,
    LINKS,
    PLAIN,
    REGION,
    TRIMS,
    times,
)


@dataclass(frozen=True, kw_only=True)
class Left:
    task: str
    file: str
    """Pattern of its files, and of :data:`FOUND` with the fields of its result."""
    rest: str
    where: tuple[str, ...] = ALL


FOUND = "found: {}"


def _programs() -> Iterator[Left]:
    users = {
        "load_and_run": ENGINES,
        "classify": ("m/app@any",),
        "viewer": ("m/view@any",),
        "libsample_engine.so": ("m/view@any",),
    }
    for program, scenarios in users.items():
        verified = " ".join(f"verify/{each} neighbours/{each}" for each in scenarios)
        timed, compared = times("*", *scenarios), times("trimming-*", *scenarios)
        traced = " ".join(f"profile/{each}" for each in scenarios)
        recorded = " ".join(f"functions/{each}" for each in scenarios)
        yield Left(task="build/plain", file=f"bin/{program}", rest=f"{verified} {timed}")
        yield Left(task="reduce/reduced", file=f"bin/{program}", rest=f"{verified} {compared}")
        shown = " ".join(f"neighbours/{each}" for each in scenarios)
        yield Left(task="build/profile", file=f"bin/{program}", rest=f"{traced} {shown}")
        yield Left(task="functions/linked", file=f"links/*/{program}", rest=recorded, where=HERE)
        reported = f"links/*/{program}.observables"
        yield Left(task="functions/linked", file=reported, rest=recorded, where=HERE)
    for build in ("build/*", "reduce/re*"):
        for artifact in ("load_and_run", "classify"):
            yield Left(task=build, file=f"bin/{artifact}", rest="size/artifacts")


LEFT: tuple[Left, ...] = (
    *_programs(),
    Left(task="build/plain", file="bin/load_and_run", rest="profile/*#search"),
    Left(
        task="build/plain", file="bin/load_and_run", rest="profile/m/tuned@any", where=("brought",)
    ),
    Left(
        task="build/profile", file="bin/load_and_run", rest="profile/*#search", where=("brought",)
    ),
    Left(task="reduce/region", file="bin/load_and_run", rest="neighbours/*"),
    Left(task="build/plain", file="*", rest=LINKS, where=PLAIN),
    Left(task="reduce/region", file="*", rest=LINKS),
    Left(task="profile/*", file="trace.txt", rest="header/keepset"),
    Left(
        task="profile/*",
        file="algo.cache",
        rest="functions/m/tuned@any verify/m/tuned@any neighbours/m/tuned@any"
        f" {times('trimming-*', 'm/tuned@any')}" + KEPT,
    ),
    Left(
        task="profile/*",
        file="algo.cache",
        rest="profile/m/tuned@any",
        where=(*HERE, "brought functions"),
    ),
    Left(task="header/keepset", file="include/*", rest=TRIMS),
    Left(
        task="header/keepset",
        file="keepset.json",
        rest="verify/* neighbours/* size/artifacts",
        where=REGION,
    ),
    Left(task="header/keepset", file="keepset.json", rest="functions/keepset"),
    Left(
        task="functions/linked",
        file=FOUND.format("links"),
        rest=f"functions/keepset {LINKS}"
        + "".join(f" functions/{each}" for each in (*ENGINES, "m/app@any")),
    ),
    Left(
        task="functions/keepset",
        file="keepset.json",
        rest=f"{LINKS} verify/* neighbours/* size/artifacts",
    ),
    Left(task="functions/*/*", file="functions.txt", rest="functions/keepset"),
    Left(task="reduce/reduced", file="*", rest="references/shipped"),
    Left(task="build/plain", file="*", rest="references/base", where=(*REGION, "times")),
    Left(task="build/plain", file="*", rest="references/plain"),
    Left(task="functions/linked", file="*", rest="references/base"),
    Left(task="build/profile", file="*", rest="references/profile"),
    Left(task="verdict/verdict", file="verdict.json", rest="report/report"),
)
