"""The shell scripts that run on a machine before and after a program.

They are POSIX sh and use only programs that Android 7 has. Each does as much as possible in one
call, because on a phone each call is slow. A line that starts with ``megtrim`` is a reply.

    ROOT/files/DIGEST       files that were brought, kept for the next job
    ROOT/runs/RUN/place     where the program runs; next to it: pid, put (names), late (too slow)
"""

import re
import stat
from collections.abc import Callable, Mapping

from megtrim.libs.util.value import Value
from megtrim.places.devices.cpu import parse_children_s, share_of_others
from megtrim.places.devices.device import LARGEST_FETCHED_BYTES
from megtrim.places.devices.remote.telemetry import READING_SCRIPT
from megtrim.places.devices.remote.transport import SPACE_SCRIPT
from megtrim.places.devices.remote.tuning import RESTORE_SCRIPT
from megtrim.places.devices.written import DEEPEST, Entry, WrittenKind

_LINE = re.compile(r"^megtrim (\w+)=(.*)$", re.MULTILINE)
_SIZE = re.compile(r"^megtrim size=(\d{1,15}) \./(.+)$", re.MULTILINE)
_OTHER = re.compile(r"^megtrim mode=([0-9a-f]{1,8}) \./(.+)$", re.MULTILINE)
_BROKEN = re.compile(r"^megtrim broken=\./(.*)$", re.MULTILINE)
_DIGEST = re.compile(r"^(\\?)([0-9a-f]{40}|[0-9a-f]{64})  (.+)$", re.MULTILINE)
_ESCAPED = re.compile(r"\\([\\r])")
_CACHED = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SECONDS = re.compile(r"\d{1,12}(?:\.\d{1,9})?", re.ASCII)
_NUMBER = re.compile(r"\d{1,15}", re.ASCII)
_ALGORITHMS = {"sha256sum": "sha256", "sha1sum": "sha1"}


class SetupReply(Value):
    root: str
    program: str
    """The machine's program for digests, such as ``sha256sum``."""
    cached: frozenset[str]
    free_kb: int

    @property
    def algorithm(self) -> str:
        return _ALGORITHMS[self.program]


class RemoteFile(Value):
    size_bytes: int
    digest: str
    """Empty for a file that is too large to be fetched."""


class ExitReport(Value):
    rc: int
    late: bool
    pid: int | None
    wall_s: float | None
    other_load: float | None
    made: dict[str, RemoteFile]
    others: tuple[Entry, ...]
    """What else it left: folders, links, and whatever has a line break in its path."""
    free_kb: int | None


def parse_setup(text: str) -> SetupReply | None:
    """Return None if something is missing."""
    fields = dict(_LINE.findall(text))
    root = fields.get("root", "")
    program = fields.get("sum", "")
    free = fields.get("free", "")
    if not root.startswith("/") or program not in _ALGORITHMS or not _NUMBER.fullmatch(free):
        return None
    names = (value for key, value in _LINE.findall(text) if key == "file")
    cached = frozenset(name for name in names if _CACHED.fullmatch(name))
    return SetupReply(root=root, program=program, cached=cached, free_kb=int(free))


def parse_digests(text: str) -> dict[str, str]:
    found = _DIGEST.findall(text)
    # Some escape backslashes and line ends in a name, and mark that by a leading backslash.
    names = (_ESCAPED.sub(_unescape_char, name) if odd else name for odd, _, name in found)
    return {name.removeprefix("./"): line[1] for name, line in zip(names, found, strict=True)}


def _unescape_char(escaped: re.Match[str]) -> str:
    return "\r" if escaped[1] == "r" else "\\"


def parse_files(text: str) -> dict[str, RemoteFile] | None:
    """Return None if the machine's list is incomplete."""
    digests = parse_digests(text)
    sizes = {name: int(size) for size, name in _SIZE.findall(text)}
    digestible = {name for name, size in sizes.items() if size <= LARGEST_FETCHED_BYTES}
    if "megtrim surveyed=yes" not in text.split("\n") or digests.keys() != digestible:
        return None
    names = sorted(sizes)
    return {
        name: RemoteFile(size_bytes=sizes[name], digest=digests.get(name, "")) for name in names
    }


def parse_others(text: str) -> tuple[Entry, ...]:
    modes = _OTHER.findall(text)
    known = [Entry(path=path, kind=_tell_kind(int(mode, 16))) for mode, path in modes]
    broken = [Entry(path=f"{start}\n", kind=WrittenKind.FILE) for start in _BROKEN.findall(text)]
    return (*known, *broken)


def _tell_kind(mode: int) -> WrittenKind:
    if stat.S_ISDIR(mode):
        return WrittenKind.FOLDER
    return WrittenKind.LINK if stat.S_ISLNK(mode) else WrittenKind.OTHER


