"""What a machine is, and its temperature and load: two shell scripts, and parsers of their output.

Both scripts are POSIX sh and need only what Android 7 has. They can be part of a longer script.
The machine is not trusted: whatever it prints, parsing ends quickly with values within bounds.
"""

import re
from collections.abc import Iterator

from megtrim.libs.programs.telemetry import (
    COLDEST_C,
    FIRMWARE,
    HOTTEST_C,
    MOST_COOLING,
    MOST_POLICIES,
    Policy,
    Reading,
)

_READING = "megtrim reading"
_FACTS = "megtrim facts"
_END = "megtrim end"

HELPERS = """\
set +eu
limit='timeout 3'
command -v timeout >/dev/null || limit=
get() { value=; read -r value <"$1"; [ -n "$value" ]; }
"""
"""``limit`` is a timeout for commands that may block; ``get`` reads a first line into ``value``."""

READING_SCRIPT = f"""\
(
echo '{_READING}'
{HELPERS}\
for entry in /sys/class/thermal/thermal_zone*; do
  get "$entry/type" && kind=$value && get "$entry/temp" && echo "zone=$value $kind"
done
for entry in /sys/class/thermal/cooling_device*; do
  get "$entry/type" && kind=$value && get "$entry/cur_state" && echo "cooling=$value $kind"
done
get '/sys/devices/platform/soc/soc:firmware/get_throttled' && echo "firmware=$value"
cpus=/sys/devices/system/cpu
set -- "$cpus"/cpufreq/policy*
[ -d "$1" ] || set -- "$cpus"/cpu[0-9]*/cpufreq
for entry do
  get "$entry/scaling_governor" || continue
  name=${{entry%/cpufreq}}
  line="policy=${{name##*/}} $value"
  for file in scaling_cur_freq scaling_max_freq cpuinfo_max_freq; do
    get "$entry/$file" || value=-
    line="$line $value"
  done
  echo "$line"
done
battery=
for entry in /sys/class/power_supply/*; do
  get "$entry/type" && [ "$value" = Battery ] && get "$entry/capacity" || continue
  battery=$value
  echo "battery_level=$battery"
  get "$entry/status" && echo "battery_status=$value"
  get "$entry/temp" && echo "battery_temperature=$value"
  break
done
if command -v dumpsys >/dev/null; then
  [ -n "$battery" ] || $limit dumpsys battery | while read -r key value rest; do
    case $key in level:|scale:|status:|temperature:) echo "battery_${{key%:}}=$value" ;; esac
  done
  current=
  $limit dumpsys thermalservice | while read -r line; do
    case $line in
      'Thermal Status: '*) echo "thermal_status=${{line#*: }}" ;;
      'Current temperatures'*) current=yes ;;
      'Current cooling'*) current= ;;
      *mType=*) [ -n "$current" ] && echo "sensor=$line" ;;
    esac
  done
fi
echo '{_END}'
) 2>/dev/null || :
"""
"""Print a reading. Because there is one before and after every run, it starts programs only for
what Android does not show in files.
"""

FACTS_SCRIPT = f"""\
(
echo '{_FACTS}'
{HELPERS}\
echo "machine=$(uname -m)"
echo "kernel=$(uname -r)"
if command -v getprop >/dev/null; then
  echo "fingerprint=$(getprop ro.build.fingerprint)"
  echo "model=$(getprop ro.product.model)"
  echo "ABIs=$(getprop ro.product.cpu.abilist)"
  echo "Android=$(getprop ro.build.version.release)"
  echo "API=$(getprop ro.build.version.sdk)"
  echo "patch level=$(getprop ro.build.version.security_patch)"
  store=/data/local/tmp
else
  if [ -r /proc/device-tree/model ]; then
    echo "model=$(tr -d '\\000' </proc/device-tree/model)"
  fi
  if [ -r /etc/os-release ]; then
    echo "system=$(. /etc/os-release; echo "$PRETTY_NAME")"
  fi
  store=${{HOME:-/}}
fi
cores=0
seen=
while read -r key value; do
  case $key in
    processor) cores=$((cores + 1)) ;;
    Features|flags) [ -n "$seen" ] || echo "CPU features=${{value#*: }}"; seen=yes ;;
  esac
done </proc/cpuinfo
[ "$cores" = 0 ] || echo "cores=$cores"
for entry in /sys/devices/system/cpu/cpufreq/policy* /sys/devices/system/cpu/cpu0/cpufreq; do
  get "$entry/scaling_governor" && echo "governor=$value" && break
done
while read -r key value rest; do
  [ "$key" = MemTotal: ] && echo "memory=$value kB" && break
done </proc/meminfo
df -k "$store" | while read -r source size used free rest; do
  case $free in *[!0-9]*|'') ;; *) echo "storage=$free kB free" ;; esac
done
get /proc/sys/kernel/random/boot_id && echo "boot id=$value"
echo '{_END}'
) 2>/dev/null || :
"""

