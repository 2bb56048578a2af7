import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.build_spec import BuildScript, BuildSpec, Variant
from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.places.compile.projects.cmake import driver
from megtrim.places.compile.projects.cmake.driver import Job, WorkTree, expect_plain, first_error
from unit.places.compile.projects.support import TOOLCHAIN, write

COMPILER = """\
[1/4] Building CXX object src/CMakeFiles/e.dir/a.cpp.o
/s/src/a.cpp:3:5: warning: unused variable 'x' [-Wunused-variable]
[2/4] Building CXX object src/CMakeFiles/e.dir/b.cpp.o
FAILED: src/CMakeFiles/e.dir/b.cpp.o
/usr/bin/c++ -O3 -o b.cpp.o -c /s/src/b.cpp
In file included from /s/src/b.cpp:1:
/s/src/b.h:10:2: note: declared here
/s/src/b.cpp:7:15: error: no member named 'float16' in namespace 'dt'
    7 |   dt::float16 value;
      |   ~~~~^
1 error generated.
[3/4] Building CXX object src/CMakeFiles/e.dir/c.cpp.o
FAILED: src/CMakeFiles/e.dir/c.cpp.o
/usr/bin/c++ -O3 -o c.cpp.o -c /s/src/c.cpp
/s/src/c.cpp:1:1: error: second
ninja: build stopped: subcommand failed.
"""
LINKER = """\
[7/8] Linking CXX executable load_and_run
FAILED: load_and_run
: && /usr/bin/c++ -O3 a.o -o load_and_run && :
/usr/bin/ld: a.o: in function `main':
a.cpp:(.text+0x5): undefined reference to `run()'
collect2: error: ld returned 1 exit status
ninja: build stopped: subcommand failed.
"""
LLD = """\
[7/8] Linking CXX executable load_and_run
FAILED: load_and_run
: && /usr/bin/clang++ a.o -o load_and_run && :
ld.lld: error: undefined symbol: run()
>>> referenced by a.cpp
"""
CONFIGURE = """\
-- The CXX compiler identification is Clang 14.0.6
-- Looking for pthread.h
CMake Error at CMakeLists.txt:12 (add_subdirectory):
  The source directory /s/third_party/x does not contain a CMakeLists.txt file.

-- Configuring incomplete, errors occurred!
"""
SAID = [f"line {number}" for number in range(30)]
FAILED = ["FAILED: generated.h", "python3 generate.py"]
COMPILER_LINES = COMPILER.splitlines()
LINKER_LINES = LINKER.splitlines()
LLD_LINES = LLD.splitlines()
CONFIGURE_LINES = CONFIGURE.splitlines()
TOOL = """\
#!/bin/sh
echo "$0 $*" >> {calls}
case "$0" in *cmake) cat <<'END'
{says}
END
exit {configures};; esac
echo '[1/2] first'
echo 'no step'
echo '[2/2] second'
{script}
"""
UNUSED = """\
CMake Warning (unused-cli):
  Manually-specified variables were not used by the project:

    {name}
    OTHER


-- Build files have been written to: /out/build
"""
PLACES = {"MGE_X": "megtrim.yaml:7: engine.cmake.MGE_X", "CMAKE_Y": "megtrim.yaml:8: CMAKE_Y"}
NO_SPACE = "a.cpp:1:1: fatal error: a.o: No space left on device"
ORDER = BuildSpec(variant=Variant.REDUCED, targets=("program",), options=(("A", "ON"),))


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        # The error, target, command, and what stands around the error; not the next failure's.
        (COMPILER, [COMPILER_LINES[7], *COMPILER_LINES[3:8]]),
        (LINKER, [LINKER_LINES[4], *LINKER_LINES[1:5]]),
        (LLD, [LLD_LINES[3], *LLD_LINES[1:]]),
        # There is no failed target; what stands before helps.
        (CONFIGURE, [CONFIGURE_LINES[2], *CONFIGURE_LINES[:3]]),
        # A script of the build that dies with a traceback, say.
        ("\n".join(["[1/2] x", *FAILED, *SAID]), [*FAILED, *SAID[:10]]),
        ("\n".join(SAID), SAID[-12:]),
        ("", []),
    ],
    ids=["compiler", "linker", "lld", "configuration", "a script", "no target", "nothing"],
)
def test_the_first_error_is_shown(output: str, shown: list[str]) -> None:
    found = first_error(output).splitlines()

    assert found[: len(shown)] == shown
    assert "warning" not in "".join(found)
    if output not in (COMPILER, LINKER, CONFIGURE):
        assert found == shown
    # Colours hide no error.
    coloured = output.replace("error:", "\x1b[01;31m\x1b[Kerror: \x1b[m\x1b[K").replace(
        "/s/src/b.cpp:7:15:", "\x1b[01m\x1b[K/s/src/b.cpp:7:15:\x1b[m\x1b[K"
    )
    assert first_error(coloured).split() == first_error(output).split()


