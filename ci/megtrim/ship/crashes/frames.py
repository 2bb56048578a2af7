"""The shapes in which reporters write a frame, a build id and a mapping: one table of each.

What stands behind a path is one of `_GROUPS`, or the frame is not ``whole`` and nothing is certain.
"""

import re
from collections.abc import Mapping
from typing import Final

from megtrim.libs.util.value import Value

_FLAGS = re.ASCII | re.IGNORECASE
_NUMBER = r"#?(?P<number>\d{1,3})[:\s]\s*"
_HEX = r"[0-9a-f]{1,16}"
_PC = rf"0x(?P<pc>{_HEX})"
_PROCESS_PC = rf"0x(?P<absolute>{_HEX})"


FRAMES: Final = {
    "tombstones, logcat, Bugly, OpenHarmony, xCrash, Play, Crashlytics": (
        # A debugger prints the register `pc` with its value twice.
        rf".*?(?:{_NUMBER})?(?<![\w(])pc:?\s+(?:0x)?(?P<pc>{_HEX})\s+(?!0x)(?P<rest>\S.*)"
    ),
    "sanitizers": (
        rf"#(?P<number>\d{{1,3}})\s+0x{_HEX}\s+(?:in\s.{{1,999}}?)?"
        rf"\((?P<file>[^()]+)\+{_PC}\)(?P<rest>.*)"
    ),
    "gdb": (
        rf"(?:#(?P<number>\d{{1,3}})\s+)?(?:=> )?{_PROCESS_PC}\s+in\s.{{1,1000}}?"
        r"(?: from (?P<file>\S+))?"
    ),
    "ndk-stack": rf"#(?P<number>\d{{1,3}})\s+{_PC}\s+(?!in\s)(?P<rest>[^\s(].*)",
    "lldb": (
        rf"(?:\*\s*)?frame #(?P<number>\d{{1,3}}):\s+{_PROCESS_PC}\s+(?P<file>[^\s`]+)"
        r"(?:`.*|\s\+\s.*)?"
    ),
    "Breakpad": rf"(?P<number>\d{{1,3}})\s+(?P<file>[^\s+]+)\s+\+\s+{_PC}",
    # It has the frame twice, the second time with those that called it.
    "HotSpot": rf"#\s+C\s+\[(?P<file>[^\s\]+]+)\+{_PC}\](?:\s.*)?",
    "Crashlytics": rf"{_NUMBER}(?=\S*\.so)(?P<file>[^\s#]+)\s+{_PC}(?P<rest>(?:\s.*)?)",
}
"""How reporters write a frame: ``pc`` is an address of the file, ``absolute`` of the process.

``rest`` is what stands behind them: the file, and groups in parentheses and brackets.
"""
_SHAPES = tuple(re.compile(frame, _FLAGS) for frame in FRAMES.values())
_ID = r"(?P<id>[0-9a-f-]{8,128})"
_GROUPS = tuple(
    re.compile(each, _FLAGS)
    for each in (
        rf"\((?:Missing )?Build ?Id:? ?{_ID}(?:\. FileSize: .*)?\)",
        r"\((?P<id>[0-9a-f]{16,64})\)",
        # Bugly: the processor, perhaps the version of the library, the build id.
        r"\[(?:arm|x86|mips|riscv)[\w-]*(?::[\w.]*(?::(?P<id>[0-9a-f]*))?)?\]",
        r"\[\d[\d.]*\]",
        rf"\(offset (?:0x)?(?P<offset>{_HEX})\)",
        r"\(deleted\)",
        # A name of a function: whatever is no other word with a number.
        r"\((?!(?:Missing )?Build ?Id|[a-z ]{1,20}(?::| |: )(?:0x)?\d[0-9a-f]{0,16}\)).*\)",
    )
)
_NAME = re.compile(r"[^\s\ufffd:;,()\[\]<>\"'`|*?\\]+")
_ANONYMOUS = re.compile(r"(?:<|\[(?:anon|vdso|stack|heap))")
_LOADED = tuple(
    re.compile(each, _FLAGS)
    for each in (
        # xCrash and the like; lldb's `image list`; Breakpad's modules; lists of ids and files.
        rf"(?P<file>\S.*?) \(Build ?Id: ?{_ID}[.)].*",
        rf"\[ *\d{{1,5}}\] {_ID} 0x(?P<start>{_HEX}) (?P<file>\S.*?)(?: \(0x{_HEX}\))?",
        rf"0x(?P<start>{_HEX}) - 0x(?P<end>{_HEX})\s+(?P<file>\S+)\s.*",
        r"(?P<file>\S+?):?\s(?:.{0,200}\s)?Build ?ID(?:\[\w+\])?[:=] ?(?P<id>[0-9a-f]{8,128})\b.*",
        r"(?P<file>\S+?):?\s+(?P<id>[0-9a-f]{32,64})",
        r"(?P<id>[0-9a-f]{32,64})\s+(?P<file>\S+)",
    )
)
_MAPS = (
    re.compile(
        rf"(?P<start>{_HEX})-(?P<end>{_HEX}) (?P<rights>[r-][w-][x-])[ps-] (?P<offset>{_HEX}) "
        r"[0-9a-f]{2,5}:[0-9a-f]{2,5} \d{1,20}\s*(?P<rest>\S.*)?"
    ),
    re.compile(
        r"(?:-*>)?\s*(?P<start>[0-9a-f']{8,17})-(?P<end>[0-9a-f']{8,17}) (?P<rights>[r-][w-][x-])"
        rf"\S?\s+(?P<offset>{_HEX})\s+{_HEX}\s*(?P<rest>\S.*)?"
    ),
)
_LAST = (1 << 64) - 1
_MAX_GROUPS = 16


