import json
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.build_spec import Origin
from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.config.limits import Budget, Waiver
from megtrim.core.size.baseline import dump_sizes, expect_same_kind, load_sizes, parse_sizes
from megtrim.core.size.budgets import Baseline, Measured, check, ending, warn_early
from megtrim.core.size.byte_table import ByteTable
from megtrim.core.size.growth.causes import InputPrint
from megtrim.core.size.rows import BudgetRow
from megtrim.libs.util.errors import InputError

TODAY = date(2027, 1, 31)
KIB = 1024
MIB = 1024 * 1024
LAR = ("load_and_run", "reduced")
PASS = CheckStatus.PASS
FAIL = CheckStatus.FAIL
SKIPPED = CheckStatus.SKIPPED


def budget(**limits: object) -> Budget:
    return Budget.model_validate({"artifact": "load_and_run", **limits})


def waiver(size: str, expires: str, owner: str = "ann", name: str = "load_and_run") -> Waiver:
    return Waiver.model_validate(
        {"budget": name, "bytes": size, "reason": "new head", "owner": owner, "expires": expires}
    )


def judge(
    one: Budget,
    size_bytes: int,
    *,
    before: int | None = None,
    waivers: tuple[Waiver, ...] = (),
) -> tuple[BudgetRow, ...]:
    baseline = None if before is None else Baseline(source="main", sizes={LAR: before})
    return check([one], Measured(sizes={LAR: size_bytes}), baseline, waivers, TODAY)


@pytest.mark.parametrize(
    ("limit", "size_bytes", "before", "status", "text"),
    [
        ("2 MiB", 2 * MIB, None, PASS, "2 MiB of 2 MiB, 0 B left"),
        ("2 MiB", 2 * MIB + 1, None, FAIL, "2.0 MiB of 2 MiB, 1 B too many"),
        ("16 KiB", MIB - 5, MIB, PASS, "-5 B since main, 16 KiB allowed"),
        ("16 KiB", MIB, MIB, PASS, "0 B since main, 16 KiB allowed"),
        ("16 KiB", MIB + 16 * KIB, MIB, PASS, "+16 KiB since main, 16 KiB allowed"),
        ("16 KiB", MIB + 16 * KIB + 1, MIB, FAIL, "+16.0 KiB since main, 16 KiB allowed"),
        ("1%", MIB + 10_486, MIB, PASS, "+10.2 KiB since main, 10.2 KiB allowed"),
        ("1%", MIB + 10_487, MIB, FAIL, "+10.2 KiB since main, 10.2 KiB allowed"),
        ("0 B", MIB, MIB, PASS, "0 B since main, 0 B allowed"),
    ],
)
def test_a_limit_is_kept_to_the_byte(
    limit: str, size_bytes: int, before: int | None, status: CheckStatus, text: str
) -> None:
    one = budget(max=limit) if before is None else budget(growth=limit)

    (row,) = judge(one, size_bytes, before=before)

    assert (row.status, row.text) == (status, text)
    assert row.is_exceeded is (status is FAIL)


@pytest.mark.parametrize("sizes", [None, {}, {("load_and_run", "plain"): 5}, {LAR: 90}])
def test_growth_without_a_baseline_is_skipped(sizes: dict[tuple[str, str], int] | None) -> None:
    """One that does not measure a part is none for a budget of that part."""
    baseline = None if sizes is None else Baseline(source="main", sizes=sizes)
    part = {"section": ".text"} if sizes and LAR in sizes else {}
    measured = Measured(sizes={LAR: 9}, measured={LAR: {"section .text": 60}})

    (row,) = check([budget(growth="1 KiB", **part)], measured, baseline, (), TODAY)

    assert (row.status, row.used, row.baseline) == (SKIPPED, None, "")
    assert row.text == "no baseline"


@pytest.mark.parametrize(
    ("size_bytes", "before", "statuses"),
    [
        (MIB + 2048, MIB, [PASS, FAIL]),
        (MIB, None, [PASS, SKIPPED]),
        (3 * MIB, None, [FAIL, SKIPPED]),
        (3 * MIB, MIB, [FAIL, FAIL]),
    ],
)
def test_each_limit_is_judged_by_itself(
    size_bytes: int, before: int | None, statuses: list[CheckStatus]
) -> None:
    rows = judge(budget(max="2 MiB", growth="1 KiB"), size_bytes, before=before)

    assert [row.kind for row in rows] == [CheckKind.SIZE, CheckKind.GROWTH]
    assert [row.status for row in rows] == statuses


