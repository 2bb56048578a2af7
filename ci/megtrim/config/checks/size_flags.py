"""Size optimisations that contradict another key. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.build_spec import Switch
from megtrim.config.yaml.document import Document
from megtrim.config.yaml.problems import Problem
from megtrim.config.yaml.sections import Section as Data
from megtrim.config.yaml.sections import sections

_EXCEPTIONS = str(Switch.EXCEPTIONS)


def means_problems(document: Document) -> Iterator[Problem]:
    """Yield size optimisations that contradict another key of the file."""
    trim = document.data.get("trim")
    means = trim.get("means") if isinstance(trim, dict) else None
    if not isinstance(trim, dict) or not isinstance(means, dict):
        return
    if means.get("unwind_tables") is False and not _without_exceptions(trim):
        yield document.problem(
            ("trim", "means", "unwind_tables"),
            "false while exceptions are on, which unwind by these tables",
            "minimum_size: true, or switches: {exceptions: false}",
        )
    whole = means.get("lto") or ("full" if trim.get("optimize") == "size" else "none")
    if means.get("virtual_functions") is False and whole == "none":
        found = "false without lto: full, which alone sees every call"
        yield document.problem(("trim", "means", "virtual_functions"), found, "lto: full, too")
    yield from _against_applications(document, means)


def _without_exceptions(trim: Data) -> bool:
    switches = trim.get("switches")
    said = switches.get(_EXCEPTIONS) if isinstance(switches, dict) else None
    return said is False or trim.get("minimum_size") in (True, None)


def _against_applications(document: Document, means: Data) -> Iterator[Problem]:
    for _, each in sections(document.data, "applications"):
        if means.get("lto") == "none" and each.get("lto") == "full":
            found = f"none while the application {each.get('name')} asks for full"
            yield document.problem(("trim", "means", "lto"), found, "full, or no such key")
            return
