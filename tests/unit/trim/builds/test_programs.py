from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.build_spec import Variant
from megtrim.trim.builds import programs
from megtrim.util.errors import InputError
from unit.trim.stages.own_applications import CONFIG, LIBRARY, built
from unit.trim.stages.support import changed


def test_what_is_built(tmp_path: Path) -> None:
    made = built(tmp_path)

    assert programs.targets(made) == ("intree", "libengine.a", LIBRARY)
    assert programs.holders(made) == ("classify", "intree", LIBRARY)
    specs = programs.list_specs(made, Variant.REDUCED)
    assert [(each.name, each.library.file, each.lto) for each in specs] == [
        ("classify", "libengine.a", True),
        ("served", LIBRARY, False),
    ]


def test_plain_and_reduced_are_optimised_alike(tmp_path: Path) -> None:
    made = built(tmp_path)

    assert programs.lto_flags(made.request, Variant.PLAIN) == ("-flto=full",)
    assert programs.lto_flags(made.request, Variant.REDUCED) == ("-flto=full",)
    assert programs.lto_flags(made.request, Variant.PROFILE) == ()
    assert [each.lto for each in programs.list_specs(made, Variant.PROFILE)] == [False, False]


def test_a_shared_object_that_no_one_weighs_is_warned_of(tmp_path: Path) -> None:
    warned = f"served needs {LIBRARY}, whose size is not measured: name it in `artifacts`"
    assert list(programs.warn_unweighed(built(tmp_path))) == [warned]

    (tmp_path / "reported").mkdir()
    reported = built(tmp_path / "reported", CONFIG + f"artifacts: [served, {LIBRARY}]\n")
    assert list(programs.warn_unweighed(reported)) == []


@pytest.mark.parametrize(
    ("kind", "link_flags", "said"),
    [
        ("zig", ("-static",), "application served: zig makes static programs"),
        ("host", (), "application classify: lto: full needs clang, found g++ 12"),
    ],
)
def test_what_a_toolchain_cannot_make_is_refused(
    tmp_path: Path, kind: str, link_flags: tuple[str, ...], said: str
) -> None:
    toolchain = SimpleNamespace(kind=kind, link_flags=link_flags, version="g++ 12")
    made = changed(built(tmp_path), toolchain=cast("Any", toolchain))

    with pytest.raises(InputError) as caught:
        programs.expect_buildable(made)

    assert caught.value.message.startswith(said)