ANN = "new head (ann, to {})"
LAPSED = "the waiver of ann expired on 2027-01-30: new head"


@pytest.mark.parametrize(
    ("over_bytes", "waivers", "status", "waived", "lapsed"),
    [
        (KIB, [waiver("1 KiB", "2027-01-31")], PASS, ANN.format("2027-01-31"), ""),
        (KIB + 1, [waiver("1 KiB", "2027-02-01")], FAIL, ANN.format("2027-02-01"), ""),
        (KIB, [waiver("1 KiB", "2027-01-30")], FAIL, "", LAPSED),
        (
            3 * KIB,
            [waiver("1 KiB", "2027-02-01"), waiver("2 KiB", "2027-03-01", owner="bob")],
            PASS,
            "new head (ann, to 2027-02-01); new head (bob, to 2027-03-01)",
            "",
        ),
        (1, [waiver("1 MiB", "2027-02-01", name="load_and_run/plain")], FAIL, "", ""),
        (0, [waiver("1 KiB", "2027-02-01"), waiver("1 KiB", "2027-01-30")], PASS, "", LAPSED),
    ],
)
def test_a_waiver_raises_both_limits(
    over_bytes: int, waivers: list[Waiver], status: CheckStatus, waived: str, lapsed: str
) -> None:
    rows = judge(budget(max=MIB, growth=0), MIB + over_bytes, before=MIB, waivers=tuple(waivers))

    for row in rows:
        assert (row.status, row.waiver, row.lapsed) == (status, waived, lapsed)
        assert row.text.endswith(f"; {lapsed}") is bool(lapsed and status is FAIL)
        assert (", waived: " in row.text) is bool(waived)


def test_a_waiver_is_named_before_it_lapses() -> None:
    days = ("2027-02-15", "2027-02-14", "2027-02-01", "2027-01-31", "2027-01-30")
    leave = tuple(waiver("1 KiB", day) for day in days)

    assert ending(leave, date(2027, 1, 31)) == (
        "the waiver of ann for load_and_run lapses after 2027-01-31, today: new head",
        "the waiver of ann for load_and_run lapses after 2027-02-01, in 1 day: new head",
        "the waiver of ann for load_and_run lapses after 2027-02-14, in 14 days: new head",
    )


def test_variants_are_budgets_of_their_own() -> None:
    budgets = [budget(max=10, variant="plain"), budget(max=10), budget(max="40%")]
    sizes = {LAR: 9, ("load_and_run", "plain"): 20}

    rows = check(budgets, Measured(sizes=sizes), None, (), TODAY)

    assert [(row.name, row.check_id, row.status) for row in rows] == [
        ("load_and_run/plain", "size:load_and_run/plain", FAIL),
        *[("load_and_run", "size:load_and_run/reduced", status) for status in (PASS, FAIL)],
    ]
    assert rows[-1].limit == 8


def test_a_budget_of_a_section() -> None:
    measured = Measured(sizes={LAR: 100}, measured={LAR: {"section .text": 60}})
    baseline = Baseline(source="main", sizes={LAR: 90}, measured={LAR: {"section .text": 50}})
    one = budget(section=".text", growth="8 B", owner="runtime")
    leave = (waiver("2 B", "2027-02-01", name="load_and_run section .text"),)

    (failed,) = check([one], measured, baseline, (), TODAY)
    (waived,) = check([one], measured, baseline, leave, TODAY)

    assert (failed.name, failed.measure) == ("load_and_run section .text", "section .text")
    assert (failed.used, failed.owner) == (10, "runtime")
    assert [failed.status, waived.status] == [FAIL, PASS]


def check_section(name: str, baseline: Baseline | None = None) -> BudgetRow:
    measured = Measured(sizes={LAR: 100}, measured={LAR: {"section .text": 60}})
    known = {"load_and_run": frozenset({"section .text", "section .tdata"})}
    one = budget(section=name, max="8 B")
    (row,) = check([one], measured, baseline, (), TODAY, known)
    return row


