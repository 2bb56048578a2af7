import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.core.build_spec import Link
from megtrim.core.chain.graph import (
    FUNCTIONS,
    HEADER,
    LINKED,
    NAMED,
    PLAIN,
    PROFILE,
    REDUCED,
    search_task,
)
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.config.device import CoolDown, DeviceSettings, PowerPort
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.evidence.binding import binding
from megtrim.core.evidence.evidence import EvidenceSet, JobPurpose
from megtrim.core.proof import stage as verify
from megtrim.core.trim.results import UnfoldedLinksResult
from megtrim.core.trim.stages import functions, profile
from megtrim.lab.evidence.bundle import DROPPED, BundleDevice, BundleInput, read_bundle
from megtrim.lab.jobs.pack import expect_packable, pack, purpose_of, runner_classes, select
from megtrim.libs.programs.parity import EXACT, Tolerance
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import dump
from unit.core.trim.stages.built import (
    CONFIG,
    KEEP,
    LINKS,
    OBSERVABLES,
    OBSERVED,
    PROGRAMS,
    built,
    finish,
    linked,
)
from unit.core.trim.stages.support import changed
from unit.lab.evidence.support import evidence, output, result

NONE = EvidenceSet(entries=())
ANY = "m/s@any"
BIG = "m/s@big"
OTHER = "m/t@any"
BOARD = DeviceIdentity(name="board", kind="local", facts={})


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def ids(selected: Sequence[Any]) -> list[str]:
    return [each.id for each, _ in selected]


def proof(
    session: Session,
    id_: str = ANY,
    *,
    day: str = "2027-01-31",
    device: DeviceIdentity = BOARD,
    **changes: Any,
) -> Any:
    bound = {each.id: text for each, text in select(session, JobPurpose.VERIFY, NONE).asked}
    given = {"scenario": id_, "binding": bound[id_]} | changes
    entry = evidence(result(**given), day=day, device=device)
    return EvidenceSet(entries=(entry,))


@pytest.mark.parametrize("committed", [True, False])
def test_what_no_bundle_takes_is_refused_before_anything_is_built(
    tmp_path: Path, committed: bool
) -> None:
    expect_packable(built(tmp_path / "good", committed=committed))
    long = CONFIG.replace("timeout: 90 s", "timeout: 2 days")
    session = built(tmp_path / "long", config=long, committed=committed)
    with pytest.raises(InputError) as caught:
        expect_packable(session)

    assert caught.value.message == (
        f"{tmp_path}/long/megtrim.yaml:12: m/s@any.timeout_s: "
        "found 172800.0, expected up to a day of seconds"
    )
    assert caught.value.hint == (
        "change it in the configuration: devices on runners take nothing else"
    )
    elsewhere = long.replace(", runner: true", "")
    expect_packable(built(tmp_path / "elsewhere", config=elsewhere, committed=committed))


def test_a_quick_trim_may_search(tmp_path: Path) -> None:
    session = built(tmp_path, config=SEARCHES, quick=True)
    expect_packable(session)
    found = all_scenarios(session.config)
    finish(session, search_task(next(found)), {"algo.cache": "found"})
    packed = pack(session, JobPurpose.VERIFY, NONE, tmp_path / "bundle")

    assert [(each.cache, each.search) for each in packed.scenarios] == [
        (sha("found"), False),
        (None, False),
    ]


@pytest.mark.parametrize(
    ("purpose", "stage", "asked", "elsewhere"),
    [
        (JobPurpose.VERIFY, verify, [ANY, OTHER], {}),
        (JobPurpose.TRACE, profile, [ANY, BIG, OTHER], {"big": 1}),
    ],
)
def test_classes_with_a_runner_are_asked_and_to_trace_all(
    tmp_path: Path, purpose: JobPurpose, stage: Any, asked: list[str], elsewhere: dict[str, int]
) -> None:
    session = built(tmp_path)
    selected = select(session, purpose, NONE)

    assert runner_classes(session.request) == {"any"}
    assert (ids(selected.asked), selected.proven) == (asked, ())
    for scenario, bound in selected.asked:
        assert bound == binding(stage.named_inputs(scenario, session))
    assert selected.counts(runners=frozenset({"any"}), on_runners=True) == {"any": 2}
    assert selected.counts(runners=frozenset({"any"}), on_runners=False) == elsewhere


