"""Which devices run a CPU class, and the spec that a kind makes each from."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from megtrim.core.config.device import EMULATED, KINDS, DeviceConfig, DeviceSettings
from megtrim.core.config.load import LoadedConfig
from megtrim.core.config.problems import listing, suggest
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.places.devices.device import DeviceSpec
from megtrim.places.devices.local import is_hosted

POOLED = ("adb", "ssh")
"""Kinds whose devices of a class take turns; of other kinds, the first one runs its class."""
NEAR = ("auto", "local", "qemu")
"""Kinds whose programs run where those of the toolchain run."""
_UNCONFIGURED = (*NEAR, "virtual-phone")
"""Kinds whose devices need no entry in the configuration."""


class DeviceDefaults(Value):
    processes: ProcessRunner
    scratch: Path
    machine: str
    """Architecture of the programs."""
    sysroot: Path | None
    """Where their libraries are, unless a device names another folder."""
    say: Callable[[str], None]
    near: ProcessRunner | None = None
    """What runs the programs of devices of this machine, an image; None: this machine."""
    near_sysroot: Path | None = None


def standing_for(loaded: LoadedConfig, asked: str | None) -> dict[str, tuple[DeviceConfig, ...]]:
    """Return the devices of each CPU class; ``asked`` is a device's name, or a kind for all.

    Without it, the first device that is not on a runner runs its class, with those of its kind;
    a class with devices on runners only has an automatic one here: theirs are attached elsewhere.
    """
    configured = loaded.config.devices
    here = [each for each in configured if not each.runner]
    automatic = [make_up("auto", each.class_) for each in configured if each.runner]
    chosen = _by_class((*here, *automatic))
    if asked is None:
        return chosen
    named = [each for each in configured if each.name == asked]
    if named:
        return _before({named[0].class_: (named[0],)}, chosen)
    if asked not in KINDS:
        names = [device.name for device in configured]
        suggestion = suggest(asked, (*names, *KINDS))
        msg = f"--device: found {asked[:60]!r}, expected a device or a kind{suggestion}"
        raise InputError(msg, hint=f"devices: {', '.join(names)}; kinds: {', '.join(KINDS)}")
    found = _by_class(each for each in configured if each.kind == asked)
    if asked in _UNCONFIGURED:
        found = _fill_missing_classes(loaded, asked, found)
    if not found:
        msg = f"--device: no device of kind {asked} is in {loaded.path}"
        raise InputError(msg, hint=f"add it under `devices`, or use {listing(_UNCONFIGURED)}")
    return _before(found, chosen)


def make_device_specs(
    loaded: LoadedConfig, around: DeviceDefaults, entries: Iterable[DeviceConfig]
) -> list[tuple[DeviceConfig, DeviceSpec]]:
    cpus = {cpu_class.name: cpu_class.qemu_cpu or "max" for cpu_class in loaded.config.classes}
    specs = []
    for entry in entries:
        settings = entry.settings.resolve_paths(lambda path: loaded.resolve(from_home(path)))
        spec = make_spec(around, (entry.name, entry.class_, cpus[entry.class_]), settings)
        if around.near is not None and entry.kind in NEAR:
            sysroot = settings.sysroot or around.near_sysroot
            spec = replace(spec, processes=around.near, sysroot=sysroot)
        specs.append((entry, spec))
    return specs


def make_spec(
    around: DeviceDefaults, names: tuple[str, str, str], settings: DeviceSettings
) -> DeviceSpec:
    name, cpu_class, qemu_cpu = names
    return DeviceSpec(
        name=name,
        processes=around.processes,
        scratch=around.scratch,
        machine=around.machine,
        qemu_cpu=qemu_cpu,
        sysroot=settings.sysroot or around.sysroot,
        hosted=is_hosted(around.processes.env),
        cpu_class=cpu_class,
        settings=settings,
        say=around.say,
    )


def _by_class(entries: Iterable[DeviceConfig]) -> dict[str, tuple[DeviceConfig, ...]]:
    found: dict[str, tuple[DeviceConfig, ...]] = {}
    for entry in entries:
        before = found.get(entry.class_, ())
        if not before or (entry.kind == before[0].kind and entry.kind in POOLED):
            found[entry.class_] = (*before, entry)
    return found


def _before(
    asked: Mapping[str, tuple[DeviceConfig, ...]], chosen: Mapping[str, tuple[DeviceConfig, ...]]
) -> dict[str, tuple[DeviceConfig, ...]]:
    return {**asked, **{name: chosen[name] for name in chosen if name not in asked}}


def _fill_missing_classes(
    loaded: LoadedConfig, kind: str, found: Mapping[str, tuple[DeviceConfig, ...]]
) -> dict[str, tuple[DeviceConfig, ...]]:
    classes = loaded.config.classes
    complete = dict(found)
    for cpu_class in classes:
        if cpu_class.name in complete:
            continue
        if kind in EMULATED and cpu_class.qemu_cpu is None:
            msg = f"--device {kind}: class {cpu_class.name} names no CPU to emulate"
            raise InputError(msg, hint="add its qemu_cpu, such as cortex-a76")
        name = kind if len(classes) == 1 else None
        complete[cpu_class.name] = (make_up(kind, cpu_class.name, name),)
    return complete


def make_up(kind: str, cpu_class: str, name: str | None = None) -> DeviceConfig:
    values = {"name": name or f"{kind}-{cpu_class}", "kind": kind, "class": cpu_class}
    return DeviceConfig.model_validate(values)


def sysroot_of(device: DeviceConfig, loaded: LoadedConfig) -> Path | None:
    return device.sysroot and loaded.resolve(from_home(device.sysroot))


def from_home(path: Path) -> Path:
    if path.parts[:1] != ("~",):
        return path
    try:
        return Path.home().joinpath(*path.parts[1:])
    except RuntimeError:
        msg = f"{path}: this user has no home folder"
        raise InputError(msg, hint="set HOME, or give the whole path") from None
