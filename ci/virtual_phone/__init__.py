"""The virtual phone: Debian's adbd on Android's shell and tools, arm64 programs through qemu-user.

A phone is a set of processes in namespaces of its own: no privilege is needed, and nothing of
the machine is changed. It is no sandbox: what runs there may do what its user may do here.
"""
