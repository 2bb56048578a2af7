from __future__ import annotations

from pathlib import Path

from megtrim.build_spec import Link, Variant
from megtrim.chain.graph import HEADER
from megtrim.chain.stage_result import StageResult
from megtrim.chain.store import StageFolder
from megtrim.elf.layout import WITH_BUILD_ID
from megtrim.trim.builds import links
from unit.trim.stages.built import LINK, linked
from unit.trim.stages.switch_builds import made


def test_links_lie_by_label_and_target() -> None:
    assert links.locate_unstripped(Link.NAMED, "classify") == "links/named/classify"
    assert links.locate_stripped(Link.SHIPPED, "classify") == "links/shipped/stripped/classify"
    assert links.observables("classify") == "links/unfolded/classify.observables"


def test_symbols_are_with_what_was_linked_or_built(tmp_path: Path) -> None:
    folders = [
        StageFolder(
            path=tmp_path,
            stage="reduce",
            name="reduced",
            key="x",
            inputs={},
            result=StageResult(),
            files=dict.fromkeys(files, ""),
        )
        for files in (
            ("bin/a", "unstripped/a", "links/shipped/a"),
            ("bin/a", "unstripped/a"),
            ("bin/a", "unstripped/b"),
        )
    ]

    found = [links.locate_named(each, "a") for each in folders]

    assert found == ["links/shipped/a", "unstripped/a", ""]


def test_a_list_belongs_to_the_link_of_its_program(tmp_path: Path) -> None:
    assert links.identities(linked(tmp_path).results) == {"load_and_run": LINK}


def test_a_link_that_ships_has_a_build_id(tmp_path: Path) -> None:
    plain = made(tmp_path, "{level: function, base: plain}")

    assert links.shipped_flags(plain)[-1] == WITH_BUILD_ID


def test_the_base_build_is_reduced_or_plain(tmp_path: Path) -> None:
    reduced = made(tmp_path / "a", "{level: function}")
    plain = made(tmp_path / "b", "{level: function, base: plain}")

    assert links.make_base_spec(reduced).variant is Variant.REDUCED
    assert links.make_base_spec(plain).variant is Variant.PLAIN
    digest = reduced.results.done[HEADER].files["include/midout.h"]
    assert links.base_inputs(reduced)["header midout.h"] == digest
    assert not [label for label in links.base_inputs(plain) if label.startswith("header ")]
