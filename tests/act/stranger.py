"""The stranger's repository: an engine, one model, and what adopting megtrim adds."""

import os
import re
import shutil
import sys
from pathlib import Path

from act.driver.forge import KIT, KIT_VERSION, Forge
from megtrim.libs.util.process import Command, ProcessRunner
from support.megtrim_cli import SAMPLE

MODEL = "tiny-mobile"
MAIN = "engine/src/load_and_run/main.cpp"
OPTIONS = "engine/src/load_and_run/options.h"
ALGORITHMS = "engine/src/kernels/conv/algorithms.cpp"
KERNEL = "engine/src/kernels/conv/checksum.cpp"
SCENARIO_FILE = f"{MODEL}/default@desk.json"

CONFIG = """\
version: 1
engine: {kind: sample, source: engine}
toolchain: {kind: host}
classes:
  - {name: desk, qemu_cpu: max}
devices:
  - {name: bench, kind: local, class: desk, runner: true}
models:
  - name: tiny-mobile
    file: models/tiny-mobile.sample
    scenarios:
      - {name: default, args: [--cpu, --iter, 2], inputs: {data: models/tiny-mobile.data.npy}}
keep_set: megtrim/keepset
budgets:
  - {artifact: load_and_run, max: 250 KiB, growth: 16 KiB}
"""
_CALL = (
    "        static volatile unsigned sink;\n        sink = conv_checksum(problem.in_channels);\n"
)
_MEGTRIM = (sys.executable, "-m", "megtrim")


def before() -> dict[str, bytes]:
    folders = (SAMPLE / "cmake", SAMPLE / "src")
    engine = [SAMPLE / "CMakeLists.txt", *(f for each in folders for f in sorted(each.rglob("*")))]
    files = {
        f"engine/{file.relative_to(SAMPLE)}": file.read_bytes() for file in engine if file.is_file()
    }
    for name in (f"{MODEL}.sample", f"{MODEL}.data.npy"):
        files[f"models/{name}"] = (SAMPLE / "models" / name).read_bytes()
    files["README.md"] = b"# Vision app\n"
    return files


def adopt(forge: Forge, config: str, *, history: bool = False) -> None:
    """Do what the docs tell a team: write the configuration and the callers, trim, commit.

    ``history``: sizes join the history, which takes a job more for each push.
    """
    work = forge.code.work
    kit_sha = forge.kit_sha
    (work / "megtrim.yaml").write_text(config, encoding="utf-8")
    _megtrim(work, "init", "--github", "--kit", KIT)
    for caller in sorted((work / ".github" / "workflows").glob("*.yml")):
        introduce(caller, kit_sha, history=history)
    trace(forge)


def adopt_releases(forge: Forge) -> None:
    """Let tags become releases, too; GitHub's own attestation cannot be had here."""
    work = forge.code.work
    kit_sha = forge.kit_sha
    version = ("--kit-sha", kit_sha, "--kit-version", KIT_VERSION)
    callers = work / ".github" / "workflows"
    for caller in callers.glob("*.yml"):
        caller.unlink()
    _megtrim(work, "init", "--github", "--release", "--kit", KIT, *version)
    for caller in sorted(callers.glob("*.yml")):
        introduce(caller, kit_sha)
    release = callers / "megtrim-release.yml"
    text = release.read_text(encoding="utf-8")
    release.write_text(text.replace("with: {", "with: {attest: false, "), encoding="utf-8")


def trace(forge: Forge) -> None:
    out = str(forge.act.traced)
    _megtrim(forge.code.work, "trim", "--accept", "--no-gate", "--out", out)


def with_table(size: int) -> str:
    text = (SAMPLE / "src/load_and_run/main.cpp").read_text(encoding="utf-8")
    declared = f"static const unsigned char table[{size}] = {{1}};\nstatic volatile int sink;\n\n"
    start = "int main(int argc, char** argv) {\n"
    assert text.count(start) == 2
    text = text.replace("#if SAMPLE_NO_EXCEPTIONS\n", f"{declared}#if SAMPLE_NO_EXCEPTIONS\n", 1)
    return text.replace(start, f"{start}    sink = table[argc];\n")


