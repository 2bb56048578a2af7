"""Miniature trees with the real engine's layout, one for each generation.

The sources are the sample engine's, moved to where the real tree has such things and patched
where a generation differs; ``parts`` holds our own build files and scripts. INDEX.md says from
which upstream file the shape of each was read. Nothing here is upstream's text.

A tree is put together and committed with the same bytes every time.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from megtrim.libs.util.process import Command, ProcessRunner
from support.megtrim_cli import SAMPLE
from support.source_forge import GIT_ENV


class Generation(StrEnum):
    """The two layouts, by the folder that ``load_and_run`` lies in."""

    SDK = "sdk"
    """Up to 1.6."""
    LITE = "lite"
    """From 1.7 on."""


_PARTS = Path(__file__).parent / "parts"
_SOURCES = SAMPLE / "src"
_BOTH_HAVE = {
    "base": "src/base",
    "graph": "src/graph",
    "opr": "src/opr",
    "kernels": "dnn/src/kernels",
    "midout": "third_party/midout/src",
}
_LITE_HAS = {
    "load_and_run": "lite/load_and_run/src",
    "bin_reduce_cmake.h": "src/bin_reduce_cmake.h",
}
_SDK_HAS = {"load_and_run": "sdk/load-and-run/src"}
_SDK_MAIN = "sdk/load-and-run/src/main.cpp"
_MODES = "dnn/scripts/opr_param_defs.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    part: str
    """Folder of the sample engine's sources."""
    file: str
    old: str
    new: str
    times: int = 1
    """How often ``old`` stands there, so that a sample engine that moved on is noticed."""


def _program(file: str, old: str, new: str) -> Patch:
    return Patch(part="load_and_run", file=file, old=old, new=new)


BOTH = (
    Patch(
        part="graph",
        file="model.cpp",
        old='constexpr char kMagic[] = "SAMPLENN";\n',
        new="constexpr auto& kMagic = kFileIdentifier;\n",
    ),
    Patch(
        part="graph",
        file="model.cpp",
        old='#include "base/file.h"\n',
        new='#include "base/file.h"\n\n'
        "#if MGB_ENABLE_FBS_SERIALIZATION\n"
        '#include "schema_generated.h"\n',
    ),
    Patch(
        part="graph",
        file="model.cpp",
        old="Model read_model(const std::string& path) {\n    return Reader(path).model();\n}\n\n"
        "}  // namespace sample\n",
        new="Model read_model(const std::string& path) {\n    return Reader(path).model();\n}\n\n"
        "}  // namespace sample\n\n"
        "#else\n\n"
        "sample::Model sample::read_model(const std::string& path) {\n"
        '    SAMPLE_FAIL("%s: this build reads no FlatBuffers", path.c_str());\n'
        "}\n\n"
        "#endif\n",
    ),
)
"""A model's first bytes are checked against the schema that flatc read."""


def _log(old: str, new: str) -> Patch:
    return _program("session.cpp", f"SAMPLE_LOG({old}", f"std::printf({new}")


