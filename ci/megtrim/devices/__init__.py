"""Where programs run: one file per kind behind :class:`Device`, one line each in ``KINDS``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from megtrim.devices import adb, local, qemu, ssh, virtual_phone
from megtrim.devices.device import Device, DeviceSpec, Lease, RunDirectory
from megtrim.devices.pool import device_pool

__all__ = ["KINDS", "Device", "DeviceSpec", "Lease", "RunDirectory", "make"]

KINDS: Mapping[str, Callable[[DeviceSpec], Device]] = {
    "local": lambda order: local.Local(order.name, order.processes, order.scratch),
    "qemu": lambda order: qemu.find(
        order.name,
        order.processes,
        order.scratch,
        machine=order.machine,
        cpu=order.qemu_cpu,
        sysroot=order.sysroot,
    ),
    "adb": lambda order: device_pool.make_pool(order, kind="adb", find=lambda: adb.find(order)),
    "ssh": lambda order: device_pool.make_pool(order, kind="ssh", find=lambda: ssh.find(order)),
    "virtual-phone": virtual_phone.find,
}


def make(kind: str, order: DeviceSpec, *, native: str) -> Device:
    """Return a device of that kind; ``auto`` runs natively where it can, else emulates."""
    if kind == "auto":
        kind = "local" if order.machine == native else "qemu"
    return KINDS[kind](order)
