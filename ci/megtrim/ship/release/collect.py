"""From the results of a trim to the files of its release."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from megtrim.core.build_spec import EngineLibrary, Origin, Variant
from megtrim.core.chain.filenames import KEEP_SET_FILE, SIZES_FILE, VERDICT_FILE
from megtrim.core.chain.graph import (
    REDUCED,
    REGION,
    REPORT,
    SIZE,
    VERDICT,
    Stage,
    base_task,
    keep_task,
)
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.functions import rest
from megtrim.core.project import find_library
from megtrim.core.size.baseline import dump_sizes, parse_sizes
from megtrim.core.size.references import stage as references
from megtrim.core.trim.builds.links import locate_named
from megtrim.core.trim.runs.scenario_runs import cache_of
from megtrim.core.verdict.model import parse_verdict
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import sha256_file
from megtrim.places.compile.public_files import list_public_files
from megtrim.ship.crashes.program import dump_left_out
from megtrim.ship.crashes.trimmed_programs import read_program
from megtrim.ship.release.aar import CONFIG_PATH, collect_aar, explain_missing, render_config
from megtrim.ship.release.archive import ReleaseFile, from_path, from_text, seal_files
from megtrim.ship.release.contents import (
    CONFIGURATION,
    KEEP_SET_PATH,
    RUNTIME_PATH,
    SIZES_PATH,
    SYMBOLS,
    ArtifactKind,
    ReleaseArtifact,
    ReleaseContents,
    ReleasePatch,
    ThirdParty,
    kind_of,
    locate_cache,
    locate_left_out,
    make_contents,
    name_files,
)
from megtrim.ship.release.documents import describe, list_unfit
from megtrim.ship.release.feature import collect_feature

_BUILT = "bin/"
_MAKES = frozenset({Stage.BUILD, Stage.PROFILE, Stage.HEADER, Stage.FUNCTIONS, Stage.REDUCE})
"""Stages whose results a program is made from; the others measure and judge it."""


def collect_export(session: Session) -> tuple[ReleaseFile, ...]:
    contents = _read_contents(session)
    payload = _complete(session, contents, _collect_payload(session, contents))
    digests = {each.path: each.sha256 for each in payload}
    texts = describe(name_files(contents, digests), digests)
    documents = (from_text(path, text) for path, text in texts.items())
    report = session.done[REPORT]
    pages = (from_path(f"report/{name}", report.file(name)) for name in sorted(report.files))
    return (*payload, *documents, *pages)


def collect_release(
    session: Session, *, megtrim: str, draft: bool = False, patch: ReleasePatch | None = None
) -> tuple[ReleaseFile, ...]:
    """The report stays out: it says how long things took.

    Raises InputError for what is not proven, unless it is a ``draft``, which devices elsewhere
    are to prove.
    """
    contents, payload = collect_parts(session, draft=draft)
    contents = replace(contents, patch=patch)
    for objection in () if draft else contents.list_unproven():
        msg = f"{objection}, so there is nothing to release"
        again = session.request.invocation.again("verify")
        raise InputError(msg, hint=f"verify it on a device: {again}")
    return seal_files(contents, payload, stages=list_stage_keys(session), megtrim=megtrim)


def collect_parts(
    session: Session, *, draft: bool
) -> tuple[ReleaseContents, tuple[ReleaseFile, ...]]:
    contents = _read_contents(session, draft=draft)
    symbols = (*_collect_symbols(session, contents), *_collect_left_out(session, contents))
    payload = (*_complete(session, contents, _collect_payload(session, contents)), *symbols)
    for problem in list_unfit(each.path for each in payload):
        msg = f"a release cannot contain {problem}"
        raise InputError(msg, hint="give the file another name")
    return contents, payload


def list_stage_keys(session: Session) -> dict[str, str]:
    return {
        task: folder.key for task, folder in sorted(session.done.items()) if folder.stage in _MAKES
    }


def _read_contents(session: Session, *, draft: bool = False) -> ReleaseContents:
    source = session.done[VERDICT].file(VERDICT_FILE)
    verdict = parse_verdict(source.read_text(encoding="utf-8"), source=str(source))
    loaded = session.request.loaded
    reduced = session.done[REDUCED]
    files = {model.name: loaded.resolve(model.file) for model in loaded.config.models}
    models = {name: sha256_file(file) for name, file in files.items()}
    plain = {
        artifact.name: size.size_bytes
        for artifact in verdict.artifacts
        for size in artifact.sizes
        if size.variant == Variant.PLAIN
    }
    artifacts = []
    for path, sha256 in reduced.files.items():
        if path.startswith(_BUILT):
            name = path.removeprefix(_BUILT)
            artifact = ReleaseArtifact(
                name=name,
                kind=kind_of(name),
                sha256=sha256,
                size_bytes=reduced.file(path).stat().st_size,
                plain_bytes=plain.get(name),
            )
            artifacts.append(artifact)
    checkout = session.services.engine.checkout
    third_parties = (
        ThirdParty(
            path=path,
            commit=commit,
            is_used=any(name.startswith(f"{path}/") for name in checkout.files),
        )
        for path, commit in checkout.submodules.items()
    )
    reader = session.services.engine.models
    graphs = {
        name: reader.digest_model_graph(files[name], sha256) if reader else None
        for name, sha256 in models.items()
    }
    keep_set = session.done[keep_task(loaded.config)]
    elsewhere = []
    if draft:
        elsewhere = [device.class_ for device in loaded.config.devices if device.runner]
    return make_contents(
        verdict,
        artifacts=artifacts,
        models=models,
        graphs={name: graph or "" for name, graph in graphs.items()},
        third_parties=third_parties,
        keep_set_sha256=keep_set.files[KEEP_SET_FILE],
        configuration_sha256=loaded.sha256,
        elsewhere=elsewhere,
        draft=draft,
    )


def _collect_payload(session: Session, contents: ReleaseContents) -> Iterator[ReleaseFile]:
    reduced = session.done[REDUCED]
    for artifact in contents.artifacts:
        yield _from_stage(artifact.path, reduced, f"{_BUILT}{artifact.name}")
    yield from _collect_public(session, contents)
    library = _find_library(session, contents)
    package = render_config(
        library="" if library is None else library.file,
        programs=(each.name for each in contents.artifacts if each.kind is ArtifactKind.PROGRAM),
        released={each.path for each in contents.artifacts},
    )
    yield from_text(CONFIG_PATH, package)
    if any(each.kind is ArtifactKind.REST for each in contents.artifacts):
        yield from_text(RUNTIME_PATH, rest.RUNTIME)
    kept = session.done[keep_task(session.config)]
    yield _from_stage(KEEP_SET_PATH, kept, KEEP_SET_FILE)
    yield _collect_sizes(session.done[SIZE])
    loaded = session.request.loaded
    yield from_path(f"{CONFIGURATION}/megtrim.yaml", loaded.path)
    for name in loaded.item_files:
        if ".." not in PurePosixPath(name).parts:
            yield from_path(f"{CONFIGURATION}/{name}", loaded.folder / name)
    for scenario in all_scenarios(loaded.config):
        cache = cache_of(scenario, session)
        if cache is not None:
            yield from_path(locate_cache(scenario.id), cache)


def _complete(
    session: Session, contents: ReleaseContents, files: Iterator[ReleaseFile]
) -> tuple[ReleaseFile, ...]:
    payload = tuple(files)
    feature = collect_feature(contents, payload)
    archive = collect_aar(contents, payload)
    if archive is not None:
        return (*payload, archive, *feature)
    if missing := explain_missing(contents, payload):
        session.console.warn(missing)
    return (*payload, *feature)


def _from_stage(path: str, folder: StageFolder, name: str) -> ReleaseFile:
    return ReleaseFile(path=path, source=folder.file(name), sha256=folder.files[name])


def _collect_sizes(folder: StageFolder) -> ReleaseFile:
    path = folder.file(SIZES_FILE)
    found = parse_sizes(path.read_text(encoding="utf-8"), source=str(path))
    return from_text(SIZES_PATH, dump_sizes(replace(found, source="", origin=Origin())))


def _collect_public(session: Session, contents: ReleaseContents) -> Iterator[ReleaseFile]:
    library = _find_library(session, contents)
    checkout = session.services.engine.checkout
    for path, name in list_public_files(checkout, library).items():
        yield ReleaseFile(path=path, source=checkout.root / name, sha256=checkout.files[name])


def _find_library(session: Session, contents: ReleaseContents) -> EngineLibrary | None:
    names = {each.name for each in contents.artifacts if each.kind is ArtifactKind.SHARED}
    return find_library(session.services.engine, session.services.toolchain, names)


def _collect_symbols(session: Session, contents: ReleaseContents) -> Iterator[ReleaseFile]:
    done = session.done
    builds = [done[REDUCED], done.get(base_task(session.config), done[REDUCED])]
    for artifact in contents.artifacts:
        found = ((build, locate_named(build, artifact.name)) for build in builds)
        named = ((build, at) for build, at in found if at and build.files[at] != artifact.sha256)
        for build, at in itertools.islice(named, 1):
            yield _from_stage(f"{SYMBOLS}/{artifact.name}", build, at)


def _collect_left_out(session: Session, contents: ReleaseContents) -> Iterator[ReleaseFile]:
    done = session.done
    keep = references.read_keep(session)
    sha256 = {artifact.name: artifact.sha256 for artifact in contents.artifacts}
    for function in contents.functions:
        program = read_program(function.artifact, done[REDUCED], done.get(REGION), keep)
        if program is not None:
            text = dump_left_out(program.left_out, program_sha256=sha256[function.artifact])
            yield from_text(locate_left_out(function.artifact), text)
