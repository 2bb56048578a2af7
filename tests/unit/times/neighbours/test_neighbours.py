from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.config.scenarios import Scenario, all_scenarios
from megtrim.core.proof import neighbours as results
from megtrim.core.report import comment, html
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import parse_verdict, to_json
from megtrim.engines.load_and_run.dialects import LITE, SDK
from megtrim.libs.programs.flags import Dialect, parse_flags
from megtrim.libs.programs.npy import NpyMutation
from megtrim.times.neighbours.requests import Neighbour, NeighbourKind, neighbours
from unit.core.chain.support import config
from unit.core.chain.support import model as model_of
from unit.core.verdict.examples import HOSTILE, MOBILENET, NEIGHBOURS, facts, neighbour

FEW = LITE.of_tree(frozenset({"cpu", "enable_nchw44"}), frozenset({"iter", "warmup_iter"}))


def scenario(*args: str, model_keys: dict[str, Any] | None = None, **settings: Any) -> Scenario:
    given_ = {"name": "s", "args": list(args), **settings}
    made = config(model_of("m", given_) | (model_keys or {}), applications=[{"name": "app"}])
    return next(all_scenarios(made))


def near(
    each: Scenario, dialect: Dialect = FEW, changes: tuple[NpyMutation, ...] = ()
) -> dict[str, Neighbour]:
    return {found.name: found for found in neighbours(each, dialect=dialect, changes=changes)}


def test_what_is_near_a_scenario() -> None:
    found = near(
        scenario("--cpu", "--iter", "3"), changes=(NpyMutation.VALUES, NpyMutation.SMALLER)
    )

    assert {name: each.arguments for name, each in found.items()} == {
        "iter-1": ("--cpu", "--iter", "1"),
        "iter-12": ("--cpu", "--iter", "12"),
        "warm-up-0": ("--cpu", "--iter", "3", "--warmup-iter", "0"),
        "warm-up-3": ("--cpu", "--iter", "3", "--warmup-iter", "3"),
        "threads-2": ("--cpu", "--iter", "3"),
        "threads-4": ("--cpu", "--iter", "3"),
        "other-values": ("--cpu", "--iter", "3"),
        "smaller-input": ("--cpu", "--iter", "3"),
        "enable-nchw44": ("--cpu", "--iter", "3", "--enable-nchw44"),
        "no-model": ("--cpu", "--iter", "3"),
        "unknown-flag": ("--cpu", "--iter", "3", "--megtrim-asks-for-an-unknown-flag"),
        "help": ("--cpu", "--iter", "3", "--help"),
    }
    assert {name: each.threads for name, each in found.items() if each.threads != 1} == {
        "threads-2": 2,
        "threads-4": 4,
    }
    assert {name for name, each in found.items() if each.model is None} == {"no-model"}
    assert {name: each.change for name, each in found.items() if each.change} == {
        "other-values": NpyMutation.VALUES,
        "smaller-input": NpyMutation.SMALLER,
    }
    complaints = [name for name, each in found.items() if each.kind is NeighbourKind.COMPLAINT]
    assert complaints == ["no-model", "unknown-flag", "help"]


def test_what_the_program_does_unasked_is_no_neighbour() -> None:
    """One warm-up by default; with another number, one is a neighbour."""
    assert "warm-up-1" not in near(scenario("--cpu"))
    assert "warm-up-1" in near(scenario("--cpu", "--warmup-iter", "2"))
    assert "warm-up-1" not in near(scenario("--cpu", "--warmup-iter", "1"))


def test_a_switch_that_is_on_is_turned_off() -> None:
    found = near(scenario("--cpu", "--enable-nchw44", "--record-comp-seq"), LITE)

    assert found["without-enable-nchw44"].arguments == ("--cpu", "--record-comp-seq")
    assert found["without-enable-nchw44"].what == "without --enable-nchw44"
    assert found["enable-nchw44-dot"].arguments == (
        "--cpu",
        "--record-comp-seq",
        "--enable-nchw44-dot",
    )
    assert found["record-comp-seq2"].arguments == (
        "--cpu",
        "--enable-nchw44",
        "--no-sanity-check",
        "--record-comp-seq2",
    )
    assert found["cpu-default"].arguments == (
        "--enable-nchw44",
        "--record-comp-seq",
        "--cpu-default",
    )


