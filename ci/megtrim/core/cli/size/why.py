"""``megtrim size why``: why something is in a program, and what would go with it."""

import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from megtrim.core import stages
from megtrim.core.chain.graph import (
    PLAIN,
    PROFILE,
    PROFILE_REFERENCES,
    REDUCED,
    SHIPPED_REFERENCES,
    defers_functions,
    trims_functions,
    with_dependencies,
)
from megtrim.core.chain.result_store import made_by_another
from megtrim.core.chain.session import Session
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.echo import show, show_json
from megtrim.core.cli.session.setup import open_session
from megtrim.core.config.problems import suggest
from megtrim.core.functions.left_out import find_left_out, find_spelled_so
from megtrim.core.functions.link_map import read_map
from megtrim.core.keep.keepset import NeededParts, ThingKind, find_kept
from megtrim.core.keep.marks import RegionNames
from megtrim.core.keep.region import Region
from megtrim.core.size.pricing import PricedArtifact, open_artifacts
from megtrim.core.size.references import search
from megtrim.core.size.references import stage as references
from megtrim.core.size.references.graph import ReferenceGraph, explain
from megtrim.core.size.references.linked_file import LinkedFile, read_graph
from megtrim.core.size.references.search import Match
from megtrim.core.size.references.stage import ReferencesResult
from megtrim.core.trim.builds import links as linking
from megtrim.core.trim.keepset_usage import list_held_regions
from megtrim.libs.elf.symbol_names import readable, shorten
from megtrim.libs.elf.symbol_table import read_linked
from megtrim.libs.render.formatting import align_columns, group_digits
from megtrim.libs.render.markup import one_line
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

_GUESSED = (
    "the file contains no relocations of its link, so some references are missing, and some are "
    "wrong"
)

_MOST_RULES = 50
"""Functions of a match whose rules are looked up."""


_HINT = "trim first: the question is about its results"


class TrimResults(Value):
    session: Session

    @property
    def programs(self) -> tuple[str, ...]:
        """Those whose functions are trimmed."""
        return tuple(linking.identities(self.session.results))

    def read(self, task_id: str, program: str | None) -> tuple[str, LinkedFile]:
        """Make the links now if they are not there yet. ``program``: None for the first."""
        made = self.session.results.expect(task_id)
        chosen = choose_program(program, made.result_as(ReferencesResult).programs)
        self.session.console.note(f"reading the references in {chosen}")
        return chosen, references.read_program(chosen, made)

    def open_priced(self, program: str | None) -> PricedArtifact:
        results = self.session.results
        results.expect(SHIPPED_REFERENCES)
        if PROFILE in results.done:
            results.obtain(PROFILE_REFERENCES)
        names: list[str] = []
        for artifact in open_artifacts(self.session):  # each is a graph of its own
            if not program or artifact.name == program:
                return artifact
            names.append(artifact.name)
        raise _explain_unknown(program or "", names)


def choose_program(program: str | None, names: Collection[str]) -> str:
    chosen = program or next(iter(names), "")
    if chosen not in names:
        raise _explain_unknown(chosen, names)
    return chosen


def _explain_unknown(program: str, names: Collection[str]) -> InputError:
    return InputError(f"--program: found {program!r}, expected one of {', '.join(names)}")


def open_trim(options: Options, needs: Sequence[str] = (REDUCED,)) -> TrimResults:
    session = open_session(options)
    for step in stages.plan(with_dependencies(needs, session.request.tasks), session):
        if step.why == stages.OTHER_VERSION:
            raise made_by_another(options.out)
        if step.state is not stages.TaskState.DONE:
            msg = f"{options.out}: {step.task} is not up to date: {step.why}"
            again = session.request.invocation.again("trim")
            raise InputError(msg, hint=f"{_HINT}: {again}")
    return TrimResults(session=stages.able(session))


