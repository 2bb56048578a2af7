from pathlib import Path

import pytest

from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import ProcessRunner
from virtual_phone.system import mounts, rootfs, sensors
from virtual_phone.system.sensors import Sensors

EMULATOR = Path("/usr/bin/qemu-aarch64")
WHOLE = "enabled\ninterpreter /usr/bin/qemu-aarch64-static\nflags: OCF\noffset 0\n"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of the kernel's table, in which nothing can be mounted."""
    monkeypatch.setattr(mounts, "TABLE", tmp_path)
    return tmp_path


def test_the_emulator_is_opened_when_it_is_registered(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("virtual_phone.system.kernel.mount", lambda kind, target: None)
    mounts.register_emulator(EMULATOR)

    line = (table / "register").read_text(encoding="ascii")
    assert line.startswith(":qemu-aarch64:M::\\x7fELF")
    assert line.endswith(f":{EMULATOR}:PF")


@pytest.mark.parametrize(
    ("text", "usable"),
    [
        (WHOLE, True),
        (WHOLE.replace("enabled", "disabled"), False),
        (WHOLE.replace("OCF", "OC"), False),
        (None, False),
    ],
)
def test_an_older_kernel_needs_the_machines_own(
    table: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, usable: bool
) -> None:
    """Which must be enabled, and was opened when it was registered."""

    def refuse(kind: str, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("virtual_phone.system.kernel.mount", refuse)
    if text is not None:
        (table / "qemu-aarch64").write_text(text, encoding="ascii")
    if usable:
        mounts.register_emulator(EMULATOR)
    else:
        with pytest.raises(InputError, match="only root register qemu: Operation not") as caught:
            mounts.register_emulator(EMULATOR)
        assert "qemu-user-static" in caught.value.hint


MIRROR = "http://mirror.example/debian"
APT = """\
#!/bin/sh
echo "$@" >>"$CALLS"
case "$1" in
indextargets) printf '%b' "$LISTED";;
update) [ -z "$UNREACHABLE" ] || { echo "reading" >&2; echo "E: no route" >&2; exit 100; };;
install)
    archives=$(sed -n 's/^Dir::Cache "\\(.*\\)";/\\1/p' "$APT_CONFIG")/archives
    touch "$archives/toybox_0.8_amd64.deb" "$archives/adbd_34_amd64.deb"
    grep -h deb "$(dirname "$APT_CONFIG")/sources.list" >>"$CALLS";;
esac
"""
DPKG_DEB = '#!/bin/sh\nmkdir -p "$3/usr/lib" && basename "$2" >>"$3/usr/lib/unpacked"\n'
DPKG = "#!/bin/sh\necho amd64\n"


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls"


@pytest.fixture
def machine(tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    keyring = tmp_path / "keyring.gpg"
    keyring.touch()
    monkeypatch.setattr(rootfs, "KEYRING", keyring)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("apt-get", APT), ("dpkg-deb", DPKG_DEB), ("dpkg", DPKG)):
        (tools / name).write_text(text, encoding="utf-8")
        (tools / name).chmod(0o755)
    return {
        "PATH": f"{tools}:/usr/bin:/bin",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "CALLS": str(calls),
        "LISTED": f"Other http://other.example/\\nDebian {MIRROR}/\\n",
    }


def test_it_is_made_once(machine: dict[str, str], calls: Path, tmp_path: Path) -> None:
    processes = ProcessRunner(machine)
    folder = rootfs.cache_folder(processes)
    left = folder / ".making-killed" / "root"
    left.mkdir(parents=True)

    made = rootfs.provide(processes)

    for listing in ("packages", "lib/unpacked"):
        names = (made / listing).read_text(encoding="utf-8").split()
        assert names == ["adbd_34_amd64.deb", "toybox_0.8_amd64.deb"]
    assert (made / "phone").is_dir()
    assert {path.name for path in folder.iterdir()} == {".lock", made.name}
    asked = calls.read_text(encoding="utf-8").splitlines()
    assert asked[-1] == f"deb [signed-by={tmp_path / 'keyring.gpg'}] {MIRROR} trixie main"
    assert rootfs.provide(ProcessRunner(machine)) == made
    assert calls.read_text(encoding="utf-8").splitlines() == asked


def test_another_mirror(machine: dict[str, str], calls: Path) -> None:
    rootfs.provide(ProcessRunner({**machine, "LISTED": ""}), mirror="http://named.example/debian")

    asked = calls.read_text(encoding="utf-8")
    assert "] http://named.example/debian trixie main\n" in asked
    assert "indextargets" not in asked


def expect_refusal(environment: dict[str, str], message: str, hint: str) -> None:
    for ask in (rootfs.provide, rootfs.describe):
        with pytest.raises(InputError) as failure:
            ask(ProcessRunner(environment))
        assert (failure.value.message, failure.value.hint) == (f"virtual phone: {message}", hint)


def test_no_mirror(machine: dict[str, str]) -> None:
    expect_refusal(
        {**machine, "LISTED": "Ubuntu http://ubuntu.example/\\n"},
        "this machine's package sources name no mirror of Debian",
        "name one with --mirror, such as the one in another Debian's sources",
    )
    folder = rootfs.cache_folder(ProcessRunner(machine))
    assert [path.name for path in folder.iterdir()] == [".lock"]


def test_no_keyring(machine: dict[str, str], tmp_path: Path, calls: Path) -> None:
    (tmp_path / "keyring.gpg").unlink()

    expect_refusal(
        machine,
        f"there is no {tmp_path / 'keyring.gpg'} to check packages with",
        "on Debian and Ubuntu: apt-get install debian-archive-keyring",
    )
    assert "update" not in calls.read_text(encoding="utf-8").split()


@pytest.mark.parametrize("tool", ["apt-get", "dpkg-deb", "dpkg"])
def test_no_apt(machine: dict[str, str], tmp_path: Path, tool: str) -> None:
    tools = tmp_path / "bin"
    (tools / tool).unlink()

    hint = "this needs apt-get and dpkg-deb; elsewhere use the image docker/virtual-phone"
    expect_refusal({**machine, "PATH": str(tools)}, f"there is no {tool} here", hint)


def test_a_mirror_that_does_not_deliver(machine: dict[str, str]) -> None:
    processes = ProcessRunner({**machine, "UNREACHABLE": "1"})

    with pytest.raises(InfrastructureFailure) as failure:
        rootfs.provide(processes)
    assert failure.value.message == "virtual phone: apt-get update ended with 100: E: no route"
    assert failure.value.hint == "is the mirror reachable? another: --mirror"
    assert {path.name for path in rootfs.cache_folder(processes).iterdir()} == {".lock"}


def test_where_it_is(machine: dict[str, str]) -> None:
    processes = ProcessRunner(machine)

    assert rootfs.describe(processes) == f"made on first use from {MIRROR}"
    made = rootfs.provide(processes)
    assert rootfs.describe(processes) == str(made)


def test_a_cache_that_cannot_be(machine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "cache").touch()

    with pytest.raises(InfrastructureFailure, match="a root for virtual phones cannot be made: "):
        rootfs.provide(ProcessRunner(machine))


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
