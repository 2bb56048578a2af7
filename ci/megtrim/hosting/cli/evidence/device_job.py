"""``megtrim ci evidence run``: a bundle on a device of this machine, in a folder of its own."""

import platform
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from megtrim.core.chain.matrix import Shard
from megtrim.core.cli.clock import read_today
from megtrim.core.cli.echo import open_console, show
from megtrim.core.cli.environment import open_processes
from megtrim.core.cli.session.device_specs import (
    NEAR,
    POOLED,
    DeviceDefaults,
    from_home,
    make_spec,
)
from megtrim.core.config.load import BOARDS_VARIABLE, load_owned_devices
from megtrim.core.evidence.evidence import EVIDENCE_FILE, JobPurpose
from megtrim.lab.evidence.bundle import Bundle, BundleDevice, read_bundle
from megtrim.lab.jobs.worker import DeviceJob, JobResult, run
from megtrim.libs.util import limits
from megtrim.libs.util.console import Console
from megtrim.libs.util.environment import PASSED
from megtrim.libs.util.errors import EXIT_PASS, InputError
from megtrim.libs.util.files import guard_write, write_atomically
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.strict_json import dump
from megtrim.places.devices import kinds as device_kinds
from megtrim.places.devices.device import Device, DeviceSpec
from megtrim.places.devices.local import is_hosted

HOST_VARIABLE = "MEGTRIM_HOST_RUNS_PROGRAMS"

_FOR_THE_WAY = (
    "XDG_STATE_HOME",
    "SSH_AUTH_SOCK",
    "ANDROID_ADB_SERVER_PORT",
    "MEGTRIM_ADB",
    "MEGTRIM_STATE",
    "RUNNER_ENVIRONMENT",
)
"""What adb, ssh and the facts of this machine need beyond what programs here see.

All else is left out: a job's environment has tokens in it.
"""


def run_bundle(
    folder: Path, sha256: str, cpu_class: str, part: str, to: Path, emulated: bool, quiet: bool
) -> int:
    shard = Shard.parse(part)
    today = read_today()
    console = open_console(quiet=quiet)
    processes = open_processes()
    bundle = read_bundle(folder, sha256=sha256)
    # As the owner of this machine describes them.
    machine = load_owned_devices(processes.env.get(BOARDS_VARIABLE, ""))
    standing = tuple(
        replace(each, settings=machine.settle(each.name, each.kind, each.settings))
        for each in _list_standing(bundle, cpu_class, emulated=emulated)
    )
    asked = standing[0]
    owned = not is_hosted(processes.env)
    allowed = emulated or not owned or processes.env.get(HOST_VARIABLE) == "yes"
    # Of other kinds, programs are processes of this machine, walled off or not.
    if asked.kind not in POOLED and not allowed:
        msg = f"device {asked.name} is of kind {asked.kind}: its programs would run on this machine"
        hint = f"if this machine may run them, set {HOST_VARIABLE}=yes in the runner's environment"
        raise InputError(msg, hint=hint)
    scenarios = shard.of(sorted(bundle.of_class(cpu_class), key=lambda each: each.id))
    what = "contests" if bundle.purpose is JobPurpose.TIME else "scenarios"
    if len(scenarios) > limits.MOST_RESULTS:
        msg = f"--shard {shard}: found {len(scenarios)} {what} in this part"
        raise InputError(msg, hint=f"make more parts: a job runs at most {limits.MOST_RESULTS}")
    _prepare(to)
    for each in standing:
        console.say(f"device     {each.name} ({each.kind}) for class {each.cpu_class}")
    every = len(bundle.contests) or len(bundle.scenarios)
    console.say(f"bundle     to {bundle.purpose}, {len(scenarios)} of {every} {what}")
    # Next to the evidence: a folder for temporary files may refuse to run programs.
    with tempfile.TemporaryDirectory(dir=to, prefix=".work-") as work:
        job = DeviceJob(
            bundle=bundle,
            folder=folder.absolute(),
            sha256=sha256,
            work=Path(work).absolute(),
            scenarios=scenarios,
            asked=asked,
            today=today,
        )
        result = run(job, partial(_open, job, standing, processes, console), console)
    _write(result, to)
    if result.lost:
        lost = f"{result.lost} of {len(scenarios)} {what}"
        console.warn(f"the device failed: nothing is known about {lost}")
    show(f"evidence: {to / EVIDENCE_FILE}")
    return EXIT_PASS


def _list_standing(bundle: Bundle, cpu_class: str, *, emulated: bool) -> list[BundleDevice]:
    of_class = [each for each in bundle.devices if each.cpu_class == cpu_class]
    on_runners = [each for each in of_class if each.runner]
    classes = sorted({each.cpu_class for each in bundle.devices})
    hint = f"its classes: {', '.join(classes) or 'none'}"
    if emulated:
        if not of_class:
            msg = f"--class: the bundle has no class {cpu_class[:60]!r}"
            raise InputError(msg, hint=hint)
        device = BundleDevice(
            name=f"emulated-{cpu_class}",
            kind="auto",
            cpu_class=cpu_class,
            qemu_cpu=of_class[0].qemu_cpu,
            runner=False,
        )
        return [device]
    if not on_runners:
        msg = f"--class: no device of class {cpu_class[:60]!r} has a runner"
        raise InputError(msg, hint=f"{hint}; --emulated runs on this machine")
    first = on_runners[0]
    if first.kind not in POOLED:
        return [first]
    return [runner for runner in on_runners if runner.kind == first.kind]


def _open(
    job: DeviceJob, standing: tuple[BundleDevice, ...], processes: ProcessRunner, console: Console
) -> Device:
    bundle = job.bundle
    kind = job.asked.kind
    if kind not in (*NEAR, *device_kinds.KINDS):
        msg = f"device {job.asked.name}: this megtrim knows no kind {kind!r}"
        raise InputError(msg, hint="does the runner have the kit of the build job?")
    passed = (*PASSED, *_FOR_THE_WAY)
    env = {name: value for name, value in processes.env.items() if name in passed}
    around = DeviceDefaults(
        processes=ProcessRunner(env),
        scratch=job.work / "runs",
        machine=bundle.machine,
        sysroot=Path(bundle.sysroot) if bundle.sysroot else None,
        say=console.say,
    )
    specs = make_bundle_specs(around, standing)
    return device_kinds.make_all(kind, specs, native=platform.machine())


def make_bundle_specs(around: DeviceDefaults, entries: Iterable[BundleDevice]) -> list[DeviceSpec]:
    return [
        make_spec(
            around,
            (entry.name, entry.cpu_class, entry.qemu_cpu),
            entry.settings.resolve_paths(from_home),
        )
        for entry in entries
    ]


def _prepare(to: Path) -> None:
    with guard_write(to):
        if to.is_symlink() or (to.exists() and (not to.is_dir() or any(to.iterdir()))):
            msg = f"--to {to}: found something there, expected a new or an empty folder"
            raise InputError(msg)
        to.mkdir(parents=True, exist_ok=True)


def _write(result: JobResult, to: Path) -> None:
    with guard_write(to):
        for digest, data in sorted(result.files.items()):
            path = to / limits.FILES / digest
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
    write_atomically(to / EVIDENCE_FILE, dump(result.evidence))