def why(
    options: Options,
    thing: str,
    top: int,
    program: str | None,
    file: Path | None,
    link_map: Path | None,
) -> None:
    trim = None
    if file is not None:
        origins = read_map(link_map) if link_map else None
        name = str(file)
        found = read_graph(read_linked(file), origins, source=str(file))
    else:
        trim = open_trim(options, (PLAIN, REDUCED))
        kept = explain_kept(thing, program, trim)
        if kept is not None:
            _show_facts(kept, iter_kept_lines(kept, top), options)
            return
        gone = explain_left_out(thing, program, trim)
        if gone is not None:
            _show_facts(gone, iter_left_out_lines(gone, top), options)
            return
        name, found = trim.read(SHIPPED_REFERENCES, program)
    matches = search.find_matches(thing, found.graph)
    if not matches:
        raise _make_error(thing, name, trim)
    if len(matches) > 1:
        rows = [
            {"name": match.label, "size_bytes": int(found.graph.sizes[list(match.parts)].sum())}
            for match in matches
        ]
        facts = {"asked": thing, "matches": rows}
    else:
        facts = _explain(name, matches[0], found, trim)
    _show_facts(facts, _lines(facts, top), options)


def _show_facts(facts: dict[str, Any], lines: Iterator[str], options: Options) -> None:
    if options.as_json:
        show_json({"version": 2} | facts)
    else:
        for line in lines:  # as a terminal can show it, with its indentation
            text = line.lstrip(" ")
            show(" " * (len(line) - len(text)) + one_line(text))


def _make_error(thing: str, name: str, trim: TrimResults | None) -> InputError:
    known: list[str] = []
    if trim is not None:
        kept = references.read_keep(trim.session).regions()
        regions = (*kept, *list_held_regions(trim.session.results))
        known = [word for region in regions for word in (region.tag, str(region))]
    msg = f"{name} has nothing that is called {thing!r}{suggest(thing, known)}"
    return InputError(msg, hint="`megtrim size show FILE --by symbol` lists the symbols of a file")


def _explain(
    name: str, match: Match, found: LinkedFile, trim: TrimResults | None
) -> dict[str, Any]:
    graph = found.graph
    why_there = explain(match.parts, graph)
    largest = max(match.parts, key=lambda number: (int(graph.sizes[number]), -number))
    return {
        "program": name,
        "kind": match.kind.value,
        "name": match.label,
        "size_bytes": why_there.size_bytes,
        "parts": [_describe(number, graph) for number in graph.sort(match.parts)],
        "kept_by": _find_rule(name, match, found, trim),
        "chain": [search.describe(graph.parts[each]) for each in why_there.chain],
        "chain_to": search.describe(graph.parts[largest]),
        "root": why_there.root,
        "referrers": [_describe(referrer, graph) for referrer in why_there.referrers],
        "retained_bytes": why_there.retained_bytes,
        "retained": [_describe(each, graph) for each in why_there.retained],
        "exact": found.exact,
    }


def _describe(number: int, graph: ReferenceGraph) -> dict[str, Any]:
    part = graph.parts[number]
    return {
        "name": search.describe(part),
        "linkage_names": list(part.names),
        "size_bytes": part.size_bytes,
        "section": part.section,
        "component": search.find_component_of(part),
        "source": part.source,
    }


def _find_rule(
    name: str, match: Match, found: LinkedFile, trim: TrimResults | None
) -> list[dict[str, Any]]:
    if trim is None or not trims_functions(trim.session.config):
        return []
    kept = references.read_kept_functions(name, trim.session)
    functions = (found.graph.parts[number].names for number in match.parts[:_MOST_RULES])
    return [
        {"rule": reason.rule.value, "by": list(reason.by), "functions": count}
        for reason, count in kept.count_reasons(functions)
    ]