def test_a_binding_does_not_name_the_device(tmp_path: Path) -> None:
    session = built(tmp_path)
    other = changed(
        session, devices={**session.services.devices, "any": session.services.devices["big"]}
    )
    cast("Any", session.services.devices["any"]).kind = "another"

    for purpose in (JobPurpose.VERIFY, JobPurpose.TRACE, JobPurpose.RECORD):
        assert [b for _, b in select(session, purpose, NONE).asked] == [
            b for _, b in select(other, purpose, NONE).asked
        ]


@pytest.mark.parametrize("lacking", [PLAIN, REDUCED, HEADER])
def test_without_programs_nothing_is_asked(tmp_path: Path, lacking: str) -> None:
    session = built(tmp_path)
    del session.done[lacking]

    assert select(session, JobPurpose.VERIFY, NONE).asked == ()
    assert bool(select(session, JobPurpose.TRACE, NONE).asked) is (lacking != PLAIN)


@pytest.mark.parametrize(
    ("changes", "fresh"),
    [
        ({"day": "2027-01-17"}, True),
        ({"day": "2027-01-16"}, False),
        ({"binding": "0" * 64}, False),
        ({"device": DeviceIdentity(name="former", kind="local", facts={})}, False),
        ({"device": DeviceIdentity(name="board", kind="qemu", facts={})}, False),
        ({"outputs": (output(largest_difference=0.5),)}, False),
    ],
)
def test_a_young_proof_needs_no_device_and_another_is_none(
    tmp_path: Path, changes: dict[str, Any], fresh: bool
) -> None:
    session = built(tmp_path)
    selected = select(session, JobPurpose.VERIFY, proof(session, **changes))

    assert ids(selected.proven) == ([ANY] if fresh else [])
    assert ids(selected.asked) == ([OTHER] if fresh else [ANY, OTHER])


@pytest.mark.parametrize("change", ["reduced", "plain", "model", "keep set", "tolerance"])
def test_a_proof_ends_with_what_it_is_bound_to(tmp_path: Path, change: str) -> None:
    known = proof(built(tmp_path / "a"))
    programs = dict(PROGRAMS)
    if change in ("reduced", "plain"):
        programs[{"reduced": REDUCED, "plain": PLAIN}[change]] += "stderr other\n"
    config = CONFIG + "verify: {tolerance: 0.5}\n" if change == "tolerance" else CONFIG
    session = built(tmp_path / "b", programs=programs, config=config)
    if change == "model":
        (tmp_path / "b" / "m.mge").write_bytes(b"other")
    if change == "keep set":
        files = {**session.done[HEADER].files, "keepset.json": "0" * 64}
        session.done[HEADER] = replace(session.done[HEADER], files=files)

    assert ids(select(session, JobPurpose.VERIFY, known).proven) == []


def test_the_profile_build_binds_no_verification(tmp_path: Path) -> None:
    known = proof(built(tmp_path / "a"))
    other = built(tmp_path / "b", programs={PLAIN: PROGRAMS[PLAIN], REDUCED: PROGRAMS[REDUCED]})

    assert ids(select(other, JobPurpose.VERIFY, known).proven) == [ANY]


def test_a_bundle_reports_each_scenarios_tolerance(tmp_path: Path) -> None:
    own = CONFIG.replace("{name: t,", "{name: t, relative_tolerance: 0.25,")
    session = built(tmp_path, config=f"{own}verify: {{tolerance: 0.5}}\n")
    packed = pack(session, JobPurpose.VERIFY, NONE, tmp_path / "bundle")

    assert {each.id: each.tolerance for each in packed.scenarios} == {
        ANY: Tolerance(absolute=0.5),
        "m/t@any": Tolerance(absolute=0.5, relative=0.25),
    }


def test_a_bundle_to_verify(tmp_path: Path) -> None:
    session = built(tmp_path)
    to = tmp_path / "bundle"
    packed = pack(session, JobPurpose.VERIFY, proof(session, OTHER), to)

    assert read_bundle(to) == packed
    assert packed.programs == {
        "plain": sha(PROGRAMS[PLAIN]),
        "profile": sha(PROGRAMS[PROFILE]),
        "reduced": sha(PROGRAMS[REDUCED]),
    }
    assert packed.keep_set == sha(KEEP)
    assert (packed.target, packed.machine, packed.sysroot) == ("load_and_run", "aarch64", "")
    assert (packed.generation, packed.max_age_s) == (20220507, 1_209_600.0)
    assert {each.tolerance for each in packed.scenarios} == {EXACT}
    assert packed.devices == (
        BundleDevice(name="board", kind="local", cpu_class="any", qemu_cpu="max", runner=True),
    )
    (scenario,) = packed.scenarios
    assert (scenario.id, scenario.cpu_class, scenario.model) == (ANY, "any", sha("model"))
    assert (scenario.arguments, scenario.threads, scenario.timeout_s) == (("--cpu",), 2, 90.0)
    assert scenario.inputs == (BundleInput(name="data", file=sha("numbers"), suffix=".npy"),)
    assert (scenario.cache, scenario.search) == (None, False)
    assert [each.id for each in packed.proven] == [OTHER]
    texts = ["model", "numbers", KEEP, *PROGRAMS.values()]
    found = {path.name: path.read_text("utf-8") for path in (to / "files").iterdir()}
    assert found == {sha(text): text for text in texts}


