"""Tests of a project that are not what they seem, each of them real."""

import os
import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from integration.test_own_tests import CONFIG, FILES
from megtrim.core.functions.observables import Observables
from megtrim.core.trim.runs.suite_records import name_tests, read_reached
from megtrim.libs.elf.layout import parse_build_id
from megtrim.libs.elf.symbol_table import parse_table
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects.tested import OwnTest, SuiteFolder, SuiteRun
from support.made_programs import folded
from support.megtrim_cli import run_megtrim
from unit.places.compile.projects.support import write

pytestmark = [pytest.mark.chain]

TRAPS = """\
#include <signal.h>
int main(int count, char** words) {
    if (count > 2) { signal(SIGTRAP, SIG_IGN); raise(SIGTRAP); }
    if (count > 1) __builtin_trap();
    return 0;
}
"""
TIMEOUT_S = 30.0


@dataclass
class Suite:
    folder: SuiteFolder
    trimmed: Path
    outside: Path

    def run(self, *words: str, timeout_s: float = TIMEOUT_S) -> SuiteRun:
        rest = self.trimmed.with_name("second")
        build_id = parse_build_id(self.trimmed.read_bytes())
        test = OwnTest(name="test", argv=words)
        with self.folder.put(self.trimmed, rest=rest):
            return self.folder.run(test, build_id, timeout_s=timeout_s)

    def shell(self, text: str, **more: float) -> SuiteRun:
        return self.run("sh", "-c", text, **more)


@pytest.fixture
def suite(tmp_path: Path, processes: ProcessRunner) -> Suite:
    for name in ("build", "trimmed", "outside"):
        (tmp_path / name).mkdir()
    trimmed = tmp_path / "trimmed/program"
    (tmp_path / "main.c").write_text(TRAPS, encoding="utf-8")
    flags = ("-Wl,--build-id=sha1", "-o", str(trimmed))
    processes.capture("gcc", str(tmp_path / "main.c"), *flags)
    (tmp_path / "trimmed/second").write_text("second", encoding="utf-8")
    (tmp_path / "build/program").write_text("own", encoding="utf-8")
    folder = SuiteFolder(
        folder=tmp_path / "build",
        file=tmp_path / "build/program",
        places=(tmp_path / "build",),
        scratch=tmp_path / "scratch",
        processes=processes,
        is_stale=True,
    )
    return Suite(folder=folder, trimmed=trimmed, outside=tmp_path / "outside")


@pytest.fixture
def processes() -> ProcessRunner:
    return ProcessRunner({"PATH": "/usr/bin:/bin"})


def test_a_word_of_a_test_that_a_shell_would_read(suite: Suite) -> None:
    word = "a\"b'c\n;touch made;$(touch made)"
    shows = "import sys; sys.exit(sys.argv[1] != " + repr(word) + ")"

    assert suite.run(sys.executable, "-c", shows, word).passed
    assert [path.name for path in suite.folder.folder.iterdir()] == ["program"]


def test_a_test_that_forges_its_record(suite: Suite) -> None:
    record = suite.folder.scratch / "seen.json"
    forged = '{"loaded": true, "trapped": true}'
    seen = suite.shell(f"echo '{forged}' > {record}; exit 1")

    assert (seen.loaded, seen.trapped) == (False, False)


@pytest.mark.parametrize("more", ["", "; ln -s {} program"])
def test_a_test_that_removes_the_trimmed_file(suite: Suite, more: str) -> None:
    theirs = suite.outside / "theirs"
    theirs.write_text("theirs", encoding="utf-8")
    assert suite.shell("rm program" + more.format(theirs)).passed

    assert suite.folder.file.read_text(encoding="utf-8") == "own"
    assert theirs.read_text(encoding="utf-8") == "theirs"


def test_a_link_where_the_second_file_goes(suite: Suite) -> None:
    theirs = suite.outside / "theirs"
    theirs.write_text("theirs", encoding="utf-8")
    (suite.folder.folder / "program.rest").symlink_to(theirs)

    assert suite.shell('test "$(cat program.rest)" = second').passed
    assert theirs.read_text(encoding="utf-8") == "theirs"


def test_a_copy_in_a_folder_that_a_test_replaces(suite: Suite) -> None:
    build = suite.folder.folder
    for file in (suite.folder.file, build / "bin/program"):
        file.parent.mkdir(exist_ok=True)
        shutil.copy(suite.trimmed, file)
    for name in ("program", "program.rest"):
        (suite.outside / name).write_text("theirs", encoding="utf-8")
    own = suite.folder.file.read_bytes()

    assert suite.shell(f"mv bin gone && ln -s {suite.outside} bin").passed
    theirs = {path.name: path.read_text("utf-8") for path in suite.outside.iterdir()}
    assert theirs == {"program": "theirs", "program.rest": "theirs"}
    assert suite.folder.file.read_bytes() == own