class CrashFrame(Value):
    pc: int
    file: str
    """``APK!NAME`` for one in an APK; empty: not known."""
    build_id: str = ""
    offset: int = 0
    """Where the mapping begins in the file, as older reports say it."""
    absolute: bool = False
    """An address of the process; otherwise one of the file."""
    number: int | None = None
    text: str = ""
    whole: bool = True


class MappedFile(Value):
    start: int
    end: int
    """Exclusive; 0: the report says nothing of the place."""
    offset: int | None
    """Where it begins in the file; None: the whole file begins at ``start``."""
    file: str
    build_id: str = ""
    executable: bool = True


def read_frame(line: str) -> CrashFrame | None:
    found = next((each for shape in _SHAPES if (each := shape.fullmatch(line))), None)
    return _frame(found.groupdict()) if found else None


def read_mapping(line: str) -> MappedFile | None:
    for pattern in (*_MAPS, *_LOADED):
        if (found := pattern.fullmatch(line)) is not None:
            said = {name: text or "" for name, text in found.groupdict().items()}
            break
    else:
        return None
    start, end = (said.get(each, "").replace("'", "") for each in ("start", "end"))
    last = int(end, 16) + (pattern is not _MAPS[0]) if end else _LAST if start else 0
    file, groups, _ = _split(said["rest"]) if "rest" in said else (said["file"], {}, True)
    return MappedFile(
        start=int(start or "0", 16),
        end=last,
        offset=int(said["offset"], 16) if "offset" in said else None,
        file=file,
        build_id=groups.get("id", _plain_id(said.get("id", ""))),
        executable="rights" not in said or said["rights"][2] == "x",
    )


def _frame(said: Mapping[str, str | None]) -> CrashFrame:
    absolute = "absolute" in said
    file = said.get("file")
    text = said.get("rest") or ""
    rest, groups, whole = _split(text)
    if file is None:
        file = rest
    else:
        text = file + text
        whole = whole and not rest
    if not file or _ANONYMOUS.match(file):  # code outside of files has an address of the process
        file = ""
        absolute = True
    elif not _is_path(file):
        whole = False
    number = said.get("number")
    return CrashFrame(
        pc=int(said.get("pc") or said.get("absolute") or "0", 16),
        file=file,
        build_id=groups.get("id", ""),
        offset=int(groups.get("offset", "0"), 16),
        absolute=absolute,
        number=int(number) if number else None,
        text=text,
        whole=whole,
    )


def _split(text: str) -> tuple[str, dict[str, str], bool]:
    said: dict[str, str] = {}
    whole = True
    text = text.strip()
    for _ in range(_MAX_GROUPS):
        if (start := _last_group(text)) is None:
            break
        found = next((e for p in _GROUPS if (e := p.fullmatch(text[start:]))), None)
        values = (
            {name: value for name, value in found.groupdict().items() if value} if found else {}
        )
        whole = whole and found is not None and not said.keys() & values
        said = values | said
        text = text[:start].rstrip()
    if "id" in said:
        said["id"] = _plain_id(said["id"])
    return text, said, whole


def _last_group(text: str) -> int | None:
    closing = text[-1:]
    if closing not in (")", "]"):
        return None
    opening = {")": "(", "]": "["}[closing]
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == closing) - (text[at] == opening)
        if not depth:
            return at
    return None


def _is_path(file: str) -> bool:
    name = re.split(r"[/!]", file)[-1]
    clean = "\ufffd" not in file and _NAME.fullmatch(name) is not None
    return clean and (file.startswith("/") or not re.search(r"\s", file))


def _plain_id(text: str) -> str:
    return text.replace("-", "").lower()
