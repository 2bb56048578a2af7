"""The documents of a release that follow from what it holds, and the sums of all its files. Pure.

SHA256SUMS has the sha256 and path of every other file, as sha256sum reads them: relative, sorted,
each once, never leading out of the release. The bill of materials has the form of CycloneDX 1.6,
https://cyclonedx.org/docs/1.6/json/ says what its fields mean; the form's own library would bring
five more to each machine, a second to each check, and a time and a random number.
"""

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from megtrim.core.build_spec import LICENCES, PACKAGE
from megtrim.core.config.kinds import DEFERRING_LEVELS
from megtrim.core.config.units import format_bytes
from megtrim.core.keep.keepset import KeepSet
from megtrim.libs.render.markup import code, prose, table
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.json_text import read
from megtrim.libs.util.strict_json import dump
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count, make_printable
from megtrim.ship.release.contents import (
    AAR_PATH,
    FEATURE,
    HINT,
    README_FILE,
    RELEASE_FILE,
    REST_PROPERTY,
    ArtifactKind,
    ReleaseContents,
    ReleasePatch,
    ReleaseScenario,
)

CHECKSUMS_FILE = "SHA256SUMS"
BILL_FILE = "sbom.cdx.json"
STATEMENT_FILE = "provenance.intoto.json"
DOCUMENTS = frozenset({README_FILE, RELEASE_FILE, BILL_FILE, STATEMENT_FILE, CHECKSUMS_FILE})
LARGEST_BYTES = 4 * 1024 * 1024
_LINE = re.compile(r"(?P<sha256>[0-9a-f]{64})  (?P<path>[^\x00-\x1f\x7f\\]{1,1000})")
_EXPECTED = "a sha256, two blanks and a path within the release"
_STAGE = "stage "
_MEGTRIM = "megtrim"
_RELEASE = "release"
_ENGINE = "engine"
_LIMITS = {
    "operator": "Operators and data types that none of these models has are left out",
    "region": "Kernels that none of these runs are compiled out",
    "function": "Functions that none of these ran are left out",
    "deferred": "Functions that none of these ran are in the files `*.rest`, and missing without",
    "blocks": "Code that none of these ran is in the files `*.rest`, and missing without",
}
_COMPONENTS = {
    ArtifactKind.PROGRAM: "application",
    ArtifactKind.SHARED: "library",
    ArtifactKind.REST: "file",
}
"""Types of CycloneDX; none is for code that another file needs."""
_BY_LEVEL = {
    "operator": "operators",
    "region": "regions",
    "function": "functions",
    "deferred": "deferred functions",
    "blocks": "deferred functions and blocks",
}
_IN_CMAKE = f"""\
```cmake
find_package({PACKAGE} REQUIRED PATHS this/folder NO_DEFAULT_PATH)
target_link_libraries(your-program PRIVATE {PACKAGE}::shared)
```
"""
_NO_LIBRARY = "There is no library in it: name the shared one under `artifacts` of megtrim.yaml.\n"
_IN_AN_APP = f"""
In an Android app, with `{AAR_PATH}` in its folder `libs`, the same two lines of
CMake without `PATHS`, and:

```kotlin
android {{ buildFeatures {{ prefab = true }} }}
dependencies {{ implementation(files("libs/{PACKAGE}.aar")) }}
```
"""
_WITH_A_REST = f"""
A file `NAME.rest` belongs next to `NAME`; the property `{REST_PROPERTY}` of CMake's target is its
path. An AAR does not hold it.
"""
_WITH_A_FEATURE = f"""
For Google Play, `{FEATURE}` is a feature module of your app that delivers the deferred
functions on demand. `android/DeferredCode.kt` and `android/deferred_code.c` go into the app itself:
they ask Google Play for the module and hand its functions to the library.
"""
_MOST_SHOWN = 20


class DescribedRelease(Value):
    tag: str
    contents: ReleaseContents
    keep: KeepSet


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


def describe(contents: ReleaseContents, paths: Iterable[str]) -> dict[str, str]:
    every = frozenset(paths)
    return {
        README_FILE: render_readme(contents, every),
        RELEASE_FILE: dump(contents),
    }


