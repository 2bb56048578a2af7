import hashlib
import io
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.core.build_spec import EngineLibrary, Linkage, Toolchain, Variant
from megtrim.core.chain.graph import HEADER, LINKED, PLAIN, PROFILE, REDUCED, REGION
from megtrim.core.chain.session import Session
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.config.load import load_config
from megtrim.core.config.scenarios import Scenario, all_scenarios
from megtrim.core.evidence.evidence import EvidenceSet, JobPurpose
from megtrim.core.keep.keepset_files import dump_keep_set
from megtrim.core.keep.trace import Trace
from megtrim.core.proof import stage as verify
from megtrim.core.proof import verification
from megtrim.core.proof.trap_diagnosis import ProfileProgram
from megtrim.core.proof.verification import VerificationCase, prove
from megtrim.core.trim.builds import applications, links
from megtrim.core.trim.results import UnfoldedLinksResult
from megtrim.core.trim.runs.execution import run_on
from megtrim.core.trim.runs.scenario_runs import make_run_spec, record_of
from megtrim.core.trim.stages import profile
from megtrim.engines.midout.marks import MidoutTraces
from megtrim.lab.evidence.bundle import Bundle, BundleApplication, read_bundle
from megtrim.lab.jobs import worker
from megtrim.lab.jobs.pack import pack
from megtrim.libs.programs.parity import EXACT, OutputResult
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import InputError
from megtrim.places.compile.projects.checkout import Checkout
from megtrim.places.devices.device import Device
from unit.core.functions.made_links import DATA, Symbol, linked
from unit.core.trim.stages.built import finish
from unit.core.trim.stages.fake_device import FakeDevice
from unit.core.trim.stages.support import changed, keep_set, open_session
from unit.lab.evidence.support import BUNDLE, device

LIBRARY = "libengine.so"
CONFIG = """\
version: 1
engine: {kind: sample}
classes: [{name: any}]
devices: [{name: board, kind: local, class: any, runner: true}]
applications:
- {name: classify, source: app, lto: full}
- {name: served, source: app, library: shared}
- {name: intree}
models:
- name: m
  file: m.mge
  scenarios:
  - {name: s, application: classify, args: ["{model}", "{input:data}"], inputs: {data: d.npy}}
  - {name: t, application: served, args: ["{model}", "--to={outputs}"]}
"""
TRACES = "trace 1\npromise 1\nprint cat\nwrite o cat\n"
SAYS = {
    PLAIN: "print cat\nwrite o cat\n",
    PROFILE: TRACES,
    REDUCED: "print cat\nwrite o cat\nstderr reduced\n",
}


class Engine:
    def identity(self) -> Any:
        return SimpleNamespace(generation=20220507)

    def library(self, linkage: Linkage, toolchain: Toolchain) -> EngineLibrary:
        file = LIBRARY if linkage is Linkage.SHARED else "libengine.a"
        return EngineLibrary(linkage=linkage, file=file, include=("include",))


def built(folder: Path, config: str = CONFIG, says: Mapping[str, str] = SAYS) -> Session:
    base, _ = open_session(folder)
    (folder / "d.npy").write_bytes(b"numbers")
    (folder / "app").mkdir()
    (folder / "app/CMakeLists.txt").write_text("project(x)\n", encoding="utf-8")
    (folder / "megtrim.yaml").write_text(config, encoding="utf-8")
    checkout = Checkout(root=folder / "app", files={"CMakeLists.txt": "a"}, commit="", dirty=())
    made = changed(
        base,
        loaded=load_config(folder / "megtrim.yaml"),
        engine=cast("Any", Engine()),
        toolchain=cast(
            "Any", SimpleNamespace(machine="aarch64", sysroot=None, kind="ndk", link_flags=())
        ),
        devices={"any": cast("Device", FakeDevice("board"))},
        applications={"classify": checkout, "served": checkout},
    )
    for task, text in says.items():
        files = {"bin/classify": text, "bin/served": text, f"bin/{LIBRARY}": f"library of {task}"}
        finish(made, task, files)
    finish(made, HEADER, {"keepset.json": dump_keep_set(keep_set(1))})
    return made


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def scenarios(made: Session) -> tuple[Scenario, Scenario]:
    one, two = all_scenarios(made.request.config)
    return one, two


