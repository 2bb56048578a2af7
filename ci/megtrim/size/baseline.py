"""``sizes.json``: the sizes of the artifacts, kept as the baseline that growth is measured against.

Format: ``{"version": 1, "artifacts": {NAME: {VARIANT: BYTES}}, "source": TEXT, "quick": true}``.
``source`` says where the sizes are from, for people, and may be left out. If it is there,
``artifacts`` may be empty; the source then says why there are none. ``quick`` marks the sizes of a
quick trim, which are never compared with those of a full one. ``parts`` says of some files what
their bytes are (:mod:`megtrim.size.byte_table`), so that a comparison can say what grew.
``made_from`` has a digest of each cause (:mod:`megtrim.size.growth.inputs`), and ``inputs`` prints
of what is behind them (:mod:`megtrim.size.growth.inputs`), so that it can say why.
``prices`` says what each model and scenario costs in bytes, at the margin and alone.
``measured`` has sizes of other kinds, which budgets may be about (:mod:`megtrim.size.breakdown`):
``{NAME: {VARIANT: {MEASURE: BYTES}}}``. The other keys, of which each may be left out, are those of
an :class:`~megtrim.build_spec.Origin`:
sizes of another configuration of the repository are not compared either. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from megtrim.build_spec import Origin
from megtrim.size.breakdown import Measures
from megtrim.size.budgets import Baseline, Sizes
from megtrim.size.byte_table import LONGEST_LABEL, ByteTable
from megtrim.size.growth.inputs import PRINT_LENGTH, InputPrint
from megtrim.size.prices.price_list import PriceList, StoredPrice
from megtrim.util.errors import InputError
from megtrim.util.input_files import expect_merged, read_text
from megtrim.util.strict_json import dump, load

VERSION: Literal[1] = 1
_MERGE_HINT = "take one side as it is: git checkout --ours or --theirs"
_HINT = "expected the sizes.json that the size stage wrote"
_LARGEST_FILE_BYTES = 16 * 1024 * 1024
_LONGEST_SOURCE = 500
_LONGEST_NAME = 4096
_UNKNOWN = Origin()
_NO_PRINT = InputPrint()
_MOST_NUMBER = 2**53
_Bytes = Annotated[int, Field(ge=0, le=2**62)]
_Name = Annotated[str, Field(max_length=_LONGEST_NAME)]
_Label = Annotated[str, Field(max_length=LONGEST_LABEL)]
_Prints = Annotated[str, Field(pattern=rf"^(?:[A-Za-z0-9_-]{{{PRINT_LENGTH}}})*$")]


class TableDocument(BaseModel):
    """What the bytes of one file are."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    components: dict[_Label, dict[_Label, _Bytes]]
    least_bytes: _Bytes


