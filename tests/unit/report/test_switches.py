"""The table of switches: in a terminal, in report.md, on the page, and not in a comment."""

from __future__ import annotations

from dataclasses import replace

from megtrim.report import comment, html, switches
from megtrim.verdict.join import join
from megtrim.verdict.model import SwitchSize, TrimChoice, parse_verdict, to_json
from unit.verdict.examples import HOSTILE, facts


def row(build: str, size_bytes: int | None, saved_bytes: int | None, note: str = "") -> SwitchSize:
    off = () if build == "all-on" else (build.removesuffix("-off"),)
    return SwitchSize(
        artifact="load_and_run",
        build=build,
        off=off,
        size_bytes=size_bytes,
        saved_bytes=saved_bytes,
        saved_share=None if saved_bytes is None else saved_bytes / 3_000_000,
        note=note,
    )


ROWS = (
    row("all-on", 3_000_000, 0),
    row("rtti-off", None, None, "always off in this engine's Release build for aarch64"),
    row("logging-off", 3_000_024, -24),
    row("exceptions-off", 2_400_000, 600_000),
    row("all-off", 2_100_000, 900_000),
)


def test_for_a_terminal() -> None:
    """Numbers to the right; what was not built says why; all on saves nothing to speak of."""
    assert switches.text(ROWS).splitlines() == [
        "artifact      build               bytes     size    saved  % of all-on  note",
        (
            "------------  --------------  ---------  -------  -------  -----------  "
            "-----------------------------------------------------"
        ),
        "load_and_run  all-on          3,000,000  2.9 MiB        -            -",
        (
            "load_and_run  rtti-off                -        -        -            -  "
            "always off in this engine's Release build for aarch64"
        ),
        "load_and_run  logging-off     3,000,024  2.9 MiB      -24       -0.00%",
        "load_and_run  exceptions-off  2,400,000  2.3 MiB  600,000       20.00%",
        "load_and_run  all-off         2,100,000  2.0 MiB  900,000       30.00%",
    ]
    assert switches.text(()) == ""


def test_for_markdown() -> None:
    """In report.md, folded; the comment on a pull request goes without."""
    verdict = join(facts(switches=ROWS))

    page = comment.render(verdict, measured=True)

    assert "<details><summary>What each switch buys</summary>" in page
    assert (
        "| `load_and_run` | `exceptions-off` | 2,400,000 | 2.3 MiB | 600,000 | 20.00% |  |" in page
    )
    assert comment.render(verdict) == comment.render(join(facts()))
    assert comment.render(join(facts()), measured=True) == comment.render(join(facts()))


def test_on_the_page() -> None:
    """A section of its own, only where something was measured."""
    page, without = html.render(join(facts(switches=ROWS))), html.render(join(facts()))

    assert page.count('id="switches"') == page.count('href="#switches"') == 1
    assert '<td class="number">600,000</td><td class="number">20.00%</td><td></td>' in page
    assert "#switches" not in without
    assert 'id="switches"' not in without


def test_what_is_off_singly_is_said() -> None:
    """Next to the minimum size, wherever the trim is described."""
    trim = TrimChoice(
        level="region",
        layout="scoped",
        minimum_size=False,
        optimize="none",
        switched_off=("rtti", "logging"),
    )
    verdict = join(facts(trim=trim))

    assert "<dt>switched off</dt><dd>rtti, logging</dd>" in html.render(verdict)
    assert "| switched off | `rtti, logging` |" in comment.render(verdict)
    assert "switched off" not in html.render(join(facts()))
    assert "switched off" not in comment.render(join(facts()))


def test_a_verdict_keeps_them() -> None:
    """Written and read: a switch that costs bytes as well as one that was not built."""
    verdict = join(facts(switches=ROWS))

    assert parse_verdict(to_json(verdict), source="verdict.json") == verdict


def test_hostile_words_stay_words() -> None:
    """A note may be what a compiler said."""
    bad = replace(ROWS[1], artifact=HOSTILE, build=HOSTILE, note=HOSTILE)
    verdict = join(facts(switches=(bad,)))

    assert "<script>alert" not in html.render(verdict)
    page = comment.render(verdict, measured=True)
    assert "<script>" not in page
    assert "\x1b" not in page + html.render(verdict) + switches.text((bad,))
