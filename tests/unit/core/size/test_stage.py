import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cxxfilt
import pytest

from megtrim.core.build_spec import Origin
from megtrim.core.chain.graph import PLAIN, REDUCED, SIZE, Task, tasks
from megtrim.core.chain.result_store import StageFolder, Store
from megtrim.core.chain.session import Session
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.config.load import load_config
from megtrim.core.size import stage as size
from megtrim.core.size.baseline import dump_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.byte_table import make_table
from megtrim.core.size.growth.causes import ORDERS, Cause
from megtrim.core.size.passes import list_pass_files
from megtrim.core.size.results import SizeResult, budget_checks_of, size_result, warn_of_growth
from megtrim.core.trim.results import BuildResult, ReduceResult
from megtrim.libs.elf.symbol_names import readable
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.places.compile.projects.checkout import Checkout
from unit.core.size.made_files import PROGBITS, A, X, elf
from unit.core.trim.stages.built import finish
from unit.core.trim.stages.results import BUDGET, BUILD, SAMPLES, type_of
from unit.core.trim.stages.support import CONFIG, changed, open_session
from unit.libs.elf.made_objects import Named, Part, object_file

BYTES = {"plain": 900, "profile": 1_000, "reduced": 300}
PROFILE_BUDGET = "budgets: [{artifact: load_and_run, variant: profile, max: 1 MiB}]\n"


def program(variant: str) -> bytes:
    more = ((".data", PROGBITS, A, 8),) if variant == "plain" else ()
    return elf((".text", PROGBITS, A | X, BYTES[variant]), *more)


def opened(
    folder: Path, *, committed: bool = True, more: str = "", **fields: Any
) -> tuple[Session, Task, io.StringIO]:
    made, said = open_session(folder)
    (folder / "megtrim.yaml").write_text(CONFIG + more, encoding="utf-8")
    loaded = load_config(folder / "megtrim.yaml")
    now = changed(made, loaded=loaded, committed=committed, **fields)
    engine: Any = SimpleNamespace(checkout=Checkout(root=folder, files={}, commit="", dirty=()))
    toolchain: Any = SimpleNamespace(kind="host", target="", version="")
    now = replace(now, services=replace(now.services, engine=engine, toolchain=toolchain))
    every = {task.id: task for task in tasks(loaded.config, committed=committed)}
    for build in every[SIZE].needs:
        stage, _, variant = build.partition("/")

        kind = type_of(build)

        def produce(
            place: Path, variant: str = variant, kind: type[StageResult] = kind
        ) -> StageResult:
            (place / "bin").mkdir()
            (place / "bin" / "load_and_run").write_bytes(program(variant))
            return SAMPLES[kind]

        now.results.done[build] = now.services.store.ensure(stage, variant, {}, produce, kind)[0]
    return now, every[SIZE], said


def named(folder: Path, size: int, *, twin_size: int = 0, symbols: bool = True) -> StageFolder:
    """Return a build whose only function has this size, stripped and as it was built."""
    sizes = {"bin": size, "unstripped": twin_size or size}

    def produce(place: Path) -> ReduceResult:
        for name, each in sizes.items():
            part = Part(name=".text", content=bytes(each))
            symbol = Named(name="_ZN3mgb3opr3Add3runEv", part=".text", size=each)
            listed = (symbol,) if symbols and name != "bin" else ()
            data = object_file((part,), listed, kind=2)
            (place / name).mkdir()
            (place / name / "load_and_run").write_bytes(data)
        return ReduceResult(build=BUILD, functions={})

    inputs = {"toolchain version": str(size)}
    return Store(folder).ensure("reduce", "x", inputs, produce, ReduceResult)[0]


def plain_with_tables(folder: Path, size: int) -> StageFolder:
    def produce(place: Path) -> BuildResult:
        (place / "bin").mkdir()
        data = elf((".text", PROGBITS, A | X, size))
        (place / "bin" / "load_and_run").write_bytes(data)
        table = make_table({("operators", "mgb::opr::Add::run()"): len(data)})
        key = ("load_and_run", "plain")
        text = dump_sizes(Baseline(sizes={key: len(data)}, parts={key: table}))
        (place / "byte-tables.json").write_text(text, encoding="utf-8")
        return BuildResult(build=BUILD)

    return Store(folder).ensure("build", "plain", {}, produce, BuildResult)[0]


