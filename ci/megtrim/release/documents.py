"""The documents of a release that follow from what it holds, and the sums of all its files. Pure.

A trim makes them; they are made again when devices have proven it, and when it is checked.

SHA256SUMS has the sha256 and path of every other file, as sha256sum reads them. The paths are
relative, sorted, each once, and never lead out of the release.

The provenance names every file by its sha256, and what they were made from: the engine, the
toolchain, the models, the keep set, the configuration, and the key of each stage's result, which
is the digest of all of that stage's inputs. The bill of materials has the form of CycloneDX 1.6,
https://cyclonedx.org/docs/1.6/json/ says what its fields mean; the form's own library would bring
five more to each machine, a second to each check, and a time and a random number.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from megtrim.release.contents import (
    AAR_PATH,
    HINT,
    LICENCES,
    README_FILE,
    RELEASE_FILE,
    ArtifactKind,
    ReleaseContents,
    dump_contents,
)
from megtrim.release.pages import render_readme
from megtrim.util.errors import InputError
from megtrim.util.json_text import read
from megtrim.util.strict_json import dump
from megtrim.util.wording import make_printable

CHECKSUMS_FILE = "SHA256SUMS"
BILL_FILE = "sbom.cdx.json"
STATEMENT_FILE = "provenance.intoto.json"
DOCUMENTS = frozenset({README_FILE, RELEASE_FILE, BILL_FILE, STATEMENT_FILE, CHECKSUMS_FILE})
LARGEST_BYTES = 4 * 1024 * 1024

_LINE = re.compile(r"(?P<sha256>[0-9a-f]{64})  (?P<path>[^\x00-\x1f\x7f\\]{1,1000})")
_EXPECTED = "a sha256, two blanks and a path within the release"


def dump_checksums(digests: Mapping[str, str]) -> str:
    return "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(digests.items()))


def parse_checksums(text: str, *, source: str) -> dict[str, str]:
    """Raises InputError naming the line that is none."""
    if not text.endswith("\n"):
        raise _make_error(source, text.count("\n") + 1, "no end of line", "one")
    found: list[tuple[str, str]] = []
    for number, line in enumerate(text[:-1].split("\n"), start=1):
        match = _LINE.fullmatch(line)
        if match is None or not is_inside(match["path"]):
            raise _make_error(source, number, repr(line[:100]), _EXPECTED)
        if found and found[-1][0] >= match["path"]:
            raise _make_error(source, number, "a path out of order, or twice", "each once, sorted")
        found.append((match["path"], match["sha256"]))
    return dict(found)


def is_inside(path: str) -> bool:
    plain = PurePosixPath(path)
    # One that begins with two slashes is a root of its own.
    leaves = plain.is_absolute() or ".." in plain.parts
    return bool(plain.parts) and str(plain) == path and not leaves


def list_unfit(paths: Iterable[str]) -> Iterator[str]:
    """Yield paths that some machine could not show, or would take for another one of them."""
    known: dict[str, str] = {}
    for path in paths:
        if make_printable(path) != path:
            yield f"{path!a}, which has letters that cannot be seen"
        for one in (path, *map(str, PurePosixPath(path).parents)):
            folded = unicodedata.normalize("NFKC", one).casefold()
            if known.setdefault(folded, one) != one:
                yield f"both {one} and {known[folded]}, which are one name on some machines"


def _make_error(source: str, line: int, found: str, expected: str) -> InputError:
    msg = f"{source}:{line}: found {found}, expected {expected}"
    return InputError(msg, hint=HINT)


def list_licences(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if path.startswith(f"{LICENCES}/")]


def describe(contents: ReleaseContents, paths: Iterable[str]) -> dict[str, str]:
    every = frozenset(paths)
    return {
        README_FILE: render_readme(
            contents, has_licences=bool(list_licences(every)), has_aar=AAR_PATH in every
        ),
        RELEASE_FILE: dump_contents(contents),
    }


def seal(
    contents: ReleaseContents,
    payload: Mapping[str, str],
    *,
    stages: Mapping[str, str],
    megtrim: str,
) -> dict[str, str]:
    """Return the documents of a release, by path.

    ``payload`` has the sha256 of every other file, ``stages`` the key of each result that programs
    are made from, by the id of its task; ``megtrim`` is its version.
    """
    bill = render_bill(contents, licences=list_licences(payload), megtrim=megtrim)
    texts = {**describe(contents, payload), BILL_FILE: bill}
    digests = {**payload, **{path: digest(text) for path, text in texts.items()}}
    statement = render_statement(contents, digests, stages, megtrim=megtrim)
    sums = dump_checksums(digests | {STATEMENT_FILE: digest(statement)})
    return texts | {STATEMENT_FILE: statement, CHECKSUMS_FILE: sums}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_TYPE = "https://in-toto.io/Statement/v1"
_PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
_BUILD_TYPE = "urn:megtrim:trim:v1"
_BUILDER = "urn:megtrim:builder"
_STAGE = "stage "
_MEGTRIM = "megtrim"
_NO_VERSION = 1


def render_statement(
    contents: ReleaseContents,
    digests: Mapping[str, str],
    stages: Mapping[str, str],
    *,
    megtrim: str,
) -> str:
    """Write the provenance as in-toto and SLSA 1.0 have it.

    https:
    github.com/in-toto/attestation/blob/main/spec/v1/statement.md and
    https:
    slsa.dev/spec/v1.0/provenance say what the fields mean.
    """
    engine, toolchain = contents.engine, contents.toolchain
    commit = {"gitCommit": engine.commit} if engine.commit else {}
    image = {"toolchain image": toolchain.image} if toolchain.image else {}
    # A compiler has no digest of its own.
    compiler = f"{toolchain.kind} {toolchain.version} for {toolchain.target}"
    facts = {"toolchain": compiler, **image, **{f"{_STAGE}{t}": k for t, k in stages.items()}}
    dependencies = [
        {"name": f"engine {engine.kind}", "digest": {"sha256": engine.digest} | commit},
        _describe_file("keep set", contents.keep_set_sha256),
        *(_describe_file(f"model {name}", each) for name, each in sorted(contents.models.items())),
    ]
    statement = {
        "_type": _TYPE,
        "subject": [_describe_file(name, sha256) for name, sha256 in sorted(digests.items())],
        "predicateType": _PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": _BUILD_TYPE,
                "externalParameters": {"configuration sha256": contents.configuration_sha256},
                "internalParameters": facts,
                "resolvedDependencies": dependencies,
            },
            # Who ran it says the attestation of the machine that did.
            "runDetails": {"builder": {"id": _BUILDER, "version": {_MEGTRIM: megtrim}}},
        },
    }
    return dump(statement)


def read_statement(text: str, *, source: str) -> tuple[dict[str, str], str]:
    """Return the key of each stage's result, by task, and megtrim's version.

    All else that a statement says follows from these and the other documents. Raises InputError.
    """
    return read(text, _find_origin, source, _NO_VERSION, HINT)


def _find_origin(statement: Any) -> tuple[dict[str, str], str]:
    try:
        predicate = statement["predicate"]
        facts = dict(predicate["buildDefinition"]["internalParameters"])
        megtrim = predicate["runDetails"]["builder"]["version"][_MEGTRIM]
    except (KeyError, TypeError, ValueError):
        facts, megtrim = {}, None
    if not all(isinstance(each, str) for each in (megtrim, *facts.values())):
        msg = "found no statement of a build by megtrim, expected one"
        raise ValueError(msg)
    stages = {
        name.removeprefix(_STAGE): key for name, key in facts.items() if name.startswith(_STAGE)
    }
    return stages, megtrim


def _describe_file(name: str, sha256: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256}}


_RELEASE = "release"
_ENGINE = "engine"


def render_bill(contents: ReleaseContents, *, licences: Iterable[str], megtrim: str) -> str:
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
