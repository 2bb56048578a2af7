#!/usr/bin/env python3
"""Write docs/schemas, and what pages of docs/reference and docs/architecture.md mark as written.

The rooms come from the layers that import-linter enforces, the stages from the tasks of a trim.

`nox -s docs` runs it; a test fails if the committed pages differ from its output. It must not
contain facts of its own: what a key or an option does is described in the code.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import yaml

from megtrim.core import stages
from megtrim.core.chain.graph import Stage, on_demand, tasks
from megtrim.core.cli.lazy_group import LazyGroup
from megtrim.core.cli.main import main as command_line
from megtrim.core.cli.options import common, trimming
from megtrim.core.cli.session.templates import StarterModel, model_files, starter
from megtrim.core.config.device import HOSTED_RUNNER
from megtrim.core.config.json_schema import make_json_schema
from megtrim.core.config.load import load_config
from megtrim.core.config.removed import KEYS, OPTIONS, VERBS, Removed
from megtrim.core.parts import hand_in
from megtrim.engines.megengine.engine import MegEngine
from megtrim.hosting.caller_texts import CALLED
from megtrim.hosting.cli.schema import make_schema, name_file
from megtrim.hosting.cli.verbs import SCHEMAS
from megtrim.parts import PARTS
from megtrim.times.experiments.listing import render_reference
from virtual_phone.cli import main as phone_command_line

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "ci"
_SCHEMAS = "docs/schemas"
_CHAIN = ROOT / "examples" / "sample-engine" / "functions.yaml"
_MANY = 6
_PACKAGES = ("core", "libs", "places", "engines", "times", "lab", "hosting", "ship")
"""The core, the grounds, the engines and the parts, as a reader meets them."""
_MARKS = ("├─ ", *("│  ",) * 9)
"""Rooms of one layer are grouped: only the first has a branch."""
_DAY_S = 86_400
_WORDS = {"string": "text", "boolean": "true or false", "integer": "whole number"}


def pages() -> dict[str, str]:
    written: dict[str, dict[str, Iterable[str]]] = {
        "architecture": {
            "packages of megtrim": _packages(),
            "rooms of virtual_phone": _layers("virtual_phone"),
            "stages": _data_flow(),
        },
        "reference/command-line": {"verbs": _command_line()},
        "reference/configuration": {"keys": _configuration(), "starter": _starter()},
        "reference/experiments": {"experiments": (render_reference(),)},
        "reference/removed": {"removed": _list_removed()},
        "reference/workflows": {"workflows": _workflows()},
    }
    return {
        **{f"docs/{page}.md": _fill(f"docs/{page}.md", blocks) for page, blocks in written.items()},
        **{
            f"{_SCHEMAS}/{name_file(name)}": json.dumps(make_schema(name), indent=1) + "\n"
            for name in SCHEMAS
        },
    }


def _list_removed() -> Iterator[str]:
    yield "| removed | last in | in its place |"
    yield "|---|---|---|"
    alike: dict[Removed, dict[str, list[str]]] = {}
    for words, row in sorted({**VERBS, **OPTIONS}.items()):
        verb, _, option = words.partition(" --")
        alike.setdefault(row, {}).setdefault(option, []).append(verb)
    for row, verbs in alike.items():
        names = ", ".join(_name_removed(option, verbs[option]) for option in verbs)
        yield f"| {names} | {row.last} | {row.instead} |"
    for key, row in sorted(KEYS.items()):
        yield f"| the key `{key}` | {row.last} | {row.instead} |"


def _name_removed(option: str, verbs: Sequence[str]) -> str:
    """Name an option that several verbs had once, in front of them."""
    if option and len(verbs) == 1:
        return f"`{verbs[0]} --{option}`"
    names = ", ".join(f"`{verb}`" for verb in verbs)
    return f"`--{option}` of {names}" if option else names


def _fill(page: str, blocks: Mapping[str, Iterable[str]]) -> str:
    """Replace what is between the marks of each block, both of which must be there, once."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, lines in blocks.items():
        begin = f"<!-- {name}: written by `nox -s docs` -->"
        end = f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        _, after = rest.split(end)
        text = "\n".join((before + begin, *lines, end + after))
    return text


def _data_flow() -> Iterator[str]:
    """Yield each stage with the stages whose results its tasks read."""
    config = load_config(_CHAIN).config
    every = (*tasks(config, neighbours=True), *on_demand(config))
    yield "```text"
    for stage in Stage:
        own = (task for task in every if task.stage is stage)
        needed = {need.partition("/")[0] for task in own for need in (*task.needs, *task.wants)}
        read = [other for other in Stage if other in needed and other is not stage]
        reads = ", ".join(read) if len(read) < _MANY else "all of these"
        about = _first_line(stages.find_module(stage).__doc__ or "").partition(": ")[2]
        yield f"{stage:<12}{f'◄ {reads}' if reads else '':<36}{about}"
    yield "```"


