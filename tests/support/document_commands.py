"""What the rows of the engine's documents tell a reader to type, sorted by what types it."""

import re

from megtrim.ship.cli.document_rows import list_rows

_CODE = re.compile(r"`([^`]+)`")
_EXPERIMENT = re.compile(r"megtrim perf (run|list) --experiment ([a-z0-9-]+)")
_PLANNED = "planned: needs an NVIDIA GPU"

SCENARIO = "scenario"
APPLICATION = "application"
KEYS = {
    # as the page writes it: the section that it is put into, empty for the file itself
    "toolchain: {kind: ndk}": "",
    "trim: {level: operator}": "",
    "trim: {operators: all}": "",
    "inputs: {data: '#rand(0, 1)'}": SCENARIO,
    "fast_run: true": SCENARIO,
    "args: [--weight-preprocess]": SCENARIO,
    "lto: full": APPLICATION,
}
NAMES = ("engine.cmake", "strip_info", "models", "inputs", "trim.switches", "trim.minimum_size")
"""Keys without a value."""
NOT_TYPED = {
    "BUILD_SHARED_LIBS=OFF": "megtrim sets it itself",
    "liblite_shared.so": "a file of the engine",
    "--winograd-transform": "a flag of MegEngine 1.0 and 1.1, said to be replaced",
    "--record-comp-seq2": "how the engine spells the document's flag",
    "#rand(MIN, MAX)": "a form, of which the row above has an example",
    "full-run-cache": "another experiment, next to the command for the first",
    "enable_nchw44=True": "needs the engine's Python package",
}
BUILDS = (
    "megtrim trim",
    "megtrim size",
    "megtrim stage build",
    "megtrim stage header",
    "megtrim stage reduce",
    "megtrim probe",
    "megtrim model show",
    "megtrim perf run",
)
"""Typed on the sample engine."""
NEEDED = {
    # what a row without any code leads to, and what types that or is needed for it
    "dump it with the engine": "the engine's Python package",
    "write a scenario": "tests/integration/test_chain.py",
    "why it trapped": "a log; tests/unit/core/proof/test_trap_diagnosis.py",
    "find out why it trapped": "tests/integration/test_probes.py",
    "the warning explained": "tests/unit/core/proof/test_unknown_graph.py",
    "an application in the engine's tree": "tests/integration/test_applications.py",
    "trim a shared library": "tests/integration/test_applications.py",
}


def list_codes() -> list[str]:
    return [code for row in list_rows() for code in _CODE.findall(row.here)]


def list_experiment_commands(*, planned: bool) -> list[tuple[str, str]]:
    """Return verb and experiment of each row that an NVIDIA GPU is needed for, or is not."""
    return [
        (found[1], found[2])
        for row in list_rows()
        for found in _EXPERIMENT.finditer(row.here)
        if row.result.startswith(_PLANNED) == planned
    ]


def list_rows_without_code() -> list[str]:
    return [row.here for row in list_rows() if not _CODE.search(row.here)]


def is_experiment(code: str) -> bool:
    return _EXPERIMENT.fullmatch(code) is not None
