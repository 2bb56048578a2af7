import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.chain.session import Session
from megtrim.core.checks.check import Check, DeviceIdentity
from megtrim.core.checks.statuses import CheckKind, CheckStatus, decide
from megtrim.core.evidence.evidence import parse_set
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import Verdict, to_json
from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.release.archive import write_folder
from megtrim.ship.release.check import ReleaseCheck, check_release, clean_proofs
from megtrim.ship.release.collect import collect_parts, collect_release, list_stage_keys
from megtrim.ship.release.contents import PROOFS_PATH, RELEASE_FILE, ReleaseContents
from megtrim.ship.release.prove import (
    compare_rebuild,
    is_traced,
    prove,
    prove_release,
    read_release,
)
from support.made_programs import ID
from unit.core.verdict.examples import RESNET, facts, passing, scenario
from unit.ship.crashes.made_programs import numbered, program
from unit.ship.release.examples import (
    BINDING,
    BUILT,
    CONFIG,
    MODELS,
    contents,
    documents,
    keep_set,
    make_session,
    proofs_of,
    sha,
    write,
    write_release,
)

FOUND = join(facts(scenarios=(scenario(RESNET, binding=BINDING),)))
_PLAYED = replace(
    contents(FOUND), draft=True, keep_set_sha256=sha(keep_set(passing(), models=MODELS))
)
DRAFT = replace(
    _PLAYED,
    scenarios=tuple(replace(each, on_devices=CheckStatus.UNVERIFIED) for each in _PLAYED.scenarios),
)


def joined(status: CheckStatus) -> Verdict:
    check = Check(
        id=f"device:{RESNET}",
        kind=CheckKind.DEVICE,
        subject=RESNET,
        status=status,
        text="pixel-6: equal",
        file="megtrim.yaml",
    )
    checks = (*FOUND.checks, check)
    return replace(FOUND, verdict=decide(each.status for each in checks), checks=checks)


class Drafts:
    def __init__(self, folder: Path, *, described: ReleaseContents = DRAFT) -> None:
        self.folder = folder
        self.draft = write(folder / "draft", documents(described=described))
        self.proofs = folder / "evidence.json"
        self.proofs.write_text(proofs_of(BINDING), encoding="utf-8")

    def prove(self, verdict: Verdict, again: Path | None = None) -> Path:
        said = self.folder / "verdict.json"
        said.write_text(to_json(verdict), encoding="utf-8")
        files = prove_release(self.draft, said, proofs=self.proofs, again=again)
        write_folder(files, self.folder / "release")
        return self.folder / "release"


@pytest.fixture
def drafts(tmp_path: Path) -> Drafts:
    return Drafts(tmp_path)


def test_a_proof_makes_it_a_release(drafts: Drafts) -> None:
    problem, unproven = check_release(drafts.draft).problems
    assert "it is a draft" in problem
    assert f"{RESNET} is not proven" in unproven
    release = drafts.prove(joined(CheckStatus.PASS))
    found = check_release(release)

    assert found.problems == ()
    assert found.files[PROOFS_PATH]
    assert (release / "bin/load_and_run").read_bytes() == (
        drafts.draft / "bin/load_and_run"
    ).read_bytes()


def test_no_one_learns_which_machine_it_was(drafts: Drafts) -> None:
    """Its make and model, but neither a phone's serial number nor a host in the team's network."""
    text = drafts.proofs.read_text(encoding="utf-8")
    (facts,) = {json.dumps(each["device"]["facts"]) for each in json.loads(text)["entries"]}
    found = json.loads(text)
    for each in found["entries"]:
        each["device"]["facts"] |= {"serial": "9A2B3C", "host": "lab-7.acme", "model": "Pixel 6"}
    drafts.proofs.write_text(json.dumps(found), encoding="utf-8")
    release = drafts.prove(joined(CheckStatus.PASS))
    contents_text = (release / RELEASE_FILE).read_text(encoding="utf-8")
    proofs_text = (release / PROOFS_PATH).read_text(encoding="utf-8")

    assert "Pixel 6" in contents_text
    assert not {"9A2B3C", "lab-7.acme"} & {*re.findall(r"[\w.-]+", contents_text + proofs_text)}
    (proof,) = json.loads(proofs_text)["entries"]
    assert proof["device"]["facts"] == json.loads(facts) | {"model": "Pixel 6"}