def _packages() -> Iterator[str]:
    yield "```text"
    for name in _PACKAGES:
        folder = SOURCES / "megtrim" / name
        yield f"{name:<20}{_opening(folder / '__init__.py')}"
        for inner in sorted(folder.rglob("*/__init__.py")):
            path = inner.parent.relative_to(folder)
            indented = "  " * len(path.parts) + path.name
            yield f"{indented:<20}{_opening(inner)}"
    yield "```"


def _layers(package: str) -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layered = (each for each in contracts if each["type"] == "layers")
    yield "```text"
    for layer in next(each["layers"] for each in layered if each.get("containers") == [package]):
        for mark, name in zip(_MARKS, re.split(r" [|:] ", layer), strict=False):
            folder = SOURCES / package / name
            module = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
            yield f"{mark}{name:<18}{_opening(module)}"
            for inner in sorted(folder.rglob("*/__init__.py")):
                yield f"│     {inner.parent.relative_to(folder).as_posix():<14}{_opening(inner)}"
    yield "▼"
    yield "```"


def _opening(module: Path) -> str:
    return _first_line(ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or "")


def _first_line(docstring: str) -> str:
    return re.sub(r":\w+:`([^`]*)`|``", r"\1", docstring.partition("\n")[0])


def _configuration() -> Iterator[str]:
    schema = make_json_schema()
    every = list(_sections("", schema, schema["$defs"]))
    places: dict[str, str] = {}
    for path, section in sorted(every, key=lambda each: each[0].count(".")):
        places.setdefault(section["title"], path)
    for path, section in every:
        if places[section["title"]] != path:
            continue  # described where it is least deep
        yield f"## {f'`{path}`' if path else 'The file'}\n"
        yield f"{section['description']}\n"
        yield "| key | value | default | meaning |"
        yield "|---|---|---|---|"
        for key, value in section["properties"].items():
            needed = key in section.get("required", ())
            yield _row(key, value, schema["$defs"], places, needed=needed)
        yield ""


def _starter() -> Iterator[str]:
    yield f"```yaml\n{starter(MegEngine.starter, source='../MegEngine')}```\n"
    model = StarterModel(file="models/resnet50.mge", strip_info="models/resnet50.mge.json")
    for path, text in model_files([model]).items():
        yield f"`{path}`:\n"
        yield f"```yaml\n{text}```\n"