@pytest.mark.parametrize(
    ("number", "task", "argv", "put", "outputs"),
    [
        (
            0,
            PLAIN,
            "classify model.mge input0.npy",
            "classify input0.npy model.mge",
            {"standard output": b"cat\n"},
        ),
        (
            1,
            REDUCED,
            "served model.mge --to=dump",
            f"{LIBRARY} model.mge served",
            {"o": b"cat"},
        ),
    ],
    ids=["alone", "with its shared object"],
)
def test_a_run_of_an_application(
    tmp_path: Path, number: int, task: str, argv: str, put: str, outputs: dict[str, bytes]
) -> None:
    made = built(tmp_path)
    scenario = scenarios(made)[number]
    device = FakeDevice()
    program = applications.program(scenario, made.request, made.results.done[task])

    seen = run_on(device, make_run_spec(scenario, made, program, cache=None))

    assert device.runs == [tuple(argv.split())]
    assert sorted(device.put[0]) == put.split()
    assert device.put[0].get(LIBRARY, b"").decode() in ("", f"library of {task}")
    assert seen.outputs == outputs


def test_what_a_run_depends_on_holds_the_shared_object(tmp_path: Path) -> None:
    made = built(tmp_path)
    one, two = scenarios(made)

    assert applications.digests(one, made, PLAIN, "plain") == {"plain": sha(SAYS[PLAIN])}
    assert applications.digests(two, made, PLAIN, "plain") == {
        "plain": sha(SAYS[PLAIN]),
        f"plain {LIBRARY}": sha("library of build/plain"),
    }
    named = verify.named_inputs(two, made)
    assert named[f"reduced {LIBRARY}"] == sha("library of reduce/reduced")
    assert named["arguments"] == "served '{model}' '--to={outputs}'"
    assert profile.named_inputs(two, made)[f"program {LIBRARY}"] == sha("library of build/profile")
    record = record_of(two, made, Trace(regions=(), sha256="a"))
    assert record.arguments == ("served", "{model}", "--to={outputs}")


@pytest.mark.parametrize(
    ("plain", "reduced", "status", "said"),
    [
        ({"o": b"cat"}, {"o": b"cat"}, "pass", "outputs equal to the last bit (1 output, 3 bytes)"),
        (
            {"o": b"cat"},
            {"o": b"dog"},
            "parity",
            "output o: differs from byte 1 on (3 against 3 bytes)",
        ),
        ({"o": b""}, {"o": b""}, "parity", "the output o is empty: that proves nothing"),
        ({}, {}, "parity", "the plain build wrote no output"),
        ({"o": b"cat"}, {}, "parity", "output o came only from the plain build"),
    ],
)
def test_equal_words_alone_are_a_proof(
    plain: dict[str, bytes], reduced: dict[str, bytes], status: str, said: str
) -> None:
    found = verification.compare_outputs(plain, reduced, EXACT, verification.FileJudge())

    assert (found.status, found.text) == (status, said)
    same = OutputResult(name="o", size_bytes=3, equal=True, largest_difference=0.0)
    assert status != "pass" or found.outputs == (same,)


def test_a_trap_is_explained_by_the_applications_own_profile_build(tmp_path: Path) -> None:
    says = SAYS | {PROFILE: "trace 1 7\npromise 2\nprint cat\n", REDUCED: "exit 133\n"}
    made = built(tmp_path, says=says)
    scenario, _ = scenarios(made)
    built_in = {
        task: applications.program(scenario, made.request, made.results.done[task]) for task in says
    }
    trial = VerificationCase(
        spec=make_run_spec(scenario, made, built_in[PLAIN], cache=None),
        reduced=built_in[REDUCED],
        profile=ProfileProgram(program=built_in[PROFILE], traces=MidoutTraces()),
        keep=keep_set(1),
        tolerance=EXACT,
    )

    ended = prove(trial, FakeDevice(), lambda _variant, _seen: None)

    assert ended.status == "trap"
    assert ended.missing_regions == ("kern<7>",)


