"""What a release is made of, as a bill of materials in the form of CycloneDX 1.6. Pure.

It follows from release.json, the licences of the release and megtrim's version, so a check makes
it again. https://cyclonedx.org/docs/1.6/json/ says what the fields mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from megtrim.release.contents import (
    LICENCES,
    ArtifactKind,
    ReleaseArtifact,
    ReleaseContents,
    ThirdParty,
)
from megtrim.strict_json import dump

BILL_FILE = "sbom.cdx.json"
_SPECIFICATION = "1.6"
_RELEASE = "release"
_ENGINE = "engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class BillProperty:
    """A fact that CycloneDX has no field for."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BillHash:
    """A digest of a component."""

    alg: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BillComponent:
    """Something that the release holds, or that it is made from."""

    type_: Annotated[str, Field(alias="type")]
    reference: Annotated[str, Field(alias="bom-ref")]
    name: str
    version: str
    scope: str
    """``required``, or ``excluded``: left out of the release."""
    hashes: tuple[BillHash, ...] = ()
    properties: tuple[BillProperty, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BillTools:
    """What made the release."""

    components: tuple[BillComponent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BillMetadata:
    """What the bill is about."""

    tools: BillTools
    component: BillComponent


@dataclass(frozen=True, slots=True, kw_only=True)
class BillDependency:
    """What a component is made from, by references."""

    ref: str
    made_from: Annotated[tuple[str, ...], Field(alias="dependsOn")]


@dataclass(frozen=True, slots=True, kw_only=True)
class BillOfMaterials:
    """The whole document."""

    form: Annotated[str, Field(alias="bomFormat")] = "CycloneDX"
    specification: Annotated[str, Field(alias="specVersion")] = _SPECIFICATION
    version: int = 1
    metadata: BillMetadata
    components: tuple[BillComponent, ...]
    dependencies: tuple[BillDependency, ...]


def render_bill(contents: ReleaseContents, *, licences: Iterable[str], megtrim: str) -> str:
    """Return the text; ``licences``: paths in the release, ``megtrim``: its version."""
    engine = _describe_engine(contents)
    third_parties = tuple(
        _describe_third_party(each, sorted(licences)) for each in contents.third_parties
    )
    artifacts = tuple(map(_describe_artifact, contents.artifacts))
    used = [each.reference for each in third_parties if each.scope == "required"]
    bill = BillOfMaterials(
        metadata=BillMetadata(
            tools=BillTools(components=_list_tools(contents, megtrim)),
            component=_describe_release(contents, engine.version),
        ),
        components=(*artifacts, engine, *third_parties),
        dependencies=(
            BillDependency(ref=_RELEASE, made_from=tuple(each.reference for each in artifacts)),
            *(BillDependency(ref=each.reference, made_from=(_ENGINE,)) for each in artifacts),
            BillDependency(ref=_ENGINE, made_from=tuple(used)),
        ),
    )
    return dump(bill)


def _list_tools(contents: ReleaseContents, megtrim: str) -> tuple[BillComponent, ...]:
    toolchain = contents.toolchain
    image = {"image": toolchain.image} if toolchain.image else {}
    facts = {"kind": toolchain.kind, "target": toolchain.target} | image
    return (
        _make("application", "tool:megtrim", "megtrim", megtrim),
        _make("application", "tool:compiler", "compiler", toolchain.version, facts=facts),
    )


def _describe_release(contents: ReleaseContents, version: str) -> BillComponent:
    trim = contents.trim
    facts = {"level": trim.level}
    if contents.regions_held:
        facts["regions kept"] = f"{contents.regions_kept} of {contents.regions_held}"
    for each in contents.functions:
        facts[f"functions kept in {each.artifact}"] = f"{each.kept} of {each.held}"
    if trim.switched_off:
        facts["switched off"] = " ".join(trim.switched_off)
    return _make("library", _RELEASE, f"{contents.engine.kind}-trimmed", version, facts=facts)


def _describe_engine(contents: ReleaseContents) -> BillComponent:
    engine = contents.engine
    facts = {"tree sha256": engine.digest}
    if engine.dirty:
        facts["files that differ from the commit"] = str(len(engine.dirty))
    return _make("library", _ENGINE, engine.kind, engine.commit or engine.digest, facts=facts)


def _describe_third_party(third_party: ThirdParty, licences: Iterable[str]) -> BillComponent:
    own = f"{LICENCES}/{third_party.path}/"
    found = [each for each in licences if each.startswith(own)]
    return _make(
        "library",
        f"third-party:{third_party.path}",
        third_party.path,
        third_party.commit,
        scope="required" if third_party.is_used else "excluded",
        facts={f"licence {number}": path for number, path in enumerate(found, start=1)},
    )


def _describe_artifact(artifact: ReleaseArtifact) -> BillComponent:
    kind = "application" if artifact.kind is ArtifactKind.PROGRAM else "library"
    made = _make(
        kind, f"artifact:{artifact.path}", artifact.name, "", facts={"path": artifact.path}
    )
    return replace(made, hashes=(BillHash(alg="SHA-256", content=artifact.sha256),))


def _make(
    type_: str,
    reference: str,
    name: str,
    version: str,
    *,
    scope: str = "required",
    facts: dict[str, str] | None = None,
) -> BillComponent:
    return BillComponent(
        type_=type_,
        reference=reference,
        name=name,
        version=version,
        scope=scope,
        properties=tuple(_list_properties(facts or {})),
    )


def _list_properties(facts: dict[str, str]) -> Iterator[BillProperty]:
    return (BillProperty(name=f"megtrim:{name}", value=value) for name, value in facts.items())
