import io
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.build_spec import Origin
from megtrim.core.chain.graph import HEADER, PLAIN, REDUCED, REPORT, SIZE, VERDICT
from megtrim.core.chain.session import Session
from megtrim.core.checks.check import ToolchainIdentity
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.size.aar import plan_aar, weigh_aar
from megtrim.core.size.baseline import dump_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.byte_table import ByteTable
from megtrim.core.size.growth.causes import InputPrint
from megtrim.core.verdict.join import join
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import InputError
from megtrim.ship.release.archive import write_folder
from megtrim.ship.release.check import check_release
from megtrim.ship.release.collect import collect_export, collect_release, list_stage_keys
from megtrim.ship.release.contents import AAR_PATH, parse_contents
from unit.core.trim.stages.built import finish
from unit.core.trim.stages.support import changed
from unit.core.verdict.examples import PLAIN_BYTES, RESNET, facts, passing, scenario
from unit.libs.elf.made_objects import shared_library
from unit.ship.release.examples import BUILT, make_session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return make_session(tmp_path / "team", passing())


RELEASED = [
    "README.md",
    "SHA256SUMS",
    "bin/load_and_run",
    "include/lite/c/network.h",
    "include/lite/network.h",
    "lib/cmake/MegEngineTrimmed/MegEngineTrimmedConfig.cmake",
    "lib/libengine.so",
    "licences/LICENSE",
    "licences/third_party/flat/COPYING.txt",
    "provenance.intoto.json",
    "release.json",
    "sbom.cdx.json",
    "share/algorithm-caches/resnet18-s/default@any.cache",
    "share/configuration/megtrim.yaml",
    "share/configuration/megtrim/other.yaml",
    "share/keepset.json",
    "share/sizes.json",
]


def test_a_release_holds_what_people_use(session: Session, tmp_path: Path) -> None:
    """Another folder gives equal bytes."""
    sessions = (session, make_session(tmp_path / "elsewhere", passing()))
    one, other = (
        [(each.path, each.sha256) for each in collect_release(made, megtrim="0.1.0")]
        for made in sessions
    )

    assert sorted(path for path, _ in one) == RELEASED
    assert one == other
    assert {PLAIN, HEADER, REDUCED} <= list_stage_keys(session).keys()
    assert not {VERDICT, REPORT, SIZE} & list_stage_keys(session).keys()


def measure(origin: Origin) -> str:
    file = ("load_and_run", "reduced")
    return dump_sizes(
        Baseline(
            sizes={file: 7},
            parts={file: ByteTable(least_bytes=64, components={"runtime": {"main": 7}})},
            measured={file: {"deflated": 5}},
            made_from=InputPrint(made_from={"flags": "a1"}),
            quick=True,
            origin=origin,
        )
    )


def test_a_release_has_all_that_was_measured(session: Session) -> None:
    """What the sizes are of stays out: a release is the same in each checkout."""
    finish(session, SIZE, {"sizes.json": measure(Origin(project="vision-app", commit="c" * 40))})

    released = {each.path: each.source for each in collect_release(session, megtrim="0.1.0")}
    assert released["share/sizes.json"] == measure(Origin()).encode()


def test_an_export_has_the_report_in_place_of_the_provenance(session: Session) -> None:
    """The report says how long things took: no two are alike."""
    proof = {"SHA256SUMS", "provenance.intoto.json", "sbom.cdx.json"}
    pages = {"report/index.html", "report/report.md"}

    assert {each.path for each in collect_export(session)} == {*RELEASED} - proof | pages


def with_library(exported: str) -> dict[str, str]:
    text = shared_library(exported).decode("utf-8", "surrogateescape")
    return BUILT | {"bin/libengine.so": text}


def test_a_release_for_android_has_an_aar(tmp_path: Path) -> None:
    toolchain = ToolchainIdentity(kind="ndk", target="aarch64-linux-android23", version="NDK r21")
    verdict = replace(passing(), toolchain=toolchain)
    session = make_session(tmp_path / "team", verdict, bins=with_library("LITE_run"))
    write_folder(collect_release(session, megtrim="0.1.0"), tmp_path / "release")

    assert check_release(tmp_path / "release").problems == ()
    size_bytes = (tmp_path / "release" / AAR_PATH).stat().st_size
    assert weigh_aar(session, session.done[REDUCED]) == {"libengine.so": size_bytes}

    stream = io.StringIO()
    seen = make_session(tmp_path / "seen", verdict, bins=with_library("_Znwm"))
    seen = changed(seen, console=Console(stream))
    assert AAR_PATH not in {each.path for each in collect_export(seen)}
    assert "there is no AAR: lib/libengine.so exports" in stream.getvalue()
    assert weigh_aar(seen, seen.results.done[REDUCED]) == {}


def test_only_a_single_library_for_android_has_an_aar(session: Session, tmp_path: Path) -> None:
    assert weigh_aar(session, session.done[REDUCED]) == {}
    toolchain = ToolchainIdentity(kind="ndk", target="aarch64-linux-android23", version="NDK r21")
    verdict = replace(passing(), toolchain=toolchain)
    for bins in ({"bin/load_and_run": ""}, with_library("f") | {"bin/libmore.so": ""}):
        made = make_session(tmp_path / str(len(bins)), verdict, bins=bins)
        assert plan_aar(made, made.results.done[REDUCED]) is None


def test_a_release_passes_its_own_check(session: Session, tmp_path: Path) -> None:
    write_folder(collect_release(session, megtrim="0.1.0"), tmp_path / "release")
    found = check_release(tmp_path / "release", model=tmp_path / "team/m.mge")

    assert found.problems == ()
    text = (tmp_path / "release/release.json").read_text(encoding="utf-8")
    contents = parse_contents(text, source="release.json")
    assert contents == found.contents
    assert contents.artifacts[0].plain_bytes == PLAIN_BYTES


def test_what_is_not_proven_is_not_released(tmp_path: Path) -> None:
    """It may be exported, and its README says so; a draft is for devices elsewhere."""
    pending = (scenario(RESNET, status=ScenarioStatus.UNVERIFIED, outputs=()),)
    session = make_session(tmp_path / "team", join(facts(scenarios=pending)))

    with pytest.raises(
        InputError, match="the verdict is unverified, so there is nothing to release"
    ):
        collect_release(session, megtrim="0.1.0")
    assert collect_release(session, megtrim="0.1.0", draft=True)
    [readme] = [each for each in collect_export(session) if each.path == "README.md"]
    assert isinstance(readme.source, bytes)
    assert b"| unverified |" in readme.source


def test_without_a_library_there_are_no_headers(tmp_path: Path) -> None:
    session = make_session(tmp_path / "team", passing(), bins={"bin/load_and_run": "reduced"})

    assert not [each for each in collect_export(session) if each.path.startswith("include/")]


@pytest.mark.parametrize(
    ("more", "symbols"),
    [
        ({"links/shipped/load_and_run": "unstripped", "links/shipped/x.map": ""}, ["load_and_run"]),
        (
            dict.fromkeys(("unstripped/load_and_run", "unstripped/libengine.so"), "symbols"),
            ["libengine.so", "load_and_run"],
        ),
    ],
    ids=["by functions", "by regions"],
)
def test_symbols_are_apart(tmp_path: Path, more: dict[str, str], symbols: list[str]) -> None:
    session = make_session(tmp_path / "team", passing(), bins=BUILT | more)
    released, exported = (
        sorted(each.path for each in files if each.path.startswith("symbols/"))
        for files in (collect_release(session, megtrim="0.1.0"), collect_export(session))
    )

    assert (released, exported) == ([f"symbols/{each}" for each in symbols], [])