@pytest.mark.parametrize(
    ("section", "of", "near"),
    [(".txt", "", " (did you mean .text?)"), (".eh_frame", "other", "")],
)
def test_a_budget_of_a_section_that_never_was_is_refused(section: str, of: str, near: str) -> None:
    """It would pass for ever; one that this artifact had in another build or before passes."""
    baseline = Baseline(sizes={LAR: 90}, measured={(of, "reduced"): {".eh_frame": 7}})
    with pytest.raises(InputError) as caught:
        check_section(section, baseline)

    assert caught.value.message == (
        f"the budget load_and_run section {section}: no build of load_and_run has a "
        f"section {section}{near}"
    )
    assert caught.value.hint
    before = Baseline(sizes={LAR: 90}, measured={LAR: {"section .eh_frame": 7}})
    assert check_section(".tdata").status is PASS
    assert check_section(".eh_frame", before).used == 0


@pytest.mark.parametrize(
    ("part", "sizes", "said"),
    [
        ({"component": "kernels"}, {LAR: 5}, "cannot be checked"),
        ({"model": "resnet50"}, {LAR: 5}, "cannot be checked"),
        ({}, {}, "the budget load_and_run names an artifact that was not built: load_and_run"),
    ],
)
def test_what_is_not_known_is_no_pass(
    part: dict[str, str], sizes: dict[tuple[str, str], int], said: str
) -> None:
    """A budget that measures nothing would pass for ever."""
    with pytest.raises(InputError) as caught:
        check([budget(max=9, **part)], Measured(sizes=sizes), None, (), TODAY)

    assert said in caught.value.message
    assert caught.value.hint or not part


SOFT = {"warn": "1 MiB", "warn_growth": "4 KiB", "owner": "runtime"}
LARGE = "load_and_run (1.0 MiB) is above 1 MiB, from which its budget warns; runtime owns it"
GROWN = "load_and_run grew by 8 KiB; its budget warns from 4 KiB of growth; runtime owns it"
NEAR = "load_and_run (1.9 MiB) is 102.4 KiB below its limit of 2 MiB; its budget warns from 1.8 MiB"


@pytest.mark.parametrize(
    ("limits", "grown_bytes", "statuses", "warnings"),
    [
        (SOFT, 8 * KIB, [SKIPPED, SKIPPED], (LARGE, GROWN)),
        (SOFT | {"growth": "16 KiB"}, 8 * KIB, [SKIPPED, PASS], (LARGE, GROWN)),
        (SOFT | {"growth": "16 KiB"}, 17 * KIB, [SKIPPED, FAIL], (LARGE,)),
        ({"max": "2 MiB", "warn": "90%"}, int(0.7 * MIB), [PASS], ()),
        ({"max": "2 MiB", "warn": "90%"}, int(0.9 * MIB), [PASS], (NEAR,)),
        ({"max": "2 MiB", "warn": "1.8 MiB"}, int(0.9 * MIB), [PASS], (NEAR,)),
        ({"max": "2 MiB", "warn": "90%"}, int(1.1 * MIB), [FAIL], ()),
    ],
)
def test_soft_limits_warn_and_never_fail(
    limits: dict[str, str],
    grown_bytes: int,
    statuses: list[CheckStatus],
    warnings: tuple[str, ...],
) -> None:
    """Alone, or below a hard limit that is kept; above that one no one needs a warning."""
    rows = judge(budget(**limits), MIB + grown_bytes, before=MIB)

    assert [row.status for row in rows] == statuses
    assert warn_early(rows) == warnings


@pytest.mark.parametrize(
    ("limits", "size_bytes", "lower_limit"),
    [
        ({"max": "2 MiB"}, MIB - 4096, 2 * MIB - 4096),
        ({"max": "2 MiB"}, MIB - 1, None),
        ({"max": 2 * MIB + 7}, MIB - 1, 2 * MIB + 6),
        ({"max": "2 MB"}, MIB - 4096, 1_996_000),
        ({"max": "2 MiB"}, MIB, None),
        ({"max": "2 MiB"}, MIB + 1, None),
        ({"max": "2 MiB", "ratchet": "16 KiB"}, MIB - 4096, MIB + 12 * KIB),
        ({"max": "2 MiB", "ratchet": "1%"}, MIB, MIB + 11 * KIB),
        ({"max": "1040 KiB", "ratchet": "16 KiB"}, MIB, None),
        ({"max": "99%", "ratchet": "1 KiB"}, 9, None),
        ({"max": "1 KiB", "ratchet": "1 KiB"}, MIB, None),
    ],
)
def test_a_lower_limit_is_proposed_where_there_is_room(
    limits: dict[str, object], size_bytes: int, lower_limit: int | None
) -> None:
    measured = Measured(sizes={LAR: size_bytes, ("load_and_run", "plain"): 2 * MIB})
    baseline = Baseline(source="main", sizes={LAR: MIB})

    (row,) = check([budget(**limits)], measured, baseline, (), TODAY)

    assert row.lower_limit == lower_limit


