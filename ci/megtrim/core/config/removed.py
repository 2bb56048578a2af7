"""What an earlier version had and this one has not: known by name for one version, then forgotten.

The command line and the reader of configurations name the last version that had it, and what
stands in its place. A row goes with the second release after that version.
"""

from collections.abc import Mapping

from megtrim.core.config.problems import KeyPath
from megtrim.libs.util.value import Value

_LAST = "0.2.0"
_NEVER_RELEASED = "an unreleased build after 0.2.0"
_TOOLCHAIN = "toolchains[]."
"""A toolchain may have sections of its own, which are as those of the file."""


class Removed(Value):
    instead: str
    last: str = _LAST
    """The last version that had it."""


_AUTHOR = Removed(instead="leave it out: only comments and issues by github-actions[bot] count")
_JOBS = Removed(instead="the bundle names its device jobs: `megtrim ci evidence pack`")
_HISTORY = Removed(
    instead="`megtrim size history` shows how sizes changed; reports do not", last=_NEVER_RELEASED
)
_NO_MATCH = Removed(instead="name the devices, or choose a class with --class")

VERBS: Mapping[str, Removed] = {
    "dump": Removed(instead="call the engine's own dump: docs/how-to/bring-a-model.md"),
    "images": Removed(
        instead="build the recipes with docker build: docs/how-to/build-in-docker.md"
    ),
    "perf export": Removed(instead="`megtrim perf history --json` has the times of each series"),
    "perf tune": Removed(
        instead="`megtrim perf run` compares experiments: give a scenario the flags of the fastest"
    ),
    "size causes": Removed(instead="the comment and the report name the causes of growth"),
    "size left-out": Removed(
        instead="`megtrim size diff PLAIN TRIMMED` shows what is gone, and the report lists it"
    ),
    "size ratchet": Removed(instead="lower budgets[].max by hand: reports propose a lower limit"),
    "stage switches": Removed(
        instead="set the switch under trim.switches, trim again, and compare both sizes.json"
    ),
}
"""By the words after ``megtrim``."""

OPTIONS: Mapping[str, Removed] = {
    "ci github base --author": _AUTHOR,
    "ci github publish --author": _AUTHOR,
    "ci github publish --strict": Removed(
        instead="leave it out: whatever cannot be published is reported"
    ),
    "ci github regression-issues --author": _AUTHOR,
    "ci github wait --name-prefix": Removed(instead="leave it out: the jobs are those of the kit"),
    "devices check --match": _NO_MATCH,
    "devices clean --match": _NO_MATCH,
    "devices list --match": _NO_MATCH,
    "devices quarantine --match": _NO_MATCH,
    "devices recover --match": _NO_MATCH,
    "devices restore --match": _NO_MATCH,
    "devices run --match": _NO_MATCH,
    "devices run --repeat": Removed(instead="`megtrim perf run` measures"),
    "export --history": _HISTORY,
    "init --convert": Removed(
        instead="trace again with `megtrim trim --accept`, which writes a folder of small files"
    ),
    "init --share": Removed(
        instead="copy the configuration: docs/how-to/gate-pull-requests.md, the same models for all"
    ),
    "plan --github-matrix": _JOBS,
    "plan --history": _HISTORY,
    "plan --per-job": _JOBS,
    "plan --proofs": _JOBS,
    "plan --times": _JOBS,
    "release build --history": _HISTORY,
    "report --history": _HISTORY,
    "size --history": _HISTORY,
    "size prices --calibrate": Removed(instead="trim without the model, and compare the sizes"),
    "size prices --exact": Removed(instead="trim without the model, and compare the sizes"),
    "size prices --seed": Removed(instead="leave it out: nothing is chosen at random any more"),
    "stage build --history": _HISTORY,
    "stage functions --history": _HISTORY,
    "stage header --history": _HISTORY,
    "stage profile --history": _HISTORY,
    "stage reduce --history": _HISTORY,
    "stage verdict --history": _HISTORY,
    "trim --history": _HISTORY,
    "verify --history": _HISTORY,
}
"""By the words after ``megtrim``, the option last."""

KEYS: Mapping[str, Removed] = {
    "acknowledge": Removed(
        instead="under `waivers`, add an entry with its owner, reason and last day"
    ),
    "budgets[].neighbours": Removed(
        instead="add a scenario for each run that must work; `verify --neighbours` tries others"
    ),
    "trim.measure": Removed(
        instead="set the switch under trim.switches, trim again, and compare both sizes.json"
    ),
}
"""By the path in ``megtrim.yaml``."""


def describe_words(words: str) -> str:
    """Return what became of a verb or an option; empty: no version that counts had it."""
    row = VERBS.get(words) or OPTIONS.get(words)
    if row is None:
        return ""
    return f"{words} was removed: {row.last} is the last version that has it\n  {row.instead}"


def find_key(path: KeyPath) -> Removed | None:
    named = ""
    for part in path:
        named += "[]" if isinstance(part, int) else f".{part}"
    return KEYS.get(named.removeprefix(".").removeprefix(_TOOLCHAIN))
