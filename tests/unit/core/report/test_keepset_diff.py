from collections.abc import Callable
from dataclasses import replace

import pytest

from megtrim.core.keep.keepset import KeepSet, ScenarioRecord, build_keep_set
from megtrim.core.keep.operators import OperatorNeeds
from megtrim.core.keep.region import Region
from megtrim.core.report.keepset_diff import (
    FUNCTIONS,
    REGIONS,
    ChangeKind,
    Proposal,
    ScenarioChange,
    body,
    changes,
)
from unit.core.trim.stages.support import keep_set
from unit.core.verdict import examples

A = Region("a", (1,))
B = Region("b", ("float",))
C = Region("c", ())
LONGEST_BODY = 60_000
"""GitHub takes 65,536 characters."""


def record(name: str, *regions: Region, threads: int = 1) -> ScenarioRecord:
    [one] = keep_set(1).scenarios
    return replace(one, id=name, threads=threads, regions=regions)


def ran(name: str, *functions: str, link: str = "c") -> ScenarioRecord:
    return replace(record(name, A), functions=functions, link_sha256=link * 64)


def keep(*records: ScenarioRecord, operators: tuple[str, ...] | None = None) -> KeepSet:
    """Return a keep set; ``operators`` are those that model m needs."""
    needs = operators and OperatorNeeds(
        hashes=(), dtypes=(), operators=tuple((o, ("m",)) for o in operators), elemwise_modes=()
    )
    return build_keep_set(20220507, records, needs or None)


def text(previous: KeepSet | None, current: KeepSet) -> str:
    return body(
        Proposal(
            path="megtrim/keepset",
            branch="megtrim/keepset",
            previous=previous,
            current=current,
            verdict=examples.passing(),
            starts="They start by themselves.",
        )
    )


PREVIOUS = keep(record("gone", A), record("more", A), record("same", A), record("less", A, B))
CURRENT = keep(record("new", A, C), record("more", A, B), record("same", A), record("less", A))


@pytest.mark.parametrize(
    ("kind", "previous", "current", "expected"),
    [
        (
            REGIONS,
            PREVIOUS,
            CURRENT,
            (
                ScenarioChange(id="gone", before=1, after=None, lost=("a<1>",)),
                ScenarioChange(id="less", before=2, after=1, lost=("b<float>",), shrunken=True),
                ScenarioChange(id="more", before=1, after=2, added=("b<float>",)),
                ScenarioChange(id="new", before=None, after=2, added=("a<1>", "c<>")),
            ),
        ),
        # What is bound to something else may well need less.
        (
            REGIONS,
            keep(record("s", A, B)),
            keep(record("s", A, threads=2)),
            (ScenarioChange(id="s", before=2, after=1, lost=("b<float>",)),),
        ),
        (
            REGIONS,
            None,
            keep(record("s", A)),
            (ScenarioChange(id="s", before=None, after=1, added=("a<1>",)),),
        ),
        (
            FUNCTIONS,
            keep(record("s", A)),
            keep(ran("s", "main")),
            (ScenarioChange(id="s", before=0, after=1, added=("main",)),),
        ),
        # Another link inlines others, so that a name that is gone says little.
        (
            FUNCTIONS,
            keep(ran("s", "a", "b", "main")),
            keep(ran("s", "main", link="d")),
            (ScenarioChange(id="s", before=3, after=1, other_link=True),),
        ),
        (REGIONS, keep(ran("s", "a")), keep(ran("s", "b")), ()),
    ],
)
def test_each_scenario_that_differs_is_reported(
    kind: ChangeKind,
    previous: KeepSet | None,
    current: KeepSet,
    expected: tuple[ScenarioChange, ...],
) -> None:
    assert changes(kind, previous, current) == expected


DESCRIPTION = """\
The scenarios were traced again, and `megtrim/keepset` is not what was committed.

✅ **pass**: load\\_and\\_run: 37.5 MiB → 2.5 MiB (6.7% of plain), \
3 of 3 scenarios verified, 149 of 900 regions kept

Regions that are kept: 2 (before: 2).

| scenario | regions before | now | added | lost |
| --- | ---: | ---: | ---: | ---: |
| `m/s@any` ⚠️ | 2 | 2 | +1 | -1 |

⚠️ lost regions though model, arguments, inputs and threads are the same: \
was the traced run complete?

Operators added: `Convolution`.

Operators lost: `Pooling`.

<details><summary><code>m&#47;s&#64;<!-- -->any</code>: regions</summary>

- added `c<>`
- lost `b<float>`

</details>

**Checks.** They start by themselves.

Branch `megtrim/keepset` is overwritten by each refresh: push no commits to it.
"""


