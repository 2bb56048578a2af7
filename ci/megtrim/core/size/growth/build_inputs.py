"""What the program that ships was built from."""

import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from enum import StrEnum
from pathlib import PurePosixPath

from megtrim.core.chain.filenames import KEEP_SET_FILE
from megtrim.core.chain.graph import keep_task
from megtrim.core.chain.result_store import StageFolder, code_digest
from megtrim.core.chain.session import Session
from megtrim.core.keep.keepset import KeepSet, model_of
from megtrim.core.keep.keepset_files import read_keep_set
from megtrim.core.size.growth.causes import BuildInputs, digest
from megtrim.core.trim.builds.links import KEEP_SET
from megtrim.places.compile.projects.checkout import Checkout

_MEASURING = {"prices"}
"""Keys of ``trim`` that change what is measured, and no byte of what is built."""


def read_build_inputs(shipped: StageFolder, session: Session) -> BuildInputs:
    kept = _keep_set_folder(session)
    return _gather(shipped, session, read_keep_set(kept.file(KEEP_SET_FILE)) if kept else None)


def name_build_inputs(shipped: StageFolder, session: Session) -> str:
    """Return what is another text if any of them is another; a keep set is its file's digest."""
    kept = _keep_set_folder(session)
    keep_set = kept.files[KEEP_SET_FILE] if kept else ""
    found = _gather(shipped, session, None)
    # A setting that changes what is built is in the inputs of what was built.
    values = {k: v for k, v in found.values.items() if k not in _list_settings(session)}
    return " ".join((keep_set, *replace(found, values=values).digests().values()))


def _keep_set_folder(session: Session) -> StageFolder | None:
    return session.done.get(keep_task(session.config))


def _gather(shipped: StageFolder, session: Session, keep: KeepSet | None) -> BuildInputs:
    sources, digests = _sort_files(session.services.engine.checkout)
    inputs = {label: value for label, value in shipped.inputs.items() if label != KEEP_SET}
    version = f"{session.request.origin.megtrim} {code_digest()[:12]}".strip()
    scenarios: dict[str, str] = {}
    if keep:
        for scenario in keep.scenarios:
            arguments = " ".join(scenario.arguments)
            scenarios[scenario.id] = f"{scenario.model_sha256} {arguments}"
    return BuildInputs(
        values={**inputs, **_list_settings(session), **digests, "megtrim": version},
        sources=sources,
        kept=_list_kept(keep) if keep else {},
        scenarios=scenarios,
    )


def _sort_files(checkout: Checkout) -> tuple[dict[str, str], dict[str, str]]:
    sources: dict[str, str] = {}
    lines: dict[str, list[str]] = defaultdict(list)
    texts: list[str] = []
    for path, sha256 in sorted(checkout.files.items()):
        match find_kind(path, checkout.submodules):
            case SourceKind.SOURCE:
                sources[path] = sha256
            case SourceKind.DEPENDENCY:
                lines[find_dependency(path, checkout.submodules)].append(f"{path} {sha256}")
            case SourceKind.BUILD:
                texts.append(f"{path}\n{strip_sources(checkout.text(path))}")
            case SourceKind.OTHER:
                pass
    digests = {f"dependency {name}": digest("\n".join(found)) for name, found in lines.items()}
    return sources, digests | {"build files": digest("\n".join(texts))}


def _list_settings(session: Session) -> dict[str, str]:
    config = session.config
    trim = config.trim.model_dump(mode="json", exclude_defaults=True, exclude=_MEASURING)
    toolchain = config.toolchain.model_dump(mode="json", exclude_defaults=True)
    settings = {f"setting trim.{name}": str(value) for name, value in trim.items()}
    for name, value in config.engine.cmake.items():
        settings[f"setting engine.cmake.{name}"] = str(value)
    for name in ("api", "fp16"):
        if name in toolchain:
            settings[f"setting toolchain.{name}"] = str(toolchain[name])
    return settings


def _list_kept(keep: KeepSet) -> dict[str, tuple[str, ...]]:
    by_model: dict[str, list[str]] = defaultdict(list)
    for each in keep.scenarios:
        by_model[model_of(each.id)].append(each.id)

    def users(models: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(each for model in models for each in by_model[model]))

    found = {f"region {each}": users for each, users in keep.regions().items()}
    found |= {f"function {each}": users for each, users in keep.functions().items()}
    needs = keep.operators
    if needs is not None:
        found |= {f"operator {name}": users(models) for name, models in needs.operators}
        found |= {f"dtype {name}": users(models) for name, models in needs.dtypes}
        found |= {f"elemwise_mode {name}": users(models) for name, models in needs.elemwise_modes}
        found |= {f"hash {number}": users(models) for number, models in needs.hashes}
    return found


_THIRD_PARTY = re.compile(
    r"(?:(?:.*/)?(?:third[_-]?part(?:y|ies)|3rd[_-]?party|external|vendor|deps)/[^/]+)(?=/)"
)
_BUILD_FILE = re.compile(
    r"(?:.*/)?(?:CMakeLists\.txt|.*\.cmake|Makefile|BUILD|.*\.(?:mk|bzl|bazel))"
)
_NO_SOURCE = re.compile(
    r"(?:.*/)?(?:\.git[^/]*(?:/.*)?|\.clang-[^/]*|(?:LICEN[CS]E|NOTICE|README|CHANGELOG)[^/]*"
    r"|.*\.(?:md|rst))"
)
_NAMED_SOURCE = re.compile(r"[\w./${}+-]+\.(?:c|cc|cpp|cxx|cu|h|hh|hpp|inl|s|S)\b")
_COMMENT = re.compile(r"(?m)#.*$")


class SourceKind(StrEnum):
    SOURCE = "source"
    DEPENDENCY = "dependency"
    BUILD = "build"
    OTHER = "other"
    """It enters no program, such as a licence."""


def find_kind(path: str, submodules: Collection[str] = ()) -> SourceKind:
    if find_dependency(path, submodules):
        return SourceKind.DEPENDENCY
    if _BUILD_FILE.fullmatch(path):
        return SourceKind.BUILD
    return SourceKind.OTHER if _NO_SOURCE.fullmatch(path) else SourceKind.SOURCE


def find_dependency(path: str, submodules: Collection[str] = ()) -> str:
    """Return the folder of a third party; empty if the file is the engine's."""
    for parent in PurePosixPath(path).parents:
        if str(parent) in submodules:
            return str(parent)
    found = _THIRD_PARTY.match(path)
    return found[0] if found else ""


def strip_sources(text: str) -> str:
    """A source file that came or went is one of the sources, not another way to build."""
    return " ".join(_NAMED_SOURCE.sub("", _COMMENT.sub("", text)).split())