def holding(text: str, size: int) -> str:
    """Let the desk's program, by its C library, use so many more bytes while it runs."""
    start = "int main(int argc, char** argv) {\n"
    lines = "#include <string>\n"
    assert text.count(start) == 2
    held = f"#ifdef __GLIBC__\n    static const std::string held({size}, 'x');\n#endif\n"
    return lines + text.replace(start, f"{start}{held}")


def another_kernel(steps: int) -> dict[str, str | bytes | None]:
    body = "".join(f"    x = (x << {n % 13 + 1}) ^ (x * {n * 14 + 3}u);\n" for n in range(steps))
    declared = "unsigned conv_checksum(unsigned x)"
    direct = "src/kernels/conv/direct.cpp"
    lists = "CMakeLists.txt"
    files: dict[str, str | bytes | None] = {
        KERNEL: f"namespace sample {{\n{declared} {{\n{body}    return x;\n}}\n}}\n"
    }
    for name, old, new in (
        (lists, f"    {direct}\n", f"    {direct}\n    {KERNEL.removeprefix('engine/')}\n"),
        (direct, "namespace sample {\n", f"namespace sample {{\n{declared};\n"),
        (direct, "        for_each_group(", f"{_CALL}        for_each_group("),
    ):
        text = files.get(f"engine/{name}") or (SAMPLE / name).read_text(encoding="utf-8")
        assert isinstance(text, str)
        assert text.count(old) == 1
        files[f"engine/{name}"] = text.replace(old, new)
    return files


def slowed_down(share: int) -> str:
    text = (SAMPLE / "src/load_and_run/options.h").read_text(encoding="utf-8")
    assert text.count("slow_down = 0;") == 1
    return text.replace("slow_down = 0;", f"slow_down = {share};")


def without_pointwise() -> str:
    text = (SAMPLE / "src/kernels/conv/algorithms.cpp").read_text(encoding="utf-8")
    line = '{"POINTWISE", false, can_pointwise<P>, always<P>, conv_pointwise, nullptr},'
    assert text.count(line) == 2
    return text.replace(line, line.replace("always<P>", "few_channels<P>"), 1)


def introduce(caller: Path, kit_sha: str, *, history: bool = False) -> None:
    # GitHub passes a called workflow its own path; act does not. Waits are made short, too.
    text = caller.read_text(encoding="utf-8")
    if not history:
        text = leave_history_out(text)
    first, *others = text.split("with: {config: ")
    assert len(others) == (2 if "size-history.yml" in text else 1)
    given = f"with: {{kit-repository: {KIT}, kit-sha: {kit_sha}, config: "
    text = given.join((first, *others))
    if caller.name in ("megtrim.yml", "megtrim-night.yml"):
        at_night = history and caller.name == "megtrim-night.yml"
        more = "history: perf-history, " if at_night else ""
        text = text.replace("with: {", f"with: {{device-pickup-minutes: 0.1, {more}", 1)
    caller.write_text(text, encoding="utf-8")


def leave_history_out(caller: str) -> str:
    return re.sub(r"^  history:\n(?:    .*\n)*", "", caller, flags=re.MULTILINE)


def _megtrim(work: Path, *argv: str) -> None:
    # The kit's versions are asked of its server: the folder of repositories next to this one.
    env = {"GITHUB_SERVER_URL": (work.parent / "remotes").as_uri()}
    command = Command(argv=(*_MEGTRIM, *argv), timeout_s=1800, cwd=work, merge_stderr=True, env=env)
    done = ProcessRunner(os.environ).run(command)
    assert done.ok, f"{command}\n{done.stdout}"
    shutil.rmtree(work / "megtrim-out", ignore_errors=True)