def weigh(now: Session, task: Task) -> SizeResult:
    folder, _ = now.services.store.ensure(
        "size",
        "artifacts",
        size.inputs(task, now),
        lambda place: size.work(task, now, place),
        SizeResult,
    )
    now.results.done[SIZE] = folder
    return folder.result_as(SizeResult)


def read_sizes(now: Session) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(now.results.done[SIZE].file("sizes.json").read_text("utf-8"))
    return found


def baseline(path: Path, source: str = "", **sizes: int) -> Path:
    held = {("load_and_run", variant): size_bytes for variant, size_bytes in sizes.items()}
    path.write_text(dump_sizes(Baseline(sizes=held, source=source)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("committed", "more", "measured"),
    [
        (False, "", ["plain", "profile", "reduced"]),
        (True, "", ["plain", "reduced"]),
        (True, PROFILE_BUDGET, ["plain", "profile", "reduced"]),
    ],
)
def test_what_is_measured(tmp_path: Path, committed: bool, more: str, measured: list[str]) -> None:
    """With a committed keep set, a profile build is made only for a budget of it."""
    now, task, _ = opened(tmp_path, committed=committed, more=more)
    found = weigh(now, task)
    rows = found.artifacts[0].sizes

    assert [row.variant for row in rows] == measured
    assert [row.size_bytes for row in rows] == [len(program(name)) for name in measured]
    assert [row.growth_bytes for row in rows] == [None] * len(measured)
    assert found.baseline == ""
    left = read_sizes(now)
    made_from = left.pop("inputs")
    assert made_from.keys() >= {"values"}
    assert made_from["made_from"].keys() == {*Cause, ORDERS}
    sizes = left.pop("measured")["load_and_run"]
    assert sizes.keys() == {"reduced"}
    assert sizes["reduced"].keys() == {"loaded", "deflated", "section .text", "section .shstrtab"}
    assert left == {
        "version": 2,
        "artifacts": {"load_and_run": {name: len(program(name)) for name in measured}},
    }


def test_memory_and_work_are_kept_apart(tmp_path: Path) -> None:
    """Both, one of them, and what was asked for and did not run."""
    for more, ran in (("memory: {}", True), ("memory: {}\nwork: {}", True), ("work: {}", False)):
        folder = tmp_path / str(len(more))
        folder.mkdir()
        now, task, _ = opened(folder, more=f"{more}\n")
        for each in (each for each in task.wants if ran):
            finish(now, each, {})
        found = weigh(now, task)
        rows = [(row.measure, row.used) for row in found.budgets if row.measure != "work"]
        assert rows == ([("peak memory", 4096), ("peak memory", None)] if "memory" in more else [])
        assert len(found.budgets) - len(rows) == (2 if "work" in more else 0)
        assert [row.note for row in found.budgets if "because" in row.note] == (
            [] if ran else ["not counted, because it could not be run"] * 2
        )


def test_what_the_machine_did_not_measure_is_not_the_product_s_fault(tmp_path: Path) -> None:
    more = "memory: {growth: 1 MiB}\nwork: {growth: 1%}\n"
    now, task, _ = opened(tmp_path, more=more)
    full = InfrastructureFailure("the disk is full: /out has 61,440 bytes left")
    now.results.failed.update(dict.fromkeys(task.wants, full))

    found = weigh(now, task)

    limited = [row for row in found.budgets if row.status is not CheckStatus.SKIPPED]
    assert {row.status for row in limited} == {CheckStatus.INFRASTRUCTURE}
    assert {row.measure for row in limited} == {"work", "peak memory"}
    assert all("because the disk is full: /out has" in row.note for row in limited)
    assert found.exit_code == InfrastructureFailure.exit_code
    hints = {each.hint for each in budget_checks_of(now) if each.hint}
    assert hints == {"nothing is known about the product: mend the machine, and run it again"}
    # The next change is told that its baseline lacks them.
    assert {
        each["reasons"].keys() == {"work", "memory"} for each in read_sizes(now)["uses"].values()
    }


def test_a_file_is_measured_in_three_forms(tmp_path: Path) -> None:
    now, task, _ = opened(
        tmp_path, more="budgets: [{artifact: load_and_run, size: unstripped, max: 1 KiB}]\n"
    )
    now.results.done[REDUCED] = build = named(tmp_path / "made", 1000)

    found = weigh(now, task)
    *_, shipped = found.artifacts[0].sizes
    with_symbols = build.file("unstripped/load_and_run").stat().st_size
    assert shipped.forms == {
        "unstripped": with_symbols,
        "deflated": read_sizes(now)["measured"]["load_and_run"]["reduced"]["deflated"],
    }
    assert shipped.forms["deflated"] < shipped.size_bytes < with_symbols
    assert [(row.used, row.status) for row in found.budgets] == [(with_symbols, CheckStatus.FAIL)]


def test_symbols_that_are_not_there_have_no_size(tmp_path: Path) -> None:
    now, task, _ = opened(
        tmp_path, more="budgets: [{artifact: load_and_run, size: unstripped, max: 1 MiB}]\n"
    )

    with pytest.raises(InputError, match="cannot be checked: unstripped was not measured"):
        weigh(now, task)


def test_an_aar_has_a_budget_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = "budgets: [{artifact: load_and_run, size: aar, max: 1 KiB, growth: 1 KiB}]\n"
    now, task, _ = opened(tmp_path, more=budget)
    monkeypatch.setattr("megtrim.core.size.stage.weigh_aar", lambda *_: {"load_and_run": 4096})

    found = weigh(now, task)
    assert found.artifacts[0].sizes[-1].forms["aar"] == 4096
    assert [(each.subject, each.used) for each in found.budgets] == [
        ("load_and_run/reduced aar", 4096),
        ("load_and_run/reduced aar", None),
    ]


@pytest.mark.parametrize(
    ("keys", "variants", "status"),
    [
        ("section: .text, max: 300", {"reduced"}, CheckStatus.PASS),
        ("section: .text, max: 299", {"reduced"}, CheckStatus.FAIL),
        ("section: .text, max: 99%", {"plain", "reduced"}, CheckStatus.PASS),
        ("size: loaded, variant: plain, max: 1", {"plain", "reduced"}, CheckStatus.FAIL),
        ("size: deflated, max: 1 KiB", {"reduced"}, CheckStatus.PASS),
    ],
)
def test_a_budget_of_a_part(
    tmp_path: Path, keys: str, variants: set[str], status: CheckStatus
) -> None:
    """Other builds than what ships are broken down only if a budget is about that."""
    more = f"budgets: [{{artifact: load_and_run, {keys}}}]\n"
    now, task, _ = opened(tmp_path, more=more)

    (found,) = weigh(now, task).budgets

    assert found.status is status
    assert read_sizes(now)["measured"]["load_and_run"].keys() == variants


def test_a_budget_of_a_section_that_another_build_has_passes(tmp_path: Path) -> None:
    more = "budgets: [{{artifact: load_and_run, section: {}, max: 1}}]\n"
    now, task, _ = opened(tmp_path, more=more.format(".data"))
    (found,) = weigh(now, task).budgets
    assert (found.used, found.status) == (0, CheckStatus.PASS)

    now, task, _ = opened(tmp_path, more=more.format(".txet"))
    with pytest.raises(InputError, match=r"has a section .txet \(did you mean .text\?\)"):
        weigh(now, task)


def test_a_budget_of_a_component_that_trimming_took(tmp_path: Path) -> None:
    """Without symbols of the plain build no one knows whether it was there: a warning."""
    more = "budgets: [{artifact: load_and_run, component: kernels, max: 1}]\n"
    now, task, said = opened(tmp_path, more=more)
    now.results.done[REDUCED] = named(tmp_path / "made", 1000)

    (found,) = weigh(now, task).budgets

    assert (found.used, found.status) == (0, CheckStatus.PASS)
    assert "whether it ever had it is not known" in said.getvalue()
    now.results.done[PLAIN] = plain_with_tables(tmp_path / "plain", 2000)
    with pytest.raises(InputError, match="no build of load_and_run has a component kernels"):
        weigh(now, task)


def test_growth_needs_no_budget(tmp_path: Path) -> None:
    given = baseline(tmp_path / "b.json", "main", reduced=len(program("reduced")) - 7, profile=1)
    now, task, _ = opened(tmp_path, baseline=given, committed=False)
    result = weigh(now, task)
    plain = len(program("plain"))

    assert (result.baseline, result.budgets, result.exit_code) == ("main", (), 0)
    assert [
        (each.variant, each.growth_bytes, each.share) for each in result.artifacts[0].sizes
    ] == [
        ("plain", None, 1.0),
        ("profile", len(program("profile")) - 1, len(program("profile")) / plain),
        ("reduced", 7, len(program("reduced")) / plain),
    ]


def test_a_baseline_says_what_grew(tmp_path: Path) -> None:
    now, task, _ = opened(tmp_path)
    now.results.done[REDUCED] = named(tmp_path / "before", 1000)
    before = size.inputs(task, now)
    weigh(now, task)
    left = now.results.done[SIZE].file("sizes.json")

    later = changed(now, baseline=left)
    later.results.done[REDUCED] = named(tmp_path / "after", 3000)
    found = weigh(later, task)

    label = "symbols of load_and_run"
    assert before[label] != size.inputs(task, later)[label]
    plain, reduced = found.artifacts[0].sizes
    assert (plain.components, plain.symbols) == ((), ())
    assert [(each.label, each.growth) for each in reduced.components] == [("operators", 2000)]
    assert [(each.component, each.label) for each in reduced.symbols] == [
        ("operators", "mgb::opr::Add::run()")
    ]
    assert reduced.growth_bytes == 2000
    assert found.causes == (Cause.TOOLCHAIN,)
    assert [each.seen for each in found.notes] == ["toolchain version: 1000 → 3000"]


@pytest.mark.parametrize("twin_size", [3000, 1000], ids=["do not fit", "cannot be made readable"])
def test_symbols_that_are_not_known_break_no_size_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twin_size: int
) -> None:
    def demangle(name: str, *, external_only: bool) -> str:
        msg = f"{name} {external_only}"
        raise cxxfilt.LibraryNotFound(msg)

    if twin_size == 1000:
        readable.cache_clear()
        monkeypatch.setattr(cxxfilt, "demangle", demangle)
    now, task, said = opened(tmp_path)
    now.results.done[REDUCED] = named(tmp_path / "other", 1000, twin_size=twin_size)

    assert weigh(now, task).exit_code == 0
    assert "the growth of load_and_run will not be explained" in said.getvalue()
    assert "parts" not in read_sizes(now)


