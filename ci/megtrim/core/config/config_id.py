"""The short id of a configuration, by which one repository keeps the results of several apart."""

import hashlib
import re
from pathlib import PurePosixPath

DEFAULT_CONFIG = "megtrim.yaml"
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
"""The name of a model, a scenario, a class or a device: part of paths and labels."""
TOOLCHAIN_PATTERN = r"^(?=[a-z0-9-]{1,40}$)[a-z0-9]+(-[a-z0-9]+)*$"
"""The name of a toolchain: part of an id, and so of every name that an id is part of."""

_CHOSEN = re.compile(r"(.+\.ya?ml)#([^/#]+)", re.DOTALL)
_FOLDER = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)*)/megtrim\.yaml")
_END = re.compile(r"(?:/megtrim)?\.yaml$")
_NOT_IN_AN_ID = re.compile(r"[^a-z0-9]+")
_LONGEST_WORD = 40
_DIGEST = re.compile(r".*-[0-9a-f]{8}")
_DIGITS = 8


def split(config: str) -> tuple[str, str]:
    """Return the file and the toolchain of ``FILE#TOOLCHAIN``; without one, that is empty."""
    found = _CHOSEN.fullmatch(config)
    return (found[1], found[2]) if found else (config, "")


def choose(file: str, toolchain: str) -> str:
    return f"{file}#{toolchain}"


def id_of(config: str) -> str:
    """Return the id of a configuration; empty for the default one, and outside of a repository.

    ``android/megtrim.yaml`` is ``android``. Digits of its digest keep any other path apart from
    similar ones: ``apps/camera.yaml`` is ``apps-camera-`` and eight of them. A toolchain follows
    its file's id: ``megtrim.yaml#arm64`` is ``_arm64``. An id has no dot.
    """
    text = str(PurePosixPath(config))
    if not config or text == DEFAULT_CONFIG or not is_inside(config):
        return ""
    file, toolchain = split(text)
    if re.fullmatch(TOOLCHAIN_PATTERN, toolchain):
        return f"{id_of(file)}_{toolchain}"
    folder = _FOLDER.fullmatch(text)
    if folder and len(folder[1]) <= _LONGEST_WORD and not _DIGEST.fullmatch(folder[1]):
        return folder[1]
    words = _NOT_IN_AN_ID.sub("-", _END.sub("", text).lower()).strip("-")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{words[:_LONGEST_WORD].strip('-')}-{digest}".removeprefix("-")


def is_inside(config: str) -> bool:
    path = PurePosixPath(config)
    return not path.is_absolute() and ".." not in path.parts


def suffix_of(config: str) -> str:
    return f".{id_}" if (id_ := id_of(config)) else ""


def infix_of(config: str) -> str:
    """Return what separates parts of an artifact's name: ``.android.``; no other begins with it."""
    return f".{id_}." if (id_ := id_of(config)) else "-"
