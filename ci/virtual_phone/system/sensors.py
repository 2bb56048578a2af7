"""What a virtual phone says of itself: properties, temperatures, clocks, battery. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

WARM_C = 33.0
CHARGED = 80
_CRITICAL_C = 75.0
_GOVERNORS = "conservative powersave interactive performance schedutil"
_CLOCKS_KHZ = ((300_000, 1_800_000), (500_000, 2_400_000))
"""Slowest and fastest of the little and of the big cores."""
_BASE = "fp asimd evtstrm aes pmull sha1 sha2 crc32"
_V82 = f"{_BASE} atomics fphp asimdhp cpuid asimdrdm"
_DOT = f"{_V82} lrcpc dcpop asimddp"
_CPUS: Mapping[str, tuple[str, str, str]] = {
    "cortex-a53": ("0x41", "0xd03", f"{_BASE} cpuid"),
    "cortex-a55": ("0x41", "0xd05", _DOT),
    "cortex-a57": ("0x41", "0xd07", f"{_BASE} cpuid"),
    "cortex-a72": ("0x41", "0xd08", f"{_BASE} cpuid"),
    "cortex-a76": ("0x41", "0xd0b", _DOT),
    "neoverse-n1": ("0x41", "0xd0c", _DOT),
    "a64fx": ("0x46", "0x001", f"{_V82} fcma dcpop sve"),
    "max": ("0x00", "0x051", f"{_DOT} jscvt fcma sha3 sm3 sm4 sha512 sve i8mm bf16"),
}
"""CPUs that qemu can be, with implementer, part and features as /proc/cpuinfo would say them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensors:
    temperature_c: float = WARM_C
    battery: int = CHARGED

    @property
    def throttled(self) -> bool:
        return self.temperature_c >= _CRITICAL_C


def properties(
    *, name: str, cpu: str, rooted: bool, more: Mapping[str, str], booted: bool
) -> dict[str, str]:
    build = "userdebug" if rooted else "user"
    keys = "test-keys" if rooted else "release-keys"
    known = {
        "ro.product.model": "Virtual Phone",
        "ro.product.manufacturer": "megtrim",
        "ro.product.brand": "megtrim",
        "ro.product.device": "virtual_phone",
        "ro.product.name": "virtual_phone",
        "ro.product.cpu.abi": "arm64-v8a",
        "ro.product.cpu.abilist": "arm64-v8a",
        "ro.board.platform": "qemu-user",
        "ro.hardware": cpu,
        "ro.serialno": name,
        "ro.boot.serialno": name,
        "ro.build.version.release": "7.1.2",
        "ro.build.version.sdk": "25",
        "ro.build.type": build,
        "ro.debuggable": "1" if rooted else "0",
        "ro.build.fingerprint": f"megtrim/virtual_phone/virtual_phone:7.1.2/1/1:{build}/{keys}",
        "dev.bootcomplete": "1" if booted else "",
        "sys.boot_completed": "1" if booted else "",
    }
    return {**known, **more}


def properties_text(values: Mapping[str, str]) -> str:
    return "".join(f"[{key}]: [{values[key]}]\n" for key in sorted(values))


def cpuinfo(cpu: str, count: int) -> str:
    """A CPU that is not in the table is a ``max``."""
    implementer, part, features = _CPUS.get(cpu.partition(",")[0], _CPUS["max"])
    one = (
        "processor\t: {number}\nBogoMIPS\t: 38.40\n"
        f"Features\t: {features}\nCPU implementer\t: {implementer}\nCPU architecture: 8\n"
        f"CPU variant\t: 0x1\nCPU part\t: {part}\nCPU revision\t: 0\n\n"
    )
    return "".join(one.format(number=number) for number in range(count))


