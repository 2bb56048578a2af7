"""How often growth gets its right cause: planted changes of the sample engine, each really built.

    python benchmarks/growth_causes.py
    python benchmarks/growth_causes.py --toolchain host --only source --only models

Each change is a pull request against one base: a kernel, a table, a template, lost folding of
functions, a flag, a model, the keep set, a third party, a compiler, several of these at once, and
what shrinks. A change counts as right if exactly the planted causes are named, each share has only
these, and the shares add up to the growth of the file, to the byte. With the toolchain `host`,
programs have no symbols, so several causes are never divided.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml

from megtrim.cli.session.setup import Options, open_session
from megtrim.elf.symbol_table import read_linked
from megtrim.midout.region import Region, order
from megtrim.pipeline.building.build_inputs import gather_evidence, read_build_inputs
from megtrim.pipeline.building.links import locate_named
from megtrim.pipeline.session import Session, binary
from megtrim.plan.graph import REDUCED
from megtrim.size.attribution import NameSources
from megtrim.size.breakdown import View, break_down
from megtrim.size.byte_table import ByteTable, make_table
from megtrim.size.comparison import compare_tables
from megtrim.size.growth.causes import Cause
from megtrim.size.growth.inputs import BuildInputs, compare_inputs, make_print
from megtrim.size.growth.shares import divide_growth
from megtrim.stages import runner

SAMPLE = Path(__file__).parents[1] / "examples/sample-engine"
NAME = "load_and_run"
RIGHT = 0.95
"""Share of planted changes that must get their cause."""
PLANT, TINYMATH = "src/load_and_run/plant.cpp", "src/third_party/tinymath/tinymath"
MAIN, LISTS, MODELS = "src/load_and_run/main.cpp", "CMakeLists.txt", ("tiny-vgg", "tiny-mobile")
_TWIN = (
    "__attribute__((noinline)) int twin_{0}(int x) "
    "{{ for (int i = 0; i < x; ++i) x ^= i * {1}; return x; }}\n"
)
PLANT_TEXT = f"""\
#include "load_and_run/plant.h"

#include "third_party/tinymath/tinymath.h"

namespace sample {{
{_TWIN.format("a", 7)}{_TWIN.format("b", 7)}
// here
__attribute__((noinline)) int small(int x) {{ return x * 3 + 1; }}
int plant(int x) {{
    int y = small(x) + twin_a(x) + twin_b(x) + tinymath::mix(x) + doubled(x);
    // more
    return y;
}}
}}  // namespace sample
"""
Edit = Callable[["Side"], None]


@dataclass(frozen=True, slots=True)
class Side:
    """A team's folder: an engine with its configuration and keep set."""

    folder: Path

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def replace(self, name: str, old: str, new: str) -> None:
        text = self.read(name)
        if old not in text:
            msg = f"{name} has no {old!r}"
            raise ValueError(msg)
        self.write(name, text.replace(old, new))

    def configure(self, **values: Any) -> None:
        config = yaml.safe_load(self.read("megtrim.yaml"))
        self.write("megtrim.yaml", yaml.safe_dump(config | values, sort_keys=False))


def choose_models(side: Side, *names: str) -> None:
    """Configure these models of the sample's, with the keep set of each."""
    config = yaml.safe_load((SAMPLE / "megtrim.yaml").read_text(encoding="utf-8"))
    side.configure(models=[each for each in config["models"] if each["name"] in names])
    shutil.rmtree(side.folder / "megtrim/keepset")
    for name in names:
        kept = Path("megtrim/keepset") / name
        shutil.copytree(SAMPLE / kept, side.folder / kept)