def test_a_bundle_to_trace(tmp_path: Path) -> None:
    packed = pack(built(tmp_path), JobPurpose.TRACE, NONE, tmp_path / "bundle")

    assert [*packed.programs] == ["plain", "profile"]
    assert packed.keep_set is None
    assert [each.id for each in packed.scenarios] == [ANY, BIG, OTHER]
    assert packed.devices[1] == BundleDevice(
        name="auto-big", kind="auto", cpu_class="big", qemu_cpu="cortex-a76", runner=False
    )


SEARCHES = CONFIG.replace("threads: 2", "fast_run: true").replace(
    "[{name: any}, ", "[{name: any}, "
)


def test_a_search_is_left_to_the_device(tmp_path: Path) -> None:
    searching = pack(built(tmp_path / "a", config=SEARCHES), JobPurpose.TRACE, NONE, tmp_path / "1")
    recorded = SEARCHES.replace("fast_run: true", "fast_run: true, algo_cache: c.cache")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.cache").write_bytes(b"algorithms")
    cached = pack(built(tmp_path / "b", config=recorded), JobPurpose.TRACE, NONE, tmp_path / "2")

    assert (searching.scenarios[0].search, searching.scenarios[0].cache) == (True, None)
    assert (cached.scenarios[0].search, cached.scenarios[0].cache) == (False, sha("algorithms"))
    assert searching.scenarios[2].search is False


def test_a_bundle_to_record(tmp_path: Path) -> None:
    session = linked(tmp_path)
    packed = pack(session, JobPurpose.RECORD, NONE, tmp_path / "bundle")
    first = next(all_scenarios(session.config))

    assert read_bundle(tmp_path / "bundle") == packed
    assert packed.programs == {
        "unfolded": sha("unfolded"),
        "probed": sha("probed"),
        "observables": sha(OBSERVABLES),
    }
    assert (packed.keep_set, packed.speaks) == (None, False)
    assert [(each.id, each.link) for each in packed.scenarios] == [
        (ANY, "7" * 64),
        (BIG, "7" * 64),
        (OTHER, "7" * 64),
    ]
    assert packed.scenarios[0].binding == binding(functions.named_inputs(first, session))
    assert [(each.name, each.kind) for each in packed.devices] == [
        ("board", "local"),
        ("auto-big", "auto"),
    ]


@pytest.mark.parametrize("trim", ["base: plain", "minimum_size: false"])
def test_programs_with_words_are_shown_to_complain(tmp_path: Path, trim: str) -> None:
    session = linked(tmp_path, trim=f"level: function, {trim}")

    assert pack(session, JobPurpose.RECORD, NONE, tmp_path / "bundle").speaks


def test_where_an_emulator_reports_all_there_is_no_twin(tmp_path: Path) -> None:
    session = linked(tmp_path, links={"links/unfolded/load_and_run": "unfolded", **OBSERVED})
    packed = pack(session, JobPurpose.RECORD, NONE, tmp_path / "bundle")

    assert [*packed.programs] == ["unfolded", "observables"]


def test_a_link_is_what_a_list_is_bound_to(tmp_path: Path) -> None:
    one = linked(tmp_path / "a")
    twin = linked(tmp_path / "b", links={**LINKS, "links/probed/load_and_run": "another"})
    bound = select(one, JobPurpose.RECORD, NONE).asked[0][1]
    same = select(twin, JobPurpose.RECORD, NONE).asked[0][1]
    twin.results.done[LINKED] = replace(
        twin.results.done[LINKED], result=UnfoldedLinksResult(links={"load_and_run": "8" * 64})
    )

    assert bound == same
    assert select(twin, JobPurpose.RECORD, NONE).asked[0][1] != bound


