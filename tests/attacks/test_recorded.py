"""Attempts on builds by a project's own commands, with a real compiler."""

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from megtrim.core.build_spec import BuildSpec, LinkSpec, Variant
from megtrim.libs.util.errors import InputError, Interrupted, ProductFailure
from megtrim.libs.util.process import CAPTURE_LIMIT_BYTES, ProcessRunner, is_there
from megtrim.places.compile.projects import checkout
from megtrim.places.compile.projects.cmake.compiler_cache import CompilerCache
from megtrim.places.compile.projects.cmake.driver import WorkTree
from megtrim.places.compile.projects.recorded.builder import RecordedBuilder, run_recorded
from megtrim.places.compile.projects.recorded.calls import RecordedCall
from megtrim.places.compile.toolchains import recorded
from support.clock import until
from support.megtrim_cli import Project, run_megtrim
from workflows.documents import workflow
from workflows.expressions import evaluate
from workflows.test_policy import start

pytestmark = [pytest.mark.chain]

MAIN = "int lib(int);\nint main(int argc, char **argv) { return lib(argc) - 6; }\n"
LIB = "int lib(int x) { return x + 5; }\nint other(int x) { return x * 7; }\n"

VERBS: dict[str, tuple[str, ...]] = {  # which a person runs on a branch of someone else
    "check": (),
    "doctor": (),
    "plan": (),
    "size": (),
    "size why": ("main",),
    "clean": (),
    "perf list": (),
    "explain": ("main",),
    "init": ("--github", "--kit", "acme/kit"),
}
WITHOUT_OUT = ("check", "doctor", "perf list", "init")


class Team:
    """A project with two sources, whose build an attacker writes."""

    def __init__(self, root: Path) -> None:
        self.source = root / "source"
        self.source.mkdir()
        self.write("main.c", MAIN)
        self.write("lib.c", LIB)
        self.outside = root / "outside"
        self.outside.mkdir()
        self.work = root / "work"
        self.folder = root / "folder"
        (self.folder / "bin").mkdir(parents=True)
        self.env = {**os.environ, "GITHUB_TOKEN": "hunter2", "AWS_SECRET_ACCESS_KEY": "hunter2"}

    def write(self, name: str, text: str) -> Path:
        path = self.source / name
        path.write_text(text, encoding="utf-8")
        return path

    @property
    def processes(self) -> ProcessRunner:
        return ProcessRunner(self.env)

    def script(self, text: str) -> tuple[tuple[str, ...], ...]:
        """Commands that run a script of the project; megtrim itself starts no shell."""
        self.write("build.sh", text)
        return (("sh", "-eu", "build.sh"),)

    def calls(self, *commands: tuple[str, ...]) -> tuple[RecordedCall, ...]:
        tree = WorkTree(root=self.work)
        tree.source.mkdir(parents=True, exist_ok=True)
        for path in self.source.iterdir():
            (tree.source / path.name).write_bytes(path.read_bytes())
        return run_recorded(commands, tree, self.processes, self.log, lambda *_: None)

    @property
    def log(self) -> Path:
        return self.folder / "build.log"

    @property
    def builder(self) -> RecordedBuilder:
        cache = CompilerCache((), writes=False, passed={}, warn=lambda _: None)
        toolchain = recorded.find("gcc", self.processes)
        taken = checkout.take(self.source, self.processes)
        return RecordedBuilder(taken, toolchain, self.processes, jobs=1, cache=cache)

    def spec(self, commands: tuple[tuple[str, ...], ...]) -> BuildSpec:
        return BuildSpec(variant=Variant.PLAIN, targets=("p",), options=(), commands=commands)

    def build(self, text: str) -> str:
        """Return what was wrong."""
        self.work.mkdir(exist_ok=True)
        commands = self.script(text)
        try:
            self.builder.build(
                self.spec(commands),
                work=self.work,
                folder=self.folder,
                progress=lambda *_: None,
            )
        except InputError as error:
            return error.message
        return ""


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


def test_a_word_that_a_shell_would_read(team: Team) -> None:
    word = "'\"; touch ran\n$(touch ran) `touch ran`"
    team.calls(("touch", word))

    assert sorted(each.name for each in (team.work / "src").iterdir()) == sorted(
        ("main.c", "lib.c", word)
    )


