"""The commit that ``--against REV`` is about: of a branch, where this one left it."""

import re
from collections.abc import Callable

from megtrim.core.config.problems import closest
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count, one_line

Ask = Callable[..., str | None]
_HINT = "name a commit, tag or branch, such as origin/main"
_SHALLOW_HINT = "this clone is shallow: `git fetch --unshallow` brings the rest of its history"
_MOST_SHOWN = 80
_SHA = re.compile(r"[0-9a-f]{40,64}")


class Revision(Value):
    sha: str
    shown: str
    """For people, such as ``main at 1a2b3c4d5e6f``."""
    note: str = ""
    """What may surprise; empty: nothing."""


def resolve(rev: str, ask: Ask, *, config: str) -> Revision:
    """Raises InputError if it names no commit, or none that this branch shares."""
    rev = rev.strip()  # the value of a variable may end in a line
    if not rev:
        msg = "--against: found nothing, expected a commit"
        raise InputError(msg, hint=f"{_HINT}; if the value comes from a variable, is it set?")
    sha = (ask("rev-parse", "--verify", "--end-of-options", f"{rev}^{{commit}}") or "").strip()
    if not _SHA.fullmatch(sha):  # a range has more than one, or one that is left out
        msg = f"--against {one_line(rev)}: found no such commit in the repository of {config}"
        raise InputError(msg, hint=_suggest(rev, ask))
    name = one_line(rev, most=_MOST_SHOWN)
    places = (f"refs/heads/{rev}", f"refs/tags/{rev}", f"refs/remotes/{rev}")
    meant = (ask("for-each-ref", "--format=%(refname)", *places) or "").split()
    several = [place for place in places if place in meant]
    if len(several) > 1:
        msg = f"--against {name}: found {' and '.join(several)}, expected the name of one commit"
        raise InputError(msg, hint=f"give the whole name, such as {several[0]}")
    if _moves(rev, ask):
        return _leave(name, sha, ask)
    shown = name if sha.startswith(rev) else f"{name} at {sha[:12]}"
    ahead = _count_commits(sha, ask)
    note = f"{name} has {count(ahead, 'commit')} that this branch has not" if ahead else ""
    return Revision(sha=sha, shown=shown, note=note)


def _leave(name: str, sha: str, ask: Ask) -> Revision:
    base = (ask("merge-base", sha, "HEAD") or "").strip()
    if not base:
        msg = f"--against {name}: this branch and {name} at {sha[:12]} have no commit in common"
        hint = "give the commit itself to compare with it, as it is"
        raise InputError(msg, hint=_SHALLOW_HINT if _is_shallow(ask) else hint)
    if base == sha:
        return Revision(sha=sha, shown=f"{name} at {sha[:12]}")
    ahead = count(_count_commits(sha, ask), "commit")
    note = f"{name} has gone on by {ahead} since this branch left it; those are not compared with"
    return Revision(sha=base, shown=f"{name} at {base[:12]}, its merge base", note=note)


def _moves(rev: str, ask: Ask) -> bool:
    """Whether it names a branch, which goes on; a tag or a commit stays."""
    name = (ask("rev-parse", "--symbolic-full-name", rev) or "").strip()
    return bool(name) and not name.startswith("refs/tags/")


def _count_commits(sha: str, ask: Ask) -> int:
    number = (ask("rev-list", "--count", f"HEAD..{sha}") or "").strip()
    return int(number) if number.isdecimal() else 0


def _is_shallow(ask: Ask) -> bool:
    return (ask("rev-parse", "--is-shallow-repository") or "").strip() == "true"


def _suggest(rev: str, ask: Ask) -> str:
    listed = ask("for-each-ref", "--format=%(refname:lstrip=2)") or ""
    names = [name for name in listed.split() if name != rev]  # which is a tag of no commit
    remote = next((name for name in names if name.endswith(f"/{rev}")), "")
    if meant := remote or closest(rev, names):
        return f"did you mean {meant}?"
    return f"{_HINT}; {_SHALLOW_HINT}" if _is_shallow(ask) else _HINT
