"""Making runs comparable: governor, pinned CPUs, cool-down; restored afterwards.

What a machine does not allow is reported once and the run continues. The governors found are in
``ROOT/tuned`` on the machine, so that the next job restores what a killed one left.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from megtrim.core.config.device import CoolDown, DeviceSettings
from megtrim.libs.programs.telemetry import Reading
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.value import Value
from megtrim.places.devices.device import Timeouts
from megtrim.places.devices.remote.telemetry import HELPERS, READING_SCRIPT, parse_reading
from megtrim.places.devices.remote.transport import Transport, call

_MOST_CPUS = 256
_NO_ROOT_S = 12.0
"""Time for trying to become root in vain: three attempts, each limited on the machine."""
_ANSWER = re.compile(r"^megtrim (governor|pin)=([a-z ]{1,20})$", re.MULTILINE)

# A line of ROOT/tuned is "NAME GOVERNOR", with NAME such as policy4 or cpu4; the first is "boot
# ID", because a reboot restores everything. Programs may write there, so names are restricted to
# letters and digits.
_ROOT_HELPERS = f"""\
{HELPERS}\
cpus=/sys/devices/system/cpu
as_root() {{
  if [ "$(id -u)" = 0 ]; then sh -s
  elif [ "$(echo 'id -u' | $limit su 0 sh -s)" = 0 ]; then $limit su 0 sh -s
  elif [ "$(echo 'id -u' | $limit su -c 'sh -s')" = 0 ]; then $limit su -c 'sh -s'
  elif [ "$(echo 'id -u' | $limit sudo -n sh -s)" = 0 ]; then $limit sudo -n sh -s
  else cat >/dev/null; fi
}}
found() {{
  while read -r name was rest; do
    case $name$was in *[!A-Za-z0-9_]*) continue ;; esac
    case $name in
      policy[0-9]*) echo "$was $cpus/cpufreq/$name/scaling_governor" ;;
      cpu[0-9]*) echo "$was $cpus/$name/cpufreq/scaling_governor" ;;
    esac
  done <"$root/tuned"
}}
differing() {{
  while read -r was file; do
    get "$file" && [ "$value" != "$was" ] && echo "echo $was >$file"
  done
}}
mend() {{
  [ -f "$root/tuned" ] || return
  read -r key boot <"$root/tuned"
  get /proc/sys/kernel/random/boot_id
  if [ "$boot" = "$value" ]; then
    orders=$(found | differing)
    [ -z "$orders" ] || echo "$orders" | as_root
    [ -z "$(found | differing)" ] || return
  fi
  rm -f "$root/tuned"
}}
"""

RESTORE_SCRIPT = f"""\
(
{_ROOT_HELPERS}\
mend
) >/dev/null 2>&1 || :
"""
"""Restore governors that an earlier job changed; ``$root`` is the root folder."""

TUNE_SCRIPT = f"""\
# megtrim:enter
root=$1
(
governor=$2 mask=$3
{_ROOT_HELPERS}\
set_governor() {{
  set -- "$cpus"/cpufreq/policy*
  [ -d "$1" ] || set -- "$cpus"/cpu[0-9]*/cpufreq
  [ -e "$1/scaling_governor" ] || {{ echo 'megtrim governor=absent'; return; }}
  mend
  if [ ! -f "$root/tuned" ]; then
    get /proc/sys/kernel/random/boot_id
    {{
      echo "boot $value"
      for entry do
        name=${{entry%/cpufreq}}
        get "$entry/scaling_governor" && echo "${{name##*/}} $value"
      done
    }} >"$root/tuned.new" && mv "$root/tuned.new" "$root/tuned" || {{
      rm -f "$root/tuned.new"
      echo 'megtrim governor=no space'
      return
    }}
  fi
  for entry do echo "$governor $entry/scaling_governor"; done | differing | as_root
  if [ -z "$(for entry do echo "$governor $entry/scaling_governor"; done | differing)" ]; then
    echo 'megtrim governor=set'
  else
    mend
    echo 'megtrim governor=refused'
  fi
}}
[ -z "$governor" ] || set_governor
if [ -n "$mask" ]; then
  taskset "$mask" true >/dev/null && echo 'megtrim pin=set'
fi
) 2>/dev/null || :
{READING_SCRIPT}\
"""
"""Arguments: root folder, governor or empty, mask or empty. Prints what was done, and a reading."""

_CANNOT = {
    "absent": "it shows no frequency governor",
    "refused": "it gives no root rights, or does not know the governor",
    "no space": "it has no space to store the current one",
    "": "it did not report the result",
}
_REPORTED: set[tuple[str, str]] = set()
"""What this process has reported about machines: each note is printed once, not for each run."""


class Tuning(Value):
    before: Reading
    unmet: str = ""
    """What was requested and not reached."""
    prefix: tuple[str, ...] = ()


@contextmanager
def tune_machine(
    link: Transport,
    settings: DeviceSettings,
    *,
    root: str,
    before: Reading,
    timeouts: Timeouts,
    say: Callable[[str], None],
) -> Iterator[Tuning]:
    """``before``: the reading at set-up. Raises InputError for impossible settings."""
    governor = settings.governor
    mask = cpu_mask(settings.cpus)
    answers: dict[str, str] = {}
    try:
        if governor or mask:
            timeout_s = timeouts.call_s + (_NO_ROOT_S if governor else 0.0)
            reply = call(link, TUNE_SCRIPT, root, governor, mask, timeout_s=timeout_s)
            answers = dict(_ANSWER.findall(reply))
            before = parse_reading(reply)
        pinned = answers.get("pin") == "set"
        if governor and answers.get("governor") != "set":
            why = _CANNOT.get(answers.get("governor", ""), _CANNOT[""])
            _report_once(link, f"the governor {governor} cannot be set: {why}", say)
        if mask and not pinned:
            _report_once(link, f"programs cannot be pinned to the CPUs {settings.cpus}", say)
        unmet = ""
        if settings.cool_down is not None:
            before, unmet = _wait_until_cool(link, settings.cool_down, before, timeouts, say)
        yield Tuning(before=before, unmet=unmet, prefix=("taskset", mask) if pinned else ())
    finally:
        if governor and answers.get("governor") in (None, "set"):
            _restore(link, root, timeouts, say)


def _restore(link: Transport, root: str, timeouts: Timeouts, say: Callable[[str], None]) -> None:
    # The caller must get the failure that ended the run, not this one.
    script = f"# megtrim:clean\nroot=$1\n{RESTORE_SCRIPT}"
    try:
        call(link, script, root, timeout_s=timeouts.call_s + _NO_ROOT_S)
    except InfrastructureFailure:
        say(f"  later {link.label}: its governor will be put back when it is next used")


def _wait_until_cool(
    link: Transport,
    wanted: CoolDown,
    reading: Reading,
    timeouts: Timeouts,
    say: Callable[[str], None],
) -> tuple[Reading, str]:
    asked = f"requested: below {wanted.below_c:g} °C"
    next_report_s = time.monotonic()
    deadline = next_report_s + wanted.within_s
    while True:
        if reading.cpu_c is None:
            return reading, f"it shows no CPU temperature, {asked}"
        # Just below the limit, a machine may still be throttled because of its earlier temperature.
        if reading.cpu_c < wanted.below_c and not reading.heat:
            return reading, ""
        now = time.monotonic()
        shown = f"{reading.cpu_c:.1f} °C" + (f" ({reading.heat})" if reading.heat else "")
        if now >= deadline:
            return reading, f"{shown} after {wanted.within_s:.0f} s of waiting, {asked}"
        if now >= next_report_s:
            left = f"at most {deadline - now:.0f} s more"
            say(f"  cool  {link.label}: {shown}, {asked}, {left}")
            next_report_s = now + timeouts.say_every_s
        time.sleep(min(timeouts.poll_s, deadline - now))
        script = f"# megtrim:enter\n{READING_SCRIPT}"
        reading = parse_reading(call(link, script, timeout_s=timeouts.call_s))


def _report_once(link: Transport, text: str, say: Callable[[str], None]) -> None:
    if (link.label, text) not in _REPORTED:
        _REPORTED.add((link.label, text))
        say(f"  note  {link.label}: {text}")


def cpu_mask(cpus: str) -> str:
    """Old versions of toybox accept only hexadecimal masks."""
    mask = sum(1 << number for number in parse_cpus(cpus))
    return f"{mask:x}" if mask else ""


def parse_cpus(cpus: str) -> tuple[int, ...]:
    """Return the numbers of CPUs such as ``4-7`` or ``0,2``, sorted."""
    numbers: set[int] = set()
    for part in cpus.split(",") if cpus else ():
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    if cpus and (not numbers or max(numbers) >= _MOST_CPUS):
        msg = f"found the CPUs {cpus[:60]!r}, expected numbers below {_MOST_CPUS}, such as 4-7"
        raise InputError(msg, hint="CPUs are counted from 0, and a range goes upwards")
    return tuple(sorted(numbers))
