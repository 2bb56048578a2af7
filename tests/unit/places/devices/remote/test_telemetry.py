import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.programs.telemetry import Policy, Reading
from megtrim.libs.util.limits import clean_line
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.remote.telemetry import (
    FACTS_SCRIPT,
    READING_SCRIPT,
    parse_facts,
    parse_reading,
)
from unit.places.devices.links import ShellLink

BATTERY = """\
Current Battery Service state:
  AC powered: false
  USB powered: true
  status: 2
  health: 2
  present: true
  level: 87
  scale: 100
  voltage: 4211
  temperature: 289
  technology: Li-ion
"""
THERMAL = """\
IsStatusOverride: false
ThermalEventListeners:
\tcallbacks: 2
Thermal Status: 2
Cached temperatures:
\tTemperature{mValue=99.0, mType=0, mName=CPU0, mStatus=3}
HAL Ready: true
Current temperatures from HAL:
\tTemperature{mValue=61.5, mType=0, mName=CPU0, mStatus=1}
\tTemperature{mValue=71.25, mType=0, mName=CPU4, mStatus=2}
\tTemperature{mValue=80.0, mType=1, mName=GPU, mStatus=0}
\tTemperature{mValue=30.9, mType=2, mName=battery, mStatus=0}
Current cooling devices from HAL:
\tCoolingDevice{mValue=7, mType=2, mName=thermal-cpufreq-0}
"""
SHELLS = [name for name in ("dash", "bash", "mksh", "busybox") if shutil.which(name)]


@pytest.fixture(params=SHELLS)
def link(request: pytest.FixtureRequest, processes: ProcessRunner, tmp_path: Path) -> ShellLink:
    shell = ("busybox", "sh") if request.param == "busybox" else (request.param,)
    return ShellLink(processes, tmp_path, shell_program=shell)


def reading(link: ShellLink) -> Reading:
    outcome = link.shell(f"set -eu\n{READING_SCRIPT}echo after $#", "a b", timeout_s=20)
    assert outcome.stderr == ""
    assert outcome.stdout.endswith("\nafter 1\n")
    return parse_reading(f"before\n{outcome.stdout}")


def policy(name: str, governor: str, *khz: int) -> Policy:
    rates = dict(zip(("current_khz", "allowed_khz", "capable_khz"), khz, strict=True))
    return Policy(name=name, governor=governor, **rates)


def test_a_phone_is_read(link: ShellLink) -> None:
    link.program("dumpsys", f"case $1 in battery) cat <<'.'\n{BATTERY}.\n;;\n"
                 f"thermalservice) cat <<'.'\n{THERMAL}.\n;; esac")  # fmt: skip
    link.zone(0, "cpu-0-0-usr", "42000")
    link.policy("policy4", "schedutil", (1200000, 2400000, 2400000))
    link.policy("policy0", "powersave", (300000, 900000, 1800000))

    found = reading(link)

    assert found == Reading(
        cpu_c=71.25,
        battery_c=28.9,
        battery_percent=87,
        charging=True,
        thermal_status=2,
        policies=(
            policy("policy0", "powersave", 300_000, 900_000, 1_800_000),
            policy("policy4", "schedutil", 1_200_000, 2_400_000, 2_400_000),
        ),
    )


def test_a_board_is_read(link: ShellLink) -> None:
    link.zone(0, "cpu-thermal", "68123")
    link.zone(1, "gpu-thermal", "90000")
    for number, (kind, state) in enumerate(
        [("thermal-cpufreq-0", "2"), ("thermal-cpufreq-1", "0"), ("backlight", "4")]
    ):
        link.write(f"sys/class/thermal/cooling_device{number}/type", f"{kind}\n")
        link.write(f"sys/class/thermal/cooling_device{number}/cur_state", f"{state}\n")
    link.write("sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n")
    link.write("sys/class/power_supply/ac/type", "Mains\n")
    link.write("sys/class/power_supply/bat/type", "Battery\n")
    link.write("sys/class/power_supply/bat/capacity", "12\n")
    link.write("sys/class/power_supply/bat/status", "Not charging\n")
    link.write("sys/class/power_supply/bat/temp", "-35\n")
    for file, text in (("scaling_governor", "ondemand"), ("cpuinfo_max_freq", "1500000")):
        link.write(f"sys/devices/system/cpu/cpu0/cpufreq/{file}", f"{text}\n")

    found = reading(link)

    assert found == Reading(
        cpu_c=68.123,
        battery_c=-3.5,
        battery_percent=12,
        charging=False,
        policies=(Policy(name="cpu0", governor="ondemand", capable_khz=1_500_000),),
        cooling=("firmware:throttled", "firmware:under-voltage", "thermal-cpufreq-0"),
    )