def still_files(count: int) -> dict[str, str]:
    everything = f"0-{count - 1}" if count > 1 else "0"
    files = {f"devices/system/cpu/{name}": everything for name in ("online", "present", "possible")}
    for policy, (first, cpus) in enumerate(clusters(count)):
        slow, fast = _CLOCKS_KHZ[policy]
        folder = f"devices/system/cpu/cpufreq/policy{first}"
        files |= {
            f"{folder}/related_cpus": " ".join(str(number) for number in cpus),
            f"{folder}/scaling_governor": "schedutil",
            f"{folder}/scaling_available_governors": _GOVERNORS,
            f"{folder}/cpuinfo_min_freq": str(slow),
            f"{folder}/cpuinfo_max_freq": str(fast),
            f"{folder}/scaling_min_freq": str(slow),
        }
    return {name: f"{text}\n" for name, text in files.items()}


def clusters(count: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    if count < 2:
        return ((0, (0,)),)
    half = count // 2
    return ((0, tuple(range(half))), (half, tuple(range(half, count))))


def changing_files(body: Sensors, count: int) -> dict[str, str]:
    files: dict[str, str] = {}
    for policy, (first, _cpus) in enumerate(clusters(count)):
        slow, fast = _CLOCKS_KHZ[policy]
        limit = (slow + fast) // 2 if body.throttled else fast
        folder = f"devices/system/cpu/cpufreq/policy{first}"
        files[f"{folder}/scaling_max_freq"] = str(limit)
        files[f"{folder}/scaling_cur_freq"] = str(limit)
    for zone, (kind, degrees) in enumerate(_zones(body)):
        files[f"class/thermal/thermal_zone{zone}/type"] = kind
        files[f"class/thermal/thermal_zone{zone}/temp"] = str(round(degrees * 1000))
    files |= {
        "class/thermal/cooling_device0/type": "thermal-cpufreq-0",
        "class/thermal/cooling_device0/max_state": "10",
        "class/thermal/cooling_device0/cur_state": "5" if body.throttled else "0",
        "class/power_supply/battery/type": "Battery",
        "class/power_supply/battery/present": "1",
        "class/power_supply/battery/health": "Good",
        "class/power_supply/battery/status": "Charging",
        "class/power_supply/battery/capacity": str(body.battery),
        "class/power_supply/battery/temp": str(round(_battery_c(body) * 10)),
        "class/power_supply/usb/type": "USB",
        "class/power_supply/usb/online": "1",
    }
    return {name: f"{text}\n" for name, text in files.items()}


def battery_text(body: Sensors) -> str:
    return (
        "Current Battery Service state:\n  AC powered: false\n  USB powered: true\n"
        "  Wireless powered: false\n  Max charging current: 500000\n  status: 2\n  health: 2\n"
        f"  present: true\n  level: {body.battery}\n  scale: 100\n  voltage: 4157\n"
        f"  temperature: {round(_battery_c(body) * 10)}\n  technology: Li-ion\n"
    )


def thermal_text(body: Sensors) -> str:
    status, cooling = (3, 5) if body.throttled else (0, 0)
    kinds = {"cpu": 0, "battery": 2, "skin": 3}
    lines = "".join(
        f"\tTemperature{{mValue={degrees:.1f}, mType={kinds[kind.partition('-')[0]]}, "
        f"mName={kind}, mStatus={status}}}\n"
        for kind, degrees in _zones(body)
    )
    return (
        f"IsStatusOverride: false\nThermal Status: {status}\nCached temperatures:\n{lines}"
        f"HAL Ready: true\nCurrent temperatures from HAL:\n{lines}"
        "Current cooling devices from HAL:\n"
        f"\tCoolingDevice{{mValue={cooling}, mType=2, mName=thermal-cpufreq-0}}\n"
    )


def _zones(body: Sensors) -> tuple[tuple[str, float], ...]:
    return (
        ("cpu-0", body.temperature_c),
        ("cpu-1", body.temperature_c),
        ("battery", _battery_c(body)),
        ("skin", min(body.temperature_c, 45.0)),
    )


def _battery_c(body: Sensors) -> float:
    return 28.0 + max(0.0, body.temperature_c - WARM_C) / 4
