"""The verdict as one self-contained HTML page that loads nothing.

All that a template prints is escaped; the page's policy allows one style, one script, no request.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from megtrim.core.build_spec import Origin, Variant
from megtrim.core.checks.statuses import SCENARIO_STATUSES, CheckStatus, VerdictKind
from megtrim.core.config.units import Measure, format_bytes
from megtrim.core.proof import neighbours
from megtrim.core.proof.results import ScenarioResult
from megtrim.core.report.findings import Concern, describe_outcome, list_findings
from megtrim.core.report.first_screen import (
    describe_finding,
    describe_state,
    find_growth_check,
    find_next_step,
    is_cautious,
    list_tiles,
)
from megtrim.core.report.sections import list_page_values
from megtrim.core.size.report import budgets
from megtrim.core.size.report import tables as growth
from megtrim.core.size.rows import ArtifactSizes, VariantSize
from megtrim.core.size.views import PriceKind
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.wording import (
    change_of,
    describe_device,
    describe_origin,
    describe_rebuild,
    growth_of,
    has_kernels,
    list_trimmed,
    name_variant,
    origin_facts,
)
from megtrim.libs.render.formatting import (
    group_digits,
    kept_of_held,
    milliseconds,
    percent,
    seconds,
    width_of,
)
from megtrim.libs.render.markup import clean, path_in_repository
from megtrim.libs.util.input_files import find_shipped
from megtrim.libs.util.value import Value

if TYPE_CHECKING:
    from jinja2 import Environment

_TEXT_LIMIT = 20_000
_MOST_MISSING = 200
_ALL_WORDS = "Words"
_TABLES = (
    ("concepts.md", "Four verdicts"),
    ("how-to/read-the-report.md", "How a scenario can end"),
    ("concepts.md", _ALL_WORDS),
    ("how-to/budget-sizes.md", "On a pull request"),
)
"""Of the documentation: words of the page, and what they mean."""
_SHOWN = re.compile(
    "scenario|CPU class|device|region|keep set|level|variant|neighbour|budget|waiver|baseline|work"
)
"""Of the table of all words."""
_ROW = re.compile(r"^\| (\*\*|`|)([a-zA-Z][\w -]*)\1 \| (.+?) \|", re.MULTILINE)
_OF_MODELS = re.compile(r"\b(?:models?|regions?|MODEL)\b")
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
_MARKS = re.compile(r"\*+|`")
_BREAK = re.compile(r"(/|_|::)(?=[^/_:])")


def render(verdict: Verdict, *, run: str = "") -> str:
    """``run``: address of the run that made it, whose repository has the commit; or empty."""
    environment = _environment(kernels=has_kernels(verdict))
    style = _asset("style.css")
    times = list_page_values(verdict)
    if times["performance"] is not None:
        style += _asset("performance.css")
    script = _asset("map.js") + _asset("script.js")
    template = environment.get_template("page.html.j2")
    page: str = template.render(
        **_outcome(verdict, run),
        **_sizes(verdict),
        **times,
        style=style,
        script=script,
        style_digest=_digest(style),
        script_digest=_digest(script),
    )
    return page


def _outcome(verdict: Verdict, run: str) -> dict[str, Any]:
    findings = list_findings(verdict)
    limits = [row for row in verdict.budgets if budgets.is_compared(row)]
    return {
        "verdict": verdict,
        "kernels": has_kernels(verdict),
        "outcome": describe_outcome(verdict),
        "state": describe_state(verdict),
        "cautious": verdict.verdict is VerdictKind.PASS and is_cautious(verdict),
        "step": find_next_step(verdict),
        "name_variant": partial(name_variant, trim=verdict.trim),
        "findings": [(finding, describe_finding(finding, verdict)) for finding in findings],
        "tiles": list_tiles(verdict),
        "origin": origin_facts(verdict.origin),
        "links": _link_origin(verdict.origin, run),
        "matrices": neighbours.matrices(verdict.neighbours),
        "scenario_ids": tuple(scenario.id for scenario in verdict.scenarios),
        "scenario_groups": _group_scenarios(verdict, findings),
        "limits": sorted(limits, key=lambda row: row.status is not CheckStatus.FAIL),
        "unchecked": [row for row in verdict.budgets if not budgets.is_compared(row)],
    }


_RUN = re.compile(r"(https?://[A-Za-z0-9.:-]+/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+)/actions/runs/[0-9]+")


def _link_origin(origin: Origin, run: str) -> dict[str, str]:
    """Return addresses of the commit, the pull request and the run; none but those of a run."""
    found = _RUN.fullmatch(run)
    if found is None:
        return {}
    links = {"run": run}
    if origin.commit:
        links["commit"] = f"{found[1]}/commit/{origin.commit}"
    if origin.pull_request:
        links["pull request"] = f"{found[1]}/pull/{origin.pull_request}"
    return links


def _group_scenarios(
    verdict: Verdict, findings: Sequence[Concern]
) -> list[tuple[Concern | None, list[ScenarioResult]]]:
    """Return those that failed first, by the cause that they share, and then all others."""
    left = {scenario.id: scenario for scenario in verdict.scenarios}
    groups: list[tuple[Concern | None, list[ScenarioResult]]] = []
    for finding in findings:
        if not finding.is_of_scenarios:
            continue
        found = [left.pop(subject) for subject in finding.subjects if subject in left]
        if found:
            groups.append((finding, found))
    groups.append((None, list(left.values())))
    return groups


def _sizes(verdict: Verdict) -> dict[str, Any]:
    grown = [(name, size) for name, size in list_trimmed(verdict) if size.growth_bytes]
    byte_maps = [artifact.byte_map for artifact in verdict.artifacts if artifact.byte_map]
    priced = any(artifact.prices for artifact in verdict.artifacts)
    return {
        "pictures": tuple(map(size_picture, verdict.artifacts)),
        "grown": grown,
        "notes": tuple(growth.list_notes(verdict, kernels=has_kernels(verdict))),
        "byte_maps": byte_maps,
        "prices": priced,
        "price_kinds": tuple(PriceKind),
    }


@cache
def _environment(*, kernels: bool = True) -> Environment:
    """Without ``kernels``, no word is explained that speaks of them or of models."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("megtrim.core.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: value if isinstance(value, Markup) else _clean(value),
    )
    environment.filters |= {
        "breakable": _mark_breaks,
        "change": change_of,
        "causes": lambda size, verdict: growth.explain_growth(
            size,
            verdict.causes,
            committed=verdict.invocation.committed,
            kernels=has_kernels(verdict),
        ),
        "compiled": describe_rebuild,
        "cause_name": lambda cause: growth.name_cause(cause, kernels),
        "components": growth.name_components,
        "forms": growth.describe_forms,
        "size": format_bytes,
        "grouped": group_digits,
        "growth": growth_of,
        "device": describe_device,
        "in_repository": path_in_repository,
        "milliseconds": milliseconds,
        "origin": describe_origin,
        "colour": find_colour,
        "component": name_component,
        "measured": budgets.describe_measured,
        "part": growth.name_part,
        "with_code": _mark_code,
        "parts": growth.count_parts,
        "percent": percent,
        "seconds": seconds,
        "uses": lambda size: growth.describe_uses(size, ""),
    }
    environment.globals |= {
        "describe_lower": budgets.describe_lower,
        "find_growth_check": find_growth_check,
        "place_marks": budgets.place_marks,
        "scenario_statuses": SCENARIO_STATUSES,
        "kept_of_held": kept_of_held,
        "most_missing": _MOST_MISSING,
        "words": {
            name: word
            for name, word in read_words(find_shipped("docs", "docs")).items()
            if kernels or not word.is_of_models
        },
    }
    return environment