def packed(made: Session, purpose: JobPurpose, to: Path) -> Bundle:
    pack(made, purpose, EvidenceSet(entries=()), to)
    return read_bundle(to)


def test_functions_are_recorded_of_applications_and_shared_objects(tmp_path: Path) -> None:
    made = built(tmp_path, config=CONFIG + "trim: {level: function}\n")
    held = {"classify": "7" * 64, LIBRARY: "8" * 64}
    probed = (*held, "served")
    links = {f"links/probed/{name}": f"probed {name}" for name in probed}
    links |= {f"links/unfolded/{name}": f"unfolded {name}" for name in held}
    listed = {f"links/unfolded/{name}.observables": f"list of {name}" for name in held}
    left = finish(made, LINKED, links | listed)
    made.results.done[LINKED] = replace(left, result=UnfoldedLinksResult(links=held))
    bundle = packed(made, JobPurpose.RECORD, tmp_path / "bundle")

    linked = {each.application: each.link for each in bundle.scenarios}
    assert linked == {"classify": held["classify"], "served": held[LIBRARY]}
    assert bundle.applications == (
        BundleApplication(
            name="classify",
            programs={
                **{label: sha(f"{label} classify") for label in ("unfolded", "probed")},
                "observables": sha("list of classify"),
            },
            companions={},
        ),
        BundleApplication(
            name="served",
            programs={"probed": sha("probed served"), "observables": sha(f"list of {LIBRARY}")},
            companions={"probed": {LIBRARY: sha(f"probed {LIBRARY}")}},
        ),
    )


def test_a_bundle_holds_applications_and_what_lies_next_to_them(tmp_path: Path) -> None:
    made = built(tmp_path)
    bundle = packed(made, JobPurpose.VERIFY, tmp_path / "bundle")

    variants = (("plain", PLAIN), ("profile", PROFILE), ("reduced", REDUCED))
    texts = {name: sha(SAYS[task]) for name, task in variants}
    assert bundle.programs == {}
    assert bundle.applications == (
        BundleApplication(name="classify", programs=texts, companions={}),
        BundleApplication(
            name="served",
            programs=texts,
            companions={name: {LIBRARY: sha(f"library of {task}")} for name, task in variants},
        ),
    )
    assert [each.application for each in bundle.scenarios] == ["classify", "served"]
    assert bundle.scenarios[1].arguments == ("{model}", "--to={outputs}")


@pytest.mark.parametrize("purpose", [JobPurpose.VERIFY, JobPurpose.TRACE])
def test_a_device_job_runs_applications(tmp_path: Path, purpose: JobPurpose) -> None:
    same = dict.fromkeys(SAYS, TRACES)
    made = built(tmp_path, says=same)
    bundle = packed(made, purpose, tmp_path / "bundle")
    lease = FakeDevice()
    (tmp_path / "work").mkdir()
    job = worker.DeviceJob(
        bundle=bundle,
        folder=tmp_path / "bundle",
        sha256=BUNDLE,
        work=tmp_path / "work",
        scenarios=bundle.scenarios,
        asked=device(name="board"),
        today=date(2027, 1, 31),
    )

    found = worker.run(job, lambda: lease, Console(io.StringIO()))

    (entry,) = found.evidence.entries
    assert [each.status for each in entry.results] == [ScenarioStatus.PASS] * 2
    libraries = [files[LIBRARY].decode() for files in lease.put if LIBRARY in files]
    expected = (
        ("build/plain", "reduce/reduced") if purpose is JobPurpose.VERIFY else ("build/profile",)
    )
    assert libraries == [f"library of {task}" for task in expected]


