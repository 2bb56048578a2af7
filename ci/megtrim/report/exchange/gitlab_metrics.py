"""Sizes and counts as GitLab's metrics report: text in the format OpenMetrics. Pure.

A merge request shows each number next to the target branch's, by its name and labels: so no label
holds a commit, which would make each of them another number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from megtrim.report.text import one_line
from megtrim.verdict.model import Verdict

_ABOUT = {
    "megtrim_build_info": "Project, configuration and version of megtrim",
    "megtrim_size_bytes": "Stripped file of an artifact",
    "megtrim_regions_kept": "Regions that were kept",
    "megtrim_regions_held": "Regions that the profile build holds",
    "megtrim_functions_kept": "Functions of a program that were kept",
    "megtrim_scenarios": "Scenarios on the reduced build, by how they ended",
    "megtrim_checks": "Checks, by how they ended",
}
Labels = tuple[tuple[str, str], ...]


def render(verdict: Verdict) -> str:
    """Return the document. A number that is not known is left out."""
    lines: list[str] = []
    before = ""
    for name, labels, value in _list_numbers(verdict):
        if name != before:
            lines += [f"# TYPE {name} gauge", f"# HELP {name} {_ABOUT[name]}."]
            before = name
        lines.append(f"{name}{_show_labels(labels)} {value}")
    return "\n".join([*lines, "# EOF", ""])


def _list_numbers(verdict: Verdict) -> Iterator[tuple[str, Labels, int]]:
    """Yield name, labels and value, all of one name together."""
    origin = verdict.origin
    named = (("project", origin.project), ("config", origin.config), ("megtrim", origin.megtrim))
    yield "megtrim_build_info", named, 1
    for artifact in verdict.artifacts:
        for size in artifact.sizes:
            labels = (("artifact", artifact.name), ("variant", size.variant))
            yield "megtrim_size_bytes", labels, size.size_bytes
    if verdict.regions.kept:
        yield "megtrim_regions_kept", (), verdict.regions.kept
        yield "megtrim_regions_held", (), verdict.regions.held
    for program in verdict.functions:
        yield "megtrim_functions_kept", (("artifact", program.artifact),), program.kept
    scenarios = Counter(str(each.status) for each in verdict.scenarios)
    for status, count in sorted(scenarios.items()):
        yield "megtrim_scenarios", (("status", status),), count
    checks = Counter(str(each.status) for each in verdict.checks)
    for status, count in sorted(checks.items()):
        yield "megtrim_checks", (("status", status),), count


def _show_labels(labels: Labels) -> str:
    pairs = (f'{name}="{_escape(value)}"' for name, value in labels)
    return f"{{{','.join(pairs)}}}" if labels else ""


def _escape(value: str) -> str:
    return one_line(value).replace("\\", "\\\\").replace('"', '\\"')