def parse_exit(text: str) -> ExitReport | None:
    fields = dict(_LINE.findall(text))
    made = parse_files(text)
    rc = fields.get("rc", "")
    if made is None or not _NUMBER.fullmatch(rc):
        return None
    began = fields.get("began", "")
    ended = fields.get("ended", "")
    wall_s = None
    if _SECONDS.fullmatch(began) and _SECONDS.fullmatch(ended):
        wall_s = max(0.0, float(ended) - float(began))
    free = fields.get("free", "")
    pid = fields.get("pid", "")
    return ExitReport(
        rc=int(rc),
        late=fields.get("late") == "yes",
        pid=int(pid) if _NUMBER.fullmatch(pid) else None,
        wall_s=wall_s,
        other_load=_find_other_load(fields),
        made=made,
        others=parse_others(text),
        free_kb=int(free) if _NUMBER.fullmatch(free) else None,
    )


def _find_other_load(fields: Mapping[str, str]) -> float | None:
    own_s = parse_children_s(fields.get("own", ""))
    if own_s is None:
        return None
    return share_of_others(fields.get("before", ""), fields.get("after", ""), own_s)


def forward_until(mark: str, forward: Callable[[str], None]) -> Callable[[str], None]:
    """Forward lines, up to the empty line before ``mark``."""
    held: list[str] = []
    ended = False

    def line(text: str) -> None:
        nonlocal ended
        ended = ended or text == mark
        if ended:
            return
        for each in held:
            forward(each)
        held[:] = [""] if text == "" else []
        if text:
            forward(text)

    return line


KEEP_DAYS = 14
"""Days after which a file that no job has used is removed."""

_STRAYS = """\
strays() {
  ls -l /proc/[0-9]*/cwd /proc/[0-9]*/exe 2>/dev/null | while read -r line; do
    case $line in
      *" -> $1"*)
        pid=${line#*/proc/}
        kill -9 "${pid%%/*}" 2>/dev/null
        ;;
    esac
  done
}
remove() {
  rm -rf "$@" 2>/dev/null || { chmod -R u+rwx "$@" 2>/dev/null; rm -rf "$@"; }
}
"""
"""Kill whatever runs in a folder or from it; remove folders, whatever their permissions."""

ENTER_SCRIPT = f"""\
# megtrim:enter
root=$1 run=$2
{_STRAYS}\
for folder in "$root" "$root/files" "$root/runs"; do
  if [ -L "$folder" ] && [ "$folder" != "$root" ]; then rm -f "$folder"; fi
  [ -e "$folder" ] || continue
  [ -d "$folder" ] || rm -f "$folder"
  [ -r "$folder" ] && [ -w "$folder" ] && [ -x "$folder" ] || chmod u+rwx "$folder" 2>/dev/null
done
mkdir -p "$root/files" "$root/runs" && cd "$root" || exit 1
root=$(pwd -P)
[ ! -d tuned ] || remove tuned
set -- runs/*
if [ -e "$1" ] || [ -L "$1" ]; then
  strays "$root/runs/"
  remove "$@" || exit 1
fi
find files -type f '(' -name '*.part' -o -mtime +{KEEP_DAYS} ')' -exec rm -f '{{}}' +
mkdir -p "runs/$run/place" || exit 1
{RESTORE_SCRIPT}\
{READING_SCRIPT}\
echo "megtrim root=$root"
for sum in sha256sum sha1sum; do
  command -v "$sum" >/dev/null && echo "megtrim sum=$sum" && break
done
for file in files/*; do
  name=${{file#files/}}
  case $name in
    *[!0-9a-f]*) [ -e "$file" ] || [ -L "$file" ] || continue ;;
    *) [ -f "$file" ] && [ -r "$file" ] && [ ! -L "$file" ] && echo "megtrim file=$name" && continue
  esac
  remove "$file"
done
{SPACE_SCRIPT}"""
"""Arguments: root folder, name of the run. We hold the machine, so whatever an earlier holder left
is removed first. A program may have left anything in our folders: whatever is not a plain file
named by a digest is removed, too.
"""

EVICT_SCRIPT = f"""\
# megtrim:put
root=$1
shift
cd "$root/files" || exit 1
for file in *; do
  for kept do
    [ "$file" = "$kept" ] && continue 2
  done
  rm -f "./$file"
done
{SPACE_SCRIPT}"""
"""Arguments: root folder, names to keep. Removes all other copied files."""

PREPARE_SCRIPT = """\
# megtrim:put
root=$1 run=$2 sum=$3
shift 3
cd "$root/runs/$run/place" || exit 1
names=
used=
while [ "$#" -gt 0 ]; do
  file=$root/files/$2
  case $1 in
    make) mkdir -p "./$3" || exit 1 ;;
    look) [ ! -e "$3" ] || echo "megtrim has=$3" ;;
    *)
      if [ "$1" = new ]; then
        mv -f "$file.part" "$file" && chmod 755 "$file" || exit 1
      fi
      if [ -e "./$3" ] || [ -L "./$3" ]; then rm -rf "./$3"; fi
      cp "$file" "./$3" || exit 1
      echo "./$3" >>../put || exit 1
      names="$names ./$3" used="$used $file"
      ;;
  esac
  shift 3
done
[ -z "$names" ] || { touch $used; "$sum" $names; }
"""
"""Arguments: root folder, run, digest program; then triples: ``make - NAME``, ``new|copy DIGEST
NAME``, ``look - PATH``. Prints the digest of every copy, in order. Names must hold only safe
characters.
"""