def test_proven_again_it_stays_the_same(drafts: Drafts) -> None:
    first = check_release(drafts.prove(joined(CheckStatus.PASS))).sha256
    text = drafts.proofs.read_text(encoding="utf-8")
    slower = text.replace('"time_s": 1.5', '"time_s": 99.0')
    assert slower != text
    drafts.proofs.write_text(slower, encoding="utf-8")
    shutil.rmtree(drafts.folder / "release")

    assert check_release(drafts.prove(joined(CheckStatus.PASS))).sha256 == first


@pytest.mark.parametrize(
    ("status", "verdict", "failure"),
    [
        (CheckStatus.UNVERIFIED, "unverified", InfrastructureFailure),
        (CheckStatus.INFRASTRUCTURE, "unverified", InfrastructureFailure),
        (CheckStatus.FAIL, "fail", ProductFailure),
    ],
)
def test_a_silent_or_failing_device_makes_none(
    status: CheckStatus, verdict: str, failure: type[MegtrimError], drafts: Drafts
) -> None:
    with pytest.raises(failure, match=f"the verdict is {verdict}, so there is nothing"):
        drafts.prove(joined(status))


def test_where_no_device_had_to_run_it_the_build_proves_it(tmp_path: Path) -> None:
    """The joined verdict has no check of a device then, and proofs of devices are left out."""
    release = Drafts(tmp_path, described=_PLAYED).prove(FOUND)

    assert check_release(release).problems == ()
    assert not (release / PROOFS_PATH).exists()


def test_a_verdict_of_another_build_is_refused(drafts: Drafts) -> None:
    good = joined(CheckStatus.PASS)
    other = tuple(replace(each, binding="c" * 64) for each in good.scenarios)

    with pytest.raises(InputError, match="is from another build than the draft"):
        drafts.prove(replace(good, scenarios=other))


@pytest.mark.parametrize("binding", [None, "c" * 64])
def test_without_a_proof_there_is_no_release(binding: str | None, drafts: Drafts) -> None:
    if binding is not None:
        drafts.proofs.write_text(proofs_of(binding), encoding="utf-8")
    said = drafts.folder / "said.json"
    said.write_text(to_json(joined(CheckStatus.PASS)), encoding="utf-8")
    proofs = None if binding is None else drafts.proofs

    with pytest.raises(InputError, match=f"{RESNET}: there is no proof of these programs"):
        prove_release(drafts.draft, said, proofs=proofs, again=None)


def test_a_damaged_draft_is_refused(drafts: Drafts) -> None:
    (drafts.draft / "bin/load_and_run").write_text("other", encoding="utf-8")

    with pytest.raises(ProductFailure, match="bin/load_and_run was changed"):
        drafts.prove(joined(CheckStatus.PASS))


def test_what_was_built_again_must_be_equal(drafts: Drafts, tmp_path: Path) -> None:
    same = write(tmp_path / "same", documents(described=DRAFT))
    differing = replace(DRAFT, artifacts=contents(program="other\n").artifacts)
    other = write(tmp_path / "other", documents(described=differing, program="other\n"))

    with pytest.raises(
        ProductFailure, match="was built from the same inputs, but differs"
    ) as caught:
        drafts.prove(joined(CheckStatus.PASS), again=other)
    assert "\n  bin/load_and_run\n" in caught.value.message
    assert drafts.prove(joined(CheckStatus.PASS), again=same).is_dir()


RUNNER = "devices: [{name: pixel-6, kind: local, class: any, runner: true}]\n"
VERDICT = replace(
    passing(), scenarios=tuple(replace(each, binding=BINDING) for each in passing().scenarios)
)
OTHER_ENGINE = replace(VERDICT.engine, digest="e" * 64, commit="")
OTHER_TOOLCHAIN = replace(VERDICT.toolchain, version="clang 15.0.0")
PHONE = DeviceIdentity(name="phone", kind="adb", facts={})


def release(session: Session, folder: Path, *, proven: bool = False) -> ReleaseCheck:
    files = collect_release(session, megtrim="0.1.0")
    if proven:
        contents, payload = collect_parts(session, draft=True)
        proofs = clean_proofs(contents, parse_set(proofs_of(BINDING), source="p"))
        stages = list_stage_keys(session)
        files = prove(contents, payload, proofs, stages=stages, megtrim="0.1.0")
    write_folder(files, folder)
    found = check_release(folder)
    assert found.problems == ()
    return found