def test_a_search_is_not_made_where_functions_are_recorded(tmp_path: Path) -> None:
    session = linked(tmp_path, config=SEARCHES)
    with pytest.raises(InputError) as caught:
        pack(session, JobPurpose.RECORD, NONE, tmp_path / "bundle")
    assert caught.value.message == (
        f"{tmp_path / 'megtrim.yaml'}:12: m/s@any searches for algorithms, "
        "which is done where it is traced"
    )

    for each in all_scenarios(session.config):
        if each.searches:
            finish(session, search_task(each), {"algo.cache": f"found for {each.id}"})
    first, *_ = pack(session, JobPurpose.RECORD, NONE, tmp_path / "bundle").scenarios
    assert (first.search, first.cache) == (False, sha(f"found for {ANY}"))


@pytest.mark.parametrize(
    ("make", "failed", "purpose"),
    [(built, REDUCED, JobPurpose.VERIFY), (linked, LINKED, JobPurpose.RECORD)],
)
def test_a_failed_build_makes_a_bundle_that_asks_for_nothing(
    tmp_path: Path, make: Callable[[Path], Session], failed: str, purpose: JobPurpose
) -> None:
    session = make(tmp_path)
    del session.done[failed]
    packed = pack(session, purpose, NONE, tmp_path / "bundle")

    assert (packed.scenarios, packed.proven) == ((), ())
    assert packed.runner_classes() == {"any"}
    assert purpose is JobPurpose.VERIFY or packed.programs == {}


def test_equal_builds_make_equal_bundles(tmp_path: Path) -> None:
    one, other = (
        pack(built(tmp_path / name), JobPurpose.VERIFY, NONE, tmp_path / name / "bundle")
        for name in ("a", "b/c")
    )

    assert dump(one) == dump(other)


def trims_functions(folder: Path, asked: list[str]) -> Session:
    session = built(folder, config=CONFIG + "trim: {level: function}\n")
    finish(session, FUNCTIONS, {"keepset.json": "with functions"})

    def make(task: str) -> StageFolder:
        asked.append(task)
        listed = {"dropped-load_and_run.txt": "one\ntwo\n"}
        return finish(session, task, {"links/named/load_and_run": "says its number", **listed})

    return changed(session, make=make)


def test_what_names_a_function_goes_along(tmp_path: Path) -> None:
    asked: list[str] = []
    packed = pack(trims_functions(tmp_path / "a", asked), JobPurpose.VERIFY, NONE, tmp_path / "1")

    assert asked == [NAMED]
    assert packed.program(Link.NAMED) == sha("says its number")
    assert packed.program(DROPPED) == sha("one\ntwo\n")
    assert [*packed.programs] == ["plain", "profile", "reduced", "named", "dropped"]
    names = {path.name for path in (tmp_path / "1" / "files").iterdir()}
    assert {sha("says its number"), sha("one\ntwo\n")} <= names
    assert packed.keep_set == sha("with functions")

    pack(trims_functions(tmp_path / "b", asked), JobPurpose.TRACE, NONE, tmp_path / "2")
    proven = trims_functions(tmp_path / "c", asked)
    both = EvidenceSet(entries=(*proof(proven).entries, *proof(proven, OTHER).entries))
    idle = pack(proven, JobPurpose.VERIFY, both, tmp_path / "3")
    assert (asked, idle.scenarios, idle.program(DROPPED)) == ([NAMED], (), None)


def test_what_cannot_be_linked_is_left_out(tmp_path: Path) -> None:
    session = changed(trims_functions(tmp_path / "a", []), make=lambda _task: None)
    packed = pack(session, JobPurpose.VERIFY, NONE, tmp_path / "1")

    assert [*packed.programs] == ["plain", "profile", "reduced"]
    assert ids([(each, "") for each in packed.scenarios]) == [ANY, OTHER]


def test_by_regions_nothing_is_linked_for_devices(tmp_path: Path) -> None:
    asked: list[str] = []
    session = built(tmp_path)
    pack(session, JobPurpose.VERIFY, NONE, tmp_path / "1")

    def make(task: str) -> None:
        asked.append(task)

    pack(changed(session, make=make), JobPurpose.VERIFY, NONE, tmp_path / "2")

    texts = [(tmp_path / name / "bundle.json").read_bytes() for name in "12"]
    assert (asked, texts[0]) == ([], texts[1])


