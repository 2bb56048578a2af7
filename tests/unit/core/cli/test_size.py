"""``megtrim size``: show, diff, why and history, for people and as JSON."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from megtrim.core.cli.size import why
from megtrim.core.cli.size.show import draw_table
from megtrim.core.keep.keepset import build_keep_set
from megtrim.core.keep.region import Region
from megtrim.core.size.references import stage as references
from megtrim.engines.midout.header import Scopes
from megtrim.engines.midout.marks import Midout
from megtrim.engines.midout.names import name_hash
from megtrim.engines.models.operators import OperatorInfo, merge
from megtrim.hosting.cli.schema import make_schema
from megtrim.libs.history.folder import append_to_folder
from support.clock import clock_at
from support.history_entries import make_sizes
from support.scenario_records import make_record
from unit.core.cli.support import Shell
from unit.core.size.made_files import break_down_engine
from unit.core.size.made_graphs import FIRST, SECOND, make_program
from unit.core.size.references.made_programs import PROGRAM
from unit.libs.elf.made_objects import Named, Part, object_file


@pytest.fixture
def size_bytes(shell: Shell) -> int:
    data, _ = break_down_engine()
    (shell.folder / "one.o").write_bytes(data)
    return len(data)


def test_the_bytes_of_a_file_are_shown(shell: Shell, size_bytes: int) -> None:
    lines = shell("size", "show", "one.o").expect(0).out.splitlines()
    assert lines[2].split()[:2] == ["file", f"{size_bytes:,}"]
    totals = [line for line in lines if line.startswith("[total]")]
    assert [f"{size_bytes:,}" in line for line in totals] == [True] * 3
    assert any(line.startswith("mgb::opr::Add<…>::run()") for line in lines)
    few = shell("size", "show", "one.o", "--by", "symbol", "--top", "1").out.splitlines()
    assert not any(line.startswith("component") for line in few)
    assert sum("others]" in line for line in few) == 1


def test_json_has_every_row(shell: Shell, size_bytes: int) -> None:
    found = json.loads(shell("size", "show", "one.o", "--json").out)

    assert found["sizes"]["file_bytes"] == size_bytes
    assert found["bytes_by"].keys() == {"section", "component", "symbol", "source"}
    assert {sum(each.values()) for each in found["bytes_by"].values()} == {size_bytes}


@pytest.mark.usefixtures("size_bytes")
def test_deflating_takes_time_so_it_is_asked_for(shell: Shell) -> None:
    assert "deflated" not in shell("size", "show", "one.o").out
    assert "stripped and deflated" in shell("size", "show", "one.o", "--deflate").out


def _write(shell: Shell, name: str, size: int) -> int:
    parts = (Part(name=".text", content=b"\1" * size),)
    data = object_file(parts, (Named(name="_ZN3mgb3opr3Add3runEv", part=".text", size=size),))
    (shell.folder / name).write_bytes(data)
    return len(data)


def test_what_grew_is_shown(shell: Shell) -> None:
    _write(shell, "a.o", 64)
    _write(shell, "b.o", 1088)

    lines = shell("size", "diff", "a.o", "b.o").out.splitlines()

    grown = [line.split() for line in lines if "mgb::opr::Add::run()" in line]
    assert grown == [["operators", "mgb::opr::Add::run()", "64", "1,088", "+1,024"]]
    assert any(line.split() == ["operators", "64", "1,088", "+1,024"] for line in lines)
    assert sum(line.lstrip().startswith("[all changes]") for line in lines) == 2


def test_changes_add_up_as_json(shell: Shell) -> None:
    growth = _write(shell, "b.o", 1088) - _write(shell, "a.o", 64)

    for names, expected in ((("a.o", "b.o"), growth), (("b.o", "a.o"), -growth)):
        found = json.loads(shell("size", "diff", *names, "--json").out)
        for changes in found["changes_by"].values():
            assert sum(each["after"] - each["before"] for each in changes) == expected


def test_what_is_left_out_is_one_row() -> None:
    table = draw_table(
        ("letter", "bytes"),
        [("a", 5), ("b", 3), ("c", 2)],
        lambda row: (row[0], str(row[1])),
        top=1,
        whole="[total]",
        totals=lambda rows: (str(sum(size for _, size in rows)),),
    )

    assert table.splitlines() == [
        "letter      bytes",
        "----------  -----",
        "a               5",
        "[2 others]      5",
        "[total]        10",
    ]


def test_names_of_a_file_make_no_terminal_obey() -> None:
    table = draw_table(
        ("symbol", "bytes"),
        [("a\x1b[2Jb\nc", 1), ("d" * 9_000, 1)],
        lambda row: (row[0], str(row[1])),
        top=2,
        whole="[total]",
        totals=lambda rows: (str(len(rows)),),
    )

    lines = table.splitlines()
    assert len(lines) == 5
    assert lines[2].split() == ["ab", "c", "1"]
    assert all(line.isprintable() and len(line) < 1_000 for line in lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("size show damaged.o", "damaged.o: a damaged ELF file"),
        ("size diff a.o text", "text: neither an ELF file nor an archive"),
        ("size why nowhere --file a.o", "a.o: an object, expected a program or shared library"),
        ("size", "megtrim.yaml"),
        ("size show gone", "gone"),
        ("size --json show file", "unexpected extra arguments (show file)"),
    ],
)
def test_what_cannot_be_measured_is_one_error(shell: Shell, words: str, said: str) -> None:
    _write(shell, "a.o", 64)
    (shell.folder / "damaged.o").write_bytes((shell.folder / "a.o").read_bytes()[:100])
    (shell.folder / "text").write_bytes(b"no program")

    assert ("megtrim.yaml" in shell(*words.split()).expect(2, said).err) is (words == "size")


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


def make_marks(source: str) -> Midout:
    return Midout(modes=tuple, scopes=Scopes, texts=lambda: [("a.cpp", source)])


@pytest.fixture(autouse=True)
def trim(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    done = {"build/profile": Path()}
    made = SimpleNamespace(
        session=SimpleNamespace(
            config=SimpleNamespace(artifacts=("load_and_run",)),
            results=SimpleNamespace(done=done),
            done=done,
            services=SimpleNamespace(marks=make_marks("\nMIDOUT_BEGIN(conv, 1)")),
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
    trim.session.services.marks = make_marks('MIDOUT_BEGIN(conv, "im2col"_hash)')
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


HISTORY = Path("perf-history")


def test_the_history_is_read_and_says_what_changed(shell: Shell) -> None:
    sizes = (
        make_sizes(1, 9000, kernels=1000),
        make_sizes(2, 1024, kernels=100),
        make_sizes(3, 5120, kernels=4100),
        make_sizes(3, 77, config="android/megtrim.yaml"),
    )
    append_to_folder(HISTORY, sizes)

    answer = shell("size", "history", "--since", "2026-11-02").expect(0)
    lines = answer.out.splitlines()
    assert lines[0] == "android/megtrim.yaml app reduced"
    assert "megtrim.yaml app reduced" in lines
    assert "  changed most: +4 KiB at 000000000000 on 2026-11-03" in lines
    assert any("kernels +3.9 KiB, other +96 B" in line for line in lines), answer.out
    assert "2026-11-01" not in answer.out


def test_a_trend_is_drawn_and_summed_up(shell: Shell) -> None:
    append_to_folder(HISTORY, [make_sizes(1, 2048), make_sizes(2, 3072)])

    _, _, _, _, row, *more = shell("size", "history").out.splitlines()

    assert row.split()[2:6] == ["3,072", "3", "KiB", "+1"]
    assert "  2 commits since 2026-11-01: +1 KiB (+50.0%)" in more
    assert "  trend: ▁█" in more


def test_long_tables_are_cut(shell: Shell) -> None:
    append_to_folder(HISTORY, [make_sizes(day, 1000 + day) for day in range(1, 29)])

    with clock_at("2026-12-01"):
        answer = shell("size", "history", "--last", "2")

    assert "  26 earlier commits: --last 0 shows all" in answer.out
    assert "  28 commits since 2026-11-01: +27 B (+2.7%)" in answer.out
    assert "earlier" not in shell("size", "history", "--last", "0").out


def test_budgets_are_those_of_the_checkout(shell: Shell) -> None:
    append_to_folder(HISTORY, [make_sizes(1, 1000)])
    assert "budget" not in shell("size", "history").out
    shell.write("megtrim.yaml", "version: [")

    assert "1,000" in shell("size", "history").expect(0, "no budgets: megtrim.yaml").out


def test_json_has_a_schema(shell: Shell) -> None:
    both = [make_sizes(1, 1000, a=1), make_sizes(2, 1100, a=9)]
    path, broken = append_to_folder(HISTORY, both)
    append_to_folder(HISTORY, [make_sizes(3, 1200, a=9)])
    (shell.folder / "perf-history" / broken).write_text("{", encoding="utf-8")

    answer = shell("size", "history", "--json")

    document = json.loads(answer.out)
    Draft202012Validator(make_schema("size-history")).validate(document)
    assert [each["path"] for each in document["unreadable"]] == [broken]
    assert f"left out: {broken}:1:" in answer.err
    assert [each["size_bytes"] for each in document["trends"][0]["points"]] == [1000, 1200]
    assert path != broken
