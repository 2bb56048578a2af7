"""Counts what costs a run of tests its time: starts of megtrim, act, and builds.

Every Python that finds this folder in ``PYTHONPATH`` loads this when it begins, and adds a line
to the file that ``TALLY_OF_STARTS`` names for each of these that it starts. megtrim in act's jobs
is counted by steps.sh; what those build is not.
"""

import os
import re
import sys

STARTS = {
    "megtrim": re.compile(r"^(?:\S*/)?(?:python[0-9.]* .*-m )?megtrim(?: |$)"),
    "act": re.compile(r"^(?:\S*/)?act \w"),
    "engine": re.compile(r"^(?:.* )?(?:\S*/)?cmake .*-B |/cross_build_android_arm_inference\.sh "),
    "image": re.compile(r"^(?:\S*/)?(?:docker build|docker buildx build|mmdebstrap) "),
}
VARIABLE = "TALLY_OF_STARTS"


def note(what: str) -> None:
    if path := os.environ.get(VARIABLE):
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, f"{what}\n".encode())
        os.close(descriptor)


def classify(argv: object) -> str | None:
    """Return what a command line starts; None if that is not counted."""
    words = argv if isinstance(argv, list | tuple) else [argv]
    line = " ".join(
        os.fsdecode(word) for word in words if isinstance(word, str | bytes | os.PathLike)
    )
    return next((name for name, pattern in STARTS.items() if pattern.search(line)), None)


def _look(event: str, arguments: tuple[object, ...]) -> None:
    if event == "subprocess.Popen" and (what := classify(arguments[1])):
        note(what)


if __name__ == "sitecustomize":
    sys.addaudithook(_look)