def test_a_sysroot_is_shown(tmp_path: Path) -> None:
    toolchain = SimpleNamespace(machine="aarch64", sysroot=Path("/usr/aarch64-linux-gnu"))
    session = changed(built(tmp_path), toolchain=cast("Any", toolchain))

    assert pack(session, JobPurpose.VERIFY, NONE, tmp_path / "bundle").sysroot == (
        "/usr/aarch64-linux-gnu"
    )


def test_a_runner_is_shown_how_to_reach_its_device(tmp_path: Path) -> None:
    room = """\
- name: board
  kind: ssh
  class: any
  runner: true
  host: board.lab
  port: 2222
  user: pi
  key: ~/.ssh/board
  known_hosts: /etc/hosts.pub
  power: {hub: 1-1, port: 3}
  cool_down: {below: 38, within: 1 minute}
  governor: performance
  cpus: 4-7
  sysroot: /roots
- {name: phone, kind: adb, class: any, runner: true, match: {ro.z: 1, ro.a: b}}
- {name: other, kind: adb, class: any, runner: true, serial: 1A}
"""
    config = CONFIG.replace("- {name: board, kind: local, class: any, runner: true}\n", room)

    packed = pack(built(tmp_path, config=config), JobPurpose.VERIFY, NONE, tmp_path / "bundle")

    settings = {each.name: each.settings for each in packed.devices}
    assert settings == {
        "board": DeviceSettings(
            host="board.lab",
            port=2222,
            user="pi",
            key=Path("~/.ssh/board"),
            known_hosts=Path("/etc/hosts.pub"),
            power=PowerPort(hub="1-1", port=3),
            cool_down=CoolDown.model_construct(below_c=38.0, within_s=60.0),
            governor="performance",
            cpus="4-7",
            sysroot=Path("/roots"),
        ),
        "phone": DeviceSettings(match={"ro.a": "b", "ro.z": "1"}),
        "other": DeviceSettings(serial="1A"),
    }
    assert read_bundle(tmp_path / "bundle") == packed


STRAY = "0" * 64


def test_a_bundle_takes_the_place_of_one(tmp_path: Path) -> None:
    to = tmp_path / "bundle"
    session = built(tmp_path)
    pack(session, JobPurpose.VERIFY, NONE, to)
    (to / "files" / STRAY).touch()
    packed = pack(session, JobPurpose.VERIFY, NONE, to)

    assert read_bundle(to) == packed
    assert not (to / "files" / STRAY).exists()


@pytest.mark.parametrize("kind", ["file", "other files", "link"])
def test_nothing_else_is_overwritten(tmp_path: Path, kind: str) -> None:
    to = tmp_path / "bundle"
    if kind == "file":
        to.touch()
    elif kind == "link":
        (tmp_path / "x").mkdir()
        to.symlink_to(tmp_path / "x")
    else:
        to.mkdir()
        (to / "mine").touch()

    with pytest.raises(InputError, match="expected a new or an empty one"):
        pack(built(tmp_path), JobPurpose.VERIFY, NONE, to)
    assert to.is_symlink() or to.is_file() or (to / "mine").exists()


def test_what_no_device_job_takes_is_refused_now(tmp_path: Path) -> None:
    config = CONFIG.replace("{name: t, ", '{name: t, args: ["--cpu\\te"], ')
    with pytest.raises(InputError) as caught:
        pack(built(tmp_path, config=config), JobPurpose.VERIFY, NONE, tmp_path / "bundle")

    assert caught.value.message.startswith(f"{tmp_path / 'megtrim.yaml'}:13: m/t@any.arguments[0]")
    assert not (tmp_path / "bundle" / "bundle.json").exists()


@pytest.mark.parametrize("proves", [True, False])
@pytest.mark.parametrize("functions", [True, False])
@pytest.mark.parametrize(
    ("trim", "first", "second"),
    [
        ("level: region", JobPurpose.TRACE, JobPurpose.TRACE),
        ("level: function", JobPurpose.TRACE, JobPurpose.RECORD),
        ("level: function, base: plain", JobPurpose.RECORD, JobPurpose.RECORD),
    ],
)
def test_what_devices_are_for(
    tmp_path: Path,
    trim: str,
    first: JobPurpose,
    second: JobPurpose,
    *,
    proves: bool,
    functions: bool,
) -> None:
    config = built(tmp_path, config=f"{CONFIG}trim: {{{trim}}}\n").request.config
    reported = second if functions else first

    found = purpose_of(config, proves=proves, functions=functions)
    assert found is (JobPurpose.VERIFY if proves else reported)