class Word(Value):
    word: str
    meaning: str
    page: str
    """From the top of megtrim's repository."""

    @property
    def anchor(self) -> str:
        return f"word-{self.word.replace(' ', '-')}"

    @property
    def is_of_models(self) -> bool:
        return _OF_MODELS.search(f"{self.word} {self.meaning}") is not None


def read_words(documentation: Path) -> dict[str, Word]:
    """Return them by word; without the documentation, there are none."""
    words: dict[str, Word] = {}
    for page, heading in _TABLES if documentation.is_dir() else ():
        text = (documentation / page).read_text(encoding="utf-8")
        _, _, section = text.partition(f"# {heading}\n")
        rows = section.partition("\n|---")[2].partition("\n\n")[0]
        if heading == _ALL_WORDS:  # a table for each group of words
            rows = section.partition("\n## ")[0]
        for _, word, meaning in _ROW.findall(rows):
            if heading != _ALL_WORDS or _SHOWN.fullmatch(word):
                plain = _MARKS.sub("", _LINK.sub(r"\1", meaning))
                words.setdefault(word, Word(word=word, meaning=plain, page=f"docs/{page}"))
    return words


def _clean(value: object) -> str:
    return clean(str(value), limit=_TEXT_LIMIT)


def _mark_breaks(name: str) -> Markup:
    """A name may go on in a new line after a slash, an underline or a scope."""
    return Markup(_BREAK.sub(r"\1<wbr>", str(escape(_clean(name)))))


