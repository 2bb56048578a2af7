"""The provenance of a release: an in-toto statement with the fields of SLSA 1.0. Pure.

It names every file of the release by its sha256, and what they were made from: the engine, the
toolchain, the models, the keep set, the configuration, and the key of each stage's result, which
is the digest of all of that stage's inputs.

https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md and
https://slsa.dev/spec/v1.0/provenance say what the fields mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from megtrim.release.contents import HINT, ReleaseContents
from megtrim.util.strict_json import dump, load

STATEMENT_FILE = "provenance.intoto.json"
_TYPE = "https://in-toto.io/Statement/v1"
_PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
_BUILD_TYPE = "urn:megtrim:trim:v1"
_BUILDER = "urn:megtrim:builder"
_STAGE = "stage "
_MEGTRIM = "megtrim"
_NO_VERSION = 1
"""The document has no key of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDescriptor:
    """A file or a source, by its digest."""

    name: str
    digest: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildDefinition:
    """What the build was given."""

    build_type: Annotated[str, Field(alias="buildType")]
    external_parameters: Annotated[Mapping[str, str], Field(alias="externalParameters")]
    internal_parameters: Annotated[Mapping[str, str], Field(alias="internalParameters")]
    resolved_dependencies: Annotated[
        tuple[ResourceDescriptor, ...], Field(alias="resolvedDependencies")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuilderIdentity:
    """What built it. Who ran it says the attestation of the machine that did."""

    id: str
    version: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetails:
    """By what it was built, and what else came of it."""

    builder: BuilderIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenancePredicate:
    """SLSA's provenance."""

    definition: Annotated[BuildDefinition, Field(alias="buildDefinition")]
    details: Annotated[RunDetails, Field(alias="runDetails")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenanceStatement:
    """The whole document."""

    type_: Annotated[str, Field(alias="_type")]
    subject: tuple[ResourceDescriptor, ...]
    predicate_type: Annotated[str, Field(alias="predicateType")]
    predicate: ProvenancePredicate

    def __post_init__(self) -> None:
        """Refuse a statement of another kind."""
        found = (self.type_, self.predicate_type, self.predicate.definition.build_type)
        expected = (_TYPE, _PREDICATE_TYPE, _BUILD_TYPE)
        if found != expected:
            msg = f"found a statement of {found}, expected {expected}"
            raise ValueError(msg)
        names = [each.name for each in self.subject]
        if names != sorted({*names}):
            msg = "subject: found a file twice or out of order, expected each once, sorted"
            raise ValueError(msg)

    @property
    def digests(self) -> dict[str, str]:
        """The sha256 of each file that it is about."""
        return {each.name: each.digest.get("sha256", "") for each in self.subject}

    @property
    def stages(self) -> dict[str, str]:
        """The key of each result that the programs are made from, by the id of its task."""
        facts = self.predicate.definition.internal_parameters
        return {
            name.removeprefix(_STAGE): key for name, key in facts.items() if name.startswith(_STAGE)
        }

    @property
    def megtrim(self) -> str:
        """The version that built it."""
        return self.predicate.details.builder.version.get(_MEGTRIM, "")


def make_statement(
    contents: ReleaseContents,
    digests: Mapping[str, str],
    stages: Mapping[str, str],
    *,
    megtrim: str,
) -> ProvenanceStatement:
    """Return the statement about the files with these digests.

    ``stages`` maps the id of each task to the key of its result; ``megtrim`` is its version.
    """
    return ProvenanceStatement(
        type_=_TYPE,
        subject=tuple(_describe(name, sha256) for name, sha256 in sorted(digests.items())),
        predicate_type=_PREDICATE_TYPE,
        predicate=ProvenancePredicate(
            definition=BuildDefinition(
                build_type=_BUILD_TYPE,
                external_parameters={"configuration sha256": contents.configuration_sha256},
                internal_parameters=_describe_toolchain(contents)
                | {f"{_STAGE}{task}": key for task, key in stages.items()},
                resolved_dependencies=list_dependencies(contents),
            ),
            details=RunDetails(builder=BuilderIdentity(id=_BUILDER, version={_MEGTRIM: megtrim})),
        ),
    )


def list_dependencies(contents: ReleaseContents) -> tuple[ResourceDescriptor, ...]:
    """Return what the release was made from, by what release.json says."""
    engine = contents.engine
    commit = {"gitCommit": engine.commit} if engine.commit else {}
    return (
        ResourceDescriptor(name=f"engine {engine.kind}", digest={"sha256": engine.digest} | commit),
        _describe("keep set", contents.keep_set_sha256),
        *(_describe(f"model {name}", each) for name, each in sorted(contents.models.items())),
    )


def dump_statement(statement: ProvenanceStatement) -> str:
    """Write the statement."""
    return dump(statement)


def parse_statement(text: str, *, source: str) -> ProvenanceStatement:
    """Read a statement. Anything but exactly its shape is an InputError naming ``source``."""
    return load(ProvenanceStatement, text, source=source, version=_NO_VERSION, hint=HINT)


def _describe_toolchain(contents: ReleaseContents) -> dict[str, str]:
    """Return what identifies the compiler, which has no digest of its own."""
    toolchain = contents.toolchain
    image = {"toolchain image": toolchain.image} if toolchain.image else {}
    return {"toolchain": f"{toolchain.kind} {toolchain.version} for {toolchain.target}", **image}


def _describe(name: str, sha256: str) -> ResourceDescriptor:
    return ResourceDescriptor(name=name, digest={"sha256": sha256})
