"""Small files whose bytes are known."""

from megtrim.size.attribution import NameSources
from megtrim.size.breakdown import Breakdown, break_down
from unit.elf.made_objects import ALLOC, DATA, Named, Part, object_file

PARTS = (
    Part(name=".text", content=b"\xcc" * 64),
    Part(name=".rodata", content=b"text" + bytes(12) + b"table---" + b"rest", flags=ALLOC),
)
SYMBOLS = (
    Named(name="_Z1fv", part=".text", size=20),
    Named(name="alias", part=".text", size=20),
    Named(name="inner", part=".text", size=4, at=8),
    Named(name="label", part=".text", at=32),
    Named(name="g", part=".text", size=8, at=48),
    Named(name="table", part=".rodata", size=8, at=16, kind=DATA),
)
OBJECT = object_file(PARTS, SYMBOLS)
LINKED = object_file(PARTS, SYMBOLS, kind=2)
_ENGINE_PARTS = (
    Part(name=".text", content=b"\1" * 64),
    Part(name=".rodata", content=b"constants", flags=ALLOC),
)
_ENGINE_SYMBOLS = (
    Named(name="_ZN3mgb3opr3AddIiE3runEv", part=".text", size=20),
    Named(name="_ZN3mgb3opr3AddIfE3runEv", part=".text", size=30, at=20),
    Named(name="_ZN6megdnn3x864goneEv", part=".text", size=14, at=50),
)


def break_down_engine() -> tuple[bytes, Breakdown]:
    data = object_file(_ENGINE_PARTS, _ENGINE_SYMBOLS)
    return data, break_down(data, NameSources(), source="one.o")