def _lines(facts: dict[str, Any], top: int) -> Iterator[str]:
    if "matches" in facts:
        rows = facts["matches"]
        yield f"{len(rows)} names contain {facts['asked']!r}; ask for one of them by its whole name"
        yield from _table(rows, top)
        return
    parts = facts["parts"]
    yield facts["name"]
    if len(parts) == 1:
        part = parts[0]
        places = [part["section"], part["component"], part["source"]]
        yield f"  {_bytes(facts['size_bytes'])}: {', '.join(filter(None, places))}"
        yield from (f"  linkage name {each}" for each in part["linkage_names"][:top])
    else:
        yield f"  {_bytes(facts['size_bytes'])} in {group_digits(len(parts))} parts"
        yield from _table(parts, top)
    yield "why it is there"
    for each in facts["kept_by"]:
        by = ": " + ", ".join(each["by"]) if each["by"] else ""
        count = f"{each['functions']} of them: " if len(parts) > 1 else ""
        yield f"  {count}{each['rule']}{by}"
    yield from _draw_chain(facts)
    others = facts["referrers"]
    if others:
        refer = "other refers" if len(others) == 1 else "others refer"
        yield f"{group_digits(len(others))} {refer} to it"
    yield from _table(others, top)
    more = facts["retained_bytes"] - facts["size_bytes"]
    yield f"without it, {_bytes(facts['retained_bytes'])} would go"
    if facts["retained"]:
        yield f"  {_bytes(more)} of these only it leads to"
        yield from _table(facts["retained"], top)
    if not facts["exact"]:
        yield _GUESSED


def _draw_chain(facts: dict[str, Any]) -> Iterator[str]:
    chain = facts["chain"]
    if not chain:
        yield f"  {facts['root']}"
        return
    of_largest = " to the largest" if len(facts["parts"]) > 1 else ""
    yield f"  the shortest chain of references{of_largest}:"
    yield f"    {_shorten(chain[0])} ({facts['root']})"
    yield from (f"    -> {_shorten(each)}" for each in chain[1:])


def _table(rows: Sequence[dict[str, Any]], top: int) -> Iterator[str]:
    shown = [(group_digits(row["size_bytes"]), _shorten(row["name"])) for row in rows[:top]]
    if rest := rows[top:]:
        total = sum(each["size_bytes"] for each in rest)
        shown.append((group_digits(total), f"[{group_digits(len(rest))} others]"))
    if shown:
        yield from (f"  {line}" for line in align_columns(("bytes", "name"), shown, ("name",)))


def _shorten(name: str) -> str:
    return one_line(shorten(name))


def _bytes(size_bytes: int) -> str:
    return f"{group_digits(size_bytes)} bytes"


_MOST_PLACES = 20


def explain_kept(thing: str, program: str | None, trim: TrimResults) -> dict[str, Any] | None:
    keep = references.read_keep(trim.session)
    held = list_held_regions(trim.session.results)
    users = keep.regions()

    @cache
    def open_names() -> RegionNames:
        # They read all sources of the engine, which most things that are asked about do not need.
        return trim.session.services.marks.read_names()

    wanted = thing
    if "<" in thing:  # tables show what a region's numbers mean, so that is what people ask for
        every = (*users, *held)
        wanted = next((str(each) for each in every if open_names().meaning(each) == thing), thing)
    found = find_kept(wanted, keep, held)
    if found is None:
        return None
    name = choose_program(program, trim.session.config.artifacts)
    facts: dict[str, Any] = {
        "program": name,
        "kind": found.kind.value,
        "name": found.name,
        "kept_by": [{"rule": found.rule, "by": list(found.by)}] if found.rule else [],
    }
    if found.kind is ThingKind.OPERATOR:
        gone = NeededParts(operators=frozenset([found.name]))
        return facts | {"retained_bytes": trim.open_priced(name).program.price(gone)}
    names = open_names()
    places = {place for each in (*found.regions, *found.left_out) for place in names.places(each)}
    return facts | {
        "regions": _describe_regions(found.regions, names.meaning),
        "left_out": _describe_regions(found.left_out, names.meaning),
        "places": [f"{file}:{line}" for file, line in sorted(places)[:_MOST_PLACES]],
    }


def _describe_regions(
    regions: Sequence[Region], meaning: Callable[[Region], str]
) -> list[dict[str, str]]:
    return [{"name": str(region), "meaning": meaning(region)} for region in regions]


