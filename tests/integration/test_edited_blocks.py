"""Edits of a program whose keep set names blocks: what no longer fits stays whole, and is named.

All edits are made at once, each in a file of its own. The keep set stays the old one, and says that
it is of the new link, as after a merge: megtrim alone would refuse it as a whole.
"""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from megtrim.core.build_spec import REST_SUFFIX
from megtrim.core.chain.graph import PLAIN, REDUCED
from megtrim.libs.elf.symbol_names import readable
from megtrim.libs.elf.symbol_table import find_whole, read_table
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from support.megtrim_cli import KeepFolder, Project, read_verdict

TEXT = """\
extern "C" int printf(const char*, ...);

static int far_NAME(int v)
{
    printf("NAME is far: %d\\n", v);
    return v * 7;
}

int NAME(int v)
{
    int all = 1;
    for (int i = 0; i < v; i++) all += i * 3;
    if (v > 50) all += far_NAME(v);
    return all;
}
"""
COLD = "if (v > 50) all += far_NAME(v);"
LOOP = "for (int i = 0; i < v; i++) all += i * 3;"
BEGIN = "    int all = 1;\n"
END = "    return all;\n"
STEP = """\
__attribute__((noinline)) static int step_{}(int i)
{{
    if (i == 57) printf("57\\n");
    return i * 3;
}}
"""
CUT = "cut"
WHOLE = "whole"
"""And a warning names it."""
UNLISTED = "whole as before"


def with_step(name: str) -> str:
    """Return a file with a helper that is a function of its own."""
    text = TEXT.replace("i * 3", f"step_{name}(i)")
    return text.replace("static", f"{STEP.format(name)}\nstatic", 1)


@dataclass(frozen=True, slots=True)
class Edit:
    name: str
    fate: str
    """Of the function that is edited."""
    old: str = ""
    new: str = ""
    flags: str = ""
    """Its file is compiled with them, by an edit of CMakeLists.txt."""
    text: str = TEXT
    subject: str = ""
    """The function that has this fate; empty: the one called ``name``."""

    def write(self, *, edited: bool) -> str:
        text = self.text
        if edited and self.old:
            assert self.old in text
            text = text.replace(self.old, self.new)
        return text.replace("NAME", self.name)