_MODE_FILES = (("binary.cpp", 2), ("quantised.cpp", 2), ("ternary.cpp", 2), ("unary.cpp", 2))
SDK = (
    # Modes are no regions yet: they are known from the operator JSON alone.
    *(
        Patch(
            part="kernels",
            file=f"elemwise/{file}",
            old="megdnn_common_elemwise_mode",
            new="sample_elemwise_mode",
            times=times,
        )
        for file, times in _MODE_FILES
    ),
    # Flags are compared as they are written: two dashes, - in names, the value behind.
    _program(
        "options.cpp",
        "flag(word.substr(word[1] == '-' ? 2 : 1));",
        'flag(word.compare(0, 2, "--") == 0 ? word.substr(2) : word);',
    ),
    _program(
        "options.cpp",
        "const Flag* find_flag(std::string name) {\n",
        "const Flag* find_flag(std::string name) {\n"
        "    if (name[0] == '-' || name.find('_') != name.npos)\n"
        "        return nullptr;\n",
    ),
    _program(
        "options.cpp", "const size_t equals = word.find('=');", "const size_t equals = word.npos;"
    ),
    _program(
        "options.cpp",
        'name.compare(0, 2, "no") == 0 ? find_flag(name.substr(2)) : nullptr',
        "nullptr",
    ),
    _program("options.cpp", "unknown command line flag '%s'", "invalid arg: %s"),
    _program("main.cpp", "return 1;", "return 255;"),
    # Times are printed, not logged: on standard output, in a minimum-size build too.
    _program("session.cpp", "#include <algorithm>", "#include <algorithm>\n#include <cstdio>"),
    _log(
        r'"sample-engine/load_and_run:\nusing sample engine 1.0\n"',
        r'"mgb load-and-run: using MegBrain 0.0.0(0) and MegDNN 0.0.0\n"',
    ),
    _log('"load model: %.3fms\\n"', '"load model: %.3fms\\n"'),
    _log('"run testcase: 0 "', '"=== going to run 1 testcases\\n"'),
    _log('"=== prepare: %.3fms; going to warmup"', '"=== prepare: %.3fms; going to warmup\\n"'),
    _log('"warm up %d  %.3fms"', '"warmup %d: %.3fms\\n"'),
    _log(
        '"iter %d/%d: e2e=%.3f ms (host=%.3f ms)", i, m_options.iter, ms, ms',
        '"iter %d/%d: %.3fms (exec=%.3f,device=%.3f)\\n", i, m_options.iter, ms, ms, ms',
    ),
    _log(
        '\n                "=== finished test #0: time=%.3f ms avg_time=%.3f ms '
        'standard_deviation=%.3f ms "\n                "min=%.3f ms max=%.3f ms"',
        '"=== finished test #0: time=%.3fms avg_time=%.3fms sd=%.3fms minmax=%.3f,%.3f\\n\\n"',
    ),
    _log('"=== total time: %.3fms\\n"', '"=== total time: %.3fms\\n"'),
)
"""Up to 1.6 ``load_and_run`` has its own way with flags and prints its times in another format."""


def make_miniature(
    folder: Path, generation: Generation | str, *, more: Mapping[str, str] | None = None
) -> Path:
    """Make the tree of that generation in ``folder``, one commit of git, and return ``folder``.

    ``more`` are files beyond its own: path and text.
    """
    which = Generation(generation)
    for part in ("common", which.value):
        shutil.copytree(_PARTS / part, folder, dirs_exist_ok=True)
    own = _LITE_HAS if which is Generation.LITE else _SDK_HAS
    for source, target in (_BOTH_HAVE | own).items():
        _copy(_SOURCES / source, folder / target)
    patches = [*BOTH]
    if which is Generation.SDK:
        patches += SDK
    for patch in patches:
        _apply(patch, folder / (_BOTH_HAVE | own)[patch.part])
    if which is Generation.SDK:
        (folder / _SDK_MAIN).rename(folder / "sdk/load-and-run/main.cpp")
    (folder / _MODES).write_text(_modes(), encoding="utf-8")
    for name, text in (more or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    _commit(folder)
    return folder


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_file():
        shutil.copyfile(source, target)
        return
    shutil.copytree(source, target)
    # The program's files no longer lie in a folder of its name.
    for file in sorted(target.rglob("*")) if source.name == "load_and_run" else ():
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace('#include "load_and_run/', '#include "'), encoding="utf-8")


def _apply(patch: Patch, folder: Path) -> None:
    """Replace a text that stands ``times`` times; the sample engine may have moved on."""
    path = folder / patch.file
    text = path.read_text(encoding="utf-8")
    found = text.count(patch.old)
    assert found == patch.times, f"{patch.part}/{patch.file}: {found} times: {patch.old}"
    path.write_text(text.replace(patch.old, patch.new), encoding="utf-8")


def _modes() -> str:
    lines = (_SOURCES / "elemwise_modes.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split() for line in lines if not line.startswith("#")]
    items = "".join(f'    "{name} = {value}",\n' for name, value in pairs)
    return f'pdef("Elemwise").add_enum(\n    "Mode",\n{items})\n'


def _commit(folder: Path) -> None:
    processes = ProcessRunner({**os.environ, **GIT_ENV})
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "miniature")):
        done = processes.run(Command(argv=("git", "-C", str(folder), *words), timeout_s=60))
        assert done.ok, done.stderr