SIZES = {("b", "reduced"): 2, ("b", "plain"): 9, ("a", "plain"): 0}
TEXT = """\
{
 "artifacts": {
  "a": {
   "plain": 0
  },
  "b": {
   "plain": 9,
   "reduced": 2
  }
 },
 "version": 2
}
"""


ORIGIN = Origin(
    project="camera",
    config="android/megtrim.yaml",
    commit="ab" * 20,
    committed_at="2027-01-31T12:00:00Z",
    changed=True,
    pull_request=7,
    megtrim="1.0.0",
)


SOURCE = "main at 1a2b3c4d5e6f, the merge base, stored 2 days ago"
UNKNOWN = Origin(project="camera", config="megtrim.yaml")


@pytest.mark.parametrize(
    ("sizes", "options", "keys", "expected"),
    [
        (SIZES, {}, {}, {"source": "f"}),
        (dict(reversed(SIZES.items())), {}, {}, {"source": "f"}),
        (SIZES, {"source": SOURCE}, {"source": SOURCE}, {"source": SOURCE}),
        (SIZES, {"source": "x" * 500}, {"source": "x" * 500}, {"source": "x" * 500}),
        ({}, {"source": SOURCE}, {"source": SOURCE, "artifacts": {}}, {"source": SOURCE}),
        (SIZES, {"quick": True}, {"quick": True}, {"source": "f", "quick": True}),
        (SIZES, {"origin": ORIGIN}, asdict(ORIGIN), {"source": "f", "origin": ORIGIN}),
        (
            SIZES,
            {"origin": UNKNOWN},
            {"project": "camera", "config": "megtrim.yaml"},
            {"source": "f", "origin": UNKNOWN},
        ),
    ],
)
def test_what_is_written_is_read_back(
    sizes: dict[tuple[str, str], int],
    options: dict[str, Any],
    keys: dict[str, object],
    expected: dict[str, Any],
) -> None:
    text = dump_sizes(Baseline(sizes=sizes, **options))

    assert text == TEXT or keys
    assert json.loads(text) == json.loads(TEXT) | keys
    assert parse_sizes(text, source="f") == Baseline(sizes=sizes, **expected)


def test_a_folder_of_any_name_has_sizes() -> None:
    text = dump_sizes(
        Baseline(sizes=SIZES, origin=replace(ORIGIN, project="a\nb\udc80", config="x" * 9_000))
    )

    assert json.loads(text)["project"] == "a?b?"
    assert parse_sizes(text, source="f").origin.config == "x" * 4096


def test_sizes_of_another_configuration_are_refused() -> None:
    """Its programs have the same names; outside of a repository nothing is known of that."""
    android = parse_sizes(dump_sizes(Baseline(sizes=SIZES, origin=ORIGIN)), source="f")
    anywhere = parse_sizes(
        dump_sizes(Baseline(sizes=SIZES, origin=replace(ORIGIN, commit=""))), source="f"
    )

    for config in ("", ORIGIN.config):
        assert expect_same_kind(android, quick=False, shown="f", config=config) is android
    linux = "linux/megtrim.yaml"
    assert expect_same_kind(anywhere, quick=False, shown="f", config=linux) is anywhere
    with pytest.raises(InputError) as caught:
        expect_same_kind(android, quick=False, shown="f", config=linux)
    assert caught.value.message == (
        "f: found sizes of the configuration android/megtrim.yaml, expected linux/megtrim.yaml"
    )


PARTS = {("b", "reduced"): ByteTable(least_bytes=64, components={"operators": {"f(…)": 1, "g": 1}})}


def test_parts_of_files_are_read_back() -> None:
    made_from = InputPrint(
        made_from={"source": "0a1b"},
        sources="abcde12345",
        kept={"region 0": "abcde"},
        scenarios={"m/default@any": "0a"},
        values={"setting trim.optimize": "size"},
    )
    text = dump_sizes(Baseline(sizes=SIZES, parts=PARTS, made_from=made_from))

    expected = Baseline(source="f", sizes=SIZES, parts=PARTS, made_from=made_from)
    assert parse_sizes(text, source="f") == expected
    assert json.loads(text)["parts"]["b"]["reduced"]["least_bytes"] == 64


