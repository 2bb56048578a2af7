import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from google.protobuf.json_format import MessageToDict, Parse, ParseDict, ParseError
from hypothesis import given
from hypothesis import strategies as st
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement

from megtrim.core.checks.statuses import CheckStatus, ScenarioStatus
from megtrim.core.keep.keepset_files import parse_keep_set
from megtrim.core.keep.region import Region
from megtrim.core.trim.results import FunctionsUse
from megtrim.core.verdict.join import join
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import dump
from megtrim.ship.release.contents import (
    AAR_PATH,
    README_FILE,
    RELEASE_FILE,
    ArtifactKind,
    ReleaseContents,
    parse_contents,
)
from megtrim.ship.release.documents import (
    BILL_FILE,
    CHECKSUMS_FILE,
    DOCUMENTS,
    STATEMENT_FILE,
    DescribedRelease,
    describe,
    dump_checksums,
    parse_checksums,
    read_statement,
    render_bill,
    render_notes,
    render_readme,
    render_statement,
    seal,
)
from unit.core.verdict.examples import MOBILENET, RESNET, facts, passing, scenario
from unit.ship.release.examples import (
    MODELS,
    PROGRAM,
    STAGES,
    as_elf,
    contents,
    for_android,
    for_other_engine,
    keep_set,
    sha,
)

PAYLOAD = {"bin/a": "a" * 64, "licences/LICENSE": "b" * 64}
FILES = {"lib/b": "b" * 64, "bin/a": "a" * 64}
LICENCES = ("licences/LICENSE", "licences/third_party/flatbuffers/LICENSE.txt")
A = "a" * 64
B = "b" * 64
STATEMENT = render_statement(contents(), FILES, STAGES, megtrim="0.1.0")
BILL = render_bill(contents(), LICENCES, megtrim="0.1.0")


def test_each_is_of_all_that_was_there_before() -> None:
    texts = seal(contents(), PAYLOAD, stages=STAGES, megtrim="0.1.0")
    sums = parse_checksums(texts.pop(CHECKSUMS_FILE), source="s")
    stated = json.loads(texts[STATEMENT_FILE])["subject"]

    assert sums == PAYLOAD | {path: sha(text) for path, text in texts.items()}
    assert {*texts, CHECKSUMS_FILE} == DOCUMENTS
    assert {each["name"] for each in stated} == {*PAYLOAD, README_FILE, RELEASE_FILE, BILL_FILE}
    assert read_statement(texts[STATEMENT_FILE], source="s") == (STAGES, "0.1.0")


def test_an_export_says_whether_it_has_licences() -> None:
    with_them = describe(contents(), PAYLOAD)
    without = describe(contents(), ["bin/a"])

    assert "are in `licences`" in with_them[README_FILE]
    assert "The engine's checkout has no file with a licence." in without[README_FILE]
    assert {*with_them} == {README_FILE, RELEASE_FILE}


def test_a_readme_says_which_memory_pages_it_is_for() -> None:
    said = describe(for_android(page_bytes=16_384), PAYLOAD)[README_FILE]

    assert "- target: aarch64-linux-android23, memory pages up to 16 KiB, compiled by" in said
    assert "memory pages" not in describe(contents(), PAYLOAD)[README_FILE]


def test_a_statement_has_the_keys_of_in_toto_and_slsa() -> None:
    said = json.loads(STATEMENT)
    definition = said["predicate"]["buildDefinition"]

    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["predicateType"] == "https://slsa.dev/provenance/v1"
    assert said["subject"] == [
        {"name": "bin/a", "digest": {"sha256": "a" * 64}},
        {"name": "lib/b", "digest": {"sha256": "b" * 64}},
    ]
    assert definition["internalParameters"] == {
        "stage build/plain": "0" * 20,
        "stage reduce/reduced": "1" * 20,
        "toolchain": "clang-linux-arm64 clang 14.0.6 for aarch64-linux-gnu",
    }
    named = {each["name"]: each["digest"] for each in definition["resolvedDependencies"]}
    assert named["engine megengine"] == {
        "gitCommit": "c2f1e0b6a3d94857",
        "sha256": "9f4c0d8e1b7a6532" * 4,
    }
    assert {f"model {name}": {"sha256": each} for name, each in MODELS.items()}.items() <= (
        named.items()
    )
    assert render_statement(for_other_engine(), FILES, STAGES, megtrim="0.1.0") != STATEMENT