def iter_kept_lines(facts: dict[str, Any], top: int) -> Iterator[str]:
    regions = facts.get("regions", [])
    left_out = facts.get("left_out", [])
    is_tag = facts["kind"] == ThingKind.TAG
    yield f"{facts['kind']} {facts['name']}"
    if not is_tag:
        meanings = (region["meaning"] for region in (*regions, *left_out))
        yield from (f"  {meaning}" for meaning in filter(None, meanings))
    yield from (f"  {place}" for place in facts.get("places", [])[:top])
    if not facts["kept_by"]:
        yield "it was left out: no scenario runs it"
    else:
        yield "why it is there"
    for reason in facts["kept_by"]:
        by = reason["by"]
        more = f" and {len(by) - top} more" if len(by) > top else ""
        yield f"  {reason['rule']}: {', '.join(by[:top])}{more}"
    if "retained_bytes" in facts:
        yield f"without it, {group_digits(facts['retained_bytes'])} bytes would go"
    if is_tag:
        for some, what in ((regions, "kept"), (left_out, "left out")):
            if some:
                yield f"{group_digits(len(some))} of its regions: {what}"
                yield from (f"  {one_line(row['meaning'] or row['name'])}" for row in some[:top])
                if len(some) > top:
                    yield f"  [{group_digits(len(some) - top)} others]"


def explain_left_out(thing: str, program: str | None, trim: TrimResults) -> dict[str, Any] | None:
    """Return what is known of functions that the trimmed program lacks; None: it lacks none.

    A name that it has as well, such as another overload's, is not left out.
    """
    session = trim.session
    if not trims_functions(session.config):
        return None
    name = choose_program(program, trim.programs)
    dropped = references.read_dropped(name, session)
    if not find_spelled_so(thing, dropped):
        return None
    code = linking.read_unfolded(name, session.results).code
    if find_spelled_so(thing, code.by_name.keys() - {*dropped}):
        return None
    functions = find_left_out(thing, dropped, code)
    rows = []
    for each in functions:
        row = {
            "name": readable(each.name),
            "linkage_name": each.name,
            "size_bytes": each.size_bytes,
            "called_by_kept": list(map(readable, each.called_by_kept)),
            "called_by_left_out": list(map(readable, each.called_by_left_out)),
        }
        rows.append(row)
    return {
        "program": name,
        "kind": "function",
        "name": readable(functions[0].name) if len(functions) == 1 else thing,
        "kept_by": [],
        "state": "deferred" if defers_functions(session.config) else "left out",
        "size_bytes": sum(each.size_bytes for each in functions),
        "functions": rows,
    }


def explain_function(thing: str, name: str, trim: TrimResults) -> dict[str, Any]:
    """Return by which rule the trimmed program of this name has these functions, by their names."""
    kept = references.read_kept_functions(name, trim.session)
    of = f" --program {shlex.quote(name)}" if len(trim.programs) > 1 else ""
    facts = {}
    for function in find_spelled_so(thing, kept.table.names):
        reason = kept.find_reason(function)
        if reason is not None:
            by = f": {', '.join(reason.by)}" if reason.by else ""
            facts[function] = {
                "function": readable(function),
                "kept": "yes",
                "why": f"{reason.rule}{by}",
                "program": name,
                "to see what refers to it": f"megtrim size why {shlex.quote(function)}{of}",
            }
    return facts


def iter_left_out_lines(facts: dict[str, Any], top: int) -> Iterator[str]:
    functions = facts["functions"]
    yield facts["name"]
    if facts["state"] == "deferred":
        where = f"is not in {facts['program']}, but in the companion file next to it"
    else:
        where = f"was left out of {facts['program']}"
    yield f"  it {where}: no scenario runs it"
    yield f"  it had {_bytes(facts['size_bytes'])} before the trim"
    if len(functions) > 1:
        yield from _table(functions, top)
    for key, what in (
        ("called_by_kept", "functions that were kept"),
        ("called_by_left_out", "functions that were left out as well"),
    ):
        callers = sorted({caller for each in functions for caller in each[key]})
        if callers:
            yield f"it is called directly by {group_digits(len(callers))} {what}"
            yield from (f"  {_shorten(caller)}" for caller in callers[:top])
            if len(callers) > top:
                yield f"  [{group_digits(len(callers) - top)} others]"
    if not any(each["called_by_kept"] or each["called_by_left_out"] for each in functions):
        yield "nothing calls it directly; it may be called through a pointer"
