import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.functions.addresses import find_addressed
from megtrim.libs.util.errors import InputError
from unit.libs.elf.made_objects import (
    AARCH64,
    ALLOC,
    ARM,
    CALL,
    DISTANCE,
    EXECUTE,
    POINTER,
    X86_64,
    Named,
    Part,
    archive,
    object_file,
)

PAGE_OF = 275
"""aarch64: of the instruction that makes the upper part of an address."""
RELATIVE = 2
LITERAL = 2
THROUGH_TABLE = 41
CODE = bytes(16)


def at_8(before: bytes) -> bytes:
    return CODE[: 8 - len(before)] + before + CODE[8:]


@pytest.mark.parametrize(
    ("machine", "kind", "section", "code", "taken"),
    [
        pytest.param(AARCH64, PAGE_OF, ".text.user", CODE, True, id="an address is made"),
        pytest.param(AARCH64, CALL[AARCH64], ".text.user", CODE, False, id="a call"),
        pytest.param(AARCH64, POINTER[AARCH64], ".data.rel.ro.ways", CODE, True, id="a table"),
        pytest.param(
            AARCH64, POINTER[AARCH64], ".data.rel.ro._ZTV4Node", CODE, False, id="virtual functions"
        ),
        pytest.param(AARCH64, DISTANCE[AARCH64], ".eh_frame", CODE, False, id="unwinding"),
        pytest.param(ARM, LITERAL, ".text.user", CODE, True, id="a literal of Arm"),
        pytest.param(ARM, CALL[ARM], ".text.user", CODE, False, id="a call on Arm"),
        pytest.param(X86_64, CALL[X86_64], ".text.user", CODE, False, id="a call on x86-64"),
        pytest.param(X86_64, RELATIVE, ".text.user", at_8(b"\x8d\x05"), True, id="lea"),
        pytest.param(X86_64, RELATIVE, ".text.user", at_8(b"\xe8"), False, id="an old call"),
        pytest.param(X86_64, RELATIVE, ".text.user", at_8(b"\x0f\x84"), False, id="a jump"),
        pytest.param(X86_64, THROUGH_TABLE, ".text.user", at_8(b"\xff\x15"), False, id="no PLT"),
        pytest.param(X86_64, THROUGH_TABLE, ".text.user", at_8(b"\x8b\x05"), True, id="a load"),
    ],
)
def test_what_takes_an_address(
    machine: int, kind: int, section: str, code: bytes, taken: bool
) -> None:
    flags = ALLOC | EXECUTE if section.startswith(".text") else ALLOC
    data = object_file(
        [
            Part(name=section, content=code, flags=flags, relocations=((8, kind, "it", 0),)),
            Part(name=".text.it", content=CODE),
        ],
        [Named(name="user", part=section, size=16), Named(name="it", part=".text.it", size=16)],
        machine=machine,
    )

    for each in (data, archive({"x.o": data})):
        assert (find_addressed(each, {"it", "other"}, source="x.o") == {"it"}) is taken
    assert find_addressed(data, {"other"}, source="x.o") == frozenset()


@given(st.binary(max_size=400))
def test_other_bytes_take_none_or_are_damaged(data: bytes) -> None:
    for each in (data, b"\x7fELF\x02\x01" + data, b"!<arch>\n" + data):
        try:
            assert find_addressed(each, {"it"}, source="x.o") == frozenset()
        except InputError as error:
            assert error.message == "x.o: a damaged object or archive"
