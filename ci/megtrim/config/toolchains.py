"""A file with several toolchains, as one of them sees it: a configuration like any other.

The chosen entry of ``toolchains`` stands in the place of ``toolchain``, and with it its own
``trim`` and ``baseline``; what is for other toolchains alone is left out; the keep set has a folder
of the toolchain's name. All other keys are the same for all of them. Pure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from megtrim.config.config_id import choose
from megtrim.config.document import Document, Section, class_names, scenario_names, sections
from megtrim.config.model import Config, NamedToolchain, ToolchainConfig
from megtrim.config.problems import ConfigError, KeyPath, closest, listing, show
from megtrim.config.references import LIMITED

_KEY = "toolchains"
_OF_ITS_OWN = tuple(
    key
    for key in NamedToolchain.model_fields
    if key not in ToolchainConfig.model_fields and key in Config.model_fields
)
"""Keys of the file that a toolchain may have itself."""


def toolchain_names(document: Document) -> tuple[str, ...]:
    """Return the names of the file's toolchains, in its order; none if it has one toolchain."""
    named = (entry.get("name") for _, entry in sections(document.data, _KEY))
    return tuple(name for name in named if isinstance(name, str))


def choose_toolchain(document: Document, chosen: str) -> Document:
    """Return the document as a toolchain sees it. Raises ConfigError if there is no such one.

    A file with several has to be used with one of them, which ``chosen`` names; else it is empty.
    """
    names = toolchain_names(document)
    if chosen and document.data.get(_KEY) is None:
        found, expected = f"no toolchains, of which {show(chosen)} was chosen", "--config FILE"
        raise ConfigError([document.problem((), found, f"{expected}, without #{chosen}")])
    if not names:
        return document  # it has one, or a list that is reported with all other mistakes
    if not chosen:
        ways = listing(choose(document.file, name) for name in names)
        raise ConfigError([document.problem((_KEY,), "no choice of one", f"--config {ways}")])
    if chosen not in names:
        expected = listing(names)
        likely = closest(chosen, names)
        raise ConfigError([document.problem((_KEY,), f"no {show(chosen)}", expected, likely)])
    return _put_in_place(_keep_own(document, chosen), chosen)


def _keep_own(document: Document, chosen: str) -> Document:
    given = {key for key in LIMITED if document.data.get(key)}
    left = _filter(document, [(key,) for key in LIMITED], chosen)
    models = [at for at, _ in sections(left.data, "models")]
    left = _filter(left, [(*at, "scenarios") for at in models], chosen)
    left = _drop_references(document.data, left)
    # As if they had been left out, but for models, which a configuration needs.
    emptied = {key for key in given - {"models"} if left.data[key] == []}
    return replace(left, data={k: value for k, value in left.data.items() if k not in emptied})


def _drop_references(whole: Section, left: Document) -> Document:
    """Return the document without the names in ``perf`` of what is for other toolchains.

    A list of such names alone is as if it had been left out, too.
    """
    perf: Any = left.data.get("perf") or {}
    found: dict[KeyPath, list[tuple[int, Any]]] = {}
    for key, names in (("scenarios", scenario_names), ("classes", class_names)):
        others = {*names(whole)} - {*names(left.data)}
        own = [(i, name) for i, name in enumerate(perf.get(key) or ()) if name not in others]
        if len(own) != len(perf.get(key) or ()):
            found["perf", key] = own
    emptied = {path[1] for path, own in found.items() if not own}
    own_perf = {key: value for key, value in perf.items() if key not in emptied}
    if emptied:
        left = replace(left, data=left.data | {"perf": own_perf})
    return left.with_items({at: own for at, own in found.items() if own})


def _filter(document: Document, lists: list[KeyPath], chosen: str) -> Document:
    found = {}
    for at in lists:
        items: Any = document.value(at) or []
        own = [(index, item) for index, item in enumerate(items) if _is_of(item, chosen)]
        if len(own) != len(items):
            found[at] = own
    return document.with_items(found)


def _is_of(item: Section, chosen: str) -> bool:
    """Tell whether an item is for a toolchain; a model is if any of its scenarios is."""
    named: Any = item.get(_KEY)
    if named and chosen not in named:
        return False
    inside: Any = item.get("scenarios")
    return not inside or any(_is_of(each, chosen) for each in inside)


def _put_in_place(document: Document, chosen: str) -> Document:
    """Return the document with the chosen toolchain's keys as keys of the file."""
    at, entry = next(
        (path, each) for path, each in sections(document.data, _KEY) if each.get("name") == chosen
    )
    own = {key: value for key, value in entry.items() if key in ToolchainConfig.model_fields}
    moved: dict[KeyPath, KeyPath] = {("toolchain",): at}
    moved |= {(key,): (*at, key) for key in _OF_ITS_OWN if entry.get(key) is not None}
    lines = {path: line for path, line in document.lines.items() if path[:1] not in moved}
    for new, old in moved.items():
        below = [path for path in document.lines if path[: len(old)] == old]
        lines |= {(*new, *path[len(old) :]): document.lines[path] for path in below}
    data = document.data | {"toolchain": own, "keep_set": _keep_set(document.data, chosen)}
    data |= {key: entry[key] for key in _OF_ITS_OWN if (key,) in moved}
    return replace(document, data=data, lines=lines, written={**document.written, **moved})


def _keep_set(data: Section, chosen: str) -> object:
    whole = data.get("keep_set")
    if whole is None:
        whole = Config.model_fields["keep_set"].default
    return f"{whole}/{chosen}"