_TOO_DEEP = f"./{'*/' * (DEEPEST + 2)}*"
"""In a folder of outputs, of which the path would be too long for some programs."""

_SURVEY = f"""\
survey() {{
  find . '(' ! -path '{_TOO_DEEP}' -o -prune ')' -type f ! -path '*
*' "$@" -exec stat -c 'megtrim size=%s %n' '{{}}' + || return
  find . '(' ! -path '{_TOO_DEEP}' -o -prune ')' ! -type f ! -path '*
*' "$@" -exec stat -c 'megtrim mode=%f %n' '{{}}' + || return
  find . '(' ! -path '{_TOO_DEEP}' -o -prune ')' -path '*
*' "$@" -prune -exec sh -c 'for path do printf "megtrim broken=%s\\n" "${{path%%
*}}"; done' sh '{{}}' + || return
  find . '(' ! -path '{_TOO_DEEP}' -o -prune ')' -type f ! -path '*
*' "$@" -size -{LARGEST_FETCHED_BYTES + 1}c -exec "$sum" '{{}}' +
}}
"""

RUN_SCRIPT = f"""\
# megtrim:run
root=$1 run=$1/runs/$2 sum=$3 mark=$4 limit=$5 given=$6 taken=$7 said=$8
shift 8
{_STRAYS}{_SURVEY}\
cd "$run/place" || exit 1
guard=
end() {{
  read -r program <"$run/pid"
  case $program in ''|*[!0-9]*|0*|1) return 1 ;; esac
  kill -9 "-$program"
}}
trap 'end; kill "$guard"; cd /; rm -rf "$run"; exit 129' HUP INT TERM PIPE
exec 3>&2 2>/dev/null 4>&1
[ "$taken" = - ] || exec 4>"./$taken" || exit 1
[ "$said" = - ] || exec 3>"./$said" || exit 1
set -m
(
  trap 'kill "$nap"; exit' TERM
  sleep "$limit" &
  nap=$!
  wait "$nap"
  : >"$run/late"
  end
) </dev/null >/dev/null 3>&- 4>&- &
guard=$!
read -r before </proc/stat
read -r began rest </proc/uptime
case $- in
  *m*)
    "$@" <"$given" >&4 2>&3 3>&- 4>&- &
    program=$!
    echo "$program" >../pid
    wait "$program"
    rc=$?
    while kill -0 "$program"; do
      sleep 1
      wait "$program"
      rc=$?
    done
    ;;
  *)
    (exec setsid sh -c 'echo "$$" >../pid; exec "$@"' sh "$@" <"$given" >&4 2>&3 3>&- 4>&-)
    rc=$?
    ;;
esac
read -r ended rest </proc/uptime
read -r after </proc/stat
read -r own </proc/self/stat
kill "$guard"
end
cd "$root"
strays "$run/"
cd "$run/place" || exit 1
printf '\\n%s\\n' "$mark"
{READING_SCRIPT}\
echo "megtrim pid=$program"
echo "megtrim rc=$rc"
echo "megtrim began=$began"
echo "megtrim ended=$ended"
echo "megtrim before=$before"
echo "megtrim after=$after"
echo "megtrim own=$own"
[ ! -e ../late ] || echo "megtrim late=yes"
set --
while read -r name; do set -- "$@" ! -path "$name"; done <../put
if survey "$@" || {{ chmod -R u+rwx .; survey "$@"; }}; then echo "megtrim surveyed=yes"; fi
{SPACE_SCRIPT}"""
"""Arguments: root folder, run, digest program, mark, seconds, files for standard input and output
(``-``: none, it is this script's), then the command. After the mark it
prints how the program ended and which files it left. If the connection breaks, a phone's shell
gets a signal, kills the program and removes its folder. A board's shell gets none; it may have no
job control without a terminal, and then runs the program in the foreground, because in the
background it would ignore SIGINT. With job control, ``wait`` also returns 0 for a program that was
merely suspended: only one that is gone has a status.
"""

SURVEY_SCRIPT = f"""\
# megtrim:get
root=$1 run=$1/runs/$2 sum=$3
{_SURVEY}\
cd "$run/place" || exit 1
survey -path "$4" && echo "megtrim surveyed=yes"
"""
"""Arguments: root folder, run, digest program, ``./NAME``. Prints the file's size and digest."""

CLEAN_SCRIPT = f"""\
# megtrim:clean
{_STRAYS}\
cd "$1" || exit 1
[ "$3" = quiet ] || strays "$1/runs/$2/"
remove "runs/$2"
"""
"""Arguments: root folder, run, ``quiet`` if the end of the run killed what ran there already."""

WIPE_SCRIPT = f"""\
# megtrim:clean
{_STRAYS}\
cd "$1" 2>/dev/null || exit 0
strays "$(pwd -P)/runs/"
remove runs files
"""
"""Argument: root folder. Removes all our files except those that restore settings."""