def test_in_toto_s_own_reader_takes_it() -> None:
    """It knows every key of a statement and of SLSA's provenance, and refuses others."""
    read = Parse(STATEMENT, statement_pb2.Statement())
    predicate = MessageToDict(read.predicate)

    Statement.copy_from_pb(read).validate()
    provenance = ParseDict(predicate, provenance_pb2.Provenance())
    assert provenance.build_definition.build_type == "urn:megtrim:trim:v1"
    with pytest.raises(ParseError, match="has no field named"):
        ParseDict(predicate | {"runDetail": {}}, provenance_pb2.Provenance())


@pytest.mark.parametrize(
    "text",
    [
        "null",
        "[]",
        "{}",
        STATEMENT.replace('"internalParameters"', '"parameters"'),
        STATEMENT.replace('"megtrim": "0.1.0"', '"megtrim": 1'),
        STATEMENT.replace(f'"{"0" * 20}"', "[]"),
    ],
)
def test_another_statement_is_refused(text: str) -> None:
    """What megtrim does not read follows from the rest, and is held to it by its digest."""
    with pytest.raises(InputError, match="s:1: found no statement of a build by megtrim"):
        read_statement(text, source="s")


def properties_of(component: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in component["properties"]}


def read_bill(said: ReleaseContents) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    read: dict[str, Any] = json.loads(render_bill(said, LICENCES, megtrim="0.1.0"))
    return read, {each["bom-ref"]: each for each in read["components"]}


def test_the_published_schema_takes_the_bill() -> None:
    validator = JsonStrictValidator(SchemaVersion.V1_6)

    assert validator.validate_str(BILL) is None
    assert validator.validate_str(BILL.replace('"scope"', '"scoop"')) is not None


def test_components_are_named_by_digests_and_commits() -> None:
    read, components = read_bill(contents())
    used, left_out = (
        components[f"third-party:third_party/{each}"] for each in ("flatbuffers", "cpuinfo")
    )
    program = components["artifact:bin/load_and_run"]
    links = {each["ref"]: each["dependsOn"] for each in read["dependencies"]}

    assert (used["version"], used["scope"]) == ("f" * 40, "required")
    assert properties_of(used) == {"megtrim:licence 1": LICENCES[1]}
    assert (left_out["version"], left_out["scope"]) == ("c" * 40, "excluded")
    assert program["hashes"] == [{"alg": "SHA-256", "content": sha(as_elf(PROGRAM))}]
    assert links["artifact:bin/load_and_run"] == ["engine"]
    assert links["engine"] == ["third-party:third_party/flatbuffers"]


def test_a_bill_has_types_of_files() -> None:
    (first, *others) = contents().artifacts
    name = "load_and_run.rest"
    deferred = replace(first, name=name, kind=ArtifactKind.REST)
    _, components = read_bill(replace(contents(), artifacts=(first, *others, deferred)))

    assert components["artifact:bin/load_and_run"]["type"] == "application"
    assert components[f"artifact:bin/{name}"]["type"] == "file"


def test_a_bill_says_what_was_left_out_and_what_made_it() -> None:
    said = contents()
    deeper = replace(
        said,
        trim=replace(said.trim, switched_off=("rtti",)),
        functions=(FunctionsUse(artifact="load_and_run", held=900, kept=20),),
        toolchain=replace(said.toolchain, image="sha256:1"),
    )
    metadata = read_bill(deeper)[0]["metadata"]
    tools = {each["name"]: each for each in metadata["tools"]["components"]}

    assert properties_of(metadata["component"]) == {
        "megtrim:level": "region",
        "megtrim:regions kept": "149 of 900",
        "megtrim:functions kept in load_and_run": "20 of 900",
        "megtrim:switched off": "rtti",
    }
    assert tools["megtrim"]["version"] == "0.1.0"
    assert properties_of(tools["compiler"])["megtrim:image"] == "sha256:1"