def test_an_argument_with_newlines_and_quotes(team: Team) -> None:
    odd = 'a "b\'\n{"role": "linker"}\n\\'
    team.write("main.c", "int main(void) { return 0; }\n")
    (found,) = team.calls(("gcc", "-c", "main.c", "-o", odd))
    other = b"\xff\xfe.o"
    text = "gcc -c main.c -o \"$(printf '\\377\\376.o')\"\n"
    (second,) = team.calls(*team.script(text))

    assert odd in found.arguments
    assert os.fsdecode(other) in second.arguments
    assert (team.work / "src" / os.fsdecode(other)).is_file()


def test_two_compilers_that_write_at_the_same_time(team: Team) -> None:
    long = "x" * 30_000
    text = f"""
i=0
while [ $i -lt 24 ]; do
  gcc -DVALUE=\\"$i-{long}\\" -c lib.c -o $i.o &
  i=$((i + 1))
done
wait
"""
    found = team.calls(*team.script(text))

    names = {call.arguments[-3] for call in found}
    assert names == {f"{number}.o" for number in range(24)}
    assert all(any(word.endswith(f'{long}"') for word in call.arguments) for call in found)


@pytest.mark.parametrize(
    "line", ["echo '{}' >> ../wrappers/calls.jsonl", "printf x >> {}", "rm {}"]
)
def test_a_record_with_a_line_of_the_builds_own(team: Team, line: str) -> None:
    record = line.replace("{}", "../wrappers/calls.jsonl") if "echo" not in line else line
    with pytest.raises(InputError, match=r"calls\.jsonl"):
        team.calls(*team.script(f"gcc main.c lib.c -o p\n{record}\n"))


def test_response_files_that_name_each_other(team: Team) -> None:
    team.write("a.rsp", "main.c @b.rsp")
    team.write("b.rsp", "@a.rsp")
    with pytest.raises(InputError, match=r"'@[ab]\.rsp' in 8 response files"):
        team.calls(*team.script("gcc @a.rsp lib.c -o p || true\n"))


def test_a_response_file_of_the_linker(team: Team) -> None:
    text = "gcc -c lib.c main.c\necho lib.o > l.rsp\ngcc main.o -Wl,@l.rsp -o p\n"

    assert team.build(text).startswith("p: @l.rsp of its link is a file that the linker itself")


@pytest.mark.parametrize("way", ["path", "link"])
def test_an_object_from_elsewhere(team: Team, way: str) -> None:
    made = team.outside / "lib.o"
    team.processes.capture("gcc", "-c", str(team.source / "lib.c"), "-o", str(made))
    named = str(made) if way == "path" else "here.o"
    text = f"ln -sf {made} here.o\ngcc main.c {named} -o p\n"

    assert team.build(text) == (
        f"p: its link reads {named}, which is neither in engine.source nor installed"
    )


@pytest.mark.parametrize("words", ["-Wl,-T,{}/x.ld", "-B{}", "-B {}", "-specs={}/x.specs"])
def test_a_script_or_program_from_elsewhere(team: Team, words: str) -> None:
    outside = team.outside
    (outside / "x.ld").write_text("INSERT AFTER .text;\n", encoding="utf-8")
    (outside / "x.specs").write_text("", encoding="utf-8")

    found = team.build(f"gcc main.c lib.c -o p {words.replace('{}', str(outside))}\n")
    assert found.startswith(f"p: its link reads {outside}")


def test_a_link_through_another_program(team: Team) -> None:
    assert team.build("gcc main.c lib.c -o p -wrapper env\n").startswith("p: its link has -wrapper")


def test_a_link_that_writes_elsewhere(team: Team) -> None:
    found = team.build(f"gcc main.c lib.c -o {team.outside}/p\n")

    assert found.startswith(f"the build links p in {team.outside}/p, outside of the copy")
    assert (team.outside / "p").is_file()


def test_a_link_that_writes_to_its_home(team: Team) -> None:
    assert team.build("gcc main.c lib.c -o $HOME/p\n") == ""


def test_a_compiler_that_is_led_to_the_wrappers(team: Team) -> None:
    found = team.build("gcc -B$(dirname $(command -v gcc)) main.c lib.c -o p\n")

    record = team.work / "wrappers/calls.jsonl"
    noted = record.read_text(encoding="utf-8")
    (call,) = [json.loads(line) for line in noted.splitlines()]
    assert (found, call["role"]) == ("", "compiler")
    spec = team.spec(team.script(""))
    team.builder.expect_linkable(spec, ("p",), work=team.work, folder=team.folder)
    assert record.read_text(encoding="utf-8") == noted


def test_a_command_that_changes_the_source(team: Team) -> None:
    found = team.build(f"gcc main.c lib.c -o p\necho >> {team.source}/lib.c\n")

    assert found == f"{team.source}/lib.c changed while a copy of it was built"


