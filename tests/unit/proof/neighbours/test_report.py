from dataclasses import replace

from megtrim.proof.neighbours import model as neighbours
from megtrim.proof.neighbours.model import NeighbourOutcome
from megtrim.report import comment, html
from megtrim.verdict.join import join
from megtrim.verdict.model import parse_verdict, to_json
from unit.verdict.examples import HOSTILE, MOBILENET, NEIGHBOURS, facts, neighbour

VERDICT = join(facts(neighbours=NEIGHBOURS))


def test_for_a_terminal() -> None:
    assert neighbours.text(NEIGHBOURS).splitlines() == [
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
    assert neighbours.text(()) == ""


def test_each_scenario_has_its_own() -> None:
    none = neighbour("batch-2", scenario=MOBILENET)
    both = neighbours.matrices((*NEIGHBOURS, none))

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


def test_on_the_page() -> None:
    page, without = html.render(VERDICT), html.render(join(facts()))

    assert page.count('id="neighbours"') == page.count('href="#neighbours"') == 1
    assert page.count('<td class="cell pass">works</td>') == 5
    assert page.count('<td class="cell fail">traps</td>') == 3
    assert page.count('<td class="cell skipped">-</td>') == 2
    assert (
        "region: it trapped: <code>kern&lt;7&gt;</code>; "
        "function: it trapped: <code>kern&lt;7&gt;</code>"
    ) in page
    assert '<rect class="within" width="50.0%"' in page
    assert (
        '<span class="tile-title">Neighbours that work</span>'
        '<span class="tile-number">2</span><span class="tile-of">of 4</span>'
    ) in page
    assert "#neighbours" not in without
    assert 'id="neighbours"' not in without


def test_a_verdict_keeps_them() -> None:
    assert parse_verdict(to_json(VERDICT), source="verdict.json") == VERDICT


def test_hostile_words_stay_words() -> None:
    bad = neighbour(HOSTILE, NeighbourOutcome.TRAPPED, scenario=HOSTILE)
    level = replace(bad.levels[0], text=HOSTILE, needs=(HOSTILE,), level=HOSTILE)
    rows = (replace(bad, what=HOSTILE, text=HOSTILE, levels=(level,)),)
    verdict = join(facts(neighbours=rows))
    page = comment.render(verdict, measured=True)

    assert "<script>alert" not in html.render(verdict)
    assert "<script>" not in page
    assert "\x1b" not in page + html.render(verdict) + neighbours.text(rows)