def test_the_command_lines_baseline_wins(tmp_path: Path) -> None:
    given = baseline(tmp_path / "given.json", plain=1)
    now, task, _ = opened(tmp_path, more="baseline: configured.json\n", baseline=given)
    named = size.inputs(task, now)

    assert named["baseline"] == hashlib.sha256(given.read_bytes()).hexdigest()
    assert named["baseline file"] == str(given)
    assert weigh(now, task).baseline == str(given)
    baseline(given, plain=2)
    assert size.inputs(task, now)["baseline"] != named["baseline"]
    configured = changed(now, baseline=None)
    with pytest.raises(InputError, match="cannot be read"):
        size.inputs(task, configured)
    baseline(tmp_path / "configured.json", plain=1)
    assert weigh(configured, task).baseline == "configured.json"


def test_a_quick_look_is_held_against_a_quick_one_alone(tmp_path: Path) -> None:
    """The configured baseline is the full trim's; a given one of another kind is refused."""
    configured = baseline(tmp_path / "full.json", plain=1)
    now, task, _ = opened(tmp_path, more="baseline: full.json\n")
    quick = changed(now, committed=False, quick=True)

    assert "baseline" not in size.inputs(task, quick)
    assert size.inputs(task, quick)["quick"] == "True"
    assert weigh(quick, task).baseline == ""
    assert read_sizes(quick)["quick"] is True
    left = quick.results.done[SIZE].file("sizes.json")

    with pytest.raises(InputError, match=r"full\.json: found sizes of a full trim, expected"):
        weigh(changed(quick, baseline=configured), task)
    assert weigh(changed(quick, baseline=left), task).baseline == str(left)
    with pytest.raises(InputError, match=r"sizes\.json: found sizes of a quick trim, expected"):
        weigh(changed(now, baseline=left), task)


