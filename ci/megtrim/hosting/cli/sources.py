"""``megtrim ci sources``: the submodules that a build needs, and nothing else of theirs."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

from megtrim.core.chain import final
from megtrim.core.chain.result_store import Store
from megtrim.core.cli.echo import open_console, show
from megtrim.core.cli.environment import (
    ENGINE_KEY,
    open_processes,
    read_engine_host_keys,
    read_engine_key,
)
from megtrim.core.config.config_id import split
from megtrim.core.config.document import LARGEST_FILE_BYTES, parse_document
from megtrim.core.config.problems import ConfigError
from megtrim.core.evidence.fields import EarlyExit
from megtrim.core.parts import find_parts
from megtrim.core.project import find_kind
from megtrim.hosting.github.runner import write_output
from megtrim.libs.util.errors import EXIT_PASS, InfrastructureFailure, InputError, MegtrimError
from megtrim.libs.util.input_files import read_bytes
from megtrim.places.compile.sources.fetch import TOP, FetchRequest, SourceFetch, trusted_url
from megtrim.places.compile.sources.git import SourceRepository
from megtrim.places.compile.sources.gitmodules import (
    RepositoryUrl,
    check_path,
    parse_patterns,
    parse_project_url,
)


def fetch(
    project: Path,
    trusted: Path,
    config: str,
    url: str,
    submodules: str,
    repositories: str,
    shared: Path | None,
    out: Path | None,
) -> int:
    try:
        own = parse_project_url(url or _own_url())
        request = FetchRequest(
            project=project,
            trusted=trusted,
            url=own,
            patterns=parse_patterns(repositories, near=own),
            shared=shared,
            key=read_engine_key(),
            host_keys=read_engine_host_keys(),
        )
        _fetch(request, config, submodules)
    except MegtrimError as error:
        if out is not None:
            from megtrim.core.report.junit import render_ending

            ending = EarlyExit.of(error, str(Path(config)))
            with suppress(InfrastructureFailure, InputError):  # the error itself matters more
                final.add_ending(Store(out.resolve()), ending, junit=render_ending(ending))
        raise
    return EXIT_PASS


def _fetch(request: FetchRequest, config: str, submodules: str) -> None:
    processes = open_processes()
    kind, engine = _read_engine(request.project, config)
    extra = [_submodule_path(each) for each in submodules.split()]
    if request.key:
        request = replace(request, key_of=_key_repository(request, config))
    work = SourceFetch(request, processes, open_console().note)
    work.fetch([engine, *extra])
    for path in extra:
        if path not in work.fetched and work.holder(path)[0] == TOP:
            msg = f"the input submodules: found {path}, expected the path of a submodule"
            raise InputError(msg, hint="paths are relative to the top of the repository")
    work.fetch(_list_needed(work, kind, engine))
    for each in work.fetched.values():
        show(f"{each.path} at {each.commit[:12]} from {each.url}")
    private = any(each.keyed for each in work.fetched.values())
    write_output(processes.env, "private", "true" if private else "false")


def _list_needed(work: SourceFetch, kind: str, engine: PurePosixPath) -> list[PurePosixPath]:
    place, tree = work.holder(engine)
    inside = engine.relative_to(place)

    def below(names: tuple[str, ...]) -> list[str]:
        paths = [PurePosixPath(name) for name in names]
        return [str(path.relative_to(inside)) for path in paths if path.is_relative_to(inside)]

    links = below(tuple(tree.links))
    if kind not in find_parts().engines or not links:
        return []
    needed = find_kind(kind).list_submodules
    return [engine / name for name in needed(below(tree.files), links)]


def _read_engine(folder: Path, config: str) -> tuple[str, PurePosixPath]:
    path = PurePosixPath(split(config)[0])
    raw = read_bytes(folder / path, most_bytes=LARGEST_FILE_BYTES, expected="a configuration")
    document = parse_document(raw, file=str(folder / path))
    section = document.data.get("engine")
    keys = section if isinstance(section, dict) else {}
    kind = keys.get("kind")
    source = keys.get("source")
    if not isinstance(source, str) or not isinstance(kind, str):
        return "", TOP  # megtrim's own engine, or a mistake that the trim reports
    parts: list[str] = []
    for part in (*path.parent.parts, *PurePosixPath(source).parts):
        if part == "/" or (part == ".." and not parts):
            found = repr(source[:80])
            expected = "a folder of the repository, or a submodule"
            raise ConfigError([document.problem(("engine", "source"), found, expected)])
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return kind, PurePosixPath(*parts)


def _key_repository(request: FetchRequest, config: str) -> RepositoryUrl | None:
    tree = SourceRepository(request.trusted, open_processes()).tree()
    with suppress(InputError):  # the change may be the one that brings the configuration
        _, engine = _read_engine(request.trusted, config)
        found = trusted_url(request, tree, engine)
        if found is not None:
            return found
    exact = [pattern.url for pattern in request.patterns if not pattern.below]
    return exact[0] if len(exact) == 1 else None


def _submodule_path(text: str) -> PurePosixPath:
    flaw = check_path(text)
    if flaw:
        msg = f"the input submodules: found {text[:80]!r}, expected a path, not {flaw}"
        raise InputError(msg)
    return PurePosixPath(text)


def _own_url() -> str:
    env = open_processes().env
    server = env.get("GITHUB_SERVER_URL", "")
    name = env.get("GITHUB_REPOSITORY", "")
    if not server or not name:
        msg = "the project's own repository is not known"
        raise InputError(
            msg, hint=f"name it with --url; {ENGINE_KEY} is only for the key of its engine"
        )
    return f"{server}/{name}"
