"""``sizes.json``: the sizes of the artifacts, kept as the baseline that growth is measured against.

Format: ``{"version": 2, "artifacts": {NAME: {VARIANT: BYTES}}, "source": TEXT, "quick": true}``.
``source`` says where the sizes are from, or why there are none. ``parts`` says of some files what
their bytes are, ``inputs`` what they were built from, and ``measured`` has sizes of other kinds:
``{NAME: {VARIANT: {MEASURE: BYTES}}}``. ``uses`` has what scenarios use: ``{SCENARIO: {"work":
{VARIANT: {"functions": {NAME: [INSTRUCTIONS, ACCESSES]}, …}}, "memory": {"figures": {MEASURE:
BYTES}, …}}}``. The other keys are those of an
:class:`~megtrim.core.build_spec.Origin`; all but version
and artifacts may be left out. Pure.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator

from megtrim.core.build_spec import Origin
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.byte_table import Bytes, ByteTable
from megtrim.core.size.counted import BASE_PREFIX, Use
from megtrim.core.size.growth.causes import InputPrint, Name
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import expect_merged, read_text
from megtrim.libs.util.strict_json import dump, load

VERSION = 2
_MERGE_HINT = "take one side as it is: git checkout --ours or --theirs"
_HINT = "take the sizes.json of a run of this version of megtrim"
_LARGEST_FILE_BYTES = 16 * 1024 * 1024
_LONGEST_SOURCE = 500
_LONGEST_NAME = 4096
_Flag = Annotated[bool, Strict()]
T = TypeVar("T")


class SizesDocument(BaseModel):
    """The file. A key that holds its default is left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    artifacts: dict[str, Annotated[dict[str, Bytes], Field(min_length=1)]]
    inputs: InputPrint = Field(default_factory=InputPrint)
    measured: dict[str, dict[str, dict[Name, Bytes]]] = Field(default_factory=dict)
    parts: dict[str, dict[str, ByteTable]] = Field(default_factory=dict)
    quick: _Flag = False
    source: Annotated[str, Field(max_length=_LONGEST_SOURCE)] = ""
    uses: dict[Name, Use] = Field(default_factory=dict)
    project: Name = ""
    config: Name = ""
    commit: Name = ""
    committed_at: Name = ""
    changed: _Flag = False
    pull_request: Bytes = 0
    megtrim: Name = ""
    version: Literal[2]

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key, value in {"source": self.source, **asdict(self.origin)}.items():
            if not str(value).isprintable():
                msg = f"{key}: found a control character, expected one line"
                raise ValueError(msg)
        if not self.artifacts and not self.source:
            msg = "artifacts: found none, expected some, or a source that says why there are none"
            raise ValueError(msg)
        for (artifact, variant), table in _flatten(self.parts).items():
            size_bytes = self.artifacts.get(artifact, {}).get(variant)
            if sum(sum(labels.values()) for labels in table.components.values()) != size_bytes:
                msg = f"parts.{artifact}.{variant}: found bytes that do not add up to its size"
                raise ValueError(msg)
        return self

    @property
    def origin(self) -> Origin:
        return Origin(**{field.name: getattr(self, field.name) for field in fields(Origin)})


def dump_sizes(found: Baseline) -> str:
    """Return the file's text; equal sizes of one origin are equal bytes."""
    origin = asdict(found.origin)
    origin["project"] = _printable(found.origin.project)
    origin["config"] = _printable(found.origin.config)
    measured = {key: dict(values) for key, values in found.measured.items()}
    uses = {name: _strip(use) for name, use in found.uses.items()}
    document = SizesDocument(
        artifacts=_nest(found.sizes),
        inputs=found.made_from,
        measured=_nest(measured),
        parts=_nest(found.parts),
        quick=found.quick,
        source=found.source,
        uses=uses,
        version=VERSION,
        **origin,
    )
    return dump(document)


def _strip(use: Use) -> Use:
    """Keep its own figures and what is not known, but not why: a reason may name folders."""
    memory = replace(use.memory, base_figures={}, base_unmapped={}) if use.memory else None
    own = {name: work for name, work in use.work.items() if not name.startswith(BASE_PREFIX)}
    unknown = {name: "" for name in use.reasons if not name.startswith(BASE_PREFIX)}
    return replace(use, work=own, memory=memory, reasons=unknown)


def _nest(files: Mapping[tuple[str, str], T]) -> dict[str, dict[str, T]]:
    nested: dict[str, dict[str, T]] = {}
    for (artifact, variant), each in files.items():
        nested.setdefault(artifact, {})[variant] = each
    return nested


def _flatten(nested: Mapping[str, Mapping[str, T]]) -> dict[tuple[str, str], T]:
    return {(name, variant): each for name, of in nested.items() for variant, each in of.items()}


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text[:_LONGEST_NAME])


def parse_sizes(text: str, *, source: str) -> Baseline:
    """Parse the file's text; ``source`` names it in messages. Raises InputError."""
    expect_merged(text, shown=source, hint=_MERGE_HINT)
    found = load(SizesDocument, text, source=source, version=VERSION, hint=_HINT)
    return Baseline(
        source=found.source or source,
        sizes=_flatten(found.artifacts),
        parts=_flatten(found.parts),
        made_from=found.inputs,
        measured=_flatten(found.measured),
        quick=found.quick,
        origin=found.origin,
        uses=found.uses,
    )


def expect_same_kind(baseline: Baseline, *, quick: bool, shown: str, config: str = "") -> Baseline:
    """Raise InputError for sizes of the other kind. ``config``: its path; empty if not known."""
    # Outside of a repository, configurations of other projects have the same name.
    other = baseline.origin.config if baseline.origin.commit else ""
    if "" not in (config, other) and config != other:
        msg = f"{shown}: found sizes of the configuration {other}, expected {config}"
        raise InputError(msg, hint="take the sizes.json of a run of this configuration")
    if baseline.quick is quick:
        return baseline
    found, expected = ("a full trim", "a quick one") if quick else ("a quick trim", "a full one")
    msg = f"{shown}: found sizes of {found}, expected those of {expected}"
    raise InputError(msg, hint="take the sizes.json of a run of the same kind")


def load_sizes(path: Path, *, shown: str) -> Baseline:
    most = _LARGEST_FILE_BYTES
    expected = "the sizes of a baseline"
    text = read_text(path, most_bytes=most, expected=expected, shown=shown, hint=_HINT)
    return parse_sizes(text, source=shown)