def test_a_given_baseline_may_be_missing(tmp_path: Path) -> None:
    more = "budgets: [{artifact: load_and_run, growth: 1 KiB}]\n"
    now, task, said = opened(tmp_path, more=more, baseline=tmp_path / "none.json")
    result = weigh(now, task)

    missing = f"there is no {tmp_path / 'none.json'}"
    assert result.baseline == f"none: {missing}"
    assert [row.growth_bytes for row in result.artifacts[0].sizes] == [None, None]
    assert [row.status for row in result.budgets] == ["skipped"]
    assert result.exit_code == 0
    assert f"there is no baseline {tmp_path / 'none.json'}, so growth" in said.getvalue()
    assert size.inputs(task, now)["baseline"] == "not there"


def test_what_ships_is_mapped_next_to_the_plain_build(tmp_path: Path) -> None:
    now, task, _ = opened(tmp_path)
    now.results.done[REDUCED] = named(tmp_path / "made", 1000)
    bare = weigh(now, task).artifacts[0].byte_map
    now.results.done[REDUCED] = named(tmp_path / "no", 1000, symbols=False)
    assert size.work(task, now, tmp_path).artifacts[0].byte_map is None
    now.results.done[REDUCED] = named(tmp_path / "made", 1000)
    assert bare and (bare.kept_bytes > 1000, bare.plain_bytes) == (True, None)

    before = size.inputs(task, now)
    now.results.done[PLAIN] = plain_with_tables(tmp_path / "plain", 2000)
    assert size.inputs(task, now) != before
    found = size.work(task, now, tmp_path).artifacts[0].byte_map

    assert found
    by_name = {each.name: each for each in found.components}
    assert by_name["operators"].left_out_bytes == (found.plain_bytes or 0) - 1000
    assert found.plain_bytes == len(elf((".text", PROGBITS, A | X, 2000)))


