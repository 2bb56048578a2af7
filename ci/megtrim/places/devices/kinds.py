"""Where programs run: one file per kind behind :class:`Device`, one line each in ``KINDS``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from megtrim.core.parts import find_parts, load
from megtrim.places.devices import adb, local, qemu, ssh, virtual_phone
from megtrim.places.devices.device import Device, DeviceSpec, Machine


class Pools(Protocol):
    def make_pool(
        self, spec: DeviceSpec, *, kind: str, find: Callable[[], Iterable[Machine]]
    ) -> Device:
        """Return the machines that ``find`` finds as one device."""

    def merge_devices(self, devices: Sequence[Device]) -> Device:
        """Return one device that is all of them."""


def _make_local(spec: DeviceSpec) -> Device:
    processes = spec.processes.for_builds()
    return local.Local(spec.name, processes, spec.scratch, hosted=spec.hosted)


def _make_phones(spec: DeviceSpec) -> Device:
    return _pools().make_pool(spec, kind="adb", find=lambda: adb.find(spec))


def _make_boards(spec: DeviceSpec) -> Device:
    return _pools().make_pool(spec, kind="ssh", find=lambda: ssh.find(spec))


KINDS: Mapping[str, Callable[[DeviceSpec], Device]] = {
    "local": _make_local,
    "qemu": qemu.find,
    "adb": _make_phones,
    "ssh": _make_boards,
    "virtual-phone": virtual_phone.find,
}


def make(kind: str, spec: DeviceSpec, *, native: str) -> Device:
    """Return a device of that kind; ``auto`` runs natively if it can, else emulates."""
    if kind == "auto":
        kind = "local" if spec.machine == native else "qemu"
    make_kind = KINDS[kind]
    return make_kind(spec)


def make_all(kind: str, specs: Sequence[DeviceSpec], *, native: str) -> Device:
    """Return one device that is all of them: jobs take the first that is free."""
    devices = [make(kind, spec, native=native) for spec in specs]
    return devices[0] if len(devices) == 1 else _pools().merge_devices(devices)


def _pools() -> Pools:
    pools: Pools = load(find_parts().pools, "devices that jobs share")
    return pools
