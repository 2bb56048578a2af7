"""A project that no one here wrote: zlib-ng, in a program of ten lines, trimmed by commands.

One plain build serves both levels.
"""

import json
import re
from pathlib import Path

import pytest
import yaml

from integration.sample_builds import run
from megtrim.core.build_spec import REST_SUFFIX
from support.crates import Crate, copy_part
from support.megtrim_cli import run_megtrim

pytestmark = [pytest.mark.chain]

ZLIB_NG = Crate(
    name="libz-sys",
    version="1.1.33",
    sha256="fee3f59f4321dab0c78d828942e7aa09d0bd8ad6e78a501977e6bf3d02938045",
)
"""The sha256 stood in the registry's index, as its client read it, on 2026-11-29."""
LISTS = """\
cmake_minimum_required(VERSION 3.15)
project(pack C)
add_executable(pack pack.c)
target_include_directories(pack PRIVATE ${MEGTRIM_ENGINE_INCLUDE} ${MEGTRIM_ENGINE_BUILD})
target_compile_options(pack PRIVATE ${MEGTRIM_ENGINE_COMPILE_OPTIONS})
target_link_libraries(pack PRIVATE ${MEGTRIM_ENGINE_LIBRARIES})
target_link_options(pack PRIVATE ${MEGTRIM_ENGINE_LINK_OPTIONS})
"""
PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "zlib-ng.h"
static unsigned char given[1 << 20], made[1 << 21];
int main(int count, char** words) {
  size_t size = fread(given, 1, sizeof given, stdin), whole = sizeof made;
  int unpacks = count > 1 && strcmp(words[1], "unpack") == 0;
  int level = count > 1 ? atoi(words[1]) : 6;
  int end = unpacks ? zng_uncompress(made, &whole, given, size)
                    : zng_compress2(made, &whole, given, size, level);
  if (end != Z_OK) {
    printf("at %ld: no packed data (%d)\\n", (long)time(NULL), end);
    return 3;
  }
  FILE* to = count > 2 ? fopen(words[2], "wb") : stdout;
  return to == NULL || fwrite(made, 1, whole, to) != whole || fclose(to);
}
"""
CONFIG = {
    "version": 1,
    "engine": {
        "kind": "cmake",
        "source": "zlib-ng",
        "target": "libz-ng.a",
        "cmake": {"BUILD_TESTING": False, "BUILD_SHARED_LIBS": False},
    },
    "toolchain": {"kind": "host"},
    "applications": [{"name": "pack", "source": "pack"}],
    "scenarios": [
        {"name": "binary", "program": "pack", "stdin": "text.txt"},
        {
            "name": "file",
            "program": "pack",
            "args": ["1", "{outputs}/packed"],
            "stdin": "text.txt",
        },
        {
            "name": "wrong",
            "program": "pack",
            "args": ["unpack"],
            "stdin": "text.txt",
            "status": 3,
            "vary": ["[0-9]+:"],
        },
    ],
}
LARGEST_SHARES = {"function": 0.5, "deferred": 0.55}
WORDS = re.compile(r"\b(models?|regions?|MegEngine|midout|load_and_run)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("any-program")
    copy_part(ZLIB_NG.fetch() / "src/zlib-ng", folder / "zlib-ng")
    (folder / "pack").mkdir()
    (folder / "pack/CMakeLists.txt").write_text(LISTS, encoding="utf-8")
    (folder / "pack/pack.c").write_text(PROGRAM, encoding="utf-8")
    lines = (f"line {number} of {number * number}\n" for number in range(5000))
    (folder / "text.txt").write_text("".join(lines), encoding="utf-8")
    return folder


def trim(project: Path, level: str) -> tuple[str, Path]:
    """Return what was printed, and the program."""
    config = CONFIG | {"trim": {"level": level}}
    (project / "megtrim.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    ended = run_megtrim("trim", "--accept", cwd=project)
    assert ended.rc == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr, project / "megtrim-out/final/bin/pack"


@pytest.mark.parametrize("level", ["function", "deferred"])
def test_a_program_of_anyone_is_trimmed(project: Path, level: str) -> None:
    said, program = trim(project, level)
    final = project / "megtrim-out/final"
    verdict = json.loads((final / "verdict.json").read_text(encoding="utf-8"))

    assert verdict["verdict"] == "pass"
    statuses = {each["id"]: each["status"] for each in verdict["scenarios"]}
    assert statuses == dict.fromkeys(("binary@any", "file@any", "wrong@any"), "pass")
    plain, trimmed = (size["size_bytes"] for size in verdict["artifacts"][0]["sizes"])
    assert trimmed < LARGEST_SHARES[level] * plain
    # What no scenario does is lost by one level, and kept by the other in a second file.
    packed = project / "packed"
    text = (project / "text.txt").read_bytes()
    assert run("sh", "-c", f"{program} <{project}/text.txt >{packed}").ok
    unpacked = run("sh", "-c", f"{program} unpack <{packed} >{project}/unpacked")
    assert unpacked.ok is (level == "deferred")
    if level == "deferred":
        assert (project / "unpacked").read_bytes() == text
        assert program.with_name(f"{program.name}{REST_SUFFIX}").exists()
    expect_words(said, final)


def expect_words(said: str, final: Path) -> None:
    """Nothing speaks of what this project does not have."""
    page = (final / "index.html").read_text(encoding="utf-8")
    shown = re.sub(r"<(script|style)[^>]*>.*?</\1>|role=\"region\"", "", page, flags=re.DOTALL)
    for text in (said, shown, (final / "report.md").read_text(encoding="utf-8")):
        assert WORDS.findall(text.replace("CPU model", "")) == []