def seal(
    contents: ReleaseContents,
    payload: Mapping[str, str],
    *,
    stages: Mapping[str, str],
    megtrim: str,
) -> dict[str, str]:
    """``payload``: the sha256 of other files; ``stages``: the key of each result, by task."""
    texts = {
        **describe(contents, payload),
        BILL_FILE: render_bill(contents, payload, megtrim=megtrim),
    }
    digests = {**payload, **{path: digest(text) for path, text in texts.items()}}
    statement = render_statement(contents, digests, stages, megtrim=megtrim)
    sums = dump_checksums(digests | {STATEMENT_FILE: digest(statement)})
    return texts | {STATEMENT_FILE: statement, CHECKSUMS_FILE: sums}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def render_statement(
    contents: ReleaseContents,
    digests: Mapping[str, str],
    stages: Mapping[str, str],
    *,
    megtrim: str,
) -> str:
    """Write the provenance as in-toto and SLSA 1.0 have it.

    https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md and
    https://slsa.dev/spec/v1.0/provenance say what the fields mean.
    """
    engine = contents.engine
    toolchain = contents.toolchain
    commit = {"gitCommit": engine.commit} if engine.commit else {}
    # A compiler has no digest of its own.
    facts = {"toolchain": f"{toolchain.kind} {toolchain.version} for {toolchain.target}"}
    if toolchain.image:
        facts["toolchain image"] = toolchain.image
    for task, key in stages.items():
        facts[f"{_STAGE}{task}"] = key
    dependencies = [
        {"name": f"engine {engine.kind}", "digest": {"sha256": engine.digest} | commit},
        _describe_file("keep set", contents.keep_set_sha256),
    ]
    for name, sha256 in sorted(contents.models.items()):
        dependencies.append(_describe_file(f"model {name}", sha256))
    parameters: dict[str, object] = {"configuration sha256": contents.configuration_sha256}
    patch = contents.patch
    if patch is not None:
        parameters["patched release sha256"] = patch.of
        parameters["crash report sha256"] = patch.report_sha256
        parameters["kept functions"] = list(patch.kept)
    definition = {
        "buildType": "urn:megtrim:trim:v1",
        "externalParameters": parameters,
        "internalParameters": facts,
        "resolvedDependencies": dependencies,
    }
    # Who ran it says the attestation of the machine that did.
    builder = {"id": "urn:megtrim:builder", "version": {_MEGTRIM: megtrim}}
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [_describe_file(name, sha256) for name, sha256 in sorted(digests.items())],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {"buildDefinition": definition, "runDetails": {"builder": builder}},
    }
    return dump(statement)


def read_statement(text: str, *, source: str) -> tuple[dict[str, str], str]:
    """Return the key of each stage's result, by task, and megtrim's version. Raises InputError."""
    return read(text, _find_origin, source, 1, HINT)


def _find_origin(statement: Any) -> tuple[dict[str, str], str]:
    try:
        predicate = statement["predicate"]
        facts = dict(predicate["buildDefinition"]["internalParameters"])
        megtrim = predicate["runDetails"]["builder"]["version"][_MEGTRIM]
    except (KeyError, TypeError, ValueError):
        facts = {}
        megtrim = None
    if not all(isinstance(fact, str) for fact in (megtrim, *facts.values())):
        msg = "found no statement of a build by megtrim, expected one"
        raise ValueError(msg)
    stages = {
        name.removeprefix(_STAGE): key for name, key in facts.items() if name.startswith(_STAGE)
    }
    return stages, megtrim


def _describe_file(name: str, sha256: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256}}