def test_threads_that_flags_ask_for_are_the_scenarios_own() -> None:
    """They are taken out where there are to be others: the program gets one number."""
    found = near(scenario("--cpu", "--multithread", "4"), LITE)

    assert {"threads-1", "threads-2"} < found.keys()
    assert "threads-4" not in found
    assert (found["threads-2"].arguments, found["threads-2"].threads) == (("--cpu",), 2)


def test_a_search_is_a_neighbour_where_there_is_no_cache() -> None:
    """With a recorded one, running without it is; what a search takes is timing."""
    plain = near(scenario("--cpu"), LITE)
    cached = near(scenario("--cpu", fast_run=True, algo_cache="a.cache"), LITE)

    assert [plain[name].searches for name in ("fast-run", "full-run", "iter-1")] == [
        True,
        True,
        False,
    ]
    assert "without-algo-cache" not in plain
    assert not {"fast-run", "full-run"} & cached.keys()
    without = cached["without-algo-cache"]
    assert (without.cached, without.searches) == (False, True)
    assert cached["iter-1"].cached


def test_other_dumps_of_the_model_are_neighbours() -> None:
    also = ["m.v2.mge", "old/m.v2.mge", "sub dir/ä b.mge", "m.mge"]
    found = near(scenario("--cpu", model_keys={"also": also}))

    formats = {
        name: each.model for name, each in found.items() if each.kind is NeighbourKind.FORMAT
    }
    assert formats == {
        "model-m.v2.mge": Path("m.v2.mge"),
        "model-m.v2.mge-2": Path("old/m.v2.mge"),
        "model---b.mge": Path("sub dir/ä b.mge"),
    }


def test_the_older_program() -> None:
    found = near(scenario("--cpu", "--iter", "3"), SDK)
    oldest = replace(SDK, switches=SDK.switches - {"weight_preprocess"})

    assert found["iter-1"].arguments == ("--cpu", "--iter", "1")
    assert "help" not in found
    assert "weight-preprocess" in found
    assert "winograd-transform" not in found
    assert "winograd-transform" in near(scenario("--cpu"), oldest)


def test_an_application_has_the_neighbours_that_its_words_have_places_for() -> None:
    reported = scenario("{model}", "--workers", "{threads}", application="app", threads=2)
    plain = scenario("{model}", application="app")

    assert {name: each.threads for name, each in near(reported).items()} == {
        "threads-1": 1,
        "threads-4": 4,
        "no-model": 2,
    }
    assert list(near(plain, changes=(NpyMutation.BATCH,))) == ["batch-2", "no-model"]
    assert near(reported)["threads-4"].arguments == ("{model}", "--workers", "{threads}")


FLAGS = st.lists(
    st.sampled_from(
        [
            ("--cpu",),
            ("--iter", "1"),
            ("--iter=12",),
            ("--warmup_iter", "3"),
            ("--enable-nchw44",),
            ("--noenable-nchw44",),
            ("--weight-preprocess",),
            ("--multithread", "4"),
            ("--fast-run-shared-batch-size", "2"),
            ("--batch-size=2",),
            ("--help",),
            ("--cpu-default",),
            ("--record-comp-seq2=true",),
        ]
    ),
    max_size=6,
).map(lambda groups: [word for group in groups for word in group])