_LONGEST_ANSWER = 256 * 1024
_MOST_LINES = 2000
_LONGEST_VALUE = 1000
_NUMBER = re.compile(r"-?\d{1,9}", re.ASCII)
_CPU_ZONE = re.compile(r"cpu|tsens|soc|x86_pkg|core|\b(?:apc|big|mid|little)\b", re.IGNORECASE)
_OTHER_ZONE = re.compile(
    # Charge in percent (soc, socd), volts and amperes, limits of the regulator, other processors.
    r"^socd?$|(?:^|[^a-z])(?:[iv]bat|bcl|(?:soft_)?ocp|vdroop|bat|batt|battery|mdm|modem|gpu|npu)"
    r"(?![a-z])",
    re.IGNORECASE,
)
_THOUSANDTHS = 1000
_CPU_COOLING = re.compile(r"cpu|^processor$", re.IGNORECASE)
_SENSOR = re.compile(r"mValue=(-?\d{1,4}(?:\.\d{1,6})?)\b.{0,40}?\bmType=(\d{1,3})\b", re.ASCII)
_HEX = re.compile(r"(?:0x)?([0-9a-f]{1,8})", re.ASCII)
_NOT_IN_NAME = re.compile(r"[^\w.:+-]", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SENSOR_OF_CPU = 0
_SENSOR_OF_BATTERY = 2
_FIRMWARE = ("under-voltage", "frequency-capped", "throttled", "soft-temperature-limit")
"""Current throttling, as the firmware of a board reports it, from the lowest bit on."""
_CHARGING = {"2": True, "5": True, "3": False, "4": False} | {
    "Charging": True,
    "Full": True,
    "Discharging": False,
    "Not": False,
    "Not charging": False,
}
"""Keys as ``dumpsys battery`` numbers them, and as the kernel names them."""
_FACT_NAMES = frozenset(
    {
        "machine",
        "kernel",
        "fingerprint",
        "model",
        "ABIs",
        "Android",
        "API",
        "patch level",
        "system",
        "CPU features",
        "cores",
        "governor",
        "memory",
        "storage",
        "boot id",
    }
)


def parse_reading(text: str) -> Reading:
    zones: list[int] = []
    sensors: list[tuple[int, float]] = []
    policies: dict[str, Policy] = {}
    cooling: set[str] = set()
    rest: dict[str, str] = {}
    for key, value in _entries(text, _READING):
        match key:
            case "zone":
                zones += _zone(value)
            case "sensor":
                sensors += _sensor(value)
            case "policy":
                policies |= _policy(value)
            case "cooling":
                cooling |= _cooling(value)
            case "firmware":
                cooling |= _firmware(value)
            case _:
                rest.setdefault(key, value)
    cpu = [degrees for kind, degrees in sensors if kind == _SENSOR_OF_CPU]
    cpu = cpu or _convert_zones(zones)
    battery = [degrees for kind, degrees in sensors if kind == _SENSOR_OF_BATTERY]
    battery = _tenths(rest.get("battery_temperature", "")) or battery
    level = rest.get("battery_level", "")
    scale = rest.get("battery_scale", "100")
    shown_policies = sorted(policies)[:MOST_POLICIES]
    return Reading(
        cpu_c=max(cpu, default=None),
        battery_c=max(battery, default=None),
        battery_percent=_percent(level, scale),
        charging=_CHARGING.get(rest.get("battery_status", "")),
        thermal_status=_within(rest.get("thermal_status", ""), 0, 6),
        policies=tuple(policies[name] for name in shown_policies),
        cooling=tuple(sorted(cooling)[:MOST_COOLING]),
    )


def parse_facts(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in _entries(text, _FACTS):
        shown = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", value).strip()[:_LONGEST_VALUE]
        if key in _FACT_NAMES and shown:
            found.setdefault(key, shown)
    return found


def _entries(text: str, marker: str) -> Iterator[tuple[str, str]]:
    # Old phones send CR LF, whatever the program printed.
    lines = iter(text[:_LONGEST_ANSWER].replace("\r\n", "\n").split("\n"))
    if marker not in lines:
        return
    for _, line in zip(range(_MOST_LINES), lines, strict=False):
        if line == _END:
            return
        key, equals, value = line.partition("=")
        if equals:
            yield key, value


def _zone(value: str) -> list[int]:
    number, _, kind = value.partition(" ")
    is_cpu = _CPU_ZONE.search(kind[:60]) and not _OTHER_ZONE.search(kind[:60])
    return [int(number)] if is_cpu and _NUMBER.fullmatch(number) else []


def _convert_zones(numbers: list[int]) -> list[float]:
    """Kernels count thousandths, some with Android 7 tenths or whole degrees.

    A kernel counts all CPUs alike: next to thousandths, a small number is no temperature.
    """
    if any(abs(number) >= _THOUSANDTHS for number in numbers):
        found = [number / 1000 for number in numbers if abs(number) >= _THOUSANDTHS]
    else:
        found = [number / 10 if abs(number) > HOTTEST_C else float(number) for number in numbers]
    return [degrees for number in found for degrees in _plausible(number)]


def _plausible(degrees: float) -> list[float]:
    return [degrees] if COLDEST_C <= degrees <= HOTTEST_C else []


def _sensor(value: str) -> list[tuple[int, float]]:
    match = _SENSOR.search(value[:200])
    if match is None:
        return []
    return [(int(match[2]), degrees) for degrees in _plausible(float(match[1]))]


def _policy(value: str) -> dict[str, Policy]:
    parts = value.split()[:5]
    if len(parts) < 5:
        return {}
    name, governor = (_name(part) for part in parts[:2])
    current, allowed, capable = (_within(part, 0, 10**8) for part in parts[2:])
    policy = Policy(
        name=name, governor=governor, current_khz=current, allowed_khz=allowed, capable_khz=capable
    )
    return {name: policy}


def _name(text: str) -> str:
    return _NOT_IN_NAME.sub("_", text)[:40]


def _cooling(value: str) -> set[str]:
    number, _, kind = value.partition(" ")
    state = _within(number, 0, 10**6)
    return {_name(kind)} if state and _CPU_COOLING.search(kind[:60]) else set()


def _firmware(value: str) -> set[str]:
    match = _HEX.fullmatch(value)
    bits = int(match[1], 16) if match else 0
    return {f"{FIRMWARE}{word}" for at, word in enumerate(_FIRMWARE) if bits >> at & 1}


def _within(text: str, least: int, most: int) -> int | None:
    if not _NUMBER.fullmatch(text):
        return None
    return int(text) if least <= int(text) <= most else None


def _tenths(text: str) -> list[float]:
    tenths = _within(text, int(COLDEST_C * 10), int(HOTTEST_C * 10))
    return [] if tenths is None else [tenths / 10]


def _percent(level: str, scale: str) -> int | None:
    value = _within(level, 0, 10**6)
    whole = _within(scale, 1, 10**6)
    if value is None or whole is None or value > whole:
        return None
    return value * 100 // whole
