"""One run finds all functions that a trim left out, and one link brings them back."""

import re
from pathlib import Path

import pytest
import yaml

from integration.sample_builds import run
from megtrim.core.build_spec import REST_SUFFIX
from megtrim.libs.util.process import CompletedCommand
from support.megtrim_cli import run_megtrim

pytestmark = [pytest.mark.chain]

GAPS = 100
LISTS = """\
cmake_minimum_required(VERSION 3.15)
project(gaps C)
add_executable(gaps main.c gaps.c)
"""
MAIN = """\
#include <stdio.h>
#include <string.h>
int first_half(int x);
int second_half(int x);
static __attribute__((noinline)) int dispatch(const char* word, int x) {{
  if (!strcmp(word, "first")) return first_half(x);
  if (!strcmp(word, "second")) return second_half(x);
  return x;
}}
int main(int count, char** words) {{
  int x = 1;
  for (int i = 1; i < count; ++i) x = dispatch(words[i], x);
  printf("%d\\n", x);
  return 0;
}}
"""
GAP = """\
__attribute__((noinline)) int gap_{0}(int x) {{
  volatile int y = x + {0};
  for (int i = 0; i < {0}; ++i) y ^= i * {1};
  return y;
}}
"""
CONFIG = {
    "version": 1,
    "engine": {"kind": "cmake", "source": "gaps", "target": "gaps"},
    "toolchain": {"kind": "host"},
    "scenarios": [{"name": "nothing", "args": ["nothing"]}],
}


def write_half(name: str, numbers: range) -> str:
    calls = "".join(f"  x += gap_{number}(x);\n" for number in numbers)
    return f"int {name}(int x) {{\n{calls}  return x;\n}}\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gaps")
    source = folder / "gaps"
    source.mkdir()
    gaps = "".join(GAP.format(number, number + 3) for number in range(GAPS))
    halves = write_half("first_half", range(GAPS // 2))
    halves += write_half("second_half", range(GAPS // 2, GAPS))
    (source / "gaps.c").write_text(gaps + halves, encoding="utf-8")
    (source / "main.c").write_text(MAIN.replace("{{", "{").replace("}}", "}"), encoding="utf-8")
    (source / "CMakeLists.txt").write_text(LISTS, encoding="utf-8")
    (folder / "megtrim.yaml").write_text(yaml.safe_dump(CONFIG), encoding="utf-8")
    expect(folder, "trim")
    return folder


def expect(folder: Path, *arguments: str) -> CompletedCommand:
    ended = run_megtrim(*arguments, cwd=folder)
    assert ended.rc == 0, ended.stdout + ended.stderr
    return ended


def test_one_run_finds_all_gaps_and_one_link_closes_them(project: Path) -> None:
    record = project / "gaps.txt"
    program = project / "megtrim-out/final/bin/gaps"
    words = ("probe", "gaps", "--record", str(record), "--")
    plain = run(str(program), "first", "second").stdout

    probed = expect(project, *words, "first", "second")
    again = expect(project, *words, "first")
    kept = expect(project, "trim", "--reached", str(record))
    program.with_name(f"gaps{REST_SUFFIX}").unlink()
    alone = run(str(program), "first", "second")

    called = GAPS + 2
    assert f"called {called} deferred functions: {record}" in probed.stdout
    assert f"called {GAPS // 2 + 1} deferred functions: {record}" in again.stdout
    assert f"reached    {called} deferred functions" in kept.stderr
    assert re.search(rf"^from (main|dispatch): {called} functions", kept.stderr, re.MULTILINE)
    assert "  in the run: gaps first second\n  in the run: gaps first\n" in kept.stderr
    assert kept.stderr.count("run   reduce/reduced") == 1
    assert "run   build/" not in kept.stderr
    assert (alone.rc, alone.stdout) == (0, plain)
