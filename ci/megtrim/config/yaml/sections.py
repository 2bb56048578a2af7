"""Walking through a document's lists and mappings before the model has accepted it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from megtrim.config.yaml.problems import KeyPath

Section = Mapping[str, object]
Placed = tuple[KeyPath, object]


def items(data: Section, key: str, path: KeyPath = ()) -> Iterator[Placed]:
    """Yield what the list at ``key`` holds, each with its path; nothing if it is not a list."""
    value = data.get(key)
    for index, item in enumerate(value if isinstance(value, list) else []):
        yield (*path, key, index), item


def sections(data: Section, key: str, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Section]]:
    """Yield the mappings among :func:`items`."""
    for item_path, item in items(data, key, path):
        if isinstance(item, dict):
            yield item_path, item


def scenario_names(data: Section) -> list[str]:
    """Return the names of all scenarios as ``MODEL/SCENARIO``."""
    return [
        f"{model.get('name')}/{scenario.get('name')}"
        for path, model in sections(data, "models")
        for _, scenario in sections(model, "scenarios", path)
    ]


def class_names(data: Section) -> list[str]:
    """Return the names of the CPU classes that a document lists."""
    return [str(each.get("name")) for _, each in sections(data, "classes")]
