"""Whether what a unit is compiled from is still what the build compiled.

A header outside of the source may have changed since, and a build may write a source anew. Its
functions then have other blocks than those that were recorded.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.value import Value
from megtrim.places.compile.projects.link.invocation import LinkEnvironment

_TARGET = "unit"
_MOST_BYTES = 2**24
_WORD = re.compile(r"(?:\\.|[^\\\s])+")
_ESCAPED = re.compile(r"\\(.)|\$(\$)")


class InputList(Value):
    """Where a compiler lists what it reads."""

    path: Path

    @property
    def flags(self) -> tuple[str, ...]:
        return ("-MD", "-MT", _TARGET, "-MF", str(self.path))


def parse_inputs(text: str) -> Iterator[str]:
    """Yield the files of a rule as compilers write it for Make."""
    _, _, listed = text.replace("\\\n", " ").partition(f"{_TARGET}:")
    for word in _WORD.findall(listed):
        yield _ESCAPED.sub(lambda found: found[1] or found[2], word)


def find_changed(listed: InputList, made: Path, folder: Path, link_env: LinkEnvironment) -> str:
    """Return a file that may have changed since ``made`` was compiled from it; empty: none has.

    ``folder`` is where the compiler started. What an image has beside the tree does not change.
    """
    hint = "trim again"
    data = read_bytes(listed.path, most_bytes=_MOST_BYTES, expected="a list of files", hint=hint)
    tree = link_env.tree.resolve()
    since = made.stat().st_mtime_ns
    for name in parse_inputs(data.decode(errors="surrogateescape")):
        path = (folder / name).resolve()
        if link_env.toolchain.image and not path.is_relative_to(tree):
            continue
        # Nobody can set this time of a file, as a copy sets the other one.
        if not path.is_file() or path.stat().st_ctime_ns >= since:
            return escape(name)
    return ""


def escape(name: str) -> str:
    """Write a file name in one line of ASCII: a name may have any bytes."""
    return ascii(name)[1:-1]