def test_what_is_built(tmp_path: Path) -> None:
    made = built(tmp_path)

    assert applications.targets(made) == ("intree", "libengine.a", LIBRARY)
    assert applications.holders(made) == ("classify", "intree", LIBRARY)
    for variant in (Variant.PLAIN, Variant.REDUCED):
        assert applications.lto_flags(made.request, variant) == ("-flto=full",)
    assert applications.lto_flags(made.request, Variant.PROFILE) == ()
    assert [each.lto for each in applications.list_specs(made, Variant.PROFILE)] == [False, False]
    specs = applications.list_specs(made, Variant.REDUCED)
    assert [(each.name, each.library.file, each.lto) for each in specs] == [
        ("classify", "libengine.a", True),
        ("served", LIBRARY, False),
    ]


def test_what_is_trimmed_by_functions(tmp_path: Path) -> None:
    """What scenarios run: an application, or the shared object that it loads."""
    text = CONFIG + "trim: {level: function}\nartifacts: [libengine.so, libother.so]\n"
    made = built(tmp_path, config=text)

    assert applications.linked_again(made) == ("classify", LIBRARY)
    assert [applications.holder_of(each, made) for each in scenarios(made)] == ["classify", LIBRARY]
    assert applications.users(LIBRARY, made) == ("served",)
    assert applications.users("classify", made) == ()
    (warned,) = applications.warn_of_libraries(made)
    assert warned.startswith("libother.so is trimmed only by regions: no scenario runs an app")


@pytest.mark.parametrize(
    ("exports", "hidden"),
    [
        ("['@applications']", "b_more c_data"),
        ("['@applications', 'b*']", "c_data"),
        ("[a_run, c_data]", "b_more"),
        ("['d*', a_run]", "trim.exports[0]: libengine.so exports nothing like 'd*'"),
        ("[b_more]", "trim.exports: served imports a_run, which libengine.so would not export"),
    ],
)
def test_exports_that_are_taken_away(tmp_path: Path, exports: str, hidden: str) -> None:
    made = built(tmp_path, config=CONFIG + f"trim: {{level: function, exports: {exports}}}\n")
    names = (Symbol(name="a_run"), Symbol(name="b_more"), Symbol(name="c_data", kind=DATA))
    shared = {LIBRARY: names, "served": (Symbol(name="a_run", at=None),)}
    files = {f"bin/{name}": linked((), dynamic=table) for name, table in shared.items()}
    texts = {name: data.decode("utf-8", "surrogateescape") for name, data in files.items()}
    finish(made, REGION, texts)

    try:
        found = " ".join(links.find_hidden(LIBRARY, made))
    except InputError as error:
        found = error.message.partition(": ")[2]
    assert found == hidden


def test_a_shared_object_that_no_one_weighs_is_warned_of(tmp_path: Path) -> None:
    warned = f"served needs {LIBRARY}, whose size is not measured: name it in `artifacts`"
    assert list(applications.warn_of_libraries(built(tmp_path))) == [warned]

    (tmp_path / "reported").mkdir()
    reported = built(tmp_path / "reported", CONFIG + f"artifacts: [served, {LIBRARY}]\n")
    assert list(applications.warn_of_libraries(reported)) == []


@pytest.mark.parametrize(
    ("kind", "link_flags", "said"),
    [
        ("zig", ("-static",), "application served: zig makes static programs"),
        ("host", (), "application classify: lto: full needs clang, found g++ 12"),
    ],
)
def test_what_a_toolchain_cannot_make_is_refused(
    tmp_path: Path, kind: str, link_flags: tuple[str, ...], said: str
) -> None:
    toolchain = SimpleNamespace(kind=kind, link_flags=link_flags, version="g++ 12")
    made = changed(built(tmp_path), toolchain=cast("Any", toolchain))

    with pytest.raises(InputError) as caught:
        applications.expect_buildable(made)

    assert caught.value.message.startswith(said)
