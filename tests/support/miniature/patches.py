"""Where a miniature's sources differ from the sample engine's: texts and what replaces them."""

from dataclasses import dataclass


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


_SERIALIZATION = (
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
BOTH = _SERIALIZATION
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