def test_an_error_among_many_lines_is_shown_in_few() -> None:
    noise = [f"/s/x.h:{number}:1: note: {'x' * 5000}" for number in range(50)]
    lines = ["[1/2] x", "FAILED: a.o", "c++ a.cpp", *noise, "a.cpp:1:1: fatal error: no", *noise]

    shown = first_error("\n".join(lines)).splitlines()

    assert shown[:3] == ["a.cpp:1:1: fatal error: no", "FAILED: a.o", "c++ a.cpp"]
    assert shown[6] == "a.cpp:1:1: fatal error: no"
    assert len(shown) == 16
    assert max(len(line) for line in shown) == 1000


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(
        source=tmp_path / "src",
        build=tmp_path / "build",
        options=(("CMAKE_BUILD_TYPE", "Release"), ("X", "a b")),
        targets=("one", "two"),
        log=tmp_path / "build.log",
        jobs=3,
        env={"MARK": "1"},
    )


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Puts a cmake and a ninja into place, and returns where they note their calls."""

    def place(script: str = "", configures: int = 0, says: str = "") -> Path:
        calls = tmp_path / "calls"
        text = TOOL.format(calls=calls, script=script, configures=configures, says=says)
        for name in ("cmake", "ninja"):
            write(tmp_path / "tools", {name: text})
            (tmp_path / "tools" / name).chmod(0o755)
        monkeypatch.setattr(
            ProcessRunner, "build_tool", lambda _self, name: str(tmp_path / "tools" / name)
        )
        return calls

    return place


@pytest.mark.parametrize(
    ("entry", "image", "remains"),
    [
        ("PYTHON_EXECUTABLE:FILEPATH={here}/venv/bin/python3", "", False),
        ("PYTHON_EXECUTABLE:FILEPATH={here}/venv/bin/python3", "sha256:0", True),  # inside it
        ("PYTHON_EXECUTABLE:FILEPATH={here}/python3", "", True),
        ("PYTHON_EXECUTABLE:FILEPATH=PYTHON_EXECUTABLE-NOTFOUND", "", True),
        ("TOOL:FILEPATH={here}/tree/build/made-later", "", True),
        ("PREFIX:PATH={here}/gone", "", True),
    ],
)
def test_a_tree_goes_with_a_program_that_it_used(
    tmp_path: Path, entry: str, image: str, remains: bool
) -> None:
    write(tmp_path, {"python3": ""})
    tree = WorkTree(root=tmp_path / "tree")
    tree.build.mkdir(parents=True)
    toolchain = replace(TOOLCHAIN, image=image)
    driver.drop_stale_tree(tree, toolchain, ())
    tree.build.mkdir()
    cache = f"//A comment\n{entry.format(here=tmp_path)}\n"
    (tree.build / "CMakeCache.txt").write_text(cache, encoding="utf-8")

    driver.drop_stale_tree(tree, toolchain, ())

    assert tree.build.exists() == remains


def test_a_build_is_configured_and_then_built(
    processes: ProcessRunner, job: Job, tmp_path: Path, fake: Callable[..., Path]
) -> None:
    calls = fake(script='echo "mark $MARK" >&2')
    steps: list[tuple[int, int, str]] = []

    driver.run(job, processes, lambda *step: steps.append(step))

    tools = tmp_path / "tools"
    configure = (
        f"{tools}/cmake -G Ninja -S {job.source} -B {job.build} "
        f"-DCMAKE_MAKE_PROGRAM={tools}/ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "
        "-DCMAKE_BUILD_TYPE=Release -DX=a b"
    )
    build = f"{tools}/ninja -C {job.build} -j 3 one two"
    assert calls.read_text(encoding="utf-8").splitlines() == [configure, build]
    assert steps == [
        (0, 0, f"configuring {job.what}"),
        (0, 0, f"compiling {job.what}"),
        (1, 2, "first"),
        (2, 2, "second"),
    ]
    log = job.log.read_text(encoding="utf-8")
    assert log.splitlines()[0] == "$ " + configure.replace("-DX=a b", "'-DX=a b'")
    assert log.endswith("[1/2] first\nno step\n[2/2] second\nmark 1\n")


@pytest.mark.parametrize(
    ("env", "path"),
    [({}, "/usr/bin:/bin"), ({"PATH": ""}, "/usr/bin:/bin"), ({"PATH": "/a"}, "/a")],
)
def test_the_engines_own_script_finds_our_tools_first(
    job: Job, tmp_path: Path, fake: Callable[..., Path], env: dict[str, str], path: str
) -> None:
    ran: list[Command] = []

    class Recorded(ProcessRunner):
        def run(self, command: Command) -> CompletedCommand:
            ran.append(command)
            return CompletedCommand(
                argv=command.argv, rc=0, stdout="", stderr="", wall_s=0.0, timed_out=False
            )

    fake()
    script = BuildScript(path="build.sh", arguments=("-x",), build="b", why="it is its own")
    driver.run_script(script, job, Recorded(env), lambda *_: None)

    assert ran[0].argv == ("bash", f"{job.source}/build.sh", "-x", "-j", "3")
    assert ran[0].env == {"PATH": f"{tmp_path}/tools:{path}", "MARK": "1"}


@pytest.mark.parametrize(("name", "passes"), [("MGE_X", False), ("CMAKE_Y", True), ("Z", True)])
def test_an_option_that_cmake_does_not_use(
    processes: ProcessRunner, job: Job, fake: Callable[..., Path], name: str, passes: bool
) -> None:
    calls = fake(says=UNUSED.format(name=name))
    asked = replace(job, options=(("MGE_X", "1"), ("CMAKE_Y", "2")), places=PLACES)
    with nullcontext() if passes else pytest.raises(InputError) as caught:
        driver.run(asked, processes, lambda *_: None)

    configured, *built = calls.read_text(encoding="utf-8").splitlines()
    assert configured.endswith(" -UMGE_X -DMGE_X=1 -DCMAKE_Y=2")
    assert len(built) == passes
    if caught is not None:
        problem = "the engine does not use this CMake option"
        assert caught.value.message == f"{PLACES[name]}: {problem}"
        assert caught.value.hint == f"`cmake -N -LA {job.build}` lists its options"


def test_a_script_ends_at_an_option_that_cmake_does_not_use(
    processes: ProcessRunner, job: Job, tmp_path: Path, fake: Callable[..., Path]
) -> None:
    """It configures and compiles in one process, which would take an hour."""
    fake()
    text = f"cat <<'END'\n{UNUSED.format(name='MGE_X')}\nEND\nsleep 60; touch {tmp_path}/built\n"
    write(job.source, {"build.sh": text})
    script = BuildScript(path="build.sh", arguments=(), build="b", why="it is its own")

    with pytest.raises(InputError, match=r"engine\.cmake\.MGE_X: the engine does not use"):
        driver.run_script(script, replace(job, places=PLACES), processes, lambda *_: None)
    assert not (tmp_path / "built").exists()


@pytest.mark.parametrize(
    ("script", "error", "message"),
    [
        ("", ProductFailure, "the engine does not configure:"),
        (
            "echo 'FAILED: a.o'; echo 'c++ a.cpp'; echo 'a.cpp:1:1: error: no'; exit 1",
            ProductFailure,
            (
                "the engine does not compile:\na.cpp:1:1: error: no\n"
                "FAILED: a.o\nc++ a.cpp\na.cpp:1:1: error: no"
            ),
        ),
        # Neither is the engine's fault.
        (f"echo '{NO_SPACE}'; exit 1", InfrastructureFailure, "stopped: the disk is full"),
        ("sleep 20", InfrastructureFailure, "was stopped after 1 s"),
    ],
    ids=["configuration", "compiler", "full disk", "hangs"],
)
def test_which_failure_a_build_is(
    processes: ProcessRunner,
    job: Job,
    fake: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    error: type[MegtrimError],
    message: str,
) -> None:
    calls = fake(script=script, configures=int(not script))
    monkeypatch.setattr(driver, "BUILD_TIMEOUT_S", 1)

    with pytest.raises(error) as caught:
        driver.run(job, processes, lambda *_: None)

    assert message in caught.value.message
    assert len(calls.read_text(encoding="utf-8").splitlines()) == (2 if script else 1)
    if error is ProductFailure:
        assert caught.value.hint == f"the whole log is {job.log}"
        assert caught.value.title.endswith(": a.cpp:1:1: error: no" if script else "")


CHECKS = """
---
events:
  -
    kind: "try_compile-v1"
    checks:
      - "Performing Test HAS_GC"
    buildResult:
      variable: "HAS_GC"
      cached: true
      stdout: |
        [1/2] g++ -o CMakeFiles/cmTC_f0ca6.dir/src.cxx.o -c src.cxx
        {said}
        ninja: build stopped: subcommand failed.
      exitCode: 1
