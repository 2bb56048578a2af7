"""``megtrim size why``: for people and as JSON."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from megtrim.cli.size import why
from megtrim.models.operators import OperatorInfo, merge
from megtrim.regions.keepset import build_keep_set
from megtrim.regions.names import name_hash
from megtrim.regions.region import Region
from megtrim.size.references import stage as references
from support.scenario_records import make_record
from unit.cli.support import Shell
from unit.size.made_prices import FIRST, SECOND, make_program
from unit.size.references.made_programs import PROGRAM


@pytest.fixture
def program(shell: Shell) -> tuple[str, str]:
    (shell.folder / "program").write_bytes(PROGRAM)
    return ("--file", "program")


def test_a_function_of_a_file_has_a_reason(shell: Shell, program: tuple[str, str]) -> None:
    answer = shell("size", "why", "run", *program).expect(0)
    assert "start (the entry point)\n    -> alias" in answer.out
    assert "1 other refers to it" in answer.out
    assert "without it, 44 bytes would go" in answer.out
    found = json.loads(shell("size", "why", "run", *program, "--json").out)
    assert found["chain"] == ["start", "alias"]
    assert found["parts"][0]["linkage_names"] == ["alias", "run"]
    assert (found["size_bytes"], found["retained_bytes"], found["exact"]) == (36, 44, True)


def test_a_name_of_several_parts_or_none(shell: Shell, program: tuple[str, str]) -> None:
    several = shell("size", "why", "a", *program, "--top", "1")
    none = shell("size", "why", "nowhere", *program)

    assert "names contain 'a'; ask for one of them by its whole name" in several.out
    assert "others]" in several.out
    assert (none.status, "has nothing that is called 'nowhere'" in none.err) == (2, True)


SCENARIO = "vgg/default@any"
KEEP = build_keep_set(
    20220507,
    (make_record([SECOND], scenario=SCENARIO),),
    merge([("vgg", OperatorInfo(hash=None, dtypes=(), opr_types=("Conv",), elemwise_modes=()))]),
)


@pytest.fixture(autouse=True)
def trim(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
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
    monkeypatch.setattr(why, "list_held_regions", lambda _: (FIRST, SECOND))
    return made


def ask(shell: Shell, thing: str) -> tuple[Any, str]:
    answer = shell("size", "why", thing, "--json").expect(0)
    return json.loads(answer.out), shell("size", "why", thing).out


def test_a_region_is_there_for_its_scenarios(shell: Shell) -> None:
    found, text = ask(shell, "conv<2>")

    assert (found["kind"], found["kept_by"][0]["by"]) == ("region", [SCENARIO])
    assert f"scenarios that run it: {SCENARIO}" in text
    assert "  a.cpp:2\n" in text


def test_a_region_may_have_been_left_out(shell: Shell) -> None:
    found, text = ask(shell, "conv< 1 >")

    assert (found["kept_by"], found["regions"]) == ([], [])
    assert [row["name"] for row in found["left_out"]] == ["conv<1>"]
    assert "it was left out: no scenario runs it" in text


def test_a_region_may_be_called_by_what_its_numbers_mean(
    shell: Shell, trim: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    region = Region("conv", (name_hash("im2col", terminated=False),))
    trim.session.services.engine.texts = lambda: [("a.cpp", 'MIDOUT_BEGIN(conv, "im2col"_hash)')]
    monkeypatch.setattr(why, "list_held_regions", lambda _: (FIRST, SECOND, region))

    found, text = ask(shell, 'conv<"im2col">')

    assert found["name"] == str(region)
    assert '  conv<"im2col">\n' in text


def test_a_tag_shows_both(shell: Shell) -> None:
    found, text = ask(shell, "conv")

    assert [each["name"] for each in found["regions"]] == ["conv<2>"]
    assert [each["name"] for each in found["left_out"]] == ["conv<1>"]
    assert "1 of its regions: kept\n  conv<2>\n1 of its regions: left out\n  conv<1>\n" in text


def test_an_operator_is_there_for_its_models(shell: Shell) -> None:
    found, text = ask(shell, "Conv")

    assert (found["kept_by"][0]["by"], found["retained_bytes"]) == (["vgg"], 700)
    assert "models whose operator lists have it: vgg" in text