def test_a_home_that_a_command_reads_and_writes(team: Team) -> None:
    home = team.outside / "home"
    home.mkdir()
    team.env["HOME"] = str(home)
    team.calls(*team.script('ls -A "$HOME" > had\nenv > variables\ntouch "$HOME/mine"\n'))

    had = (team.work / "src/had").read_text(encoding="utf-8")
    variables = (team.work / "src/variables").read_text(encoding="utf-8")
    assert (had, list(home.iterdir())) == ("", [])
    assert "hunter2" not in variables
    assert "TOKEN" not in variables


def test_a_thin_archive(team: Team) -> None:
    text = "gcc -c lib.c main.c\nar rcT l.a lib.o\ngcc main.o l.a -o p\n"

    assert team.build(text) == ""
    assert (team.work / "src/l.a").read_bytes().startswith(b"!<arch>")
    assert team.build(text.replace("ar ", "/usr/bin/ar ")).startswith("p: l.a is a thin archive")


def test_a_program_that_prints_for_ever(team: Team) -> None:
    team.write("x.py", "import sys\nfor _ in range(100): sys.stdout.write('x' * 1_000_000)\n")
    with pytest.raises(ProductFailure) as caught:
        team.calls(("python3", "x.py"), ("false",))

    assert len(caught.value.message) < CAPTURE_LIMIT_BYTES
    assert team.log.stat().st_size > 100_000_000


def test_an_object_that_is_replaced_after_the_build(team: Team) -> None:
    text = "gcc -c lib.c main.c\ngcc main.o lib.o -o p\n"
    assert team.build(text) == ""
    made = team.work / "src/lib.o"
    good = made.read_bytes()
    team.processes.capture("gcc", "-x", "c", "/dev/null", "-c", "-o", str(made))
    spec = team.spec((("sh", "-eu", "build.sh"),))
    links = (LinkSpec(target="p", label="shipped"),)
    team.builder.link(spec, links, work=team.work, folder=team.folder, progress=lambda *_: None)

    assert made.read_bytes() == good
    assert (team.folder / "links/shipped/stripped/p").is_file()


def test_a_build_that_is_interrupted(team: Team) -> None:
    started = team.work / "src/started"

    def interrupt() -> None:
        until(started.is_file, "the build", within_s=60)
        os.kill(os.getpid(), signal.SIGINT)

    waiting = threading.Thread(target=interrupt)
    waiting.start()
    with pytest.raises(Interrupted):
        team.build("sleep 600 &\necho $! > pid\nmv pid started\nwait\n")
    waiting.join()

    sleeping = int(started.read_text(encoding="utf-8"))
    until(lambda: not is_there(sleeping), "the end of what it started", within_s=15)
    assert team.build("gcc main.c lib.c -o p\n") == ""
    assert not started.exists()


def write_project(folder: Path, marker: Path) -> Project:
    (folder / "source").mkdir(parents=True)
    (folder / "source/main.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    project = Project(folder)
    project.write(
        {
            "version": 1,
            "engine": {
                "kind": "link",
                "source": "source",
                "target": "p",
                "compiler": "gcc",
                "build": [["touch", str(marker)], ["gcc", "main.c", "-o", "p"]],
            },
            "scenarios": [{"name": "run"}],
        }
    )
    return project


def test_a_check_of_a_configuration_with_commands(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    project = write_project(tmp_path / "project", marker)
    out = ("--out", str(project.out))
    config = ("--config", str(project.config))
    for verb, arguments in VERBS.items():
        words = [*verb.split(), *arguments, *config]
        if verb not in WITHOUT_OUT:
            words += out
        ended = run_megtrim(*words, cwd=project.folder, env={}, timeout_s=120)
        assert (verb, ended.rc == 70, marker.exists()) == (verb, False, False)
    project.run("stage build")

    assert marker.exists()


def test_a_fork_whose_pull_request_has_a_command() -> None:
    """It runs in the step that builds an engine with CMake, which runs what CMakeLists.txt says."""
    job = workflow("size-check").jobs["build"]
    (step,) = (each for each in job["steps"] if "megtrim trim" in each.get("run", ""))
    context = {**start("pull_request"), "steps": {}}
    given = {name: evaluate(text, context) for name, text in step["env"].items() if "${{" in text}

    assert not {"password", "key"} & {*map(str, given.values())}
    assert {access.split("#")[0].strip() for access in job["permissions"].values()} == {"read"}
    assert evaluate(job["runs-on"], context) == "ubuntu-24.04"
