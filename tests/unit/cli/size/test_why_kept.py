"""Why a region, a tag or an operator is there, or was left out."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from megtrim.cli.size import why, why_kept
from megtrim.midout.keepset import build_keep_set
from megtrim.midout.names import name_hash
from megtrim.midout.region import Region
from megtrim.models.operators import OperatorInfo, merge
from megtrim.pipeline import references
from support.scenario_records import make_record
from unit.cli.support import Shell
from unit.size.prices.made_prices import FIRST, SECOND, make_program

SCENARIO = "vgg/default@any"
KEEP = build_keep_set(
    20220507,
    (make_record([SECOND], scenario=SCENARIO),),
    merge([("vgg", OperatorInfo(hash=None, dtypes=(), opr_types=("Conv",), elemwise_modes=()))]),
)


@pytest.fixture(autouse=True)
def trim(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A trim that keeps one of two regions, and one operator."""
    made = SimpleNamespace(
        session=SimpleNamespace(
            request=SimpleNamespace(config=SimpleNamespace(artifacts=("load_and_run",))),
            results=SimpleNamespace(done={"build/profile": Path()}),
            services=SimpleNamespace(
                engine=SimpleNamespace(texts=lambda: [("a.cpp", "\nMIDOUT_BEGIN(conv, 1)")])
            ),
        ),
        open_priced=lambda _: SimpleNamespace(program=make_program()),
    )
    monkeypatch.setattr(why, "open_trim", lambda *_: made)
    monkeypatch.setattr(references, "read_keep", lambda _: KEEP)
    monkeypatch.setattr(why_kept, "list_held_regions", lambda _: (FIRST, SECOND))
    return made


def ask(shell: Shell, thing: str) -> tuple[Any, str]:
    """Return the answer as data and as text."""
    answer = shell("size", "why", thing, "--json")
    assert answer.status == 0, answer.err
    return json.loads(answer.out), shell("size", "why", thing).out


def test_a_region_is_there_for_its_scenarios(shell: Shell) -> None:
    """With where it is."""
    found, text = ask(shell, "conv<2>")

    assert (found["kind"], found["kept_by"][0]["by"]) == ("region", [SCENARIO])
    assert f"scenarios that run it: {SCENARIO}" in text
    assert "  a.cpp:2\n" in text


def test_a_region_may_have_been_left_out(shell: Shell) -> None:
    """Its name may have any spacing."""
    found, text = ask(shell, "conv< 1 >")

    assert (found["kept_by"], found["regions"]) == ([], [])
    assert [row["name"] for row in found["left_out"]] == ["conv<1>"]
    assert "it was left out: no scenario runs it" in text


def test_a_region_may_be_called_by_what_its_numbers_mean(
    shell: Shell, trim: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As tables show it."""
    region = Region("conv", (name_hash("im2col", terminated=False),))
    trim.session.services.engine.texts = lambda: [("a.cpp", 'MIDOUT_BEGIN(conv, "im2col"_hash)')]
    monkeypatch.setattr(why_kept, "list_held_regions", lambda _: (FIRST, SECOND, region))

    found, text = ask(shell, 'conv<"im2col">')

    assert found["name"] == str(region)
    assert '  conv<"im2col">\n' in text


def test_a_tag_shows_both(shell: Shell) -> None:
    """What it keeps and what was left out of it."""
    found, text = ask(shell, "conv")

    assert [each["name"] for each in found["regions"]] == ["conv<2>"]
    assert [each["name"] for each in found["left_out"]] == ["conv<1>"]
    assert "1 of its regions: kept\n  conv<2>\n1 of its regions: left out\n  conv<1>\n" in text


def test_an_operator_is_there_for_its_models(shell: Shell) -> None:
    """By their operator lists."""
    found, text = ask(shell, "Conv")

    assert (found["kept_by"][0]["by"], found["retained_bytes"]) == (["vgg"], 700)
    assert "models whose operator lists have it: vgg" in text
