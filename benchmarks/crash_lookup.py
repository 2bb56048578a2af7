"""How exactly crashes in the field are named: planted at every place of trimmed programs.

    PYTHONPATH=tests python benchmarks/crash_lookup.py
    PYTHONPATH=tests python benchmarks/crash_lookup.py static shared --out OUT

The sample engine is trimmed in each way twice, without crash ids and with them, and a release is
made of each. A crash is planted at each trap, and at each call of a shared one; its report is a
tombstone with a build id. Every one is looked up in the results and in the release: the answers
must be equal. Reports that do not say enough, or are no fault of trimming, must never get a certain
name, and what a dozen reporters write of a trap is never certain and wrong. Another run with the
same --out builds nothing again. Some minutes for each way at first.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from megtrim.core.chain.result_store import Store
from megtrim.ship.crashes.finding import CrashCause
from megtrim.ship.crashes.lookup import look_up
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.report import parse_report
from megtrim.ship.crashes.trimmed_programs import FinishedTrim, read_newest
from megtrim.ship.release.prove import read_release
from support.crash_reports import (
    PlantedCrash,
    fill_layouts,
    find_kept,
    find_program,
    holds_truth,
    judge,
    list_places,
    look_up_in,
    other_reports,
    plant_in_numbered,
    plant_in_plain,
)
from support.megtrim_cli import ROOT, Project

FEWEST_OTHERS = 10
_CLASSIFY = ROOT / "examples/applications/sample-classify"
_RELR = "-s -Wl,--build-id=none -Wl,-z,pack-relative-relocs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    toolchain: str
    trim: Mapping[str, Any]
    what: str
    shared: bool = False
    """Trim an application and the shared object of the engine, which holds the regions."""
    cmake: Mapping[str, str] | None = None


WAYS: Mapping[str, Way] = {
    "static": Way(
        toolchain="zig", trim={"level": "function"}, what="arm64, regions and functions, static"
    ),
    "folded": Way(
        toolchain="clang-linux-arm64",
        trim={"level": "function", "optimize": "size"},
        what="arm64, regions and functions, every equal function folded",
    ),
    "regions": Way(
        toolchain="clang-linux-arm64", trim={"level": "region"}, what="arm64, regions alone"
    ),
    "shared": Way(
        toolchain="clang-linux-arm64",
        trim={"level": "region"},
        what="arm64, regions of a shared object that an application loads",
        shared=True,
    ),
    "native": Way(
        toolchain="host", trim={"level": "function"}, what="this machine's own architecture"
    ),
    "packed": Way(
        toolchain="host",
        trim={"level": "function"},
        what="this machine's own architecture, relative relocations packed",
        cmake={"CMAKE_EXE_LINKER_FLAGS": _RELR},
    ),
}


@dataclass(slots=True)
class Count:
    planted: int = 0
    exact: int = 0
    held: int = 0
    most: int = 0
    others: int = 0
    wrongly_certain: int = 0
    whole: int = 0
    whole_certain: int = 0


@click.command(epilog=f"Ways: {', '.join(WAYS)}.")
@click.argument("ways", nargs=-1, type=click.Choice(list(WAYS)))
@click.option("--out", type=click.Path(path_type=Path), help="Keep what is built in this folder.")
def main(ways: tuple[str, ...], out: Path | None) -> None:
    """Plant crashes and look them up; exit with 1 if an answer is not as it must be."""
    folder = Path(tempfile.mkdtemp()) if out is None else out.absolute()
    try:
        good = [measure(name, WAYS[name], folder / name) for name in ways or WAYS]
    finally:
        if out is None:
            shutil.rmtree(folder)
    sys.exit(0 if all(good) else 1)


def measure(name: str, way: Way, folder: Path) -> bool:
    click.echo(f"{name}: {way.what}")
    plain, numbered = (_trim(way, folder, crash_ids) for crash_ids in (False, True))
    good = True
    for program in plain[0].programs:
        twin = find_program(numbered[0], program.name)
        found = {
            "without": _count(program, plain, plant_in_plain(program, twin)),
            "with": _count(twin, numbered, plant_in_numbered(twin)),
        }
        for label, count in found.items():
            if count.planted:
                click.echo(f"  {program.name}, {label} crash ids: {_describe(count)}")
                good &= _is_good(count, exact=label == "with")
    return good


def _trim(way: Way, folder: Path, crash_ids: bool) -> tuple[FinishedTrim, FinishedTrim]:
    project = Project.of_sample(folder / "project")
    config = project.read()
    config["toolchain"] = {"kind": way.toolchain}
    config["trim"] = {**config["trim"], **way.trim, "crash_ids": crash_ids}
    config["budgets"] = []
    if way.cmake:
        config["engine"]["cmake"] = dict(way.cmake)
    if way.shared:
        _load_shared(config, project)
    project.write(config)
    released = folder / f"release-{crash_ids}"
    shutil.rmtree(released, ignore_errors=True)
    for verb in (("trim", "--accept"), ("release build", str(released))):
        ended = project.run(*verb, timeout_s=7200)
        if ended.rc:
            msg = f"{way.what}: {' '.join(verb)}:\n{ended.stderr}"
            raise click.ClickException(msg)
    return read_newest(Store(project.out)), read_release(released, shown=str(released))


def _load_shared(config: dict[str, Any], project: Project) -> None:
    shutil.copytree(_CLASSIFY, project.folder / "app", dirs_exist_ok=True)
    application = {"name": "sample-classify", "source": "app", "library": "shared"}
    config["applications"] = [application]
    model = config["models"][0]
    scenario = {
        "name": "shared",
        "application": application["name"],
        "args": ["{model}", "data={input:data}"],
        "inputs": model["scenarios"][0]["inputs"],
    }
    config["models"] = [{**model, "scenarios": [scenario]}]
    config["artifacts"] = [application["name"], "libsample_engine.so"]


def _count(
    program: TrimmedProgram,
    trims: tuple[FinishedTrim, FinishedTrim],
    crashes: Iterable[PlantedCrash],
) -> Count:
    results, release = trims
    count = Count()
    site = 0
    released = find_program(release, program.name)
    for crash in crashes:
        finding = look_up_in(crash, program, results)
        if look_up_in(crash, released, release) != finding:
            msg = f"{program.name}: another answer from the release: {crash}"
            raise click.ClickException(msg)
        held = holds_truth(crash, finding)
        count.planted += 1
        count.held += held
        count.exact += held and finding.cause is CrashCause.LEFT_OUT
        count.most = max(count.most, len(finding.candidates))
        site = crash.site
    if site:
        for _, data in other_reports(program, site):
            finding = look_up(parse_report(data, source="r"), results.programs, results.nameless)
            count.others += 1
            count.wrongly_certain += finding.cause is CrashCause.LEFT_OUT
    if site and program.crash_ids:
        _count_reporters(count, program, site, results)
    return count


def _count_reporters(count: Count, program: TrimmedProgram, site: int, trim: FinishedTrim) -> None:
    crash = PlantedCrash(site=site, truth="")
    (truth,) = look_up_in(crash, program, trim).candidates
    for report in fill_layouts(list_places(program, {truth.name: site}, find_kept(program))):
        certain, wrong = judge(report.place, report.text.encode(), trim.programs)
        count.others += 1
        count.wrongly_certain += wrong
        count.whole += report.whole
        count.whole_certain += report.whole and certain


def _describe(count: Count) -> str:
    return (
        f"{count.planted} planted, exact {count.exact}, truth among the candidates {count.held}, "
        f"at most {count.most}; of {count.others} others wrongly certain {count.wrongly_certain}; "
        f"of {count.whole} by reporters with a build id certain {count.whole_certain}"
    )


def _is_good(count: Count, *, exact: bool) -> bool:
    return (
        count.held == count.planted
        and (count.exact == count.planted or not exact)
        and count.others >= FEWEST_OTHERS
        and not count.wrongly_certain
        and count.whole_certain >= 0.95 * count.whole
    )


if __name__ == "__main__":
    main()
