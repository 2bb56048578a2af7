r"""Whether functions that a compiler splits into blocks still work as whole ones do.

    python benchmarks/splitting.py clang++-22
    python benchmarks/splitting.py clang++-22 --flag=--target=aarch64-linux-gnu \
        --run "qemu-aarch64-static -L /usr/aarch64-linux-gnu"

clang cuts a function in two by a list of its blocks: what is on the list stays together, and all
else goes into a section of its own. An exception, a jump or a debugger then finds its way by unwind
rows that are written anew. LLVM 19 writes wrong ones for arm64: programs crash or hang.
splitting/cases.cpp is built whole, and cut in several ways; each case must print the same and end
alike. It exits with 1 if one does not, and with 2 if the compiler does not split at all.
"""

import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from os import environ
from pathlib import Path

import click

from megtrim.libs.elf.block_map import MAP_FLAG, Block, MappedFunction, parse_block_map
from megtrim.libs.elf.symbol_table import FunctionTable, parse_table
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.compile.projects.link.invocation import shown_by_zig, without_output

CASES = Path(__file__).parent / "splitting/cases.cpp"
FLAGS = ("-O2", "-std=c++17", "-ffunction-sections", "-pthread")
LANDS = 4
"""Trait of a block: exceptions land in it."""
COMPILE_TIMEOUT_S = 1800.0
"""zig builds its libraries first."""
RUN_TIMEOUT_S = 20.0
REFUSED = 2
SPLIT = ".cold"
ZIG = ("zig", "ziglang")


@dataclass(frozen=True, slots=True)
class Cut:
    """Which blocks stay, besides the first; the others are cut off."""

    name: str
    parity: int | None = None
    """Of the places of those that stay; None: no place does."""
    landing: bool | None = None
    """Those stay where exceptions land, or those where none do; None: neither."""

    def leaves(self, at: int, block: Block) -> bool:
        lands = bool(block.traits & LANDS)
        return at % 2 == self.parity or lands is self.landing


CUTS = (
    Cut("all but the first block"),
    Cut("every other block", parity=0),
    Cut("the other ones", parity=1),
    Cut("where exceptions land", landing=False),
    Cut("all but where exceptions land", landing=True),
)


@dataclass(frozen=True, slots=True)
class Ending:
    status: int
    """124: it did not end in time."""
    printed: str


class RefusalError(Exception):
    """A compiler that does not split."""


@dataclass(frozen=True, slots=True)
class Compiler:
    words: tuple[str, ...]
    emulator: tuple[str, ...]
    folder: Path
    processes: ProcessRunner

    def build(self, name: str, *flags: str) -> Path:
        made = self.folder / name
        compiled = made.with_suffix(".o")
        self._work(*self.words, *FLAGS, *flags, "-c", str(CASES), "-o", str(compiled))
        link = (*self.words, *FLAGS, *flags, str(compiled))
        if self._zig:
            # As megtrim links: for a link that keeps names, zig would compile its libraries anew.
            shown = self._work(*link, "-s", "-###", "-o", str(self.folder / "none"))
            linker, *words = shown_by_zig(shown)
            link = (*self._zig, linker, *without_output(words))
        self._work(*link, "-o", str(made))
        return made

    @property
    def _zig(self) -> tuple[str, ...]:
        """Return its program, as in ``python -m ziglang c++``; empty: it is another compiler."""
        program = tuple(takewhile(lambda word: word != "c++", self.words))
        return program if program and Path(program[-1]).name in ZIG else ()

    def _work(self, *argv: str) -> str:
        command = Command(argv=argv, timeout_s=COMPILE_TIMEOUT_S, merge_stderr=True)
        outcome = self.processes.run(command)
        if not outcome.ok:
            raise RefusalError(outcome.stdout.strip() or f"it ended with {outcome.rc}")
        return outcome.stdout

    def run(self, program: Path, *arguments: str) -> Ending:
        argv = (*self.emulator, str(program), *arguments)
        outcome = self.processes.run(Command(argv=argv, timeout_s=RUN_TIMEOUT_S, tested=True))
        status = 124 if outcome.timed_out else outcome.rc
        return Ending(status=status, printed=outcome.stdout)


def list_blocks(functions: Sequence[MappedFunction], table: FunctionTable, cut: Cut) -> str:
    """Return the list for ``-fbasic-block-sections``, with all names of each function."""
    lines = ["v1"]
    for function in functions:
        first, *others = function.blocks
        kept = [each for at, each in enumerate(others, 1) if cut.leaves(at, each)]
        numbers = " ".join(str(each.number) for each in (first, *kept))
        for named in table.at(function.address):
            lines += [f"f {named.name}", f"c {numbers}"]
    return "".join(f"{line}\n" for line in lines)


def try_cuts(compiler: Compiler) -> Mapping[str, Mapping[str, tuple[Ending, Ending]]]:
    """Return, by cut and case, the endings of the whole program and of the split one."""
    whole = compiler.build("whole", MAP_FLAG)
    data = whole.read_bytes()
    functions = parse_block_map(data, source=str(whole))
    if not functions:
        msg = f"it takes {MAP_FLAG} and writes no map"
        raise RefusalError(msg)
    table = parse_table(data, source=str(whole))
    expected = {case: compiler.run(whole, case) for case in compiler.run(whole).printed.split()}
    tried = {}
    for number, cut in enumerate(CUTS):
        listed = compiler.folder / f"{number}.txt"
        listed.write_text(list_blocks(functions, table, cut), encoding="utf-8")
        split = compiler.build(f"split{number}", f"-fbasic-block-sections=list={listed}")
        if SPLIT.encode() not in split.read_bytes():
            msg = "it takes a list of blocks and splits nothing"
            raise RefusalError(msg)
        tried[cut.name] = {
            case: (each, compiler.run(split, case)) for case, each in expected.items()
        }
    return tried


def report(tried: Mapping[str, Mapping[str, tuple[Ending, Ending]]]) -> int:
    """Print what each cut does, and return how many cases differ."""
    wrong = 0
    for cut, cases in tried.items():
        other = {case: ends for case, ends in cases.items() if ends[0] != ends[1]}
        wrong += len(other)
        click.echo(f"cut off: {cut}: {len(cases) - len(other)} of {len(cases)} cases as whole")
        for case, (whole, split) in other.items():
            click.echo(f"  {case}: {whole.status} whole, {split.status} split")
    return wrong


@click.command()
@click.argument("compiler")
@click.option("--flag", "flags", multiple=True, help="of the compiler, in every call")
@click.option(
    "--run", "emulator", default="", help="what runs the programs: an emulator, its words"
)
def main(compiler: str, flags: tuple[str, ...], emulator: str) -> None:
    """Try the COMPILER, with its arguments, if it has some, as one word."""
    with tempfile.TemporaryDirectory() as folder:
        tool = Compiler(
            words=(*shlex.split(compiler), *flags),
            emulator=tuple(shlex.split(emulator)),
            folder=Path(folder),
            processes=ProcessRunner(environ),
        )
        try:
            wrong = report(try_cuts(tool))
        except RefusalError as problem:
            click.echo(f"{compiler} does not split functions: {problem}", err=True)
            sys.exit(REFUSED)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