def compare(
    found: ReleaseCheck, session: Session, *, megtrim: str = "0.1.0", other: bool = False
) -> tuple[str, ...]:
    return compare_rebuild(found, session, megtrim=megtrim, by_other_device=other)


@pytest.mark.parametrize("proven", [False, True])
def test_equal_bytes_are_no_difference(proven: bool, tmp_path: Path) -> None:
    config = CONFIG + RUNNER * proven
    found = release(
        make_session(tmp_path / "a", VERDICT, config=config), tmp_path / "r", proven=proven
    )

    assert compare(found, make_session(tmp_path / "b", VERDICT, config=config)) == ()
    assert not is_traced(found)


def differ(verdict: Verdict = VERDICT, **changes: object) -> Callable[[Path], Session]:
    return lambda folder: make_session(folder, verdict, **changes)  # type: ignore[arg-type]


DIFFERENCES: dict[str, tuple[Callable[[Path], Session], tuple[str, ...]]] = {
    "program": (
        differ(bins=BUILT | {"bin/load_and_run": "other"}),
        ("bin/load_and_run has other bytes: its sha256 is ",),
    ),
    "less": (
        differ(bins={"bin/load_and_run": "reduced"}),
        ("lib/libengine.so was not built", "include/lite/network.h was not built"),
    ),
    "more": (
        differ(bins=BUILT | {"bin/tool": "tool"}),
        ("bin/tool was built, and is not in the release", "release.json has other bytes"),
    ),
    "engine": (
        differ(replace(VERDICT, engine=OTHER_ENGINE)),
        ("the source is another: digest eeeeeeeeeeee here, c2f1e0b6a3d9 in the release",),
    ),
    "toolchain": (
        differ(replace(VERDICT, toolchain=OTHER_TOOLCHAIN)),
        ("the toolchain is another: clang-linux-arm64 clang 15.0.0 for aarch",),
    ),
    "configuration": (
        differ(config=f"{CONFIG}# more\n"),
        (
            "megtrim.yaml is not the configuration of the release",
            "share/configuration/megtrim.yaml has other bytes",
        ),
    ),
    "device": (
        differ(replace(VERDICT, devices=(*VERDICT.devices, PHONE))),
        ("release.json has other bytes", "SHA256SUMS has other bytes"),
    ),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_difference_is_named(name: str, tmp_path: Path) -> None:
    build, expected = DIFFERENCES[name]
    found = release(make_session(tmp_path / "a", VERDICT), tmp_path / "r")
    lines = "\n".join(compare(found, build(tmp_path / "b")))

    assert [each for each in expected if each not in lines] == []


def test_another_megtrim_is_named_and_another_device_may_run_it(tmp_path: Path) -> None:
    session = make_session(tmp_path / "a", VERDICT)
    found = release(session, tmp_path / "r")
    said = "megtrim is another: 9.9.9 here, 0.1.0 in the release"
    assert said in compare(found, session, megtrim="9.9.9")

    verdict = replace(
        VERDICT,
        devices=(PHONE,),
        scenarios=tuple(replace(each, device="phone") for each in VERDICT.scenarios),
    )
    session = make_session(tmp_path / "b", verdict)

    assert compare(found, session) != ()
    assert compare(found, session, other=True) == ()


@pytest.mark.parametrize("make", [program, numbered])
def test_it_is_what_the_results_have(make: Callable[[], TrimmedProgram], tmp_path: Path) -> None:
    expected = make()
    folder = write_release(tmp_path / "release", expected)
    trim = read_release(folder, shown="release")

    (found,) = trim.programs
    for name in ("shipped", "table", "left_out", "crash_ids"):
        assert getattr(found, name) == getattr(expected, name), name
    assert found.build_id == ID
    assert found.trims_regions
    assert len(trim.keep.scenarios) == 3


def test_without_the_list_regions_alone_were_trimmed(tmp_path: Path) -> None:
    made = replace(program(), left_out=())
    (found,) = read_release(write_release(tmp_path / "r", made, left_out=""), shown="r").programs

    assert found.left_out == ()


def test_without_symbols_or_with_damaged_ones(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "without", program(), symbols=False)
    with pytest.raises(InputError, match="r: no program has a twin with symbols"):
        read_release(folder, shown="r")

    folder = write_release(tmp_path / "r", program())
    (folder / "symbols/app").write_bytes(b"another")

    with pytest.raises(ProductFailure, match="symbols/app was changed"):
        read_release(folder, shown="r")