SAYS = 'if (v == 77) printf("77\\n");'
"""What makes other blocks of a function, and changes nothing of a scenario."""
FAR = "static int far_NAME(int v)\n{\n"
EDITS = (
    # The condition of what did not run.
    Edit("and_more", WHOLE, "v > 50", "v > 50 && all > v * v - v"),
    Edit("or_more", WHOLE, "v > 50", "v > 50 || all < -v"),
    Edit("else_more", WHOLE, COLD, f"{COLD}\n    else if (v > 40) all -= far_NAME(v);"),
    Edit("other_limit", CUT, "v > 50", "v > 40"),
    Edit("turned_around", CUT, COLD, "if (v <= 50) {} else all += far_NAME(v);"),
    Edit("by_goto", CUT, COLD, "if (v < 60) goto out;\n    all += far_NAME(v);\nout:"),
    # What did not run.
    Edit("other_factor", CUT, "v * 7", "v * 9"),
    Edit("other_words", CUT, "is far", "lies far"),
    Edit("more_words", WHOLE, "return v * 7", 'printf("very far\\n");\n    return v * 7'),
    Edit("in_two_steps", WHOLE, COLD, f"{COLD}\n    if (v > 90) all -= far_NAME(v);"),
    Edit("no_longer_there", WHOLE, COLD, ""),
    Edit("it_throws", WHOLE, COLD, "if (v > 50) try { throw v; } catch (int x) { all = x; }"),
    Edit("it_loops", WHOLE, COLD, "for (int i = 0; v > 50 && i < 3; i++) all += far_NAME(v);"),
    Edit(
        "it_chooses", WHOLE, COLD, f"switch (v) {{ case 60: {SAYS} case 78: all = far_NAME(v); }}"
    ),
    # What ran.
    Edit("new_at_the_begin", WHOLE, BEGIN, f"{BEGIN}    {SAYS}\n"),
    Edit("new_at_the_end", WHOLE, END, f"    {SAYS}\n{END}"),
    Edit("returns_early", WHOLE, BEGIN, f"{BEGIN}    if (v > 90) return -1;\n"),
    Edit("second_loop", WHOLE, END, f"    for (int i = 0; i < v; i++) all ^= i * all;\n{END}"),
    Edit("loop_with_break", WHOLE, LOOP, f"for (int i = 0;; i++) {{ if (i > v) break; {SAYS} }}"),
    Edit("loop_at_least_once", WHOLE, LOOP, "int i = 0;\n    do all += ++i * all; while (i < v);"),
    Edit("loop_says_it", WHOLE, LOOP, f"for (int i = 0; i < v; i++) {{ all += i * 3; {SAYS} }}"),
    Edit("calls_itself", WHOLE, END, f"    if (v > 58) all += NAME(v - 20);\n{END}"),
    Edit("more_work", WHOLE, END, f"    all *= v * v + 3;\n{END}"),
    Edit("says_more", WHOLE, END, f'    printf("NAME said %d\\n", all);\n{END}'),
    Edit("volatile_now", WHOLE, "int all = 1", "volatile int all = 1"),
    Edit("other_instructions", WHOLE, END, f'    asm volatile("nop");\n{END}'),
    # The same function, elsewhere or beside others.
    Edit("comment_before", CUT, "int NAME(int v)\n{", "// The sum.\nint NAME(int v)\n{"),
    Edit("other_local_names", CUT, "all", "sum"),
    Edit("helper_before", CUT, FAR, f"int own_NAME(int v) {{ return v + 1; }}\n\n{FAR}"),
    Edit(
        "helper_behind", CUT, f"{END}}}\n", f"{END}}}\nint own_NAME(int v) {{ return NAME(v); }}\n"
    ),
    Edit("twin", WHOLE, text=with_step("twin"), subject="step_twin"),
    Edit("twins_twin", WHOLE, FAR, f"{STEP.format('twin')}\n{FAR}    v += step_twin(v);\n"),
    Edit("twins_before", UNLISTED, "== 57", "> 57", text=with_step("both"), subject="step_both"),
    Edit("twins_before_too", UNLISTED, "* 3", "* 5", text=with_step("both"), subject="step_both"),
    Edit("inlined_nowhere", WHOLE, FAR, f"__attribute__((noinline)) {FAR}"),
    Edit("inlined_twice", WHOLE, COLD, f"{COLD}\n    if (v == 78) all -= far_NAME(v + 1);"),
    Edit("not_optimized", WHOLE, "int NAME(int v)\n", "__attribute__((optnone)) int NAME(int v)\n"),
    # Other flags.
    Edit("by_o0", WHOLE, flags="-O0"),
    Edit("by_o1", WHOLE, flags="-O1"),
    Edit("by_oz", WHOLE, flags="-Oz"),
    Edit("by_trapv", WHOLE, flags="-ftrapv"),
    Edit("by_stack_protector", WHOLE, flags="-fstack-protector-all"),
    Edit("by_no_inline", WHOLE, flags="-fno-inline"),
    Edit("by_debug_information", CUT, flags="-g"),
    Edit("by_branch_protection", WHOLE, flags="-mbranch-protection=standard"),
)
MAIN = """\
#include <cstdio>
#include <cstdlib>
#include <cstring>
{declared}
static const struct {{ const char* name; int (*run)(int); }} CASES[] = {{{listed}}};

int main(int argc, char** argv)
{{
    if (argc < 3) return 2;
    for (const auto& each : CASES) {{
        if (!std::strcmp(argv[1], each.name) || !std::strcmp(argv[1], "all"))
            std::printf("%s: %d\\n", each.name, each.run(std::atoi(argv[2])));
    }}
    return 0;
}}
"""
LISTS = """\
cmake_minimum_required(VERSION 3.13)
project(edits CXX)
add_executable(edits main.cc {files})
"""
CONFIG = {
    "version": 1,
    "engine": {"kind": "cmake", "source": "source", "target": "edits"},
    "toolchain": {"kind": "clang-linux-arm64"},
    "trim": {"level": "blocks"},
    "scenarios": [{"name": "run", "args": ["all", "3"]}],
}
NAMED = 10
"""Of the functions that stay whole, in a warning."""
EMULATOR = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")


def write_source(folder: Path, *, edited: bool) -> None:
    folder.mkdir(exist_ok=True)
    listed = ", ".join(f'{{"{each.name}", {each.name}}}' for each in EDITS)
    declared = "\n".join(f"int {each.name}(int v);" for each in EDITS)
    (folder / "main.cc").write_text(MAIN.format(declared=declared, listed=listed), "utf-8")
    lists = LISTS.format(files=" ".join(f"{each.name}.cc" for each in EDITS))
    for each in EDITS:
        (folder / f"{each.name}.cc").write_text(each.write(edited=edited), encoding="utf-8")
        if edited and each.flags:
            options = each.flags.replace(" ", ";")
            lists += (
                f"set_source_files_properties({each.name}.cc "
                f'PROPERTIES COMPILE_OPTIONS "{options}")\n'
            )
    (folder / "CMakeLists.txt").write_text(lists, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Edited:
    refused: str
    """What a trim says that takes the keep set as it is."""
    warnings: str
    changed: frozenset[str]
    cut: frozenset[str]
    plain: Path
    program: Path


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("edits"))
    made.write(CONFIG)
    write_source(made.folder / "source", edited=False)
    made.expect("trim", "--accept")
    return made


