"""A release of three scenarios of two models: its value, its keep set, and all of its files."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from megtrim.checks.check import ToolchainIdentity
from megtrim.regions.keepset import KeepSet, ScenarioRecord, dump_keep_set
from megtrim.regions.region import Region
from megtrim.release.aar import CONFIG_PATH, collect_aar, render_config
from megtrim.release.archive import ReleaseFile, from_text, write_folder
from megtrim.release.contents import (
    KEEP_SET_PATH,
    ArtifactKind,
    ReleaseArtifact,
    ReleaseContents,
    ThirdParty,
    find_plain_sizes,
    make_contents,
)
from megtrim.release.documents import CHECKSUMS_FILE, DOCUMENTS, dump_checksums, seal
from megtrim.verdict.model import Verdict
from unit.evidence.support import evidence, result, written
from unit.verdict.examples import passing

MODELS = {"resnet18-s": "1" * 64, "mobilenet-s": "2" * 64}
PROGRAM = "the program\n"
LIBRARY = "the library\n"
THIRD_PARTIES = (
    ThirdParty(path="third_party/cpuinfo", commit="c" * 40, is_used=False),
    ThirdParty(path="third_party/flatbuffers", commit="f" * 40, is_used=True),
)
GRAPHS = dict.fromkeys(MODELS, "f" * 64)
STAGES = {"build/plain": "0" * 20, "reduce/reduced": "1" * 20}


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def keep_set(verdict: Verdict, *, models: dict[str, str], graph: str | None = None) -> str:
    """Return the keep set of a verdict's scenarios."""
    records = tuple(
        ScenarioRecord(
            id=each.id,
            model_sha256=models[each.model],
            graph_sha256=graph,
            arguments=each.arguments,
            inputs=(),
            algo_cache_sha256=None,
            threads=1,
            trace_sha256="b" * 64,
            regions=(Region("kern", (1,)),),
        )
        for each in sorted(verdict.scenarios, key=lambda each: each.id)
    )
    return dump_keep_set(KeepSet(generation=20220507, scenarios=records, operators=None))


def artifact(name: str, kind: ArtifactKind, text: str, verdict: Verdict) -> ReleaseArtifact:
    return ReleaseArtifact(
        name=name,
        kind=kind,
        sha256=sha(text),
        size_bytes=len(text),
        plain_bytes=find_plain_sizes(verdict).get(name),
    )


def contents(verdict: Verdict | None = None, *, program: str = PROGRAM) -> ReleaseContents:
    """Return what the release of a verdict says, by default of one where all went well."""
    verdict = verdict or passing()
    return make_contents(
        verdict,
        artifacts=(
            artifact("libengine.so", ArtifactKind.SHARED, LIBRARY, verdict),
            artifact("load_and_run", ArtifactKind.PROGRAM, program, verdict),
        ),
        models=MODELS,
        graphs=GRAPHS,
        third_parties=THIRD_PARTIES,
        keep_set_sha256=sha(keep_set(verdict, models=MODELS)),
        configuration_sha256="c" * 64,
    )


def proofs_of(binding: str) -> str:
    """Return what devices brought back: that every scenario passed with these programs."""
    results = [result(scenario=each.id, binding=binding) for each in passing().scenarios]
    return written(
        *(evidence(each, cpu_class=each.scenario.rpartition("@")[2]) for each in results)
    )


def documents(
    *,
    described: ReleaseContents | None = None,
    keep: str = "",
    program: str = PROGRAM,
    more: dict[str, str] | None = None,
) -> dict[str, str]:
    """Return the text of each file of a release; ``described``: what release.json says."""
    said = described or contents(program=program)
    texts = {
        "bin/load_and_run": program,
        "lib/libengine.so": LIBRARY,
        "include/engine/model.h": "#pragma once\n",
        "include/engine/twin.h": "#pragma once\n",
        "licences/LICENSE": "Apache-2.0\n",
        "licences/third_party/flatbuffers/LICENSE.txt": "Apache-2.0\n",
        "share/configuration/megtrim.yaml": "version: 1\n",
        CONFIG_PATH: render_config(library="libengine.so", programs=["load_and_run"]),
        KEEP_SET_PATH: keep or keep_set(passing(), models=MODELS),
    } | (more or {})
    digests = {path: sha(text) for path, text in texts.items()}
    return texts | seal(said, digests, stages=STAGES, megtrim="0.1.0")


def android_contents(library: bytes, *, target: str = "aarch64-linux-android23") -> ReleaseContents:
    """Return what a release for Android says, whose shared library is ``library``."""
    said = contents()
    sha256 = hashlib.sha256(library).hexdigest()
    return replace(
        said,
        toolchain=ToolchainIdentity(kind="ndk", target=target, version="NDK r21e, clang"),
        artifacts=tuple(
            replace(each, sha256=sha256, size_bytes=len(library))
            if each.kind is ArtifactKind.SHARED
            else each
            for each in said.artifacts
        ),
    )


def write_for_android(
    folder: Path,
    library: bytes,
    *,
    target: str = "aarch64-linux-android23",
    aar: bytes | None = None,
) -> Path:
    """Write a release for Android, with another AAR than its own if one is given."""
    said = android_contents(library, target=target)
    texts = {path: text.encode() for path, text in documents().items() if path not in DOCUMENTS}
    files = [
        ReleaseFile(path=path, source=data, sha256=hashlib.sha256(data).hexdigest())
        for path, data in (texts | {"lib/libengine.so": library}).items()
    ]
    own = collect_aar(said, files)
    assert own is not None
    if aar is not None:
        own = replace(own, source=aar, sha256=hashlib.sha256(aar).hexdigest())
    payload = [*files, own]
    sealed = seal(
        said, {each.path: each.sha256 for each in payload}, stages=STAGES, megtrim="0.1.0"
    )
    write_folder((*payload, *as_files(sealed)), folder)
    return folder


def sum_up(texts: dict[str, str]) -> dict[str, str]:
    """Return the files with the SHA256SUMS that fits them."""
    rest = {path: text for path, text in texts.items() if path != CHECKSUMS_FILE}
    sums = dump_checksums({path: sha(text) for path, text in rest.items()})
    return rest | {CHECKSUMS_FILE: sums}


def as_files(texts: dict[str, str]) -> tuple[ReleaseFile, ...]:
    return tuple(from_text(path, text) for path, text in texts.items())


def write(folder: Path, texts: dict[str, str] | None = None) -> Path:
    """Write a release, whole by default."""
    write_folder(as_files(texts or documents()), folder)
    return folder


def for_other_engine() -> ReleaseContents:
    """Return what a release of another commit says."""
    said = contents()
    return replace(said, engine=replace(said.engine, digest="e" * 64, commit="d" * 40))