def lay_out(folder: Path, toolchain: str) -> Side:
    """Write the base: the sample engine, with a third party and a file for changes."""
    shutil.copytree(SAMPLE, folder)
    side = Side(folder)
    side.configure(toolchain={"kind": toolchain}, budgets=[])
    choose_models(side, *MODELS)
    side.write(PLANT, PLANT_TEXT)
    header = "#pragma once\nnamespace sample {\nint plant(int x);\n"
    side.write(
        PLANT.replace(".cpp", ".h"), header + "inline int doubled(int x) { return x + x; }\n}\n"
    )
    side.write(f"{TINYMATH}.h", "#pragma once\nnamespace tinymath {\nint mix(int x);\n}\n")
    mix = '#include "third_party/tinymath/tinymath.h"\nnamespace tinymath {\n// here\n'
    side.write(f"{TINYMATH}.cpp", mix + "int mix(int x) {\n    // more\n    return x * 5;\n}\n}\n")
    side.replace(
        LISTS,
        "    src/load_and_run/npy.cpp\n",
        f"    src/load_and_run/npy.cpp\n    {PLANT}\n    {TINYMATH}.cpp\n",
    )
    side.replace(
        MAIN,
        "#if SAMPLE_NO_EXCEPTIONS\n\n",
        '#include "load_and_run/plant.h"\nstatic volatile int sink;\n#if SAMPLE_NO_EXCEPTIONS\n\n',
    )
    side.replace(
        MAIN,
        "int main(int argc, char** argv) {\n",
        "int main(int argc, char** argv) {\n    sink = sample::plant(argc);\n",
    )
    return side


def define(name: str, lines: int, *, file: str = PLANT, space: str = "") -> Edit:
    """Add a function of so many steps, and call it."""
    steps = "".join(f"    x = (x << {i % 13 + 1}) ^ (x * {i * 7 + 3});\n" for i in range(lines))
    text = f"__attribute__((noinline)) int {name}(int x) {{\n{steps}    return x;\n}}\n"

    def edit(side: Side) -> None:
        side.replace(file, "// here\n", f"// here\n{text}")
        side.replace(
            file, "// more\n", f"// more\n    {'y +=' if not space else 'x +='} {name}(x);\n"
        )

    return edit


def table(size: int, *, const: bool = True, file: str = PLANT) -> Edit:
    """Add a table of so many bytes, and use it."""
    kind = "const " if const else ""
    target = "y" if file == PLANT else "x"

    def edit(side: Side) -> None:
        text = f"static {kind}volatile unsigned char table_{size}[{size}] = {{1}};\n"
        side.replace(file, "// here\n", f"// here\n{text}")
        side.replace(file, "// more\n", f"// more\n    {target} += table_{size}[x & 7];\n")

    return edit


def new_file(name: str, lines: int) -> Edit:
    """Add a source file with a function, list it, and call it."""
    steps = "".join(f"    x = (x >> {i % 11 + 1}) ^ (x * {i * 5 + 3});\n" for i in range(lines))
    function = Path(name).stem

    def edit(side: Side) -> None:
        side.write(
            name, f"namespace sample {{\nint {function}(int x) {{\n{steps}    return x;\n}}\n}}\n"
        )
        side.replace(LISTS, f"    {PLANT}\n", f"    {PLANT}\n    {name}\n")
        side.replace(PLANT, "// here\n", f"// here\nint {function}(int x);\n")
        side.replace(PLANT, "// more\n", f"// more\n    y += {function}(x);\n")

    return edit


def template(count: int) -> Edit:
    """Add a template with so many instances."""

    def edit(side: Side) -> None:
        body = (
            "template <int N> __attribute__((noinline)) int times(int x) "
            "{ for (int i = 0; i < N; ++i) x = x * N + (x >> N); return x; }\n"
        )
        side.replace(PLANT, "// here\n", f"// here\n{body}")
        calls = "".join(f"    y += times<{n + 3}>(x);\n" for n in range(count))
        side.replace(PLANT, "// more\n", f"// more\n{calls}")

    return edit


