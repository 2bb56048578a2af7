"""Comments of real runs against files, without what differs between compilers, days and runs.

`nox -s goldens` carries a change of words to the files, without these runs. Where a run has other
facts, ``MEGTRIM_GOLDEN=write`` in the environment of the tests writes the files again;
``MEGTRIM_COMMENTS=FOLDER`` keeps the comments there as they were, for a picture of one.
"""

import os
import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "data" / "comments-act"
VARIABLE = "MEGTRIM_GOLDEN"
KEEP_VARIABLE = "MEGTRIM_COMMENTS"

_SIZE = r"\d[\d,]*(?:\.\d+)? (?:B|KiB|MiB)\b"
_OF_A_COMPILER = (
    # Which symbols change, and whether a file grows at all, depends on the compiler.
    (r"^By component: [^\n]*\n\n?", ""),
    (r"(?s)\n<details><summary>What changed in .*?</details>\n", ""),
)
_CAUSES = (
    (r"^Why: [^\n]*\n\n?", ""),
    (r"\n(?:- \*\*[^\n]*\n)+", ""),
)
_OF_A_RUN = (
    (r"<code>([0-9a-f]{12,64})</code>", r"\1"),
    (r"\b[0-9a-f]{12,64}\b", "DIGEST"),
    (r"actions/runs/\d+", "actions/runs/RUN"),
    (r"/issues/\d+/", "/issues/N/"),
    (r"^megtrim \d[\w.+-]*, ", "megtrim VERSION, "),
    (r"\bpull request \d+, commit\b", "pull request N, commit"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d UTC", "DATE"),
    (r"\b\d+(?:\.\d+)? s\b", "TIME"),
    (r"\b\d+\.\d+ ?ms\b", "TIME"),
    (r"\[\d\d \d\d:\d\d:\d\d @", "[DAY TIME @"),
    # A lane may begin before midnight and end after it.
    (r"\b(?:today|yesterday|1 day ago)\b", "DAY"),
    (r"last proof [01] days? old", "last proof DAY old"),
    (r"`[^`]*g\+\+[^`]*`", "`COMPILER`"),
    (r"`[a-z0-9_]+-linux-gnu`", "`TARGET`"),
    (r"`(?:CPU model|host): [^`]+`, |, `host: [^`]+`", ""),
    (r"machine: [a-z0-9_]+", "machine: MACHINE"),
    # How well it deflates depends on zlib.
    (rf"^{_SIZE} to download \(deflated\), {_SIZE} with", "SIZE to download (deflated), SIZE with"),
    (r"emulator: [^`]+", "emulator: EMULATOR"),
)
_SIZES = (
    (rf"(?<![\d.,]){_SIZE}", "SIZE"),
    (r"\| \d[\d,]+ \| SIZE \|", "| BYTES | SIZE |"),
    (r"\d+(?:\.\d+)?%", "SHARE"),
    # Programs grow by pages: a small change may cost nothing with another compiler.
    (r"(?:[+-]SIZE(?: \([+-]SHARE\))?|no change)(?=, SIZE allowed)", "CHANGE"),
    (r"\| SHARE \| [+-]?SIZE \|$", "| SHARE | CHANGE |"),
)


def normal(body: str, *, causes: bool = False, exact: bool = False) -> str:
    """Return a comment without digests, times and machines, and without sizes of a compiler.

    ``causes`` leaves the causes of growth in, which must be the same with any compiler; ``exact``
    leaves all sizes in, which must be those of one.
    """
    rules = list(_OF_A_RUN)
    if not exact:
        rules = list(_OF_A_COMPILER)
        if not causes:
            rules += _CAUSES
        rules += [*_OF_A_RUN, *_SIZES]
    for pattern, word in rules:
        body = re.sub(pattern, word, body, flags=re.MULTILINE)
    return body.rstrip("\n") + "\n"


def check(name: str, body: str, *, causes: bool = False, exact: bool = False) -> None:
    file = FOLDER / f"{name}.md"
    if os.environ.get(KEEP_VARIABLE):
        Path(os.environ[KEEP_VARIABLE], file.name).write_text(body, encoding="utf-8")
    if os.environ.get(VARIABLE) == "write":
        FOLDER.mkdir(parents=True, exist_ok=True)
        file.write_text(normal(body, causes=causes, exact=exact), encoding="utf-8")
    assert normal(body, causes=causes, exact=exact) == file.read_text(encoding="utf-8")
