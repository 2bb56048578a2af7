"""Which phone to be, as the command line of its supervisor."""

from __future__ import annotations

import json

from virtual_phone.spec import PhoneSpec


def test_the_supervisor_gets_the_whole_spec() -> None:
    spec = PhoneSpec(
        name="a b",
        folder="/tmp/x",
        root="/root",
        emulator="",
        path="/bin",
        properties={"ro.product.model": "P'6\n"},
    )
    *_, module, argument = spec.argv()

    assert module == "virtual_phone.supervisor"
    assert PhoneSpec(**json.loads(argument)) == spec
