from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.core.chain.graph import FUNCTIONS, HEADER, PROFILE, REDUCED, VERDICT, tasks, trace_task
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session
from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.config.load import load_config
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import dump_keep_set
from megtrim.core.trim import committed_keepset, keepset_usage
from megtrim.core.trim.committed_keepset import settle
from megtrim.core.trim.results import FunctionCount, Rebuild, RegionsUse
from megtrim.core.trim.runs.scenario_runs import bind
from megtrim.core.verdict import stage as verdict
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.process import ProcessRunner
from unit.core.cli.support import SAMPLE_MODEL
from unit.core.trim.stages import support
from unit.core.trim.stages.built import finish


@pytest.fixture
def now(tmp_path: Path, processes: ProcessRunner) -> Session:
    return support.open_committed(tmp_path, processes)[0]


def functions_alone() -> KeepSet:
    [record] = support.keep_set(1).scenarios
    record = replace(record, regions=(), functions=("main",), link_sha256="c" * 64)
    return replace(support.keep_set(1), scenarios=(record,))


def trimming(session: Session, **changes: str) -> Session:
    config = session.request.config
    trim = config.trim.model_copy(update=changes)
    loaded = replace(session.request.loaded, config=config.model_copy(update={"trim": trim}))
    return support.changed(session, loaded=loaded)


def test_another_generation_is_refused(now: Session) -> None:
    support.commit(now, replace(support.keep_set(1), generation=20190219))

    with pytest.raises(InputError) as caught:
        committed_keepset.read_committed(now.request.loaded, now.services.engine)

    assert caught.value.message == (
        "megtrim/keepset: found header generation 20190219, expected the engine's: 20220507"
    )
    assert caught.value.hint == "the engine changed: trace it again: megtrim trim --accept"


@pytest.mark.parametrize("level", ["region", "function"])
def test_a_file_whose_regions_are_gone_is_refused(now: Session, level: str) -> None:
    """Before anything is built: no region would be left out, and no header would say so."""
    support.commit(now, functions_alone())
    enough = trimming(now, level="function", base="plain").request.loaded
    assert committed_keepset.read_committed(enough, now.services.engine) == functions_alone()

    with pytest.raises(InputError) as caught:
        committed_keepset.read_committed(
            trimming(now, level=level).request.loaded, now.services.engine
        )

    assert caught.value.message == (
        "megtrim/keepset: no region is needed by any scenario, but regions are trimmed"
    )
    assert caught.value.hint == (
        "restore the committed file, or write it again: megtrim trim --accept"
    )


@pytest.mark.parametrize("name", ["keepset", "keepset.json"])
@pytest.mark.parametrize("accept", [True, False])
def test_a_keep_set_in_one_file_is_refused(now: Session, name: str, accept: bool) -> None:
    path = now.request.path(now.request.config.keep_set).with_name(name)
    path.parent.mkdir()
    path.write_text(dump_keep_set(support.keep_set(1)), encoding="utf-8")

    with pytest.raises(InputError) as caught:
        committed_keepset.read_committed(now.request.loaded, now.services.engine)
    with pytest.raises(InputError):
        committed_keepset.expect_readable(now.request.loaded, accept=accept)

    assert caught.value.message == (
        f"megtrim/{name}: found a keep set in one file, "
        "expected a folder with a file for each scenario"
    )
    assert caught.value.hint == "remove it, and trace again: megtrim trim --accept"


def test_a_retrained_model_is_named_whatever_else_failed(now: Session) -> None:
    loaded = now.request.loaded
    loaded.resolve(support.only_scenario(now).own_model.file).write_bytes(SAMPLE_MODEL)
    text = loaded.path.read_text(encoding="utf-8")
    loaded.path.write_text(text.replace("{name: s", "{name: s, fast_run: true"), encoding="utf-8")
    session = support.changed(now, loaded=load_config(loaded.path))
    scenario = support.only_scenario(session)
    traced = replace(
        bind(scenario, session.request.loaded, None),
        model_sha256="a" * 64,
        regions=support.keep_set(1).scenarios[0].regions,
        trace_sha256="b" * 64,
    )
    support.commit(session, replace(support.keep_set(1), scenarios=(traced,)))

    assert scenario.searches
    assert committed_keepset.list_retrained(session) == (
        "m/s@any: its model was traced with other weights, in the same graph",
    )


