#!/usr/bin/env python3
"""Write what opr_param_defs.py describes: a C++ header, or the items of one enumeration."""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path
from typing import ClassVar


class Parameters:
    """The parameters of one operator, as opr_param_defs.py describes them."""

    every: ClassVar[dict[str, Parameters]] = {}

    def __init__(self, name: str) -> None:
        self.enums: dict[str, list[str]] = {}
        self.every[name] = self

    def add_enum(self, name: str, *items: str) -> Parameters:
        """Add an enumeration; an item is ``NAME = VALUE``."""
        self.enums[name] = list(items)
        return self


def header() -> str:
    lines = ["#pragma once", "namespace megdnn::param {"]
    for name, parameters in Parameters.every.items():
        for enum, items in parameters.enums.items():
            lines += [f"enum class {name}{enum} {{", *(f"    {item}," for item in items), "};"]
    return "\n".join([*lines, "}  // namespace megdnn::param", ""])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write-enum-items", metavar="CLASS:ENUM")
    parser.add_argument("input")
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    runpy.run_path(given.input, {"pdef": Parameters})
    if given.write_enum_items:
        name, enum = given.write_enum_items.split(":")
        text = "".join(f"{item}\n" for item in Parameters.every[name].enums[enum])
    else:
        text = header()
    given.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