@given(FLAGS, st.integers(1, 4), st.sets(st.sampled_from(list(NpyMutation))), st.booleans())
def test_neighbours_are_the_same_each_time_and_never_the_scenario(
    args: list[str], threads: int, changes: set[NpyMutation], searched: bool
) -> None:
    own = scenario(*args, threads=threads, fast_run=searched)
    found = neighbours(own, dialect=LITE, changes=changes)
    again = neighbours(own, dialect=LITE, changes=sorted(changes, reverse=True))

    assert found == again
    names = [each.name for each in found]
    assert len(set(names)) == len(names)
    assert len({each.run for each in found}) == len(found)
    given_ = parse_flags(args, dialect=LITE, source="x")
    for asked in found:
        if asked.kind is NeighbourKind.COMPLAINT:
            continue
        reported = parse_flags(asked.arguments, dialect=LITE, source="x")
        own_threads = [int(f.value) for f in given_ if f.name == "multithread" and f.value]
        same_threads = asked.threads == (own_threads or [threads])[-1]
        same = reported == given_ and same_threads and asked.cached and not asked.change
        assert not same or asked.model != own.own_model.file


VERDICT = join(facts(neighbours=NEIGHBOURS))


def test_for_a_terminal() -> None:
    assert results.text(NEIGHBOURS).splitlines() == [
        "resnet18-s/default@any",
        "  neighbour      what differs               region  function",
        "  -------------  -------------------------  ------  --------",
        "  iter-1         --iter-1                   works   works",
        "  iter-3         --iter-3                   works   works",
        "  enable-nchw44  --enable-nchw44            traps   traps",
        "  other-dump     --other-dump               works   traps",
        "  batch-2        --batch-2                  -       -",
        "                 work, of those that apply  3 of 4  2 of 4",
    ]
    assert results.text(()) == ""


def test_each_scenario_has_its_own() -> None:
    none = neighbour("batch-2", scenario=MOBILENET)
    both = results.matrices((*NEIGHBOURS, none))

    assert [(each.scenario, each.levels, each.counts) for each in both] == [
        ("resnet18-s/default@any", ("region", "function"), ("3 of 4", "2 of 4")),
        (MOBILENET, (), ()),
    ]
    assert both[0].shares == ("75.0%", "50.0%")


def test_for_markdown() -> None:
    page = comment.render(VERDICT, measured=True)

    assert "<details><summary>Neighbours: 2 of 4 work</summary>" in page
    assert "`resnet18-s/default@any`: `region` 3 of 4, `function` 2 of 4" in page
    assert "| `other-dump` | --other-dump | ✅ works | ❌ traps |" in page
    assert "| `batch-2` | --batch-2 | - | - |" in page
    assert comment.render(VERDICT) == comment.render(join(facts()))
    assert parse_verdict(to_json(VERDICT), source="verdict.json") == VERDICT


def test_on_the_page() -> None:
    page = html.render(VERDICT)
    without = html.render(join(facts()))

    assert page.count('id="neighbours"') == page.count('href="#neighbours"') == 1
    assert page.count('<td class="cell pass">works</td>') == 5
    assert page.count('<td class="cell fail">traps</td>') == 3
    assert page.count('<td class="cell skipped">-</td>') == 2
    assert (
        "region: it trapped: <code>kern&lt;7&gt;</code>; "
        "function: it trapped: <code>kern&lt;7&gt;</code>"
    ) in page
    assert '<rect class="within" width="50.0%"' in page
    assert "#neighbours" not in without
    assert 'id="neighbours"' not in without


def test_hostile_words_stay_words() -> None:
    bad = neighbour(HOSTILE, results.NeighbourOutcome.TRAPPED, scenario=HOSTILE)
    level = replace(bad.levels[0], text=HOSTILE, needs=(HOSTILE,), level=HOSTILE)
    rows = (replace(bad, what=HOSTILE, text=HOSTILE, levels=(level,)),)
    verdict = join(facts(neighbours=rows))
    page = comment.render(verdict, measured=True)

    assert "<script>alert" not in html.render(verdict)
    assert "<script>" not in page
    assert "\x1b" not in page + html.render(verdict) + results.text(rows)