def _mark_code(text: str) -> Markup:
    """What is between two backticks is code, such as the command of an advice."""
    parts = _clean(text).split("`")
    if len(parts) % 2 == 0:
        return escape(_clean(text))
    shown = (
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )
    return Markup("").join(shown)


def _asset(name: str) -> Markup:
    return Markup(_environment().get_template(name).render())


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


_SECTIONS = ("text", "rodata", "data", "relocations", "unwind", "other")
"""In each report, these have the same colours."""
_ENGINE_COLOURS = 8
_SEED = 2091
"""Gives the components of the engines that are known colours apart."""
_COLOURS = {"C library": 8, "other": 8, "C++ library": 9, "unwind tables": 10}
_REST_COLOUR = 11
_UNNAMED = ("unexplained", "headers", "padding", "toolchain", "[")
_TITLES = {"other": "C library, other", "unexplained code": "unnamed code"}


def find_colour(component: str) -> int:
    """Return the same colour for a component in each report of each engine."""
    top = component.partition("/")[0]
    if top.startswith(_UNNAMED):
        return _REST_COLOUR
    return _COLOURS.get(top, zlib.crc32(top.encode(), _SEED) % _ENGINE_COLOURS)


def name_component(component: str) -> str:
    return _TITLES.get(component, component.replace("unexplained", "unnamed"))


# Least widths in percent at which text fits: on a wide screen (960 pixels), and on any (300).
_FITS_WIDE = 9.0
_FITS_ANY = 25.0


class ChartSegment(Value):
    name: str
    bytes_text: str
    x: str
    width: str
    colour: int
    label: str
    """Screens on which its name fits: any, wide, none."""


class Bar(Value):
    size: VariantSize
    width: str
    segments: tuple[ChartSegment, ...]
    enlarged: tuple[ChartSegment, ...]
    companion_width: str

    @property
    def companion(self) -> int:
        """Bytes of the file with deferred functions; 0: there is none."""
        return self.size.forms.get(Measure.REST, 0)


class SizePicture(Value):
    name: str
    bars: tuple[Bar, ...]
    sections: tuple[tuple[str, int, tuple[int | None, ...]], ...]
    """(section, colour, bytes in each variant or None)."""


def size_picture(artifact: ArtifactSizes) -> SizePicture:
    drawn = [size for size in artifact.sizes if size.variant != Variant.PROFILE]  # never ships
    parts = {size.variant: _parts(size) for size in drawn}
    names = tuple(dict.fromkeys(name for part in parts.values() for name, _ in part))
    colours = {name: _SECTIONS.index(name) if name in _SECTIONS else 6 for name in names}
    totals = {variant: sum(size for _, size in part) for variant, part in parts.items()}
    scale = max(totals.values(), default=0)
    bars = []
    for size in drawn:
        part = parts[size.variant]
        total = totals[size.variant]
        bar = Bar(
            size=size,
            width=width_of(total, scale),
            segments=_segments(part, colours, scale),
            enlarged=_segments(part, colours, total),
            companion_width=width_of(size.forms.get(Measure.REST, 0), scale),
        )
        bars.append(bar)
    rows = (
        (name, colours[name], tuple(dict(parts[size.variant]).get(name) for size in drawn))
        for name in names
    )
    sections = tuple(row for row in rows if any(row[2]))
    return SizePicture(name=artifact.name, bars=tuple(bars), sections=sections)


def _parts(size: VariantSize) -> tuple[tuple[str, int], ...]:
    rest = size.size_bytes - sum(part for _, part in size.sections)
    unnamed = (("not in a section", rest),) if rest > 0 else ()
    return (*size.sections, *unnamed)


def _segments(
    parts: tuple[tuple[str, int], ...], colours: dict[str, int], scale: int
) -> tuple[ChartSegment, ...]:
    segments = []
    before = 0
    for name, size in parts:
        share = 100 * size / scale if scale else 0.0
        label = "none"
        if share >= _FITS_ANY:
            label = "any"
        elif share >= _FITS_WIDE:
            label = "wide"
        segments.append(
            ChartSegment(
                name=name,
                bytes_text=format_bytes(size),
                x=width_of(before, scale),
                width=width_of(size, scale),
                colour=colours[name],
                label=label,
            )
        )
        before += size
    return tuple(segments)