def take_old_list(project: Project) -> tuple[str, CompletedCommand]:
    """Return what refuses the keep set, and a trim that takes it, for it names the new link."""
    refused = project.run("trim", "--committed")
    assert refused.rc == 1, refused.stderr
    (begin,) = set(re.findall(r"this one is ([0-9a-f]{12})", refused.stderr))
    manifests = [path.read_text("utf-8") for path in project.out.glob("functions/*/manifest.json")]
    (link,) = set(re.findall(rf'"edits": "({begin}[0-9a-f]{{52}})"', "".join(manifests)))
    keep = KeepFolder(project.folder / "megtrim" / "keepset")
    before = keep.texts()
    keep.edit(lambda text: re.sub(r'("link_sha256": ")[0-9a-f]{64}', rf"\g<1>{link}", text))
    try:
        return refused.stdout, project.run("trim", "--committed", "--json")
    finally:
        keep.restore(before)


@pytest.fixture(scope="module")
def edited(project: Project) -> Edited:
    write_source(project.folder / "source", edited=True)
    refused, ended = take_old_list(project)
    assert ended.rc == 0, ended.stderr
    done = json.loads(ended.stdout)["done"]
    made = Path(done[REDUCED]["folder"])
    names = read_table(made / "links" / "shipped" / "edits").names
    manifest = json.loads((made / "manifest.json").read_text("utf-8"))
    return Edited(
        refused=refused,
        warnings="\n".join(read_verdict(ended)["warnings"]),
        changed=frozenset(map(readable, manifest["result"]["functions"]["edits"]["changed"])),
        cut=frozenset(readable(find_whole(name)) for name in names if find_whole(name) != name),
        plain=Path(done[PLAIN]["folder"], "bin", "edits"),
        program=made / "bin" / "edits",
    )


def run(program: Path, *arguments: str) -> tuple[int, str]:
    ended = ProcessRunner({"PATH": "/usr/bin:/bin"}).run(
        Command(argv=(*EMULATOR, str(program), *arguments), timeout_s=60)
    )
    return ended.rc, ended.stdout


@pytest.mark.blocks
def test_the_keep_set_of_another_link_is_refused(edited: Edited) -> None:
    assert "its functions were recorded on another link" in edited.refused


@pytest.mark.blocks
@pytest.mark.parametrize("each", EDITS, ids=lambda each: each.name)
def test_what_no_longer_fits_stays_whole(edited: Edited, each: Edit) -> None:
    name = f"{each.subject or each.name}(int)"
    fate = UNLISTED
    if name in edited.changed:
        fate = WHOLE
    elif name in edited.cut:
        fate = CUT
    assert fate == each.fate
    assert not (name in edited.changed and name in edited.cut)


@pytest.mark.blocks
def test_a_warning_names_what_stays_whole(edited: Edited) -> None:
    assert f"{len(edited.changed)} functions with other blocks than" in edited.warnings
    assert sum(name in edited.warnings for name in edited.changed) == NAMED
    assert f" and {len(edited.changed) - NAMED} more: record them again" in edited.warnings


@pytest.mark.blocks
def test_outputs_equal_those_of_the_whole_program(edited: Edited, tmp_path: Path) -> None:
    alone = tmp_path / "edits"
    shutil.copy2(edited.program, alone)
    assert run(alone, "all", "3") == run(edited.plain, "all", "3")
    companion = edited.program.with_name(f"{edited.program.name}{REST_SUFFIX}")
    shutil.copy2(companion, tmp_path / companion.name)
    for value in (3, 45, 56, 60, 78, 99):
        whole = run(edited.plain, "all", str(value))
        assert whole[0] == 0
        assert run(alone, "all", str(value)) == whole


@pytest.mark.blocks
def test_a_block_that_runs_now_is_missed(project: Project, edited: Edited) -> None:
    """Its function has the same blocks as before, with another number in a condition."""
    del edited  # which is the state before
    source = project.folder / "source" / "other_limit.cc"
    source.write_text(source.read_text("utf-8").replace("v > 40", "v > 2"), encoding="utf-8")
    _, ended = take_old_list(project)
    assert ended.rc == 1
    failed = json.dumps(read_verdict(ended))
    assert "a part of the function other_limit(int) is not kept" in failed