def test_a_battery_that_shows_itself_is_not_asked_for(link: ShellLink) -> None:
    link.program("dumpsys", f"[ $1 = thermalservice ] && cat <<'.'\n{THERMAL}.\n"
                 f"[ $1 = battery ] && cat <<'.'\n{BATTERY}.\n")  # fmt: skip
    link.write("sys/class/power_supply/bat/type", "Battery\n")
    link.write("sys/class/power_supply/bat/capacity", "55\n")

    found = reading(link)

    assert (found.battery_percent, found.charging, found.battery_c) == (55, None, 30.9)


def test_a_machine_that_shows_nothing_is_unknown(link: ShellLink) -> None:
    found = reading(link)

    assert found == Reading()


def test_a_service_that_hangs_does_not_hold_the_reading(link: ShellLink) -> None:
    link.program("timeout", 'shift; exec /usr/bin/timeout 0.2 "$@"')
    link.program("dumpsys", "sleep 20")
    link.zone(0, "cpu0", "50000")

    found = reading(link)

    assert (found.cpu_c, found.battery_percent, found.thermal_status) == (50.0, None, None)


@pytest.mark.parametrize(
    ("zones", "degrees"),
    [
        ("45000 cpu", 45.0),
        ("450 cpu", 45.0),
        ("45 tsens_tz_sensor3", 45.0),
        ("-5000 soc-thermal", -5.0),
        ("201 cpu", 20.1),
        ("200 cpu", 200.0),
        ("BIG", None),
        ("61000 BIG", 61.0),
        ("61000 bigger", None),
        ("-127000 mtktscpu", None),
        ("201000 cpu", None),
        ("45000 battery", None),
        ("4500000000000 cpu", None),
        ("4\uff15000 cpu", None),
        # Charge, volts and limits of real phones, next to temperatures.
        ("41200 cpu-0-0-usr|43100 cpu-1-3-usr|3900 pm660l-vbat-lvl0|87 soc", 43.1),
        ("40600 cpuss-0-usr|52000 mdm-core-usr|13 socd|2100 pm8150b-ibat-lvl0", 40.6),
        ("46000 BIG|44000 MID|41000 LITTLE|7000 ocp_cpu1|62000 soft_ocp_cpu2", 46.0),
        ("39 tsens_tz_sensor0|41 tsens_tz_sensor4|87 soc|38500 pm8941_tz", 41.0),
        ("398 tsens_tz_sensor0|412 tsens_tz_sensor4|37000 pm8994_tz", 41.2),
        ("44000 mtktscpu|99 mtktscpu_percent|28000 mtktsbattery", 44.0),
        ("51000 soc_max|48000 cpu-big-core1-1|60000 gpu-core1", 51.0),
        ("47800 soc-thermal|45000 gpu-thermal", 47.8),
        ("47800 soc0-thermal|100000 PMIC-Die", 47.8),
        ("43000 bigcore0-thermal|42000 littlecore-thermal", 43.0),
        ("42000 soc_thermal", 42.0),
        ("87 soc|35000 battery", None),
        ("87 SOC|3900 vbat-core", None),
    ],
)
def test_temperatures_of_cpus_come_in_several_units(zones: str, degrees: float | None) -> None:
    lines = "".join(f"zone={zone}\n" for zone in zones.split("|"))
    assert parse_reading(f"megtrim reading\n{lines}megtrim end\n").cpu_c == degrees


@pytest.mark.parametrize(
    ("lines", "percent"),
    [
        ("battery_level=50\nbattery_scale=200", 25),
        ("battery_level=50", 50),
        ("battery_level=0\nbattery_scale=100", 0),
        ("battery_level=101\nbattery_scale=100", None),
        ("battery_level=5\nbattery_scale=0", None),
        ("battery_level=x", None),
    ],
)
def test_a_battery_has_a_scale(lines: str, percent: int | None) -> None:
    assert parse_reading(f"megtrim reading\n{lines}\nmegtrim end").battery_percent == percent


@pytest.mark.parametrize(
    ("line", "held"),
    [
        ("firmware=0", ()),
        ("firmware=0x8", ("firmware:soft-temperature-limit",)),
        ("firmware=70000", ()),
        ("firmware=zz", ()),
        ("cooling=1 Processor", ("Processor",)),
        ("cooling=-1 cpu", ()),
        ("cooling=1 cpu idle\x1b[1m", ("cpu_idle__1m",)),
        ("cooling=1 gpu", ()),
    ],
)
def test_what_holds_the_cpus_back(line: str, held: tuple[str, ...]) -> None:
    """What was of earlier (the firmware's upper bits), or of other parts, does not count."""
    assert parse_reading(f"megtrim reading\n{line}\nmegtrim end").cooling == held


def test_only_what_stands_between_the_markers_is_read() -> None:
    text = "thermal_status=1\r\nmegtrim reading\r\nthermal_status=3\r\nmegtrim end\r\nzone=9 cpu"

    assert parse_reading(text) == Reading(thermal_status=3)
    assert parse_reading(text.replace("megtrim reading", "megtrim readings")) == Reading()
    assert parse_reading("megtrim reading\nthermal_status=7\n") == Reading()