BUDGETS = "budgets:\n- {artifact: other, max: 1 MiB}\n- {artifact: load_and_run, max: 400}\n"


def test_a_budget_is_checked_at_its_line(tmp_path: Path) -> None:
    session, _ = open_session(tmp_path)
    text = f"{CONFIG}artifacts: [load_and_run, other]\n{BUDGETS}"
    (tmp_path / "megtrim.yaml").write_text(text, encoding="utf-8")
    session = changed(session, loaded=load_config(tmp_path / "megtrim.yaml"))
    assert list(budget_checks_of(session)) == []

    finish(session, SIZE, {}, budgets=(replace(BUDGET, status=CheckStatus.FAIL, limit=200),))

    [row] = size_result(session.results).budgets
    assert (row.status, row.used, row.limit) == (CheckStatus.FAIL, 300, 200)
    [check] = budget_checks_of(session)
    assert (check.status, check.line, check.file) == (CheckStatus.FAIL, 8, "megtrim.yaml")


def test_growth_is_measured_against_the_last_pass_of_something_else(tmp_path: Path) -> None:
    """So that a trim that is repeated has equal inputs, and shows the same growth again."""
    root = tmp_path / "store"

    def trim(size_bytes: int, *, passes: bool = True, remembers: bool = True) -> str:
        now, task, _ = opened(tmp_path)
        request = replace(
            now.request,
            remembers=remembers,
            origin=Origin(project="app", commit=f"{size_bytes:040}", changed=size_bytes == 704),
        )
        services = replace(now.services, store=Store(root))
        now = replace(now, request=request, services=services)
        now.results.done[REDUCED] = named(tmp_path / f"built-{size_bytes}", size_bytes)
        result = weigh(now, task)
        if passes:
            size.remember_pass(now, None)
        grown = [each.growth_bytes for each in result.artifacts[0].sizes if each.growth_bytes]
        return f"{result.baseline} {grown}"

    seen = [trim(each) for each in (600, 600, 704, 704)]
    seen += [trim(808, passes=False), trim(808), trim(808), trim(904, remembers=False)]

    first = "the last pass on this machine, at 000000000000"
    second = f"{first} with uncommitted changes"
    assert seen == [*[" []"] * 2, *[f"{first} [104]"] * 2, *[f"{second} [104]"] * 3, " []"]
    kept = list_pass_files(root)
    assert len(kept) == 4
    for path in kept:
        path.write_text("{", encoding="utf-8")
    assert trim(600) == " []"


