"""What is said of a library that exports more than programs use."""

from collections.abc import Collection

import pytest

from megtrim.core.trim.export_warnings import count_exported, warn_of_exports
from megtrim.core.trim.results import ExportCount, FunctionCount
from megtrim.libs.elf.symbol_table import Function, FunctionTable

CODE = (("used", 100), ("unused", 300), ("also_unused", 300), ("own", 500), ("left_out", 900))


def make_table(exported: Collection[str]) -> FunctionTable:
    """``also_unused`` is another name of ``unused``."""
    functions = [
        Function(
            name=name, address=0x1000 * (1 if name.endswith("unused") else at), size_bytes=size
        )
        for at, (name, size) in enumerate(CODE)
    ]
    return FunctionTable(
        machine="x86_64",
        entry=0,
        functions=tuple(functions),
        imported=frozenset(),
        exported=frozenset(exported),
        registrations=0,
        ifuncs=frozenset(),
    )


@pytest.mark.parametrize(
    ("exported", "imported", "functions", "size_bytes", "used"),
    [
        (("used", "unused"), ("used",), 1, 300, 1),
        (("used", "unused", "also_unused"), ("used",), 1, 300, 1),
        (("used", "unused", "also_unused"), ("also_unused",), 1, 100, 1),
        (("used", "unused", "own"), ("used",), 2, 800, 1),
        (("used",), ("used", "printf"), 0, 0, 1),
        (("used", "unused"), (), 2, 400, 0),
        ((), (), 0, 0, 0),
    ],
)
def test_what_stays_for_its_export_is_counted_once(
    exported: Collection[str],
    imported: Collection[str],
    functions: int,
    size_bytes: int,
    used: int,
) -> None:
    found = count_exported(make_table(exported), ("left_out",), imported)

    assert found == ExportCount(
        functions=functions, size_bytes=size_bytes, of_bytes=900, imported=used
    )


@pytest.mark.parametrize(
    ("exports", "said"),
    [
        (None, []),
        (
            (40, 2048, 4096, 3),
            ["lib.so exports 40 functions that no program of a scenario imports. "],
        ),
        ((1, 204, 4096, 3), []),
        ((0, 0, 4096, 3), []),
        ((0, 0, 0, 0), []),
    ],
)
def test_much_of_it_is_worth_a_line(exports: tuple[int, ...] | None, said: list[str]) -> None:
    names = ("functions", "size_bytes", "of_bytes", "imported")
    found = None if exports is None else ExportCount(**dict(zip(names, exports, strict=True)))
    counts = {"lib.so": FunctionCount(held=60, dropped=10, exports=found)}
    lines = list(warn_of_exports(counts))

    assert len(lines) == len(said)
    assert all(line.startswith(begin) for line, begin in zip(lines, said, strict=True))


@pytest.mark.parametrize(
    ("imported", "key"),
    [
        (3, "set trim.exports: ['@applications']"),
        (0, "set trim.exports to the names that your programs look up"),
    ],
)
def test_the_key_fits_how_programs_load_it(imported: int, key: str) -> None:
    found = ExportCount(functions=4, size_bytes=9, of_bytes=9, imported=imported)
    (line,) = warn_of_exports({"lib.so": FunctionCount(held=6, dropped=1, exports=found)})

    assert line.endswith(f" 9 B of the 9 B of code that stays. If nothing else uses them, {key}")
