"""What is run on a machine around a program, as constant shell texts.

POSIX sh, and of programs only what Android 7 has. Each text begins with its step, gets what
varies as arguments, and does as much as it can in one call: on a phone, calls are what costs.
A line that begins with ``megtrim`` is an answer.

    ROOT/files/DIGEST       files that were brought, kept for the next job
    ROOT/runs/RUN/place     where the program runs; beside it: pid, put (names), late (too slow)
"""

from __future__ import annotations

from megtrim.devices.device import LARGEST_FETCHED_BYTES
from megtrim.devices.remote.telemetry import READING_SCRIPT
from megtrim.devices.remote.tuning import RESTORE_SCRIPT

KEEP_DAYS = 14
"""A file that no job has used for so long leaves the machine."""

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
"""End whatever still runs in a folder or from it; remove folders, whatever rights they have."""

_SPACE = (
    'df -kP "$root" | while read -r name size used free rest; do echo "megtrim free=$free"; done'
)

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
{_SPACE}"""
"""Root folder, name of the run. Whatever another holder left goes first: we hold the machine. A
program may have left anything in our folders: what is no plain file named by a digest goes, too.
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
{_SPACE}"""
"""Root folder, names to keep: removes all other files that were brought."""

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
"""Root folder, run, digest program; then threes: ``make - NAME``, ``new|copy DIGEST NAME``,
``look - PATH``. Prints the digest of every copy, in order; names are of safe characters.
"""

_SURVEY = f"""\
survey() {{
  find . -type f ! -path '*
*' "$@" -exec stat -c 'megtrim size=%s %n' '{{}}' + || return
  find . -type f ! -path '*
*' "$@" -size -{LARGEST_FETCHED_BYTES + 1}c -exec "$sum" '{{}}' +
}}
"""

RUN_SCRIPT = f"""\
# megtrim:run
root=$1 run=$1/runs/$2 sum=$3 mark=$4 limit=$5
shift 5
{_STRAYS}{_SURVEY}\
cd "$run/place" || exit 1
guard=
end() {{
  read -r program <"$run/pid"
  case $program in ''|*[!0-9]*|0*|1) return 1 ;; esac
  kill -9 "-$program"
}}
trap 'end; kill "$guard"; cd /; rm -rf "$run"; exit 129' HUP INT TERM PIPE
exec 3>&2 2>/dev/null
set -m
(
  trap 'kill "$nap"; exit' TERM
  sleep "$limit" &
  nap=$!
  wait "$nap"
  : >"$run/late"
  end
) </dev/null >/dev/null 3>&- &
guard=$!
read -r began rest </proc/uptime
case $- in
  *m*)
    "$@" </dev/null 2>&3 3>&- &
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
    (exec setsid sh -c 'echo "$$" >../pid; exec "$@"' sh "$@" </dev/null 2>&3 3>&-)
    rc=$?
    ;;
esac
read -r ended rest </proc/uptime
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
[ ! -e ../late ] || echo "megtrim late=yes"
set --
while read -r name; do set -- "$@" ! -path "$name"; done <../put
if survey "$@" || {{ chmod -R u+rwx .; survey "$@"; }}; then echo "megtrim surveyed=yes"; fi
{_SPACE}"""
"""Root folder, run, digest program, mark, seconds, then what to run. Behind the mark: how it
ended and what it made. A link that breaks ends the program, and its folder goes: phones' shells
are told of it. Those that have no jobs without a terminal are boards', and are told nothing; there
the program runs in front, for behind it would not hear SIGINT. A shell with jobs also ends a wait
with 0 for a program that was merely stopped: only one that is gone has a status.
"""

SURVEY_SCRIPT = f"""\
# megtrim:get
root=$1 run=$1/runs/$2 sum=$3
{_SURVEY}\
cd "$run/place" || exit 1
survey -path "$4" && echo "megtrim surveyed=yes"
"""
"""Root folder, run, digest program, ``./NAME``: tells of one file what a run tells of all."""

PROBE_SCRIPT = f"""\
# megtrim:probe
root=$2
echo "megtrim word=$1"
{_SPACE}"""
"""Word, root folder."""

CLEAN_SCRIPT = f"""\
# megtrim:clean
{_STRAYS}\
cd "$1" || exit 1
[ "$3" = quiet ] || strays "$1/runs/$2/"
remove "runs/$2"
"""
"""Root folder, run, ``quiet`` where a run's own end saw to it that nothing runs there."""

WIPE_SCRIPT = f"""\
# megtrim:clean
{_STRAYS}\
cd "$1" 2>/dev/null || exit 0
strays "$(pwd -P)/runs/"
remove runs files
"""
"""Root folder: leaves nothing of ours but what restores settings."""