def render_bill(contents: ReleaseContents, payload: Iterable[str], *, megtrim: str) -> str:
    paths = sorted(payload)
    artifacts = [
        _make(
            _COMPONENTS[artifact.kind],
            f"artifact:{artifact.path}",
            artifact.name,
            facts={"path": artifact.path},
            hashes=[{"alg": "SHA-256", "content": artifact.sha256}],
        )
        for artifact in contents.artifacts
    ]
    third_parties = []
    for party in contents.third_parties:
        licences = [path for path in paths if path.startswith(f"{LICENCES}/{party.path}/")]
        component = _make(
            "library",
            f"third-party:{party.path}",
            party.path,
            party.commit,
            facts={f"licence {number}": path for number, path in enumerate(licences, start=1)},
            scope="required" if party.is_used else "excluded",
        )
        third_parties.append(component)
    engine = contents.engine
    toolchain = contents.toolchain
    compiler = {"kind": toolchain.kind, "target": toolchain.target}
    if toolchain.image:
        compiler["image"] = toolchain.image
    tree = {"tree sha256": engine.digest}
    if engine.dirty:
        tree["files that differ from the commit"] = str(len(engine.dirty))
    version = engine.commit or engine.digest
    used = [party["bom-ref"] for party in third_parties if party["scope"] == "required"]
    made = [artifact["bom-ref"] for artifact in artifacts]
    links = {_RELEASE: made, **{each: [_ENGINE] for each in made}, _ENGINE: used}
    tools = [
        _make("application", "tool:megtrim", "megtrim", megtrim),
        _make("application", "tool:compiler", "compiler", toolchain.version, facts=compiler),
    ]
    engine_component = _make("library", _ENGINE, engine.kind, version, facts=tree)
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "tools": {"components": tools},
            "component": _describe_release(contents),
        },
        "components": [*artifacts, engine_component, *third_parties],
        "dependencies": [{"ref": ref, "dependsOn": refs} for ref, refs in links.items()],
    }
    return dump(bill)


def _describe_release(contents: ReleaseContents) -> dict[str, Any]:
    engine = contents.engine
    trim = contents.trim
    facts = {"level": trim.level}
    if contents.regions_held:
        facts["regions kept"] = f"{contents.regions_kept} of {contents.regions_held}"
    for function in contents.functions:
        facts[f"functions kept in {function.artifact}"] = f"{function.kept} of {function.held}"
    if trim.switched_off:
        facts["switched off"] = " ".join(trim.switched_off)
    version = engine.commit or engine.digest
    return _make("library", _RELEASE, f"{engine.kind}-trimmed", version, facts=facts)


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


def render_readme(contents: ReleaseContents, paths: Collection[str]) -> str:
    """``paths``: of the files of the release."""
    engine = contents.engine
    toolchain = contents.toolchain
    level = contents.trim.level
    differs = f"- its tree differs from that commit in {count(len(engine.dirty), 'file')}\n"
    artifacts = (
        f"| {code(each.path)} | {each.kind} | {format_bytes(each.size_bytes)} | "
        f"{'not measured' if each.plain_bytes is None else format_bytes(each.plain_bytes)} |\n"
        for each in contents.artifacts
    )
    large = f", memory pages up to {format_bytes(toolchain.page_bytes)}"
    pages = large if toolchain.page_bytes else ""
    is_library = any(artifact.kind is ArtifactKind.SHARED for artifact in contents.artifacts)
    has_feature = any(path.startswith(f"{FEATURE}/") for path in paths)
    has_licences = any(path.startswith(f"{LICENCES}/") for path in paths)
    licences = f"Those of the engine and of what it is made from are in `{LICENCES}`."
    return f"""\
# The trimmed engine

- engine: {prose(engine.kind)}, {engine.commit or f"digest {engine.digest}"}
{differs if engine.dirty else ""}\
- target: {prose(toolchain.target)}{pages}, compiled by {_name_compiler(contents)}
- level: {prose(level)}
- verdict: {contents.verdict}

{_describe_patch(contents.patch)}\
## What is in it

| file | kind | size | before trimming |
|---|---|---|---|
{"".join(artifacts)}
## What it can run

| scenario | model's sha256 | arguments | result | on |
|---|---|---|---|---|
{"".join(map(_describe_scenario, contents.scenarios))}
## What it cannot run

Anything else. {_LIMITS.get(level, _LIMITS["region"])}: another model, other arguments, \
other input sizes, or a CPU of another class may end the program by a trap, without a message. \
Add what you need to megtrim.yaml, and trim again.

## Use it

{_IN_CMAKE if is_library else _NO_LIBRARY}{_IN_AN_APP if AAR_PATH in paths else ""}\
{_WITH_A_REST if level in DEFERRING_LEVELS else ""}{_WITH_A_FEATURE if has_feature else ""}
## Licences

{licences if has_licences else "The engine's checkout has no file with a licence."}
"""


