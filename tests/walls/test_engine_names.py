"""General code names no engine: it asks the kind or the configuration, or uses the general word."""

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "ci" / "megtrim"
GENERAL = ("core", "libs", "places", "times", "lab", "hosting", "ship")
NAMED = re.compile(r"megengine|midout|\.mge\b|load_and_run|\bmge\b", re.IGNORECASE)
EXAMPLES = {
    "core/cli/verbs.py": 11,
    "times/cli/verbs.py": 1,
    "lab/cli/verbs.py": 1,
    "ship/cli/verbs.py": 3,
}
"""Lines of examples below the help of verbs: MegEngine's models are the ones that have regions."""
DEFAULTS = {
    ("core/build_spec.py", "PACKAGE = "): "the package and AAR that build files of users name",
    ("core/config/model.py", "DEFAULT_TARGET = "): "the program of configurations without target",
    ("core/config/model.py", '"""megengine: '): "the kinds of engines, as an editor shows them",
    ("libs/util/environment.py", "NAME_PATTERN = "): "a prefix that no scenario may set",
    ("libs/util/environment.py", '"the name of a variable'): "the same, in the message",
    ("ship/cli/verbs.py", "FOLDER/MegEngineTrimmed.aar"): "the AAR of PACKAGE, in a help text",
    ("ship/cli/verbs.py", "release aar MegEngineTrimmed.aar"): "the same, in an example",
}
"""File and words of a line that names one, with the reason; these lists may only get shorter."""


def find_lines() -> list[tuple[str, str]]:
    files = [file for part in GENERAL for file in sorted((PACKAGE / part).rglob("*"))]
    texts = [file for file in files if file.is_file() and file.suffix != ".pyc"]
    return [
        (file.relative_to(PACKAGE).as_posix(), line)
        for file in texts
        for line in file.read_text(encoding="utf-8").splitlines()
        if NAMED.search(line)
    ]


def test_general_code_names_no_engine() -> None:
    rest: dict[str, int] = {}
    seen = set()
    for name, line in find_lines():
        known = [each for each in DEFAULTS if each[0] == name and each[1] in line]
        seen |= set(known)
        if not known:
            rest[name] = rest.get(name, 0) + 1

    assert rest == EXAMPLES, "more: ask Project or OwnProgram for it; fewer: say so"
    assert seen == set(DEFAULTS), "a default is gone: take its row out"
