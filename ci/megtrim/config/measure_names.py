"""What budgets measure, by name: in waivers, checks and sizes.json.

A measure is one text: ``deflated``, ``section .text``, ``component kernels/x86``; the empty one is
the stripped file. The first word says which kind it is, so a component that is called like a
section is still another one. Pure.
"""

from __future__ import annotations

from enum import StrEnum

from megtrim.build_spec import Variant

STRIPPED = ""
"""The measure that every file has."""


class Measure(StrEnum):
    LOADED = "loaded"
    DEFLATED = "deflated"
    SECTION = "section"
    COMPONENT = "component"
    MODEL = "model"


def name_measure(
    size: str, *, section: str | None = None, component: str | None = None, model: str | None = None
) -> str:
    """Return the measure that a budget's keys say; of several kinds of part, the first."""
    parts = ((Measure.SECTION, section), (Measure.COMPONENT, component), (Measure.MODEL, model))
    for kind, name in parts:
        if name is not None:
            return f"{kind} {name}"
    return size if size in (Measure.LOADED, Measure.DEFLATED) else STRIPPED


def name_budget(artifact: str, variant: str, measure: str) -> str:
    build = artifact if variant == Variant.REDUCED else f"{artifact}/{variant}"
    return f"{build} {measure}" if measure else build