def standard_library(side: Side) -> None:
    """Use a template of the C++ library."""
    side.replace(PLANT, '#include "third', '#include <map>\n#include <string>\n#include "third')
    side.replace(
        PLANT,
        "// more\n",
        "// more\n    static std::map<std::string, int> seen;\n"
        "    y += ++seen[std::string(x & 3, 'a')];\n",
    )


def change(name: str, old: str, new: str) -> Edit:
    """Replace a text."""
    return lambda side: side.replace(name, old, new)


def header(side: Side) -> None:
    """Let a function in a header grow."""
    side.replace(
        PLANT.replace(".cpp", ".h"),
        "return x + x;",
        "for (int i = 0; i < x; ++i) x += i * x; return x * 17 + (x >> 3);",
    )


def trim(**values: Any) -> Edit:
    """Set keys of trim."""
    return lambda side: side.configure(trim={"level": "region", "minimum_size": True} | values)


def keep_more(count: int) -> Edit:
    """Keep regions of another model for one that is there."""

    def edit(side: Side) -> None:
        theirs = json.loads((SAMPLE / "megtrim/keepset/tiny-quant/default@any.json").read_text())
        path = "megtrim/keepset/tiny-mobile/default@any.json"
        ours = json.loads(side.read(path))
        regions = [each for each in theirs if each.startswith("region ") and each not in ours]
        more = {each: ["tiny-mobile/default@any"] for each in regions[:count]}
        rewrite_keep_set(side, path, ours | more)

    return edit


def keep_less(word: str) -> Edit:
    """Do not keep the regions any more whose names hold a word."""

    def edit(side: Side) -> None:
        for path in sorted((side.folder / "megtrim/keepset").rglob("*.json")):
            kept = json.loads(path.read_text(encoding="utf-8"))
            less = {
                name: each
                for name, each in kept.items()
                if not (name.startswith("region ") and word in name)
            }
            rewrite_keep_set(side, str(path.relative_to(side.folder)), less)

    return edit


def rewrite_keep_set(side: Side, path: str, entries: Mapping[str, Any]) -> None:
    """Write a keep set's file in its own order: regions follow the scenario, sorted."""
    regions = [each for each in entries if each.startswith("region ")]
    regions.sort(key=lambda each: order(Region.parse(each.removeprefix("region "))))
    others = [each for each in entries if each not in regions]
    at = next(i for i, each in enumerate(others) if each.startswith("scenario ")) + 1
    ordered = (*others[:at], *regions, *others[at:])
    lines = (f" {json.dumps(each)}: {json.dumps(entries[each])}" for each in ordered)
    side.write(path, "{\n" + ",\n".join(lines) + "\n}\n")


def models(*names: str) -> Edit:
    """Have these models."""
    return lambda side: choose_models(side, *names)


def all_of(*edits: Edit) -> Edit:
    """Make several changes."""

    def edit(side: Side) -> None:
        for each in edits:
            each(side)

    return edit


@dataclass(frozen=True, slots=True)
class Planted:
    """A pull request."""

    name: str
    edit: Edit
    causes: tuple[Cause, ...]
    compiler: str = ""
    """Options of another compiler, which has another version."""


