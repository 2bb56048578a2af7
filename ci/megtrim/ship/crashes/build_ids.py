"""Whether a build id of a report is that of a file: whole, cut, or in Breakpad's form. Pure."""

from typing import Final

SURE_DIGITS: Final = 32
"""Of a build id that is cut short: reporters show 16 bytes of it, from either end."""
FEWEST_DIGITS: Final = 8


def plain_id(text: str) -> str:
    return text.replace("-", "").lower()


def is_part(found: str, build_id: str, digits: int = SURE_DIGITS) -> bool:
    """Return whether at least so many ``digits`` of a build id were found, at either end of it."""
    enough = min(digits, len(build_id)) if build_id else digits
    if len(found) < enough:
        return False
    if found[:SURE_DIGITS] == _debug_id(build_id):
        return True
    return build_id.startswith(found) or build_id.endswith(found)


def _debug_id(build_id: str) -> str:
    """Return it as Breakpad writes it, before the age of a file: three numbers, then bytes."""
    raw = bytes.fromhex(build_id[:SURE_DIGITS])
    return b"".join((raw[3::-1], raw[5:3:-1], raw[7:5:-1], raw[8:])).hex()
