"""What a release is made of, as a bill of materials in the form of CycloneDX 1.6. Pure.

It follows from release.json, the licences of the release and megtrim's version, so a check makes
it again. https://cyclonedx.org/docs/1.6/json/ says what the fields mean. The form's own library
would bring five more to each machine, a second to each check, and a time and a random number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from megtrim.release.contents import LICENCES, ArtifactKind, ReleaseContents
from megtrim.util.strict_json import dump

BILL_FILE = "sbom.cdx.json"
_RELEASE = "release"
_ENGINE = "engine"


def render_bill(contents: ReleaseContents, *, licences: Iterable[str], megtrim: str) -> str:
    """Return the text; ``licences``: paths in the release, ``megtrim``: its version."""
    paths = sorted(licences)
    artifacts = [
        _make(
            "application" if each.kind is ArtifactKind.PROGRAM else "library",
            f"artifact:{each.path}",
            each.name,
            facts={"path": each.path},
            hashes=[{"alg": "SHA-256", "content": each.sha256}],
        )
        for each in contents.artifacts
    ]
    third_parties = [
        _make(
            "library",
            f"third-party:{each.path}",
            each.path,
            each.commit,
            facts=_number(path for path in paths if path.startswith(f"{LICENCES}/{each.path}/")),
            scope="required" if each.is_used else "excluded",
        )
        for each in contents.third_parties
    ]
    used = [each["bom-ref"] for each in third_parties if each["scope"] == "required"]
    made = [each["bom-ref"] for each in artifacts]
    links = {_RELEASE: made, **{each: [_ENGINE] for each in made}, _ENGINE: used}
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "tools": {"components": _list_tools(contents, megtrim)},
            "component": _describe_release(contents),
        },
        "components": [*artifacts, _describe_engine(contents), *third_parties],
        "dependencies": [{"ref": ref, "dependsOn": refs} for ref, refs in links.items()],
    }
    return dump(bill)


def _list_tools(contents: ReleaseContents, megtrim: str) -> list[dict[str, Any]]:
    toolchain = contents.toolchain
    facts = {"kind": toolchain.kind, "target": toolchain.target}
    if toolchain.image:
        facts["image"] = toolchain.image
    return [
        _make("application", "tool:megtrim", "megtrim", megtrim),
        _make("application", "tool:compiler", "compiler", toolchain.version, facts=facts),
    ]


def _describe_release(contents: ReleaseContents) -> dict[str, Any]:
    engine, trim = contents.engine, contents.trim
    facts = {"level": trim.level}
    if contents.regions_held:
        facts["regions kept"] = f"{contents.regions_kept} of {contents.regions_held}"
    for each in contents.functions:
        facts[f"functions kept in {each.artifact}"] = f"{each.kept} of {each.held}"
    if trim.switched_off:
        facts["switched off"] = " ".join(trim.switched_off)
    version = engine.commit or engine.digest
    return _make("library", _RELEASE, f"{engine.kind}-trimmed", version, facts=facts)


def _describe_engine(contents: ReleaseContents) -> dict[str, Any]:
    engine = contents.engine
    facts = {"tree sha256": engine.digest}
    if engine.dirty:
        facts["files that differ from the commit"] = str(len(engine.dirty))
    return _make("library", _ENGINE, engine.kind, engine.commit or engine.digest, facts=facts)


def _number(paths: Iterable[str]) -> dict[str, str]:
    return {f"licence {number}": path for number, path in enumerate(paths, start=1)}


def _make(
    kind: str,
    reference: str,
    name: str,
    version: str = "",
    *,
    facts: Mapping[str, str] | None = None,
    hashes: Iterable[Mapping[str, str]] = (),
    scope: str = "required",
) -> dict[str, Any]:
    """Return a component; ``facts`` are what the form has no field for."""
    return {
        "type": kind,
        "bom-ref": reference,
        "name": name,
        "version": version,
        "scope": scope,
        "hashes": [*hashes],
        "properties": [
            {"name": f"megtrim:{fact}", "value": value} for fact, value in (facts or {}).items()
        ],
    }