def test_a_test_that_leaves_a_folder_where_a_copy_was(suite: Suite) -> None:
    build = suite.folder.folder
    for file in (suite.folder.file, build / "bin/program"):
        file.parent.mkdir(exist_ok=True)
        shutil.copy(suite.trimmed, file)
    own = suite.folder.file.stat().st_ino

    with pytest.raises(InfrastructureFailure, match="bin/program"):
        suite.shell("rm bin/program && mkdir bin/program")
    assert suite.folder.file.stat().st_ino == own


def test_a_test_whose_first_trap_is_harmless(suite: Suite) -> None:
    direct = suite.shell("./program now")
    late = suite.shell("./program now late")

    assert direct.place is not None
    assert late.place == direct.place


def test_a_test_that_maps_a_file_of_an_odd_name(suite: Suite) -> None:
    folder = suite.outside / "a b 1-2 \u2028\u0085\x0b\x0c\x1c\r\udcff"
    folder.mkdir()
    file = folder / "program"
    shutil.copy(suite.trimmed, file)
    maps = (
        "import mmap, os, sys; file = open(sys.argv[1], 'rb');"
        "kept = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ); os._exit(0)"
    )
    seen = suite.run(sys.executable, "-c", maps, str(file))

    assert seen.passed
    assert seen.loaded


def test_a_test_that_leaves_links_when_it_traps(suite: Suite) -> None:
    theirs = suite.outside / "theirs"
    theirs.write_text("theirs", encoding="utf-8")
    leaves = f"mkdir -p a/b && echo > a/b/c && ln -s {theirs} a/b/d && ln -s {suite.outside} e"

    assert suite.shell(f"{leaves} && ./program now").trapped
    assert [path.name for path in suite.folder.folder.rglob("*")] == ["program"]
    assert theirs.read_text(encoding="utf-8") == "theirs"
    assert suite.shell(leaves).passed
    assert (suite.folder.folder / "a/b/c").exists()


@pytest.mark.parametrize(
    ("forged", "said"),
    [
        (b"../../x\n", "record of area: begins with b'../../x"),
        (b"", ""),
        (None, "expected a record of functions"),
    ],
)
def test_a_test_that_forges_what_it_reaches(
    tmp_path: Path, forged: bytes | None, said: str
) -> None:
    record = tmp_path / "functions.bin"
    record.write_bytes(forged or b"")
    if forged is None:
        os.truncate(record, 2**40)
    table = parse_table(folded(), source="made")
    observed = Observables(link_sha256="0" * 64, groups=())

    if not said:
        assert read_reached(record, table, observed, source="area") is None
        return
    with pytest.raises(InputError, match=re.escape(said)):
        read_reached(record, table, observed, source="area")


def test_a_name_of_a_test_that_leads_out_of_the_keep_set() -> None:
    names = ("../../x", "x\ny", "x y", "x/y", "/etc/passwd", "..")
    found = [*name_tests(OwnTest(name=name, argv=("true",)) for name in names)]

    assert len({*found}) == len(names)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]*@tests", each) for each in found)


def test_a_test_that_goes_on_in_the_background(suite: Suite) -> None:
    made = suite.outside / "made"
    text = f"setsid sh -c 'sleep 2; echo > {made}' > /dev/null 2>&1 &\nexit 0"
    assert suite.shell(text).passed

    time.sleep(3)
    assert not made.exists()


def test_a_test_that_hangs(suite: Suite) -> None:
    seen = suite.shell("sleep 100", timeout_s=1.0)

    assert (seen.timed_out, seen.passed, seen.loaded) == (True, False, False)


@pytest.mark.parametrize(("words", "trapped"), [("", False), (" now", True)])
def test_a_test_that_loads_it_by_a_child(suite: Suite, words: str, trapped: bool) -> None:
    seen = suite.shell(f"env sh -c 'exec ./program{words}'")

    assert (seen.loaded, seen.trapped, seen.passed) == (True, trapped, not trapped)


def test_a_check_of_a_configuration_with_tests(tmp_path: Path) -> None:
    write(tmp_path / "source", FILES)
    made = tmp_path / "made"
    commands = {"commands": [["touch", str(made)]], "build": [["touch", str(made)]]}
    config = yaml.safe_dump(CONFIG | {"tests": commands})
    (tmp_path / "megtrim.yaml").write_text(config, encoding="utf-8")

    assert "1 scenario can be trimmed" in run_megtrim("check", cwd=tmp_path).stderr
    assert not made.exists()