KEYS = ("zone", "sensor", "policy", "cooling", "firmware", "thermal_status",
        "battery_level", "battery_scale", "battery_status", "battery_temperature")  # fmt: skip
VALUES = st.one_of(
    st.text(max_size=60),
    st.from_regex(r"-?[0-9]{1,12} [a-zA-Z0-9_-]{0,60}", fullmatch=True),
    st.from_regex(r"policy[0-9]{1,50} [\w]{1,60} [0-9-]{1,12} [0-9-]{1,12} [0-9]{1,12}"),
    st.from_regex(r"mValue=-?[0-9]{1,4}\.[0-9]{1,8}, mType=[0-9]{1,4}"),
)


@given(st.lists(st.tuples(st.sampled_from(KEYS), VALUES), max_size=200))
def test_no_answer_breaks_the_reader(entries: list[tuple[str, str]]) -> None:
    body = "\n".join(f"{key}={value}" for key, value in entries)

    found = parse_reading(f"megtrim reading\n{body}\nmegtrim end\n")

    assert isinstance(found, Reading)
    assert len(found.policies) <= 64
    assert len(found.cooling) <= 64


@given(st.text(max_size=400))
def test_no_text_breaks_the_readers(text: str) -> None:
    parse_reading(text)
    parse_reading(f"megtrim reading\n{text}")
    facts = parse_facts(f"megtrim facts\nmodel={text}")
    for value in facts.values():
        assert clean_line(value) == value


def test_a_long_answer_is_read_quickly_and_not_to_its_end() -> None:
    far = "megtrim reading\n" + "x=1\n" * 2000 + "thermal_status=1\n"
    near = "megtrim reading\n" + "x=1\n" * 1999 + "thermal_status=1\n"

    assert parse_reading(far).thermal_status is None
    assert parse_reading(near).thermal_status == 1
    assert parse_reading("megtrim reading\nzone=" + "9" * 10**7).cpu_c is None


def test_a_phone_says_what_it_is(link: ShellLink) -> None:
    link.program("getprop", "case $1 in ro.build.fingerprint) echo google/oriole:12/SP1A;;\n"
                 "ro.product.model) echo Pixel 6;; ro.product.cpu.abilist) echo arm64-v8a;;\n"
                 "ro.build.version.release) echo 12;; ro.build.version.sdk) echo 31;;\n"
                 "*) echo;; esac")  # fmt: skip
    link.program("uname", "case $1 in -m) echo aarch64;; -r) echo 5.10.43;; esac")
    link.program("df", "echo 'Filesystem 1K-blocks Used Available Use% Mounted on'\n"
                 "echo '/dev/block/dm-9 115249236 1000 98765 1% /data'")  # fmt: skip
    link.write("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd asimddp\n\n"
               "processor\t: 1\nFeatures\t: fp\n\nHardware\t: x\n")  # fmt: skip
    link.write("proc/meminfo", "MemTotal:        7654321 kB\nMemFree: 1 kB\n")
    link.write("proc/sys/kernel/random/boot_id", "11112222-3333\n")
    link.policy("policy0", "sched_pixel")

    outcome = link.shell(f"set -eu\n{FACTS_SCRIPT}", timeout_s=20)

    assert parse_facts(outcome.stdout) == {
        "machine": "aarch64",
        "kernel": "5.10.43",
        "fingerprint": "google/oriole:12/SP1A",
        "model": "Pixel 6",
        "ABIs": "arm64-v8a",
        "Android": "12",
        "API": "31",
        "cores": "2",
        "CPU features": "fp asimd asimddp",
        "governor": "sched_pixel",
        "memory": "7654321 kB",
        "storage": "98765 kB free",
        "boot id": "11112222-3333",
    }


def test_a_board_says_what_it_is(link: ShellLink) -> None:
    link.program("uname", "echo aarch64")
    link.write("proc/device-tree/model", "Radxa ROCK 5B\0")
    link.write("etc/os-release", 'ID=debian\nPRETTY_NAME="Debian GNU/Linux 12"\n')
    link.write("proc/cpuinfo", "")

    found = parse_facts(link.shell(FACTS_SCRIPT, timeout_s=20).stdout)

    assert found.pop("storage").endswith(" kB free")
    assert found == {
        "machine": "aarch64",
        "kernel": "aarch64",
        "model": "Radxa ROCK 5B",
        "system": "Debian GNU/Linux 12",
    }


def test_facts_are_bounded_and_known() -> None:
    text = f"megtrim facts\nmodel={'x' * 2000}\nroot=yes\nkernel=a\x1b[31mb\nABIs= \nkernel=c\n"

    assert parse_facts(text) == {"model": "x" * 1000, "kernel": "a\ufffd[31mb"}