def _sections(
    path: str, section: dict[str, Any], known: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a section and those inside it, each with its path such as ``models[]``."""
    yield path, section
    for key, value in section["properties"].items():
        inner = _target(value, known)
        if inner and "properties" in inner:
            name = f"{key}[]" if _is_list(value) else key
            yield from _sections(f"{path}.{name}" if path else name, inner, known)


def _target(value: dict[str, Any], known: dict[str, Any]) -> dict[str, Any] | None:
    # An optional section is a union of the section and null; a list may be a pattern of files, too.
    choices = (value, *value.get("anyOf", ()))
    within = (*choices, *(each.get("items", {}) for each in choices))
    reference = next((each["$ref"] for each in within if "$ref" in each), None)
    return known[reference.rpartition("/")[2]] if reference else None


def _is_list(value: dict[str, Any]) -> bool:
    return any(each.get("type") == "array" for each in (value, *value.get("anyOf", ())))


def _row(
    key: str, value: dict[str, Any], known: dict[str, Any], places: dict[str, str], *, needed: bool
) -> str:
    inner = _target(value, known)
    if inner and "properties" in inner:
        name = places[inner["title"]]
        noun = "list of" if _is_list(value) else "section"
        anchor = re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")
        kind = f"{noun} [{name}](#{anchor})"
        shown = "required" if needed else ""
        meaning = value.get("description", inner["description"])
    else:
        kind = _kind(inner or value)
        shown = "required" if needed else _default(value)
        meaning = value.get("description", "")
    return _table_row(f"`{key}`", kind, shown, meaning)


def _kind(value: dict[str, Any]) -> str:
    choices = [choice for choice in value.get("anyOf", ()) if choice != {"type": "null"}]
    if choices:
        return " or ".join(_kind(choice) for choice in choices)
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return ", ".join(f"`{word}`" for word in value["enum"])
    match value.get("type"):
        case "array":
            return f"list of {_kind(value['items'])}"
        case "object":
            return "entries `name: value`"
        case _:
            return _scalar(value)


def _scalar(value: dict[str, Any]) -> str:
    kinds = value["type"] if isinstance(value["type"], list) else [value["type"]]
    if kinds[0] == "integer":
        return f"whole number from {value['minimum']} to {value['maximum']}"
    if kinds[0] != "number":
        return " or ".join(_WORDS[word] for word in kinds)
    if "exclusiveMaximum" in value:
        return f"number from {value['minimum']:g} to below {value['exclusiveMaximum']:g}"
    if "maximum" in value:
        return f"number from {value['minimum']:g} to {value['maximum']:g}"
    return f"number, at least {value['minimum']:g}"


def _default(value: dict[str, Any]) -> str:
    default = value.get("default")
    if default in (None, "", [], {}):
        return ""
    if isinstance(default, float):
        # A number that may also be written as text is a duration.
        if "number" in value.get("anyOf", [value])[0]["type"]:
            return f"`{default:g}`"
        days, rest_s = divmod(default, _DAY_S)
        return f"`{default:g} s`" if rest_s else f"`{days:g} days`"
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


def _command_line() -> Iterator[str]:
    yield from _help(command_line.epilog or "")
    for text, shared in _iter_shared():
        yield text
        yield from _options(shared, click.Context(command_line, help_option_names=["-h", "--help"]))
    for program, group in (("megtrim", command_line), ("virtual-phone", phone_command_line)):
        yield from _command(program, group)


def _iter_shared() -> Iterator[tuple[str, list[click.Parameter]]]:
    """Options that several verbs share are described once."""
    base = click.command(common(lambda: None)).params
    names = {parameter.name for parameter in base}
    more = click.command(trimming(lambda: None)).params
    yield "## Options of every verb that reads megtrim.yaml\n", base
    added = [parameter for parameter in more if parameter.name not in names]
    yield "## Options of every verb that trims or plans it\n", added


def _command(path: str, command: click.Command) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield from _verb(path, command)
        return
    if isinstance(command, LazyGroup) and command.alone:
        yield from _verb(path, command.alone)
    context = click.Context(command)
    for name in command.list_commands(context):
        if inner := command.get_command(context, name):
            yield from _command(f"{path} {name}", inner)


def _verb(path: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=path)
    yield f"## {path}\n"
    yield f"```text\n{path} {' '.join(command.collect_usage_pieces(context))}\n```\n"
    yield from _help(command.help or "")
    names = {parameter.name for parameter in command.params}
    groups = ({parameter.name for parameter in shared} for _, shared in _iter_shared())
    elsewhere = set().union(*(group for group in groups if group <= names))
    own = [parameter for parameter in command.params if parameter.name not in elsewhere]
    yield from _options(own, context)
    yield from _help(command.epilog or "")


def _options(parameters: list[click.Parameter], context: click.Context) -> Iterator[str]:
    found = (parameter.get_help_record(context) for parameter in parameters)
    records = [record for record in found if record and record[1]]
    if not records:
        return
    yield "| option | meaning |"
    yield "|---|---|"
    yield from (_table_row(f"`{option}`", meaning) for option, meaning in records)
    yield ""


def _help(text: str) -> Iterator[str]:
    """A paragraph that click would not wrap becomes a code block."""
    for paragraph in text.strip("\n").split("\n\n"):
        if not paragraph.startswith("\b"):
            if paragraph.strip():
                yield " ".join(paragraph.split()) + "\n"
            continue
        title, *lines = paragraph.removeprefix("\b\n").splitlines()
        language = "sh" if title.startswith("Example") else "text"
        body = "\n".join(line.removeprefix("  ") for line in lines)
        yield f"{title}\n\n```{language}\n{body}\n```\n"


def _workflows() -> Iterator[str]:
    for name in CALLED:
        text = (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")
        workflow = yaml.safe_load(text)
        opening = text.partition("\nname:")[0].splitlines()
        called = workflow[True]["workflow_call"]  # YAML 1.1 reads the key `on` as true
        yield f"## {name}\n"
        yield "\n".join(line.removeprefix("#").strip() for line in opening) + "\n"
        yield "| input | kind | default | meaning |"
        yield "|---|---|---|---|"
        for key, value in called["inputs"].items():
            given = f"`{value['default']}`" if value.get("default", "") != "" else ""
            given = "required" if value.get("required") else given
            yield _table_row(f"`{key}`", value["type"], given, value["description"])
        for kind, heads in (("secrets", "secret | meaning"), ("outputs", "output | what it is")):
            yield f"\n| {heads} |\n|---|---|" if called.get(kind) else ""
            for key, value in called.get(kind, {}).items():
                yield _table_row(f"`{key}`", value["description"])
        yield "\n| job | runs on | may |\n|---|---|---|"
        for job in workflow["jobs"].values():
            labels = job["runs-on"]
            place = labels if isinstance(labels, str) else ", ".join(labels)
            place = "BUILD-RUNNER" if "inputs.build-runner" in place else place
            if "matrix.runner" in place:
                place = f"self-hosted, megtrim, CLASS; or {HOSTED_RUNNER}"
            rights = ", ".join(f"{what}: {right}" for what, right in job["permissions"].items())
            yield _table_row(_plain(job["name"]), f"`{_plain(place)}`", rights or "nothing")
        yield ""


def _plain(text: str) -> str:
    """``matrix.class`` becomes CLASS."""
    return re.sub(r"\$\{\{ \w+\.(\w+) \}\}", lambda found: found[1].upper(), text)


def _table_row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def main() -> int:
    hand_in(PARTS)
    for name, text in pages().items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