def test_files_of_scenarios_that_are_gone_are_removed(now: Session) -> None:
    [record] = support.keep_set(1).scenarios
    others = [replace(record, id=name) for name in ("m/t@any", "n/s@any")]
    folder = support.commit(now, replace(support.keep_set(1), scenarios=(record, *others)))
    (folder / "README.md").write_text("ours", encoding="utf-8")
    support.commit(now, support.keep_set(2))

    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    assert files == ["README.md", "m", "m/s@any.json"]


def test_the_digest_is_that_of_the_files(now: Session) -> None:
    loaded = now.request.loaded
    now.request.path(now.request.config.keep_set).mkdir(parents=True)
    with pytest.raises(InputError, match="there is no keep set"):
        committed_keepset.read_committed(loaded, now.services.engine)
    committed_keepset.expect_readable(loaded, accept=False)
    digests = [committed_keepset.digest_committed(loaded)]
    folder = support.commit(now, support.keep_set(1))
    digests.append(committed_keepset.digest_committed(loaded))
    (folder / "m/s@any.json").write_text("x", encoding="utf-8")
    digests.append(committed_keepset.digest_committed(loaded))
    (folder / "m/s@any.json").rename(folder / "m/t@any.json")
    digests.append(committed_keepset.digest_committed(loaded))

    assert digests[0] == ""
    assert len(set(digests)) == 4


def test_there_is_nothing_to_settle(tmp_path: Path, processes: ProcessRunner) -> None:
    now, said = support.open_committed(tmp_path, processes)
    path = support.commit(now, support.keep_set(1))
    folder = support.make_header(now)
    file = path / "m/s@any.json"
    file.write_text("anything", encoding="utf-8")

    committed_keepset.settle(support.changed(now, accept=True), folder)

    assert file.read_text(encoding="utf-8") == "anything"
    assert said.getvalue() == ""


TYPES = [f"14some_type_num{number}" for number in range(7)]


def made(session: Session, *numbers: int) -> StageFolder:
    return holding(session, support.keep_set(*numbers))


def holding(session: Session, keep: KeepSet) -> StageFolder:
    return finish(session, HEADER, {"keepset.json": dump_keep_set(keep)})


def with_functions(*names: str, **changes: object) -> KeepSet:
    [record] = support.keep_set(1).scenarios
    record = replace(record, functions=names, link_sha256="c" * 64)
    return replace(support.keep_set(1), scenarios=(replace(record, **changes),))  # type: ignore[arg-type]


def committed(folder: Path, *, holds: KeepSet | str | None = None) -> Path:
    path = folder / "megtrim" / "keepset" / "m" / "s@any.json"
    if holds is not None:
        path.parent.mkdir(parents=True)
        path.write_text(holds if isinstance(holds, str) else dump_keep_set(holds), encoding="utf-8")
    return path


def test_the_first_keep_set_is_written(tmp_path: Path) -> None:
    """An equal one is not talked about."""
    now, said = support.open_session(tmp_path)
    settle(now, made(now, 1, 2))

    assert committed(tmp_path).read_text("utf-8") == dump_keep_set(support.keep_set(1, 2))
    assert f"wrote {tmp_path / 'megtrim/keepset'}: 2 regions: commit it" in said.getvalue()
    again, said = support.open_session(tmp_path)
    settle(again, made(again, 1, 2))
    assert said.getvalue() == ""


def test_a_keep_set_that_grew_is_warned_of(tmp_path: Path) -> None:
    now, _ = support.open_session(tmp_path)
    settle(now, made(now, 1))
    later, said = support.open_session(tmp_path)
    assert settle(later, made(later, 1, 2)) == 1

    assert "the keep set is stale: m/s@any needs kern<2>\n" in said.getvalue()
    assert "`megtrim trim --config megtrim.yaml --accept` and commit" in said.getvalue()
    assert committed(tmp_path).read_text("utf-8") == dump_keep_set(support.keep_set(1))

    accepted, _ = support.open_session(tmp_path, accept=True)
    settle(accepted, made(accepted, 1, 2))
    assert committed(tmp_path).read_text("utf-8") == dump_keep_set(support.keep_set(1, 2))


@pytest.mark.parametrize("better", [False, True])
def test_what_is_new_is_written_if_nothing_else_is_wrong(tmp_path: Path, better: bool) -> None:
    [record] = support.keep_set(1).scenarios
    new = replace(record, id="n/s@any")
    more = record if better else support.keep_set(1, 2).scenarios[0]
    now, _ = support.open_session(tmp_path)
    settle(now, made(now, 1))
    later, said = support.open_session(tmp_path)

    ended = settle(later, holding(later, replace(support.keep_set(), scenarios=(more, new))))

    written = committed(tmp_path).parents[1] / "n/s@any.json"
    assert (ended, written.exists()) == ((0, True) if better else (1, False))
    reported = "keepset: 1 region: commit it" if better else "keep set is stale: m/s@any needs"
    assert reported in said.getvalue()


