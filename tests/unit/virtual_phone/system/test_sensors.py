import pytest

from virtual_phone.system import sensors
from virtual_phone.system.sensors import Sensors


def test_a_phone_at_ease() -> None:
    files = sensors.changing_files(Sensors(), 4)
    assert files["class/thermal/thermal_zone0/temp"] == "33000\n"
    assert files["class/thermal/cooling_device0/cur_state"] == "0\n"
    assert files["class/power_supply/battery/capacity"] == "80\n"
    assert files["class/power_supply/battery/temp"] == "280\n"
    assert files["devices/system/cpu/cpufreq/policy0/scaling_cur_freq"] == "1800000\n"
    assert files["devices/system/cpu/cpufreq/policy2/scaling_cur_freq"] == "2400000\n"
    assert "  level: 80\n" in sensors.battery_text(Sensors())
    assert "Thermal Status: 0\n" in sensors.thermal_text(Sensors())
    assert "\tTemperature{mValue=33.0, mType=0, mName=cpu-0, mStatus=0}\n" in sensors.thermal_text(
        Sensors()
    )


@pytest.mark.parametrize(("degrees", "throttled"), [(74.9, False), (75.0, True)])
def test_a_hot_phone_throttles(degrees: float, throttled: bool) -> None:
    hot = Sensors(temperature_c=degrees)
    files = sensors.changing_files(hot, 2)
    folder = "devices/system/cpu/cpufreq/policy0"
    assert files[f"{folder}/scaling_max_freq"] == ("1050000\n" if throttled else "1800000\n")
    assert files[f"{folder}/scaling_cur_freq"] == files[f"{folder}/scaling_max_freq"]
    assert files["class/thermal/cooling_device0/cur_state"] == ("5\n" if throttled else "0\n")
    assert files["class/thermal/thermal_zone1/temp"] == f"{round(degrees * 1000)}\n"
    status = "3" if throttled else "0"
    assert f"Thermal Status: {status}\n" in sensors.thermal_text(hot)


def test_cores_are_little_and_big() -> None:
    assert sensors.clusters(1) == ((0, (0,)),)
    assert sensors.clusters(2) == ((0, (0,)), (1, (1,)))
    assert sensors.clusters(5) == ((0, (0, 1)), (2, (2, 3, 4)))
    still = sensors.still_files(8)
    assert still["devices/system/cpu/possible"] == "0-7\n"
    assert still["devices/system/cpu/cpufreq/policy4/related_cpus"] == "4 5 6 7\n"
    assert sensors.still_files(1)["devices/system/cpu/present"] == "0\n"


def test_cpuinfo_is_of_the_cpu() -> None:
    text = sensors.cpuinfo("cortex-a76", 3)
    assert text.count("processor\t: ") == 3
    assert "processor\t: 2\n" in text
    assert "CPU part\t: 0xd0b\n" in text
    assert " asimddp\n" in text
    assert "asimddp" not in sensors.cpuinfo("cortex-a53", 1)
    assert sensors.cpuinfo("cortex-a76,pmu=off", 1) == sensors.cpuinfo("cortex-a76", 1)
    assert sensors.cpuinfo("something-new", 1) == sensors.cpuinfo("max", 1)


def test_properties() -> None:
    known = sensors.properties(name="one", cpu="max", rooted=False, more={}, booted=True)
    assert known["ro.serialno"] == "one"
    assert known["sys.boot_completed"] == "1"
    assert known["ro.debuggable"] == "0"
    more = {"ro.product.model": "Other"}
    other = sensors.properties(name="one", cpu="max", rooted=True, more=more, booted=False)
    assert other["ro.product.model"] == "Other"
    assert other["sys.boot_completed"] == ""
    assert other["ro.debuggable"] == "1"
    assert sensors.properties_text({"b": "2", "a": ""}) == "[a]: []\n[b]: [2]\n"