def test_passes_of_an_earlier_megtrim_are_compared_with(tmp_path: Path) -> None:
    """The first trim after an upgrade is not without a baseline."""
    now, task, _ = opened(tmp_path)
    now = changed(now, remembers=True)
    baseline(now.services.store.root / "pass-before.json", plain=1)
    found = Baseline(sizes={("load_and_run", "plain"): 2}, origin=now.request.origin)
    (now.services.store.root / "last-pass.json").write_text(dump_sizes(found), encoding="utf-8")
    (now.services.store.root / "pass-before.json").unlink()

    assert weigh(now, task).baseline == "the last pass on this machine"


LOST = {
    "none is named": ("", "", "none is named"),
    "a file that is not there": ("", "gone.json", "there is no "),
    "one without sizes": ("", dump_sizes(Baseline(sizes={}, source="none: no run")), "no sizes"),
    "another program's": (
        "",
        dump_sizes(Baseline(sizes={("other", "reduced"): 1})),
        "sizes of other/reduced, of no trimmed artifact of this configuration",
    ),
    "one without the trimmed program": (
        "",
        dump_sizes(Baseline(sizes={("load_and_run", "plain"): 1})),
        "sizes of load_and_run/plain, of no trimmed artifact",
    ),
}


def test_a_configured_baseline_exists_or_nothing_is_built(tmp_path: Path) -> None:
    now, _, _ = opened(tmp_path, more="baseline: gone.json\n")

    with pytest.raises(InputError, match=r"gone\.json"):
        size.expect_usable_baseline(now.request)


@pytest.mark.parametrize("what", LOST)
def test_a_baseline_that_must_exist_does_or_nothing_is_built(tmp_path: Path, what: str) -> None:
    more, text, expected = LOST[what]
    now, _, _ = opened(tmp_path, more=more)
    given = None
    if text:
        given = tmp_path / "given.json"
        if text.startswith("{"):
            given.write_text(text, encoding="utf-8")
    request = changed(now, baseline=given).request

    assert size.expect_usable_baseline(request) is None or text
    asked = changed(now, baseline=given, require_baseline=True).request
    with pytest.raises(InputError, match=f"--require-baseline: growth cannot be .*{expected}"):
        size.expect_usable_baseline(asked)


@pytest.mark.parametrize("linked", [False, True])
def test_what_the_last_trim_left_is_no_baseline(tmp_path: Path, linked: bool) -> None:
    """It is of a run that failed, too: repeated, that run would be compared with itself."""
    now, _, _ = opened(tmp_path)
    given = now.request.options.results / "final/sizes.json"
    if linked:
        given = tmp_path / "link.json"
        given.symlink_to(now.request.options.results / "final/sizes.json")
    request = changed(now, baseline=given).request

    with pytest.raises(InputError, match=r"comes from the last trim into .*, whether it"):
        size.expect_usable_baseline(request)


def test_a_baseline_that_must_exist_and_does_is_used(tmp_path: Path) -> None:
    given = baseline(tmp_path / "given.json", reduced=1)
    now, _, _ = opened(tmp_path, baseline=given, require_baseline=True)

    found = size.expect_usable_baseline(now.request)
    assert found is not None
    assert found.source == str(given)


@pytest.mark.parametrize(
    ("limits", "baseline", "expected"),
    [
        ("growth: 1 KiB", "none: no run on main has stored one yet", "1 limit of growth not"),
        ("growth: 1 KiB, max: 1 MiB", "none: there is no b.json", "there is no b.json"),
        ("warn_growth: 1 KiB, max: 1 MiB", "none: there is no b.json", ""),
        ("max: 1 MiB", "none: there is no b.json", ""),
        ("growth: 1 KiB", "", ""),
        ("growth: 1 KiB", "main at 1a2b", "main at 1a2b has no figure of load_and_run"),
    ],
)
def test_the_verdict_warns_of_a_lost_baseline(
    tmp_path: Path, limits: str, baseline: str, expected: str
) -> None:
    now, task, _ = opened(tmp_path, more=f"budgets: [{{artifact: load_and_run, {limits}}}]\n")
    found = replace(weigh(now, task), baseline=baseline)

    assert expected in "".join(warn_of_growth(found))
    assert bool(warn_of_growth(found)) is bool(expected)