@pytest.mark.parametrize(
    ("before", "reported"),
    [
        ((1, "a", "b", "main"), "1 region, 1 function (were 1, 3)"),
        ((1, "main"), "1 region, 1 function"),
        ((1,), "1 region, 1 function (were 1, 0)"),
        (None, "1 region, 1 function"),
    ],
)
def test_what_is_written_says_how_much_it_keeps(
    tmp_path: Path, before: tuple[int | str, ...] | None, reported: str
) -> None:
    """And how much was kept where that changed: another link's list shrinks without a message."""
    old: KeepSet | str = "{"
    if before is not None:
        names = [name for name in before if isinstance(name, str)]
        old = with_functions(*names, link_sha256="d" * 64) if names else support.keep_set(1)
    committed(tmp_path, holds=old)
    if before and len(before) == 4:
        # Its functions cannot be compared, so it is another link that is shown.
        stale, said = support.open_session(tmp_path)
        settle(stale, holding(stale, with_functions("main")))
        assert "lists functions of another link: m/s@any\n" in said.getvalue()

    now, said = support.open_session(tmp_path, accept=True)
    settle(now, holding(now, with_functions("main")))

    assert f"wrote {tmp_path / 'megtrim/keepset'}: {reported}: commit it" in said.getvalue()


@pytest.mark.parametrize(
    ("kind", "status", "hint"),
    [
        ("auto", CheckStatus.INCONCLUSIVE, "another compiler here than where the list was made"),
        ("zig", CheckStatus.FAIL, "if the change is intended, run"),
    ],
)
def test_what_to_do_about_another_link_depends_on_the_toolchain(
    tmp_path: Path, kind: str, status: CheckStatus, hint: str
) -> None:
    request = support.open_session(tmp_path)[0].request
    toolchain = request.config.toolchain.model_copy(update={"kind": kind})
    config = request.config.model_copy(update={"toolchain": toolchain})
    request = replace(request, loaded=replace(request.loaded, config=config))
    before = with_functions("main", link_sha256="d" * 64)

    check = committed_keepset.keep_set_check(before, with_functions("main"), request)
    assert check.status is status
    assert hint in check.hint
    stale = committed_keepset.keep_set_check(support.keep_set(2), with_functions("main"), request)
    assert stale.status is CheckStatus.FAIL
    assert "if the change is intended" in stale.hint


def test_a_trace_that_shrank_fails_until_it_is_accepted(tmp_path: Path) -> None:
    now, _ = support.open_session(tmp_path)
    settle(now, made(now, *range(13)))
    later, _ = support.open_session(tmp_path)

    with pytest.raises(ProductFailure) as caught:
        settle(later, made(later, 12))

    lost = ", ".join(f"kern<{number}>" for number in range(5))
    assert caught.value.message == (
        f"a trace shrank against the committed keep set: m/s@any no longer runs {lost} and 7 more"
        " (shrunken trace)"
    )
    assert caught.value.hint == (
        "if that is meant, accept it, and commit the keep set: megtrim trim --accept"
    )
    accepted, _ = support.open_session(tmp_path, accept=True)
    settle(accepted, made(accepted, 12))
    assert committed(tmp_path).read_text("utf-8") == dump_keep_set(support.keep_set(12))


def test_functions_that_are_lost_are_named_in_brief(tmp_path: Path) -> None:
    templates = [f"_ZNSt6vectorISt4pairI{it}SaI{it}EESaI{it}EE4pushE{it}" for it in TYPES]
    now, _ = support.open_session(tmp_path)
    before, after = (with_functions(*names) for names in (("main", *templates), ("main",)))
    committed(tmp_path, holds=before)

    with pytest.raises(ProductFailure) as caught:
        settle(now, holding(now, after))

    names = ", ".join(["std::vector<…>::push(…)"] * 5)
    assert caught.value.message.splitlines()[0] == (
        "a trace shrank against the committed keep set: m/s@any no longer runs "
        f"{names} and 2 more (shrunken trace)"
    )


