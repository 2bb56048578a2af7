import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from megtrim.core.config.device import CoolDown, DeviceSettings
from megtrim.libs.programs.telemetry import Reading
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.device import Timeouts
from megtrim.places.devices.remote import tuning
from megtrim.places.devices.remote.tuning import RESTORE_SCRIPT, Tuning, cpu_mask, tune_machine
from unit.places.devices.links import ShellLink

BOOT = "proc/sys/kernel/random/boot_id"
CANNOT = "  note  test-phone: the governor performance cannot be set"
AS_ROOT = DeviceSettings(governor="performance")


@pytest.fixture
def link(processes: ProcessRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ShellLink:
    monkeypatch.setattr(tuning, "_REPORTED", set())
    link = ShellLink(processes, tmp_path)
    link.policy("policy0", "schedutil")
    link.policy("policy4", "powersave")
    link.write(BOOT, "boot-1\n")
    link.program("id", "echo 0")
    (tmp_path / "root").mkdir()
    return link


class Said(list[str]):
    @contextmanager
    def tuned(self, link: ShellLink, settings: DeviceSettings, **more: Reading) -> Iterator[Tuning]:
        with tune_machine(
            link,
            settings,
            root=str(link.tree / "root"),
            before=more.get("before", Reading()),
            timeouts=Timeouts(poll_s=0.01),
            say=self.append,
        ) as found:
            yield found


@pytest.fixture
def said() -> Said:
    return Said()


def governors(link: ShellLink) -> list[str]:
    folder = link.tree / "sys/devices/system/cpu/cpufreq"
    return [
        (folder / name / "scaling_governor").read_text(encoding="utf-8").strip()
        for name in ("policy0", "policy4")
    ]


def remembered(link: ShellLink) -> list[str]:
    path = link.tree / "root" / "tuned"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def restore(link: ShellLink) -> None:
    link.shell(f"root=$1\n{RESTORE_SCRIPT}", str(link.tree / "root"), timeout_s=20)


def test_nothing_asked_for_is_nothing_done(link: ShellLink, said: Said) -> None:
    entry = Reading(cpu_c=40.0)

    with said.tuned(link, DeviceSettings(), before=entry) as found:
        assert found == Tuning(before=entry)

    assert (link.scripts, said) == ([], [])


def test_governors_are_set_and_put_back(link: ShellLink, said: Said) -> None:
    with said.tuned(link, AS_ROOT) as found:
        assert governors(link) == ["performance", "performance"]
        assert remembered(link) == ["boot boot-1", "policy0 schedutil", "policy4 powersave"]
        assert [policy.governor for policy in found.before.policies] == ["performance"] * 2
        assert (found.unmet, found.prefix) == ("", ())

    assert governors(link) == ["schedutil", "powersave"]
    assert remembered(link) == []
    assert said == []


@pytest.mark.parametrize("ends", [RuntimeError, KeyboardInterrupt])
def test_a_run_that_fails_or_is_cancelled_leaves_it_as_it_was(
    link: ShellLink, said: Said, ends: type[BaseException]
) -> None:
    with pytest.raises(ends), said.tuned(link, AS_ROOT):
        raise ends

    assert governors(link) == ["schedutil", "powersave"]


def test_a_cancel_in_the_middle_of_tuning_is_mended_too(link: ShellLink, said: Said) -> None:
    """The machine went on alone; what it did was not heard."""

    def cancel(script: str) -> None:
        if len(link.scripts) == 1:
            link.before = lambda _script: None
            link.shell(script, str(link.tree / "root"), "performance", "", timeout_s=20)
            raise KeyboardInterrupt

    link.before = cancel
    with pytest.raises(KeyboardInterrupt), said.tuned(link, AS_ROOT):
        pass

    assert governors(link) == ["schedutil", "powersave"]
    assert remembered(link) == []


def test_a_lost_link_is_mended_at_the_next_entry(link: ShellLink, said: Said) -> None:
    """So is a holder that was killed: what was found stands on the machine."""
    with said.tuned(link, AS_ROOT):
        link.lost = True

    assert said == ["  later test-phone: its governor will be put back when it is next used"]
    assert governors(link) == ["performance", "performance"]
    link.lost = False
    restore(link)
    assert governors(link) == ["schedutil", "powersave"]
    assert remembered(link) == []


def test_what_cannot_be_put_back_yet_is_not_forgotten(link: ShellLink, said: Said) -> None:
    with said.tuned(link, AS_ROOT):
        link.lost = True
    link.lost = False
    link.program("id", 'echo "${PLAYED:-2000}"')
    link.program("su", "[ \"$*\" = '0 sh -s' ] && grep -v schedutil | PLAYED=0 sh -s")

    with said.tuned(link, DeviceSettings(governor="ondemand")):
        assert governors(link) == ["ondemand", "ondemand"]

    assert governors(link) == ["ondemand", "powersave"]
    assert remembered(link) == ["boot boot-1", "policy0 schedutil", "policy4 powersave"]
    link.program("id", "echo 0")
    restore(link)
    assert governors(link) == ["schedutil", "powersave"]
    assert remembered(link) == []


def test_a_boot_undoes_it_all(link: ShellLink, said: Said) -> None:
    with said.tuned(link, AS_ROOT):
        link.lost = True
    link.lost = False
    link.write(BOOT, "boot-2\n")
    link.policy("policy0", "interactive")

    restore(link)

    assert governors(link) == ["interactive", "performance"]
    assert remembered(link) == []


def test_what_a_program_wrote_there_is_no_order(link: ShellLink) -> None:
    victim = link.write("victim/scaling_governor", "mine\n")
    link.write(
        "root/tuned",
        "boot boot-1\npolicy0/../../../../../../victim x\npolicy0 $(touch pwned)\n"
        "cpu0;id x\npolicy4 ondemand\nvictim x\n",
    )

    restore(link)

    assert governors(link) == ["schedutil", "ondemand"]
    assert victim.read_text(encoding="utf-8") == "mine\n"
    assert list(link.tree.rglob("pwned")) == []


def test_a_machine_without_root_is_reported_once(link: ShellLink, said: Said) -> None:
    """The run goes on: its conditions say what it ran under."""
    link.program("id", "echo 2000")
    for name in ("su", "sudo"):
        link.program(name, "echo Permission denied >&2; exit 1")

    for _ in range(2):
        with said.tuned(link, AS_ROOT) as found:
            assert governors(link) == ["schedutil", "powersave"]
            assert [each.governor for each in found.before.policies] == ["schedutil", "powersave"]

    assert said == [f"{CANNOT}: it gives no root rights, or does not know the governor"]
    assert remembered(link) == []


@pytest.mark.parametrize("way", ["su 0 sh -s", "su -c sh -s", "sudo -n sh -s"])
def test_root_is_asked_for_in_three_ways(link: ShellLink, said: Said, way: str) -> None:
    program = way.split(maxsplit=1)[0]
    for name in ("su", "sudo"):
        link.program(name, "exit 1")
    link.program("id", 'echo "${PLAYED:-2000}"')
    link.program(program, f'[ "{program} $*" = "{way}" ] && PLAYED=0 exec sh -s\nexit 1')

    with said.tuned(link, AS_ROOT):
        assert governors(link) == ["performance", "performance"]

    assert governors(link) == ["schedutil", "powersave"]
    assert said == []


def remove_clocks(link: ShellLink) -> None:
    for name in ("policy0", "policy4"):
        (link.tree / f"sys/devices/system/cpu/cpufreq/{name}/scaling_governor").unlink()


@pytest.mark.parametrize(
    ("break_machine", "why"),
    [
        (remove_clocks, "it shows no frequency governor"),
        (lambda link: (link.tree / "root").rmdir(), "it has no space to store the current one"),
    ],
)
def test_a_governor_that_cannot_be_set_is_reported(
    link: ShellLink, said: Said, break_machine: Callable[[ShellLink], None], why: str
) -> None:
    break_machine(link)
    with said.tuned(link, AS_ROOT):
        pass

    assert said == [f"{CANNOT}: {why}"]


def test_programs_are_pinned_by_a_mask(link: ShellLink, said: Said) -> None:
    link.program("taskset", '[ "$1" = f0 ] && [ "$2" = true ]')

    with said.tuned(link, DeviceSettings(cpus="4-7")) as found:
        assert found.prefix == ("taskset", "f0")

    assert len(link.scripts) == 1
    assert said == []


def test_cpus_that_are_not_there_are_reported_once(link: ShellLink, said: Said) -> None:
    link.program("taskset", "exit 1")

    for _ in range(2):
        with said.tuned(link, DeviceSettings(cpus="4-7")) as found:
            assert found.prefix == ()

    assert said == ["  note  test-phone: programs cannot be pinned to the CPUs 4-7"]


@pytest.mark.parametrize(
    ("cpus", "mask"), [("", ""), ("0", "1"), ("4-7", "f0"), ("0,2-3", "d"), ("255", "8" + "0" * 63)]
)
def test_cpus_become_a_mask(cpus: str, mask: str) -> None:
    assert cpu_mask(cpus) == mask


@pytest.mark.parametrize("cpus", ["7-4", "256", "0,9999"])
def test_other_cpus_are_refused(cpus: str) -> None:
    with pytest.raises(InputError, match="expected numbers below 256, such as 4-7"):
        cpu_mask(cpus)


def cooling(link: ShellLink, *degrees: float) -> None:
    left = [*degrees]

    def step(_script: str) -> None:
        link.zone(0, "cpu-0", str(round((left.pop(0) if left[1:] else left[0]) * 1000)))

    link.before = step


def asks(below_c: float, within_s: float) -> DeviceSettings:
    return DeviceSettings(cool_down=CoolDown.model_construct(below_c=below_c, within_s=within_s))


@pytest.mark.parametrize(
    ("before", "unmet"),
    [
        (Reading(cpu_c=44.9), ""),
        (Reading(cpu_c=44.0, cooling=("firmware:under-voltage",)), ""),
        (Reading(), "it shows no CPU temperature, requested: below 45 °C"),
    ],
)
def test_a_machine_that_is_not_waited_for(
    link: ShellLink, said: Said, before: Reading, unmet: str
) -> None:
    """It is cool, a weak supply being no heat, or no one can know: that is marked."""
    with said.tuned(link, asks(45.0, 60.0), before=before) as found:
        assert found == Tuning(before=before, unmet=unmet)

    assert (link.scripts, said) == ([], [])


def test_a_hot_machine_is_waited_for(link: ShellLink, said: Said) -> None:
    cooling(link, 60.0, 45.0, 44.5)

    with said.tuned(link, asks(45.0, 60.0), before=Reading(cpu_c=70.25)) as found:
        assert (found.before.cpu_c, found.unmet) == (44.5, "")

    assert len(link.scripts) == 3
    assert said[0] == ("  cool  test-phone: 70.2 °C, requested: below 45 °C, at most 60 s more")


def test_a_cool_machine_that_is_still_held_back_is_waited_for(link: ShellLink, said: Said) -> None:
    cooling(link, 44.0)
    before = Reading(cpu_c=44.0, cooling=("thermal-cpufreq-0",))

    with said.tuned(link, asks(45.0, 60.0), before=before) as found:
        assert (found.before.cpu_c, found.before.cooling) == (44.0, ())
    assert len(link.scripts) == 1
    assert said[0].startswith(
        "  cool  test-phone: 44.0 °C (thermal-cpufreq-0 is active), requested: below"
    )


def test_a_machine_that_stays_hot_is_marked(link: ShellLink, said: Said) -> None:
    """A verification goes on; its time does not count."""
    cooling(link, 60.0)

    with said.tuned(link, asks(45.0, 0.1), before=Reading(cpu_c=70.0)) as found:
        assert found.unmet == "60.0 °C after 0 s of waiting, requested: below 45 °C"

    assert 1 <= len(link.scripts) <= 20


def test_a_cancelled_wait_puts_governors_back(link: ShellLink, said: Said) -> None:
    def cancel(_script: str) -> None:
        link.zone(0, "cpu-0", "90000")
        if len(link.scripts) == 2:
            raise KeyboardInterrupt

    link.before = cancel
    settings = asks(45.0, 60.0).model_copy(update={"governor": "performance"})
    with pytest.raises(KeyboardInterrupt), said.tuned(link, settings):
        pass

    assert governors(link) == ["schedutil", "powersave"]
    assert os.listdir(link.tree / "root") == []  # noqa: PTH208 - names alone