S, D, K, M, F, T, _ = Cause
_DEP = f"{TINYMATH}.cpp"
_O2 = '"-O2 -DNDEBUG"'
PLANTED = (
    Planted("kernel in a file", define("kernel_one", 30), (S,)),
    Planted("large kernel", define("kernel_two", 400), (S,)),
    Planted("tiny kernel", define("kernel_three", 2), (S,)),
    Planted("kernel in a new file", new_file("src/kernels/shape/extra_one.cpp", 60), (S,)),
    Planted("large kernel in a new file", new_file("src/kernels/conv/extra_two.cpp", 500), (S,)),
    Planted(
        "function that grew",
        change(PLANT, "return x * 3 + 1;", "for (int i = 0; i < x; ++i) x += x >> i; return x;"),
        (S,),
    ),
    Planted("table of 1 KiB", table(1024), (S,)),
    Planted("table of 4 KiB", table(4096), (S,)),
    Planted("table of 64 KiB", table(65536), (S,)),
    Planted("variable of 8 KiB", table(8192, const=False), (S,)),
    Planted("two tables", all_of(table(2048), table(3000)), (S,)),
    Planted("template, 4 instances", template(4), (S,)),
    Planted("template, 24 instances", template(24), (S,)),
    Planted("template of the C++ library", standard_library, (S,)),
    Planted("function in a header", header, (S,)),
    Planted(
        "lost folding",
        change(
            PLANT,
            "twin_b(int x) { for (int i = 0; i < x; ++i) x ^= i * 7",
            "twin_b(int x) { for (int i = 0; i < x; ++i) x ^= i * 9",
        ),
        (S,),
    ),
    Planted(
        "section of its own",
        change(
            PLANT,
            "// here\n",
            '// here\n__attribute__((section(".blob"), retain, used)) '
            "const unsigned char blob[3000] = {1};\n",
        ),
        (S,),
    ),
    Planted(
        "debug section",
        change(
            PLANT,
            "// here\n",
            '// here\n__asm__(".section .debug_extra,\\"\\",%progbits\\n.zero 4000\\n.text\\n");\n',
        ),
        (S,),
    ),
    Planted("function that shrank", change(PLANT, "twin_a(x) + twin_b(x) + ", ""), (S,)),
    Planted("kernel that went", change(PLANT, "small(x) + ", ""), (S,)),
    Planted("third party, a function", define("mixed", 40, file=_DEP, space="x"), (D,)),
    Planted("third party, a table", table(5000, file=_DEP), (D,)),
    Planted(
        "third party, its header",
        change(
            f"{TINYMATH}.h",
            "int mix(int x);",
            "int mix(int x);\ninline int unused(int x) { return x; }",
        ),
        (D,),
    ),
    Planted("third party that shrank", change(_DEP, "return x * 5;", "return x;"), (D,)),
    Planted("model more", models(*MODELS, "tiny-quant"), (M,)),
    Planted("model less", models("tiny-vgg"), (M,)),
    Planted("other model less", models("tiny-mobile"), (M,)),
    Planted("model for another", models("tiny-vgg", "tiny-quant"), (M,)),
    Planted("region more", keep_more(1), (K,)),
    Planted("regions more", keep_more(9), (K,)),
    Planted("all regions of another model", keep_more(99), (K,)),
    Planted("regions less", keep_less("sample_pooling"), (K,)),
    Planted("with log and exceptions", trim(minimum_size=False), (F,)),
    Planted(
        "with exceptions",
        trim(minimum_size=False, switches={"rtti": False, "logging": False}),
        (F,),
    ),
    Planted("optimised for speed", change(LISTS, _O2, '"-O3 -DNDEBUG"'), (F,)),
    Planted(
        "without folding",
        change(LISTS, "foreach(flag gc-sections icf=all)", "foreach(flag gc-sections)"),
        (F,),
    ),
    Planted("for size", trim(optimize="size"), (F,)),
    Planted("other compiler", all_of(), (T,), "-fno-inline-functions"),
    Planted("other compiler, larger code", all_of(), (T,), "-fno-omit-frame-pointer"),
    Planted(
        "source and dependency",
        all_of(define("kernel_four", 50), define("mixed", 40, file=_DEP, space="x")),
        (S, D),
    ),
    Planted("source and model", all_of(table(4000), models(*MODELS, "tiny-quant")), (S, M)),
    Planted("source and keep set", all_of(define("kernel_five", 50), keep_more(9)), (S, K)),
    Planted("model and flag", all_of(models("tiny-vgg"), trim(minimum_size=False)), (M, F)),
    Planted("source and compiler", define("kernel_six", 80), (S, T), "-fno-omit-frame-pointer"),
    Planted(
        "source, dependency and model",
        all_of(table(700), table(900, file=_DEP), models("tiny-vgg")),
        (S, D, M),
    ),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What ships, and what it was built from."""

    size_bytes: int
    table: ByteTable
    inputs: BuildInputs
    session: Session


def measure(side: Side, out: Path) -> Measured:
    """Build what ships by the committed keep set."""
    config = side.folder / "megtrim.yaml"
    options = Options(config=config, out=out, engine=None, jobs=None, quiet=True, committed=True)
    session = open_session(options)
    folder = runner.obtain(REDUCED, session)
    if folder is None:
        raise next(iter(session.results.failed.values()))
    path = binary(folder, NAME)
    named = locate_named(folder, NAME)
    twin = read_linked(folder.file(named)) if named else None
    found = break_down(read_linked(path), NameSources(twin=twin, twin_source=named), source=NAME)
    return Measured(
        path.stat().st_size,
        make_table(found.by_component(View.SYMBOL)),
        read_build_inputs(folder, session),
        session,
    )


def hide_compiler(folder: Path, options: str, names: tuple[str, ...]) -> str:
    """Put another compiler in front of the path: these options, and another version."""
    for name in names:
        real = shutil.which(name)
        if real is not None:
            script = (
                f'#!/bin/sh\n[ "$*" = --version ] && exec echo "{name} another 99"\n'
                f'exec {real} {options} "$@"\n'
            )
            (folder / name).write_text(script, encoding="utf-8")
            (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def judge(planted: Planted, before: Measured, after: Measured) -> tuple[bool, str]:
    """Say whether the planted causes are named and the bytes add up, and what was found."""
    changes = compare_inputs(make_print(before.inputs), after.inputs)
    shares = divide_growth(
        compare_tables(before.table, after.table, View.SYMBOL),
        gather_evidence(changes, after.session),
    )
    grown = after.size_bytes - before.size_bytes
    exact = sum(each.growth_bytes for each in shares) == grown
    only = all({*each.causes} <= {*planted.causes} for each in shares)
    found = ", ".join(f"{' & '.join(each.causes)} {each.growth_bytes:+,}" for each in shares)
    right = changes.causes == planted.causes and exact and only
    return right, f"{grown:+9,}  {found or ', '.join(changes.causes)}{'' if exact else '  INEXACT'}"


@click.command()
@click.option("--toolchain", default="clang-linux-arm64", show_default=True)
@click.option("--only", multiple=True, help="Only changes whose name or cause has this word.")
@click.option("--out", type=click.Path(path_type=Path), help="Keep builds here, for the next run.")
def main(toolchain: str, only: tuple[str, ...], out: Path | None) -> None:
    """Plant changes, and count those that get their cause."""
    chosen = [
        each
        for each in PLANTED
        if not only or any(word in each.name or word in each.causes for word in only)
    ]
    names = ("g++", "gcc") if toolchain == "host" else ("clang++-14", "clang-14")
    with tempfile.TemporaryDirectory(prefix="growth-causes-") as made:
        root, results = Path(made), out or Path(made) / "out"
        path = os.environ["PATH"]
        base = lay_out(root / "base", toolchain)
        before = measure(base, results)
        good = 0
        for each in chosen:
            shutil.rmtree(root / "head", ignore_errors=True)
            shutil.copytree(base.folder, root / "head")
            head = Side(root / "head")
            each.edit(head)
            if each.compiler:
                tools = root / each.name.replace(" ", "-")
                tools.mkdir()
                os.environ["PATH"] = hide_compiler(tools, each.compiler, names)
            after = measure(head, results)
            os.environ["PATH"] = path
            right, found = judge(each, before, after)
            good += right
            click.echo(f"{'right' if right else 'WRONG'}  {each.name:32} {found}")
    click.echo(
        f"{good} of {len(chosen)} planted changes got their cause ({good / len(chosen):.0%})"
    )
    if good < RIGHT * len(chosen):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
