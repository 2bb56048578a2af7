"""The line that the runtime of deferred functions writes before it traps, and what it means. Pure.

The words are those of ``rest.c``; a test compares them.
"""

import re
from typing import Self

from megtrim.libs.util.value import Value

_LINE = re.compile(
    r"^megtrim: (?:cannot start: (?P<start>[^\n]+)"
    r"|the code at 0x(?P<at>[0-9a-f]+) is in (?P<file>[^\n]+), which (?P<wrong>[^\n]+))$",
    re.MULTILINE,
)
_LONGEST_NAME = 200

_COPY_AGAIN = "copy the program and its second file from one trim again"
_NO_CODE = "a deferred program cannot run on this system: trim it with trim.level: function"

_NOT_FOUND = {
    "is not there": "ship the program's second file in the program's folder",
    "cannot be looked for: there is no /proc": "name the second file in MEGTRIM_REST",
}
"""What a run without the second file says of each function that is in it."""
_UNUSABLE = {
    "cannot be opened": "let the user who runs the program read its second file",
    "is incomplete, or cannot be read": _COPY_AGAIN,
    "is no rest": _COPY_AGAIN,
    "is of another build": _COPY_AGAIN,
    "is damaged: it holds other bytes than were linked": _COPY_AGAIN,
    "cannot be taken: there is no memory": "let the program have more memory",
    "cannot be taken: this system lets no memory become code": _NO_CODE,
    "cannot be taken: this system lets no data change": _NO_CODE,
}
_NO_START = {
    "this system lets no data change": _NO_CODE,
    "it was changed after it was linked, and reserves too little for its rest": (
        "what strips or edits it must leave its segments as they are: "
        "ship the file that megtrim wrote"
    ),
}
REASONS = _NOT_FOUND | _UNUSABLE | _NO_START
_UNKNOWN = "look it up in the log"


class RuntimeLine(Value):
    text: str
    """Without the folder of the second file, which may be another one in each run."""
    starts: bool
    """The program got as far as its own code."""
    reason: str
    address: int | None = None
    """Of the code that was called, as it was linked."""

    @property
    def is_missing(self) -> bool:
        """A function that is not in the program was called, and nothing else is wrong."""
        return self.reason in _NOT_FOUND

    def blame(self) -> str:
        """The line, and what to do about it."""
        return f'the runtime of deferred functions said "{self.text}": {self.advise()}'

    def advise(self) -> str:
        return REASONS.get(self.reason, _UNKNOWN)

    @classmethod
    def find(cls, stderr: str) -> Self | None:
        """Return the last one of a run, if there is any: the program ends behind it."""
        lines = [*_LINE.finditer(stderr)]
        if not lines:
            return None
        found = lines[-1]
        if why := found["start"]:
            return cls(text=f"cannot start: {why}", starts=False, reason=why)
        name = found["file"].rpartition("/")[2][:_LONGEST_NAME]
        wrong = found["wrong"]
        text = f"the code at 0x{found['at']} is in {name}, which {wrong}"
        return cls(text=text, starts=True, reason=wrong, address=int(found["at"], 16))