def test_every_scenario_that_lost_something_has_a_line(tmp_path: Path) -> None:
    [record] = support.keep_set(1, 2).scenarios
    both = replace(support.keep_set(), scenarios=(record, replace(record, id="n/s@any")))
    less = tuple(replace(each, regions=each.regions[:1]) for each in both.scenarios)
    now, _ = support.open_session(tmp_path)
    settle(now, holding(now, both))
    later, _ = support.open_session(tmp_path)

    with pytest.raises(ProductFailure) as caught:
        settle(later, holding(later, replace(both, scenarios=less)))

    assert caught.value.message.splitlines() == [
        "a trace shrank against the committed keep set: m/s@any no longer runs kern<2>",
        "n/s@any no longer runs kern<2> (shrunken trace)",
    ]


@pytest.mark.parametrize("damage", ["{", "", "folder"])
def test_a_committed_file_that_is_none_is_bad_input(tmp_path: Path, damage: str) -> None:
    now, _ = support.open_session(tmp_path)
    path = committed(tmp_path)
    path.parent.mkdir(parents=True)
    if damage == "folder":
        path.mkdir()
    else:
        path.write_text(damage, encoding="utf-8")

    with pytest.raises(InputError, match=r"^megtrim/keepset/m/s@any\.json:"):
        settle(now, made(now, 1))
    assert path.is_dir() or path.read_text(encoding="utf-8") == damage


def test_regions_of_a_scenario_come_from_its_trace_or_the_committed_file(now: Session) -> None:
    assert keepset_usage.traced_regions(now) == {}
    finish(now, HEADER, {"keepset.json": dump_keep_set(support.keep_set(1, 2, 3))})
    assert keepset_usage.traced_regions(now) == {"m/s@any": 3}

    traced = support.changed(now, committed=False)
    assert keepset_usage.traced_regions(traced) == {}
    finish(now, trace_task(support.only_scenario(now)), {}, regions=5)
    assert keepset_usage.traced_regions(traced) == {"m/s@any": 5}


def test_what_ran_and_what_stays_are_two_numbers(now: Session) -> None:
    finish(now, FUNCTIONS, {}, functions=487)
    counts = {
        "a": FunctionCount(held=1_900, dropped=1_300),
        "b": FunctionCount(held=64, dropped=34),
    }
    finish(now, REDUCED, {}, functions=counts)

    assert verdict._describe_result(FUNCTIONS, now.results) == "487 functions ran"
    assert verdict._describe_result(REDUCED, now.results) == (
        "linked without 1334 of 1964 functions; 630 stay: what ran, and what must stay whatever ran"
    )
    assert [(each.kept, each.held) for each in keepset_usage.functions_use(now.results)] == [
        (600, 1_900),
        (30, 64),
    ]


def test_what_an_earlier_run_built_was_not_compiled(now: Session) -> None:
    finish(now, HEADER, {})
    finish(now, REDUCED, {})
    built = keepset_usage.rebuild(now.results)
    now.results.taken.add(REDUCED)
    taken = keepset_usage.rebuild(now.results)

    assert built is not None
    assert taken == Rebuild(compiled=0, units=built.units)


@pytest.mark.parametrize(
    ("committed", "held", "of_tags"),
    [(False, 4, [("kern", 2, 3), ("other", 0, 1)]), (True, 0, [("kern", 2, 0)])],
)
def test_a_profile_build_that_a_trap_made_is_not_counted(
    now: Session, committed: bool, held: int, of_tags: list[tuple[str, int, int]]
) -> None:
    here = support.changed(now, committed=committed, engine=support.MARKED)
    finish(here, HEADER, {"keepset.json": dump_keep_set(support.keep_set(1, 2))})
    finish(here, PROFILE, {"regions.txt": "kern<1>\nkern<2>\nkern<3>\nother<1>\n"})
    every = {task.id: task for task in tasks(here.request.config, committed=committed)}

    use = keepset_usage.regions_use(every[VERDICT], here)

    assert (use.held, use.kept) == (held, 2)
    assert [(each.tag, each.kept, each.held) for each in use.by_tag] == of_tags


def test_an_engine_without_marks_is_not_asked_for_names(now: Session) -> None:
    identity = SimpleNamespace(kind="cmake")
    unmarked = SimpleNamespace(marks=None, identity=lambda: identity)
    here = support.changed(now, engine=cast(Any, unmarked))
    (record,) = support.keep_set(1).scenarios
    listed = replace(record, regions=(), functions=("main",), link_sha256="7" * 64)
    keep = replace(support.keep_set(1), scenarios=(listed,))
    finish(here, HEADER, {"keepset.json": dump_keep_set(keep)})
    every = {task.id: task for task in tasks(here.request.config)}

    assert keepset_usage.regions_use(every[VERDICT], here) == RegionsUse(held=0, kept=0, by_tag=())
    with pytest.raises(TypeError, match="the engine cmake marks no regions"):
        _ = here.services.marks
