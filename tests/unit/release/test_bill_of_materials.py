"""The bill of materials: what CycloneDX's own schema takes, and what the release is made of."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from megtrim.release.bill_of_materials import render_bill
from megtrim.release.contents import ReleaseContents
from megtrim.trim.usage import FunctionsUse
from unit.release.examples import PROGRAM, contents, sha

LICENCES = ("licences/LICENSE", "licences/third_party/flatbuffers/LICENSE.txt")


def bill(said: ReleaseContents) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(render_bill(said, licences=LICENCES, megtrim="0.1.0"))
    return read


def facts(component: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in component["properties"]}


def find(read: dict[str, Any], reference: str) -> dict[str, Any]:
    (found,) = (each for each in read["components"] if each["bom-ref"] == reference)
    return dict(found)


def test_the_published_schema_takes_it() -> None:
    """In its strict form, which knows every key."""
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    text = render_bill(contents(), licences=LICENCES, megtrim="0.1.0")

    assert validator.validate_str(text) is None
    assert validator.validate_str(text.replace('"scope"', '"scoop"')) is not None


def test_third_parties_are_named_by_their_commits() -> None:
    """With their licences, and whether the release has anything of them."""
    read = bill(contents())
    used, left_out = (
        find(read, f"third-party:third_party/{each}") for each in ("flatbuffers", "cpuinfo")
    )

    assert (used["version"], used["scope"]) == ("f" * 40, "required")
    assert facts(used) == {"megtrim:licence 1": LICENCES[1]}
    assert (left_out["version"], left_out["scope"]) == ("c" * 40, "excluded")


def test_artifacts_are_named_by_their_digests() -> None:
    """They are made from the engine, and that from what was fetched."""
    read = bill(contents())
    program = find(read, "artifact:bin/load_and_run")
    links = {each["ref"]: each["dependsOn"] for each in read["dependencies"]}

    assert program["hashes"] == [{"alg": "SHA-256", "content": sha(PROGRAM)}]
    assert links["artifact:bin/load_and_run"] == ["engine"]
    assert links["engine"] == ["third-party:third_party/flatbuffers"]


def test_it_says_what_was_left_out() -> None:
    """Regions, functions and switches."""
    said = contents()
    deeper = replace(
        said,
        trim=replace(said.trim, switched_off=("rtti",)),
        functions=(FunctionsUse(artifact="load_and_run", held=900, kept=20),),
    )

    assert facts(bill(deeper)["metadata"]["component"]) == {
        "megtrim:level": "region",
        "megtrim:regions kept": "149 of 900",
        "megtrim:functions kept in load_and_run": "20 of 900",
        "megtrim:switched off": "rtti",
    }


def test_it_names_what_made_it() -> None:
    """The compiler, and the image that it came in."""
    said = contents()
    other = replace(said, toolchain=replace(said.toolchain, image="sha256:1"))
    tools = {each["name"]: each for each in bill(other)["metadata"]["tools"]["components"]}

    assert tools["megtrim"]["version"] == "0.1.0"
    assert facts(tools["compiler"])["megtrim:image"] == "sha256:1"