_PARTS = st.lists(st.sampled_from(["a", "b.c", "d e", "ü", "…", "-x"]), min_size=1, max_size=4)


@given(st.sets(_PARTS.map("/".join), min_size=1))
def test_sums_that_are_written_are_read(paths: set[str]) -> None:
    digests = {path: hashlib.sha256(path.encode()).hexdigest() for path in paths}

    assert parse_checksums(dump_checksums(digests), source="S") == digests


@given(st.text())
def test_any_other_text_is_an_error_of_its_own(text: str) -> None:
    try:
        found = parse_checksums(text, source="S")
    except InputError as error:
        assert error.message.startswith("S:")
    else:
        assert dump_checksums(found) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "S:1: found no end of line"),
        (f"{A}  a", "S:1: found no end of line"),
        (f"{A}  a\n\n", "S:2: found ''"),
        *(
            (f"{line}\n", "S:1: found")
            for line in (
                "",
                f"{A} a",
                f"{A} *a",
                f"{A.upper()}  a",
                f"{A[1:]}  a",
                f"{A}  a\r",
                f"{A}  /etc/passwd",
                f"{A}  //etc/passwd",
                f"{A}  ../a",
                f"{A}  a/../b",
                f"{A}  ./a",
                f"{A}  a//b",
                f"{A}  a/",
                f"{A}  a\\b",
            )
        ),
        (f"{A}  a\n{B}  a\n", "S:2: found a path out of order, or twice"),
        (f"{A}  b\n{B}  a\n", "S:2: found a path out of order, or twice"),
    ],
)
def test_another_line_is_named(text: str, said: str) -> None:
    with pytest.raises(InputError, match=f"^{said}"):
        parse_checksums(text, source="S")


SAID = contents()
FIRST, *OTHERS = SAID.scenarios
LINES = "android { buildFeatures { prefab = true } }"
DEEPER = replace(SAID, trim=replace(SAID.trim, level="function"))
DEFERRED = replace(SAID, trim=replace(SAID.trim, level="deferred"))
UNVERIFIED = replace(FIRST, status=ScenarioStatus.UNVERIFIED, on_devices=CheckStatus.PASS)
PROGRAMS = tuple(each for each in SAID.artifacts if each.kind is ArtifactKind.PROGRAM)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (SAID, f"| `{RESNET}` | `{'1' * 64}` | `--cpu --iter 1` | pass | qemu-arm64 |"),
        (SAID, "| `bin/load_and_run` | program | 76 B | 37.5 MiB |"),
        (SAID, "MegEngineTrimmed::shared"),
        (SAID, "`licences`"),
        (SAID, "Kernels that none of these runs are compiled out"),
        (DEEPER, "Functions that none of these ran are left out"),
        (DEFERRED, "the property `MEGTRIM_REST` of CMake's target"),
        (replace(SAID, scenarios=(UNVERIFIED,)), "| unverified; on devices: pass |"),
        (replace(SAID, scenarios=(replace(FIRST, arguments=("--a|b",)),)), "a&#124;b"),
        (replace(SAID, artifacts=PROGRAMS), "There is no library in it"),
    ],
)
def test_a_readme_says_what_it_can_run_and_what_not(said: ReleaseContents, line: str) -> None:
    assert line in render_readme(said, ["licences/LICENSE"])


def test_a_readme_says_how_it_is_used() -> None:
    assert LINES in render_readme(SAID, [AAR_PATH])
    assert LINES not in render_readme(SAID, [])


