"""A pull request learns which function does more, and by how much; one that moves code, nothing."""

import re
from typing import Any

from act import stranger
from act.driver.runner import Run
from act.world import HOSTED_JOBS, World, content
from support.megtrim_cli import SAMPLE

ADOPTED = re.sub(r"devices:\n.*\n", "", stranger.CONFIG) + "work: {growth: 1%}\n"
DEPTHWISE = "src/kernels/conv/depthwise.cpp"
LISTS = "CMakeLists.txt"
START = "    std::fill_n(output, p.out_plane(), Acc(0));\n"
LOOP = '    for (int i = 0; i < 360; ++i)\n        asm volatile("" ::: "memory");\n'
FIRST = "    src/kernels/conv/algorithms.cpp\n"
ID = "tiny-mobile/default@desk"


def edit(name: str, *changes: tuple[str, str]) -> dict[str, str | bytes | None]:
    text = (SAMPLE / name).read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return {f"engine/{name}": text}


def list_work(run: Run) -> list[Any]:
    return [row for row in content(run, "megtrim-report", "verdict.json")["budgets"] if row["work"]]


def test_a_slower_kernel_is_named_and_moved_code_is_not(world: World) -> None:
    world.forge.merge(world.adopted)
    stored = world.forge.run_push()
    assert len(content(stored, "megtrim-baseline", "sizes.json")["uses"][ID]["work"]) == 2

    slower = world.run_pull(world.propose("slower", edit(DEPTHWISE, (START, START + LOOP))))
    assert slower.run.conclusions == {**HOSTED_JOBS, "verdict": "failure"}
    begin = f"- `{ID}` instructions, trimmed: "
    [line] = [each for each in slower.body.splitlines() if each.startswith(begin)]
    found = re.search(r"\(\+(\d\.\d\d)%\) since .*, 1\.00% allowed: `(.*?)` \+", line)
    assert found
    assert 1.5 < float(found[1]) < 2.5
    assert "sample::(anonymous namespace)::run_if_square<" in found[2]
    assert [(row["variant"], row["status"]) for row in list_work(slower.run)] == [
        ("plain", "skipped"),
        ("reduced", "fail"),
    ]

    lists = edit(LISTS, (f"    {DEPTHWISE}\n", ""), (FIRST, f"    {DEPTHWISE}\n{FIRST}"))
    moved = world.run_pull(world.propose("moved", lists))
    assert moved.run.conclusions == HOSTED_JOBS
    assert [(row["note"], row["work"]["changed"]) for row in list_work(moved.run)] == [("", [])] * 2
    assert "(no change) |" in moved.body
    assert "### Instructions and memory that changed" not in moved.body