def _describe_patch(patch: ReleasePatch | None) -> str:
    if patch is None:
        return ""
    names = "".join(f"- {code(name)}\n" for name in patch.added)
    return f"""\
## What changed

{code(patch.program)} of the release with the sha256 {patch.of} crashed \
(build id {patch.build_id}; sha256 of the report: {patch.report_sha256}), \
because trimming had left these functions out. They are kept now:

{names}
"""


def _describe_scenario(scenario: ReleaseScenario) -> str:
    result = str(scenario.status)
    if scenario.on_devices is not None:
        result = f"{result}; on devices: {scenario.on_devices}"
    cells = (scenario.id, scenario.model_sha256, " ".join(scenario.arguments))
    return f"| {' | '.join(map(code, cells))} | {result} | {prose(scenario.device)} |\n"


def _name_compiler(contents: ReleaseContents) -> str:
    return prose(f"{contents.toolchain.kind} {contents.toolchain.version}")


def render_notes(
    now: DescribedRelease, before: DescribedRelease | None, *, archive: str, sha256: str
) -> str:
    """``before``: the last release, ``sha256``: of this one's SHA256SUMS."""
    engine = now.contents.engine
    toolchain = now.contents.toolchain
    return f"""\
## Sizes

{_show_sizes(now, before)}

## What it can run

{"".join(_show_models(now.contents, before.contents if before else None))}
{_show_keep_set(now.keep, before) if before else ""}\
## What it is made from

- {prose(engine.kind)}: {code(engine.commit or f"digest {engine.digest}")}
- {_name_compiler(now.contents)} for {prose(toolchain.target)}
- trimmed by {prose(_BY_LEVEL[now.contents.trim.level])}

## Verify it

```sh
megtrim release verify {archive} --sha256 {sha256}
```
"""


def _show_sizes(now: DescribedRelease, before: DescribedRelease | None) -> str:
    old = {each.path: each.size_bytes for each in before.contents.artifacts} if before else {}
    head = ["file", "size", f"in {before.tag}" if before else "last release", "before trimming"]
    rows = []
    for artifact in now.contents.artifacts:
        was = old.get(artifact.path)
        change = artifact.size_bytes - (was or 0)
        compared = "the same"
        if was is None:
            compared = "new"
        elif change:
            compared = f"{format_bytes(was)}, {'+' if change > 0 else ''}{format_bytes(change)}"
        plain = "" if artifact.plain_bytes is None else format_bytes(artifact.plain_bytes)
        rows.append((code(artifact.path), format_bytes(artifact.size_bytes), compared, plain))
    return table(head, rows)


def _show_models(now: ReleaseContents, before: ReleaseContents | None) -> Iterator[str]:
    old = before.models if before else {}
    for scenario in now.scenarios:
        known = old.get(scenario.model)
        note = ""
        if before is not None and known != scenario.model_sha256:
            note = ", a new model" if known is None else ", with a model that changed"
        yield f"- {code(scenario.id)}: {code(' '.join(scenario.arguments))}{note}\n"
    lost = sorted({each.id for each in before.scenarios} - now.bindings.keys()) if before else []
    yield from (f"- no longer: {id_}\n" for id_ in _shorten(lost))


def _show_keep_set(keep: KeepSet, before: DescribedRelease) -> str:
    kept, was = ({*map(str, each.regions()), *each.functions()} for each in (keep, before.keep))
    changes = [
        f"{title}: {', '.join(_shorten(sorted(names)))}\n\n"
        for title, names in (("kept now", kept - was), ("left out now", was - kept))
        if names
    ]
    return "".join((f"## Keep set since {before.tag}\n\n", *(changes or ["It is the same.\n\n"])))


def _shorten(names: Iterable[str]) -> list[str]:
    listed = [code(name) for name in names]
    more = len(listed) - _MOST_SHOWN
    return listed if more <= 0 else [*listed[:_MOST_SHOWN], f"and {more} more"]