KEEP = parse_keep_set(keep_set(passing(), models=MODELS), source="k")
NOW = DescribedRelease(tag="v2", contents=SAID, keep=KEEP)
BEFORE = replace(NOW, tag="v1")
LARGER = tuple(replace(each, size_bytes=each.size_bytes + 1024) for each in SAID.artifacts)
CHANGED = tuple(
    replace(each, model_sha256="9" * 64) if each.model == "resnet18-s" else each
    for each in SAID.scenarios
)
FEWER = replace(SAID, scenarios=tuple(each for each in SAID.scenarios if each.id != MOBILENET))
MANY = replace(
    KEEP,
    scenarios=(
        replace(KEEP.scenarios[0], regions=tuple(Region("kern", (n,)) for n in range(30))),
        *KEEP.scenarios[1:],
    ),
)


@pytest.mark.parametrize(
    ("now", "before", "lines"),
    [
        (
            NOW,
            None,
            [
                "| `bin/load_and_run` | 76 B | new | 37.5 MiB |",
                f"- `{RESNET}`: `--cpu --iter 1`\n",
                f"megtrim release verify app-v2.tar.gz --sha256 {'a' * 64}",
            ],
        ),
        (
            NOW,
            BEFORE,
            ["| 76 B | the same | 37.5 MiB |", "## Keep set since v1\n\nIt is the same."],
        ),
        (
            NOW,
            replace(BEFORE, contents=replace(SAID, artifacts=LARGER)),
            ["in v1", "| `bin/load_and_run` | 76 B | 1.1 KiB, -1 KiB |"],
        ),
        (
            NOW,
            replace(BEFORE, contents=replace(SAID, scenarios=CHANGED)),
            [f"- `{RESNET}`: `--cpu --iter 1`, with a model that changed"],
        ),
        (replace(NOW, contents=FEWER), BEFORE, [f"- no longer: `{MOBILENET}`"]),
        (NOW, replace(BEFORE, contents=FEWER), [f"- `{MOBILENET}`: `--cpu --iter 1`, a new model"]),
        (NOW, replace(BEFORE, keep=MANY), ["left out now: ", "and 9 more"]),
    ],
)
def test_notes_hold_a_release_against_the_last_one(
    now: DescribedRelease, before: DescribedRelease | None, lines: list[str]
) -> None:
    page = render_notes(now, before, archive="app-v2.tar.gz", sha256="a" * 64)

    assert [line for line in lines if line not in page] == []
    assert ("Keep set since" in page) is (before is not None)
    assert "kept now" not in page


def test_what_is_written_is_read() -> None:
    said = contents()

    assert parse_contents(dump(said), source="release.json") == said
    assert (said.models, said.unproven) == (MODELS, ())
    assert [each.path for each in said.artifacts] == ["bin/load_and_run", "lib/libengine.so"]


def test_times_and_logs_change_no_byte() -> None:
    slow = tuple(
        replace(each, time_s=99.0, log_tail="slow\n", reproduce="other --out x")
        for each in passing().scenarios
    )
    again = join(facts(scenarios=slow))

    assert again != passing()
    assert dump(contents(again)) == dump(contents())


def test_a_scenario_that_did_not_pass_is_unproven() -> None:
    pending = scenario(RESNET, status=ScenarioStatus.UNVERIFIED, outputs=())

    assert contents(join(facts(scenarios=(pending,)))).unproven == (RESNET,)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"version": 2', '"version": 3', "version: found 3, expected 2"),
        ('"verdict": "pass"', '"verdict": "fine"', "verdict: found 'fine', expected one of"),
        ('"trim": {', '"more": 1, "trim": {', "more: found 1, expected no such key"),
    ],
)
def test_another_form_is_refused(old: str, new: str, said: str) -> None:
    text = dump(contents())
    assert text.count(old) == 1

    with pytest.raises(InputError, match=rf"^release\.json:1: {said}"):
        parse_contents(text.replace(old, new), source="release.json")
