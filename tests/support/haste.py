"""Waiting times of devices for tests that cannot wait so long."""

from dataclasses import asdict

from megtrim.places.devices.device import Timeouts


def scale(factor: float) -> Timeouts:
    """Multiply every time; the speed of links stays."""
    times = asdict(Timeouts())
    speed = times.pop("slowest_bytes_per_s")
    return Timeouts(
        **{name: time_s * factor for name, time_s in times.items()}, slowest_bytes_per_s=speed
    )