@pytest.mark.parametrize("file", [("b", "plain"), ("c", "reduced")])
def test_parts_must_add_up_to_their_file(file: tuple[str, str]) -> None:
    text = dump_sizes(Baseline(sizes=SIZES, parts=PARTS))
    document = json.loads(text)
    document["parts"] = {file[0]: {file[1]: document["parts"]["b"]["reduced"]}}

    with pytest.raises(InputError, match="found bytes that do not add up to its size"):
        parse_sizes(json.dumps(document), source="f")


@pytest.mark.parametrize(
    ("quick", "said"),
    [
        (True, "a quick trim, expected those of a full one"),
        (False, "a full trim, expected those of a quick one"),
    ],
)
def test_a_quick_trim_is_compared_with_no_full_one(quick: bool, said: str) -> None:
    baseline = Baseline(source="main", sizes=SIZES, quick=quick)

    assert expect_same_kind(baseline, quick=quick, shown="sizes.json") is baseline
    with pytest.raises(InputError) as caught:
        expect_same_kind(baseline, quick=not quick, shown="sizes.json")

    assert caught.value.message == f"sizes.json: found sizes of {said}"
    assert caught.value.hint == "take the sizes.json of a run of the same kind"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": 1}, "version: found 1, expected 2"),
        ({"artifacts": {}}, "artifacts: found none, expected some, or a source that says why"),
        ({"artifacts": []}, "artifacts: found [], expected an object"),
        ({"artifacts": {"a": {}}, "source": "x"}, "artifacts.a: found {}, expected at least 1 en"),
        ({"artifacts": {"a": 1}}, "artifacts.a: found 1, expected an object"),
        ({"artifacts": {"a": {"plain": -1}}}, "artifacts.a.plain: found -1, expected 0 or more"),
        ({"artifacts": {"a": {"plain": 1.0}}}, "artifacts.a.plain: found 1.0, expected a whole "),
        ({"artifacts": {"a": {"plain": True}}}, "artifacts.a.plain: found True, expected a whol"),
        ({"quick": 1}, "quick: found 1, expected true or false"),
        ({"quik": True}, "quik: found True, expected no such key"),
        ({"source": 1}, "source: found 1, expected text"),
        ({"commit": "main"}, "commit: found 'main', expected a commit"),
        ({"config": "a\nb"}, "config: found a control character, expected one line"),
        ({"source": "a\nb"}, "source: found a control character, expected one line"),
        ({"source": "x" * 501}, f"source: found '{'x' * 59}…, expected at most 500 characters"),
    ],
)
def test_anything_else_is_refused(changes: dict[str, object], said: str) -> None:
    text = json.dumps(json.loads(TEXT) | changes)

    with pytest.raises(InputError) as caught:
        parse_sizes(text, source="sizes.json")

    assert caught.value.message.startswith(f"sizes.json:1: {said}")
    assert caught.value.hint == "take the sizes.json of a run of this version of megtrim"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff", r"base/s:1: found the byte 0xff, which is not UTF-8, expected text"),
        (
            b'{"version": 2, "artifacts": {"a": {"reduced": 1, "reduced": 999}}}',
            "base/s:1: found a key twice in one object",
        ),
        (None, r"base/s: cannot be read: No such file"),
    ],
    ids=["no text", "a size twice", "gone"],
)
def test_a_file_that_cannot_be_read_is_named_as_people_call_it(
    tmp_path: Path, data: bytes | None, said: str
) -> None:
    refuse(tmp_path, data, said)


def test_a_file_without_end_is_named_as_people_call_it(tmp_path: Path) -> None:
    data = b" " * (16 * MIB + 1) + TEXT.encode()
    refuse(tmp_path, data, "base/s: found more than 16,777,216 bytes")


def refuse(tmp_path: Path, data: bytes | None, said: str) -> None:
    path = tmp_path / "sizes.json"
    path.write_text(TEXT, encoding="utf-8")
    assert load_sizes(path, shown="base/s").source == "base/s"
    path.unlink()
    if data is not None:
        path.write_bytes(data)

    with pytest.raises(InputError) as caught:
        load_sizes(path, shown="base/s")
    assert caught.value.message.startswith(said)