...
"""
REFUSED = "/usr/bin/ld: unrecognized option '--icf=all'"


@pytest.mark.parametrize(
    ("said", "ended"),
    [
        ((REFUSED,), ""),
        (("g++: fatal error: Killed signal terminated program as",), "killed a program of it"),
        (("collect2: fatal error: ld terminated with signal 7 [Bus error]",), "as on a full disk"),
        (("FAILED: [code=137] src.cxx.o",), "killed a program of it"),
        (("/usr/bin/ld: final link failed: No space left on device",), "the disk is full"),
        # What an earlier run met was ended then.
        (("FAILED: [code=137] src.cxx.o", REFUSED), ""),
    ],
)
def test_a_check_that_the_machine_ended_is_no_answer(
    processes: ProcessRunner,
    job: Job,
    fake: Callable[..., Path],
    said: tuple[str, ...],
    ended: str,
) -> None:
    """CMake would go on without what it asked for, and remember that."""
    calls = fake()
    log = "".join(CHECKS.format(said=each) for each in said)
    write(job.build, {"CMakeFiles/CMakeConfigureLog.yaml": log, "CMakeCache.txt": "HAS_GC:=\n"})

    with pytest.raises(InfrastructureFailure) if ended else nullcontext() as caught:
        driver.run(job, processes, lambda *_: None)

    assert len(calls.read_text(encoding="utf-8").splitlines()) == (1 if ended else 2)
    left = sorted(each.name for each in job.build.iterdir())
    assert left == ([] if ended else ["CMakeCache.txt", "CMakeFiles"])
    if caught is not None:
        assert caught.value.message.startswith("a check of cmake's stopped: ")
        assert ended in caught.value.message


def test_tools_are_those_next_to_python(processes: ProcessRunner) -> None:
    assert processes.build_tool("ninja") == str(Path(sys.executable).parent / "ninja")
    assert os.access(processes.build_tool("cmake"), os.X_OK)
    with pytest.raises(InputError) as caught:
        processes.build_tool("bazel")
    assert caught.value.hint == "pip install bazel"


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    return WorkTree(root=tmp_path)


def test_what_was_noted_is_known_until_it_is_forgotten(tree: WorkTree) -> None:
    assert not driver.is_up_to_date(tree, "one", {}, ProcessRunner({}))
    driver.note_build(tree, "one")
    assert driver.is_up_to_date(tree, "one", {}, ProcessRunner({}))
    assert not driver.is_up_to_date(tree, "another", {}, ProcessRunner({}))
    driver.forget_build(tree)
    driver.forget_build(tree)
    assert not driver.is_up_to_date(tree, "one", {}, ProcessRunner({}))
    (tree.root / "built.json").write_bytes(b"\xff\xfe")
    assert not driver.is_up_to_date(tree, "one", {}, ProcessRunner({}))
    # A note that cannot go stops the build.
    (tree.root / "built.json").unlink()
    (tree.root / "built.json").mkdir()
    with pytest.raises(InfrastructureFailure, match=r"built\.json cannot be written"):
        driver.forget_build(tree)


def test_whatever_enters_a_build_is_in_its_token() -> None:
    tokens = {
        driver.build_token(ORDER, TOOLCHAIN, ("1",)),
        driver.build_token(replace(ORDER, options=(("A", "OFF"),)), TOOLCHAIN, ("1",)),
        driver.build_token(replace(ORDER, include=(("midout.h", "1"),)), TOOLCHAIN, ("1",)),
        driver.build_token(ORDER, replace(TOOLCHAIN, version="2"), ("1",)),
        driver.build_token(ORDER, TOOLCHAIN, ("2",)),
        driver.build_token(ORDER, TOOLCHAIN, ("1", "2")),
    }

    assert len(tokens) == 6
    assert driver.build_token(ORDER, TOOLCHAIN, ("1",)) in tokens


@pytest.mark.parametrize("wrong", [*" \t\n'\"$;\\%,=:`[]{}()|&*?<>!", "\u00a0", "\u2028", "\udc80"])
def test_what_a_tool_would_read_as_its_own_is_refused(wrong: str) -> None:
    with pytest.raises(InputError) as caught:
        expect_plain(Path(f"/home/jo/a{wrong}b/out"), "--out", hint="name another folder")

    assert caught.value.message == (
        f"--out: found {wrong!r} in {f'/home/jo/a{wrong}b/out'!r}, "
        "which builds cannot have in their path"
    )
    assert caught.value.hint == (
        "name another folder, whose whole path has only letters, digits and _ . / + @ -"
    )


@pytest.mark.parametrize("path", ["/my ndk", "/a;b", "/a$b", "/a'b", "/a&b", "/a\nb", "/ä"])
def test_a_shell_script_takes_less(path: str) -> None:
    with pytest.raises(InputError, match="the NDK: found"):
        expect_plain(Path(path), "the NDK", script=True, hint="")
    expect_plain(Path("/opt/ndk-r21e_x+1@2/build.dir"), "the NDK", script=True, hint="")
    for other in ("/a-b_c.d/e+f@2~#^/-x", "/home/jürgen/構築/a\u0308"):
        expect_plain(Path(other), "--out", hint="")


def test_the_first_link_is_one_of_nothing(job: Job, tmp_path: Path) -> None:
    """With and without the flags of links; what fails there is left to CMake to say."""
    words = ("sh", "-c", 'echo "$@"; exit 1', "c++")
    toolchain = replace(TOOLCHAIN, cxx_compiler=words, compile_flags=("-s",), link_flags=("-x",))
    driver.link_nothing(toolchain, job, WorkTree(root=tmp_path), ProcessRunner({}))

    source = tmp_path / "nothing.cpp"
    made = tmp_path / "nothing"
    lines = [line for line in job.log.read_text("utf-8").splitlines() if line.startswith("-s")]
    assert lines == [f"-s {source} -o {made}", f"-s -x {source} -o {made}"]
    assert source.read_text("utf-8").startswith("int main()")


def test_what_ended_cmakes_own_checks_is_in_their_log(
    processes: ProcessRunner, job: Job, fake: Callable[..., Path]
) -> None:
    """That of the last run: an earlier one may have had less room."""
    fake(script="", configures=1)
    log = job.build / "CMakeFiles/CMakeConfigureLog.yaml"
    log.parent.mkdir(parents=True)
    killed = "      collect2: fatal error: ld terminated with signal 7 [Bus error]\n"
    log.write_text(f"\n---\nevents:\n{killed}...\n\n---\nevents:\n...\n", encoding="utf-8")
    with pytest.raises(ProductFailure, match="does not configure"):
        driver.run(job, processes, lambda *_: None)
    log.write_text(f"\n---\nevents:\n{killed}...\n", encoding="utf-8")
    with pytest.raises(InfrastructureFailure, match=r"^a check of cmake's stopped: "):
        driver.run(job, processes, lambda *_: None)
