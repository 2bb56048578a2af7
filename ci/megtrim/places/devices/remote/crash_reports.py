"""What a machine knows about a program that a signal ended, or the command that shows more.

Android writes a backtrace into its crash log, and a tombstone that only root may read. Elsewhere
the kernel logs at most a line. Nothing here may fail a run.
"""

import math
import re
import shlex
import signal
from collections.abc import Sequence

from megtrim.libs.programs.exit_status import ProgramRun, RunOutcome, ending, ending_signal
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.limits import clean_line, clean_log
from megtrim.places.devices.device import DEFAULT_TIMEOUTS, Timeouts
from megtrim.places.devices.remote.telemetry import HELPERS
from megtrim.places.devices.remote.transport import Transport

LONGEST_EVIDENCE = 16_384

_LOG = "megtrim crash log"
_TOMBSTONE = "megtrim tombstone"
_KERNEL = "megtrim kernel"
_END = "megtrim end"

CRASH_SCRIPT = f"""\
# megtrim:get
(
lasted=$1 pid=$2
{HELPERS}\
if command -v logcat >/dev/null; then
  echo '{_LOG}'
  since=$(date -d "@$(($(date +%s) - lasted))" '+%m-%d %H:%M:%S.000')
  if [ -n "$since" ]; then $limit logcat -b crash -d -v threadtime -T "$since"
  else $limit logcat -b crash -d -v threadtime
  fi | tail -n 400
  for entry in $(ls -t /data/tombstones | head -n 4); do
    entry=/data/tombstones/$entry
    head -n 20 "$entry" | grep -q "pid: $pid," || continue
    echo "{_TOMBSTONE} $entry"
    head -n 120 "$entry" | head -c 12000
    echo
    break
  done
else
  echo '{_KERNEL}'
  dmesg | tail -n 200 | grep "\\[$pid\\]" | tail -n 8
fi
echo '{_END}'
) 2>/dev/null || :
"""
"""Arguments: seconds since the run began; pid of the program, or ``none``."""

_SLACK_S = 30
"""Most seconds between the end of a run and this script; the pid excludes older crashes."""
_MOST_READ = 512 * 1024
_MOST_LINES = 150
_HINTED_ARGUMENTS = 4000
_THREADTIME = re.compile(
    r"\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +(?P<pid>\d{1,9}) +(?P<thread>\d{1,9}) [VDIWEF] "
    r"(?P<tag>[^:]{1,60}?) *: ?(?P<text>.*)",
    re.ASCII,
)
_DUMPED = re.compile(
    r"pid: (\d{1,9}), tid: \d{1,9}, name: (.{0,40}?) +>>> (.{1,200}?) <<<", re.ASCII
)


def evidence(
    link: Transport,
    run: ProgramRun,
    *,
    pid: int | None = None,
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
) -> str:
    """Return what is known about a run that a signal ended, as lines; empty for other runs."""
    number = ending_signal(run)
    if number is None or run.timed_out:
        return ""
    try:
        asked = str(pid) if pid is not None else "none"
        lasted = str(math.ceil(run.wall_s) + _SLACK_S)
        reply = link.shell(CRASH_SCRIPT, lasted, asked, timeout_s=timeouts.call_s).stdout
    except InfrastructureFailure:
        reply = ""
    found = extract(reply, run.argv, pid=pid)
    parts = [describe_signal(number), found or backtrace_hint(run.argv)]
    return _truncate_evidence("\n".join(parts))


def local_evidence(run: ProgramRun, *, launcher: Sequence[str] = ()) -> str:
    """Empty for a trap: the missing regions explain it, and its position would mislead."""
    number = ending_signal(run)
    if number is None or ending(run) in (RunOutcome.TRAP, RunOutcome.TIMEOUT):
        return ""
    return _truncate_evidence(
        f"{describe_signal(number)}\n{backtrace_hint(run.argv, launcher=launcher)}"
    )


def describe_signal(number: int) -> str:
    try:
        return f"ended by signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"ended by signal {number}"


def backtrace_hint(argv: Sequence[str], *, launcher: Sequence[str] = ()) -> str:
    line = clean_line(shlex.join(argv))[:_HINTED_ARGUMENTS]
    if launcher:
        emulator = clean_line(shlex.join(launcher))
        return (
            f"to see where: {emulator} -g 1234 ./{line} &\n"
            f"  gdb-multiarch -batch -ex 'target remote :1234' -ex continue -ex backtrace "
            f"./{clean_line(shlex.quote(argv[0]))}"
        )
    return (
        f"to see where: gdb -batch -ex run -ex backtrace --args ./{line}\n"
        f"  or: lldb --batch -o run -k 'thread backtrace' -k quit -- ./{line}"
    )


def extract(text: str, argv: Sequence[str], *, pid: int | None) -> str:
    """The program is found by its pid if that is known, else by its name."""
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text[:_MOST_READ].replace("\r\n", "\n").split("\n"):
        if line == _END:
            break
        if line in (_LOG, _KERNEL) or line.startswith(f"{_TOMBSTONE} /"):
            current = sections.setdefault(line, [])
        else:
            current.append(line)
    parts = []
    for head, lines in sections.items():
        kept = _select_program_lines(lines, argv, pid) if head == _LOG else lines
        kept = [line for line in kept if line.strip()][:_MOST_LINES]
        if kept:
            parts += [f"{head.removeprefix('megtrim ')}:", *(f"  {line}" for line in kept)]
    return "\n".join(parts)


def _select_program_lines(lines: Sequence[str], argv: Sequence[str], pid: int | None) -> list[str]:
    matches = [match for line in lines if (match := _THREADTIME.match(line))]
    # A dump is what one thread of the dumper wrote until it started the next dump.
    dumps: list[tuple[bool, list[str]]] = []
    open_dumps: dict[tuple[str, str], int] = {}
    for match in matches:
        shown = f"{match['tag']}: {match['text']}"
        if pid is not None and match["pid"] == str(pid):
            dumps.append((True, [shown]))
            continue
        if match["tag"] != "DEBUG":
            continue
        writer = (match["pid"], match["thread"])
        if match["text"].startswith("*** ***") or writer not in open_dumps:
            open_dumps[writer] = len(dumps)
            dumps.append((False, []))
        at = open_dumps[writer]
        ours, collected = dumps[at]
        dumps[at] = (ours or _names_program(match["text"], argv, pid), [*collected, match["text"]])
    return [line for ours, collected in dumps if ours for line in collected]


def _names_program(text: str, argv: Sequence[str], pid: int | None) -> bool:
    match = _DUMPED.search(text)
    if match is None:
        return False
    if pid is not None:
        return match[1] == str(pid)
    return match[3].rpartition("/")[2] == argv[0].rpartition("/")[2]


def _truncate_evidence(text: str) -> str:
    if len(text) > LONGEST_EVIDENCE:
        text = f"{text[: LONGEST_EVIDENCE - 2]}\n…"
    return clean_log(text)