def test_the_description() -> None:
    previous = keep(record("m/s@any", A, B), operators=("Pooling", "Elemwise"))
    current = keep(record("m/s@any", A, C), operators=("Convolution", "Elemwise"))

    assert text(previous, current) == DESCRIPTION


@pytest.mark.parametrize("operators", [None, ("Pooling",)])
def test_operators_are_compared_only_where_both_list_them(
    operators: tuple[str, ...] | None,
) -> None:
    other = ("Convolution",) if operators is None else None

    assert "Operators" not in text(
        keep(record("s", A), operators=operators), keep(record("s", B), operators=other)
    )


def test_functions_are_shown_next_to_regions() -> None:
    long = f"_ZN2ns4pushI{'14some_type_name' * 6}EEvT_"
    previous = keep(ran("m/s@any", "main", "_ZN2ns3oneEv"))
    current = keep(ran("m/s@any", long, "main"))

    said = text(previous, current)

    assert (
        "\n\nNo scenario needs different regions.\n\nFunctions that are kept: 2 (before: 2)."
        in said
    )
    assert "| scenario | functions before | now | added | lost |" in said
    assert "⚠️ lost functions though model" in said
    assert "- added `void ns::push<…>(…)`\n- lost `ns::one()`" in said


def test_functions_of_another_link_are_only_counted() -> None:
    said = text(keep(ran("s", "a", "b", "main")), keep(ran("s", "main", link="d")))

    assert "\n| `s` | 3 | 1 | another link |  |\n\nFor another link only counts are" in said
    assert "<details>" not in said
    # Where no region is trimmed none is reported.
    alone = text(None, keep(replace(ran("s", "main"), regions=())))
    assert "egions" not in alone.replace("149 of 900 regions kept", "")
    assert "\n\nFunctions that are kept: 1.\n\n" in alone
    # Also if what it is bound to differs.
    same = keep(record("s", A))
    other = KeepSet(generation=20190219, scenarios=same.scenarios, operators=None)
    assert "\n\nNo scenario needs different regions.\n\n" in text(other, same)


@pytest.mark.parametrize(
    ("name", "bait", "title"),
    [
        # A scenario ends with @class: outside of code that would call a person.
        ("m/s@torvalds", "@torvalds", "m&#47;s&#64;<!-- -->torvalds</code>: regions</summary>"),
        # A title is HTML, where backticks protect nothing.
        ("</summary><img src=x>@torvalds", "<img", "&#60;&#47;summary&#62;&#60;img src&#61;x"),
    ],
    ids=["mention", "markup"],
)
def test_names_mention_no_one_and_hold_no_markup(name: str, bait: str, title: str) -> None:
    said = text(None, keep(record(name, Region("x", ("a<b>",)))))

    assert said.count(bait) == said.count(f"`{name}`") == 1
    assert f"<summary><code>{title}" in said


def test_ten_thousand_regions_fit() -> None:
    wide = tuple(Region(f"tag_{n}", ("very::long::" + "n" * 60, n)) for n in range(60))
    many = keep(*(record(f"model-{n}/scenario@any", *wide) for n in range(150)))

    said = text(None, many)

    assert len(said) <= LONGEST_BODY
    assert len(said) > LONGEST_BODY // 3
    forty = tuple(Region("x", (n,)) for n in range(40))
    assert "more added" not in text(None, keep(record("s", *forty)))
    assert "\n- … and 1 more added\n" in text(None, keep(record("s", *forty, A)))
    assert "\n\n… and 50 more scenarios.\n\n" in said
    assert "\n- … and 20 more added\n" in said
    assert said.count("<details>") + int(said.split("The regions of ")[1].split()[0]) == 150


@pytest.mark.parametrize("brought", [record, ran])
def test_the_longest_names_fit(brought: Callable[..., ScenarioRecord]) -> None:
    """Names that are written as entities take six times their length."""
    hostile = "`|" * 100
    names = tuple(f"name_{n}" for n in range(80)) if brought is ran else (A,)
    few = keep(
        *(brought(f"{n}{hostile}/s@any", *names) for n in range(150)),
        operators=tuple(f"{n}{hostile}" for n in range(20)),
    )
    proposal = Proposal(
        path=hostile,
        branch=hostile,
        previous=keep(record("x", B), operators=tuple(f"x{n}{hostile}" for n in range(20))),
        current=few,
        verdict=replace(examples.passing(), headline="*" * 5000),
        starts="They start by themselves.",
    )

    assert LONGEST_BODY // 2 < len(body(proposal)) <= LONGEST_BODY
