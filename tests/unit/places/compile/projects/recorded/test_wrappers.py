"""Tools are shell scripts here: a wrapper stands in for any."""

import os
from pathlib import Path

import pytest

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.places.compile.projects.recorded.calls import Role
from megtrim.places.compile.projects.recorded.wrappers import Wrappers

PRINTS = '#!/bin/sh\nfor each in "$@"; do printf "<%s>" "$each"; done\n'


class Tools:
    def __init__(self, root: Path) -> None:
        self.bin = root / "a folder" / "bin"
        self.bin.mkdir(parents=True)
        self.wrappers = Wrappers(root / "wrap 'pers'")
        self.cwd = root

    def add(self, name: str, text: str = PRINTS) -> None:
        (self.bin / name).write_text(text, encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def lay(self) -> str:
        search = f"{self.bin}{os.pathsep}/bin{os.pathsep}/usr/bin"
        return self.wrappers.lay(search, before=("-before",), behind=("-behind",))

    def run(self, *argv: str) -> CompletedCommand:
        env = {"PATH": self.lay()}
        command = Command(argv=argv, cwd=self.cwd, env=env, timeout_s=60)
        return ProcessRunner(env).run(command)


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("cc", Role.COMPILER),
        ("gcc-12", Role.COMPILER),
        ("aarch64-linux-gnu-g++", Role.COMPILER),
        ("arm-none-eabi-g++-12.2", Role.COMPILER),
        ("clang++-14", Role.COMPILER),
        ("ld.lld-14", Role.LINKER),
        ("x86_64-linux-gnu-ld.bfd", Role.LINKER),
        ("llvm-ar-14", Role.ARCHIVER),
        ("gcc-ar", Role.ARCHIVER),
    ],
)
def test_tools_are_known_by_name(tools: Tools, name: str, role: Role) -> None:
    tools.add(name)
    outcome = tools.run(name, "x.o")

    (call,) = tools.wrappers.read()
    assert (call.role, call.program, call.arguments) == (role, str(tools.bin / name), ("x.o",))
    assert outcome.stdout == "<x.o>"


@pytest.mark.parametrize("name", ["ccache", "clang-format", "gcc-nm", "bar", "ldd", "cc1", "tar"])
def test_other_tools_are_left_alone(tools: Tools, name: str) -> None:
    tools.add(name)
    tools.run(name, "x.o")

    assert tools.wrappers.read() == ()


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (("-c", "a.c"), "<-before><-c><a.c><-behind>"),
        (("a.c", "-o", "p"), "<-before><a.c><-o><p><-behind>"),
        (("-c", "--", "a.c"), "<-before><-c><-behind><--><a.c>"),
        (("a.o", "-o", "p"), "<a.o><-o><p>"),
        (("--version",), "<--version>"),
    ],
)
def test_flags_are_given_to_what_compiles(
    tools: Tools, given: tuple[str, ...], passed: str
) -> None:
    tools.add("gcc")

    assert tools.run("gcc", *given).stdout == passed


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (("rcsT", "a.a"), "<rcs><a.a>"),
        (("csrDT", "T.a", "T.o"), "<csrD><T.a><T.o>"),
        (("--thin", "rcs", "a.a"), "<rcs><a.a>"),
        (("--target=elf64", "x"), "<--target=elf64><x>"),
    ],
)
def test_archives_are_whole(tools: Tools, given: tuple[str, ...], passed: str) -> None:
    tools.add("ar")

    assert tools.run("ar", *given).stdout == passed


def test_response_files_are_noted_before_they_go(tools: Tools) -> None:
    tools.add("gcc", "#!/bin/sh\nrm -f x.rsp y.rsp\n")
    (tools.cwd / "x.rsp").write_text("a.o @y.rsp", encoding="utf-8")
    (tools.cwd / "y.rsp").write_text("'b c.o'", encoding="utf-8")
    tools.run("gcc", "@x.rsp", "-o", "p")

    assert tools.wrappers.read()[0].arguments == ("a.o", "b c.o", "-o", "p")


def test_a_tool_that_calls_others_by_name_meets_no_wrapper(tools: Tools) -> None:
    """As a compiler cache does, which would find its own wrapper again, without an end."""
    tools.add("cc", '#!/bin/sh\nexec gcc "$@"\n')
    tools.add("gcc")
    outcome = tools.run("cc", "a.o")

    assert [Path(call.program).name for call in tools.wrappers.read()] == ["cc"]
    assert outcome.stdout == "<a.o>"


def test_a_tool_ends_as_it_does(tools: Tools) -> None:
    tools.add("gcc", "#!/bin/sh\nexit 7\n")

    assert tools.run("gcc", "a.o").rc == 7


def test_a_record_that_cannot_be_written_ends_the_call(tools: Tools) -> None:
    tools.add("gcc")
    env = {"PATH": tools.lay()}
    tools.wrappers.record.unlink()
    tools.wrappers.record.mkdir()
    outcome = ProcessRunner(env).run(Command(argv=("gcc", "a.o"), timeout_s=60, cwd=tools.cwd))

    assert (outcome.rc, outcome.stdout) == (127, "")
    assert "cannot be recorded" in outcome.stderr
    with pytest.raises(InputError, match="cannot be read"):
        tools.wrappers.read()