class InputsDocument(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    sources: _Prints = ""
    kept: dict[_Label, _Prints] = Field(default_factory=dict)
    scenarios: dict[_Name, _Label] = Field(default_factory=dict)
    values: dict[_Name, _Label] = Field(default_factory=dict)


class PriceDocument(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    margin: Annotated[int, Field(ge=-(2**62), le=2**62)]
    alone: _Bytes


class SizesDocument(BaseModel):
    """The file. A key that holds its default is left out."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    artifacts: dict[str, Annotated[dict[str, _Bytes], Field(min_length=1)]]
    made_from: dict[_Label, _Label] = Field(default_factory=dict)
    inputs: InputsDocument = Field(default_factory=InputsDocument)
    measured: dict[str, dict[str, dict[_Name, _Bytes]]] = Field(default_factory=dict)
    parts: dict[str, dict[str, TableDocument]] = Field(default_factory=dict)
    prices: dict[str, dict[_Label, PriceDocument]] = Field(default_factory=dict)
    """By artifact, and by name of model or id of scenario."""
    quick: bool = False
    source: Annotated[str, Field(max_length=_LONGEST_SOURCE)] = ""
    project: _Name = ""
    config: _Name = ""
    commit: _Name = ""
    committed_at: _Name = ""
    changed: bool = False
    pull_request: Annotated[int, Field(ge=0, le=_MOST_NUMBER)] = 0
    megtrim: _Name = ""
    version: Literal[1]

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key in ("source", "project", "config", "commit", "committed_at", "megtrim"):
            if not getattr(self, key).isprintable():
                msg = f"{key}: found a control character, expected one line"
                raise ValueError(msg)
        if not self.artifacts and not self.source:
            msg = "artifacts: found none, expected some, or a source that says why there are none"
            raise ValueError(msg)
        for artifact, variants in self.parts.items():
            for variant, table in variants.items():
                size_bytes = self.artifacts.get(artifact, {}).get(variant)
                if sum(sum(labels.values()) for labels in table.components.values()) != size_bytes:
                    msg = f"parts.{artifact}.{variant}: found bytes that do not add up to its size"
                    raise ValueError(msg)
        return self


def dump_sizes(
    sizes: Sizes,
    *,
    parts: Mapping[tuple[str, str], ByteTable] | None = None,
    made_from: InputPrint = _NO_PRINT,
    measured: Mapping[tuple[str, str], Measures] | None = None,
    prices: Mapping[str, Mapping[str, StoredPrice]] | None = None,
    source: str = "",
    quick: bool = False,
    origin: Origin = _UNKNOWN,
) -> str:
    """Return the file's text; equal sizes of one origin are equal bytes."""
    artifacts: dict[str, dict[str, int]] = {}
    for (artifact, variant), size_bytes in sizes.items():
        artifacts.setdefault(artifact, {})[variant] = size_bytes
    tables: dict[str, dict[str, TableDocument]] = {}
    for (artifact, variant), table in (parts or {}).items():
        components = {name: dict(labels) for name, labels in table.components.items()}
        made = TableDocument(components=components, least_bytes=table.least_bytes)
        tables.setdefault(artifact, {})[variant] = made
    named: dict[str, dict[str, dict[str, int]]] = {}
    for (artifact, variant), measures in (measured or {}).items():
        named.setdefault(artifact, {})[variant] = dict(measures)
    return dump(
        SizesDocument(
            artifacts=artifacts,
            made_from=dict(made_from.made_from),
            inputs=InputsDocument(
                sources=made_from.sources,
                kept=dict(made_from.kept),
                scenarios=dict(made_from.scenarios),
                values=dict(made_from.values),
            ),
            measured=named,
            parts=tables,
            prices={name: _document_prices(each) for name, each in (prices or {}).items()},
            quick=quick,
            source=source,
            project=_printable(origin.project),
            config=_printable(origin.config),
            commit=origin.commit,
            committed_at=origin.committed_at,
            changed=origin.changed,
            pull_request=origin.pull_request,
            megtrim=origin.megtrim,
            version=VERSION,
        )
    )


def store_prices(prices: Iterable[PriceList]) -> dict[str, dict[str, StoredPrice]]:
    return {
        of_artifact.artifact: {
            each.name: StoredPrice(margin_bytes=each.margin_bytes, alone_bytes=each.alone_bytes)
            for each in of_artifact.prices
            if each.alone_bytes is not None
        }
        for of_artifact in prices
    }


def _document_prices(prices: Mapping[str, StoredPrice]) -> dict[str, PriceDocument]:
    return {
        name: PriceDocument(margin=each.margin_bytes, alone=each.alone_bytes)
        for name, each in prices.items()
    }


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text[:_LONGEST_NAME])


def parse_sizes(text: str, *, source: str) -> Baseline:
    """Parse the file's text; ``source`` names it in messages. Raises InputError."""
    expect_merged(text, shown=source, hint=_MERGE_HINT)
    found = load(SizesDocument, text, source=source, version=VERSION, hint=_HINT)
    return Baseline(
        source=found.source or source,
        sizes={
            (artifact, variant): size_bytes
            for artifact, variants in found.artifacts.items()
            for variant, size_bytes in variants.items()
        },
        parts={
            (artifact, variant): ByteTable(
                least_bytes=table.least_bytes, components=table.components
            )
            for artifact, variants in found.parts.items()
            for variant, table in variants.items()
        },
        made_from=InputPrint(
            made_from=found.made_from,
            sources=found.inputs.sources,
            kept=found.inputs.kept,
            scenarios=found.inputs.scenarios,
            values=found.inputs.values,
        ),
        measured={
            (artifact, variant): measures
            for artifact, variants in found.measured.items()
            for variant, measures in variants.items()
        },
        prices={
            artifact: {
                name: StoredPrice(margin_bytes=each.margin, alone_bytes=each.alone)
                for name, each in rows.items()
            }
            for artifact, rows in found.prices.items()
        },
        quick=found.quick,
        # Outside of a repository, configurations of other projects have the same name.
        config=found.config if found.commit else "",
        commit=found.commit,
        committed_at=found.committed_at,
        changed=found.changed,
        megtrim=found.megtrim,
    )


def expect_same_kind(baseline: Baseline, *, quick: bool, shown: str, config: str = "") -> Baseline:
    """Return the baseline if it is of a quick trim or of a full one, as ``quick`` says.

    A quick trim starts from another build, so its sizes cannot be compared with a full one's, and
    another configuration has programs of its own. ``config`` is the path of this one in the
    repository, empty if it is not known. Raises InputError.
    """
    if "" not in (config, baseline.config) and config != baseline.config:
        msg = f"{shown}: found sizes of the configuration {baseline.config}, expected {config}"
        raise InputError(msg, hint="take the sizes.json of a run of this configuration")
    if baseline.quick is quick:
        return baseline
    found, expected = ("a full trim", "a quick one") if quick else ("a quick trim", "a full one")
    msg = f"{shown}: found sizes of {found}, expected those of {expected}"
    raise InputError(msg, hint="take the sizes.json of a run of the same kind")


def load_sizes(path: Path, *, shown: str) -> Baseline:
    """Read the file at ``path``; ``shown`` is the source if the file names none."""
    most, expected = _LARGEST_FILE_BYTES, "the sizes of a baseline"
    text = read_text(path, most_bytes=most, expected=expected, shown=shown, hint=_HINT)
    return parse_sizes(text, source=shown)
