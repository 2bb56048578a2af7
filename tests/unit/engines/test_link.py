from pathlib import Path

import pytest

from megtrim.core.build_spec import BuildSpec, Linkage, Variant
from megtrim.core.config.model import EngineConfig
from megtrim.engines.link import LinkProject
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from unit.places.compile.projects.support import TOOLCHAIN

COMMANDS = (("./configure",), ("make", "-j4"))


def open_project(source: Path, target: str) -> LinkProject:
    project = LinkProject(source, ProcessRunner({}))
    project.choose(EngineConfig(kind="link", target=target, build=COMMANDS))
    return project


def make_spec(source: Path, target: str) -> BuildSpec:
    return open_project(source, target).make_spec(
        Variant.PLAIN, TOOLCHAIN, targets=(target,), minimum_size=True, header={}
    )


def test_its_commands_are_the_build(tmp_path: Path) -> None:
    made = make_spec(tmp_path, "tool")

    assert (made.commands, made.options, made.compile_flags) == (COMMANDS, (), ())
    assert made.own_link_flags == ()


def test_a_program_finds_the_library_next_to_itself(tmp_path: Path) -> None:
    assert make_spec(tmp_path, "libz.so.1").own_link_flags == ("-Wl,-rpath,$ORIGIN",)


def test_a_library_is_its_target(tmp_path: Path) -> None:
    found = open_project(tmp_path, "libz.so.1").library(Linkage.SHARED, TOOLCHAIN)

    assert (found.file, found.is_shared) == ("libz.so.1", True)


@pytest.mark.parametrize(
    ("target", "linkage"), [("tool", Linkage.SHARED), ("libz.so.1", Linkage.STATIC)]
)
def test_what_is_no_shared_object_is_no_library(
    tmp_path: Path, target: str, linkage: Linkage
) -> None:
    with pytest.raises(InputError, match=f"found the target {target}, expected a shared object"):
        open_project(tmp_path, target).library(linkage, TOOLCHAIN)
