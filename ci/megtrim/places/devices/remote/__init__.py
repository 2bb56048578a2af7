"""Machines behind adb or ssh: transport, run directory, scripts, telemetry."""
