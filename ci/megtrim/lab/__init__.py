"""Devices that are shared: pools, leases and jobs on runners."""
