from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.build_spec import BuildSpec, Origin, Toolchain, Variant
from megtrim.libs.util.errors import InputError
from unit.core.verdict.examples import ORIGIN

SPEC = BuildSpec(
    variant=Variant.REDUCED,
    targets=("load_and_run",),
    options=(("A", "1"), ("B", "OFF")),
    forced_header="megtrim/reduce.h",
    header_option="HEADER",
)


def test_what_enters_a_key() -> None:
    found = Toolchain(
        kind="k",
        target="t",
        machine="m",
        version="v",
        c_compiler=("/somewhere/cc",),
        cxx_compiler=("/somewhere/c++",),
        compile_flags=("-a", "-b"),
        link_flags=("-s",),
    )

    assert found.identity() == {
        "kind": "k",
        "target": "t",
        "version": "v",
        "compile flags": "-a -b",
        "link flags": "-s",
    }


def test_further_options_override_the_specs_own() -> None:
    spec = SPEC.with_options({"B": True, "C": 3, "D": False, "E": "text"})

    assert spec.options == (("A", "1"), ("B", "ON"), ("C", "3"), ("D", "OFF"), ("E", "text"))
    assert SPEC.options == (("A", "1"), ("B", "OFF"))


def test_the_headers_entry_is_its_path_in_the_tree() -> None:
    assert SPEC.header_entry(Path("/out/src")) == (("HEADER", "/out/src/megtrim/reduce.h"),)
    with pytest.raises(InputError, match="contains blanks"):
        SPEC.header_entry(Path("/my out/src"))


@pytest.mark.parametrize(("header", "option"), [(None, "HEADER"), ("a.h", "")])
def test_an_engine_that_knows_the_path_needs_no_entry(header: str | None, option: str) -> None:
    spec = BuildSpec(
        variant=Variant.PLAIN, targets=(), options=(), forced_header=header, header_option=option
    )

    assert spec.header_entry(Path("/my out/src")) == ()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("commit", "main"),
        ("commit", "AB" * 20),
        ("committed_at", "2027-01-31"),
        ("committed_at", "2027-01-31T12:00:00+08:00"),
    ],
)
def test_what_git_would_not_say_is_refused(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: found '.*', expected a"):
        replace(ORIGIN, **{name: text})  # type: ignore[arg-type]


def test_what_a_job_knows_wins_and_nothing_needs_to_be_known() -> None:
    assert ORIGIN.confirm(Origin()) == Origin().confirm(ORIGIN) == ORIGIN
    other = Origin(project="p", config="a/megtrim.yaml", commit="ab" * 20, pull_request=3)
    mine = replace(ORIGIN, changed=True)

    assert mine.confirm(other) == replace(other, megtrim=ORIGIN.megtrim)
    kept = mine.confirm(replace(other, commit=ORIGIN.commit))
    assert (kept.committed_at, kept.changed) == (ORIGIN.committed_at, True)
