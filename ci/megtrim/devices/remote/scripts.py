"""The shell scripts that run on a machine before and after a program.

They are POSIX sh and use only programs that Android 7 has. Each starts with a comment that names
its step, takes all that varies as arguments, and does as much as possible in one call, because
on a phone each call is slow. A line that starts with ``megtrim`` is a reply.

    ROOT/files/DIGEST       files that were brought, kept for the next job
    ROOT/runs/RUN/place     where the program runs; next to it: pid, put (names), late (too slow)
"""

from __future__ import annotations

from megtrim.devices.device import LARGEST_FETCHED_BYTES
from megtrim.devices.remote.telemetry import READING_SCRIPT
from megtrim.devices.remote.tuning import RESTORE_SCRIPT

KEEP_DAYS = 14
"""A file that no job has used for so long is removed from the machine."""

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
{_SPACE}"""
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
read -r before </proc/stat
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
{_SPACE}"""
"""Arguments: root folder, run, digest program, mark, seconds, then the command. After the mark it
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

PROBE_SCRIPT = f"""\
# megtrim:probe
root=$2
echo "megtrim word=$1"
{_SPACE}"""
"""Arguments: a word, which is printed, and the root folder, whose free space is printed."""

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
