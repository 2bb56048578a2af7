"""The virtual phone: Debian's adbd on Android's shell and tools, arm64 programs through qemu-user.

A phone is a set of processes in namespaces of its own: no privilege is needed, and nothing of
the machine is changed. ``system`` is what a phone is made of; ``supervisor`` is the program
that is a phone; ``manager`` starts phones and speaks with them. It is no sandbox: what runs on the
phone may do what its user may do here, but for what it cannot see.
"""
