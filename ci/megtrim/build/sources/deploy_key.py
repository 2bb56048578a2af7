"""A deploy key: an SSH key of one repository, which an agent of our own holds for one fetch.

The key is in no file: the agent reads it from memory, and ends with the fetch. No settings of a
person or machine count for ssh either, and a server must have a host key that is known before.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from megtrim.build.sources.repository_url import RepositoryUrl
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import Command, ProcessRunner

KNOWN_HOSTS = (
    "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n"
)
"""As their owners publish them; further ones are named by the workflow."""
_USER = "git"
_KEY = re.compile(
    r"-----BEGIN (?P<kind>(?:[A-Z0-9]+ )?PRIVATE KEY)-----\n"
    r"(?:[A-Za-z0-9+/=]{1,100}\n){1,100}"
    r"-----END (?P=kind)-----\n",
    re.ASCII,
)
_HOST_LINE = re.compile(r"[A-Za-z0-9.,:\[\]-]{1,500} [a-z0-9@.-]{1,60} [A-Za-z0-9+/=]{1,2000}")
_START_S, _PAUSE_S, _TIMEOUT_S = 10.0, 0.01, 60.0


def is_deploy_key(text: str) -> bool:
    return _KEY.fullmatch(text) is not None


def check_host_keys(text: str) -> str:
    """A line break follows each. Raises InputError for anything else."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if not _HOST_LINE.fullmatch(line):
            msg = f"engine-host-keys: found {line[:80]!r}, expected HOST KIND KEY"
            raise InputError(msg, hint="`ssh-keyscan HOST` prints such lines; compare them first")
    return "".join(f"{line}\n" for line in lines)


def by_ssh(url: RepositoryUrl, host_keys: str) -> str:
    """At the port that the server's host key is known for, else 22."""
    host = url.host.partition(":")[0]
    named = re.search(rf"(?:^|[ ,\n])\[{re.escape(host)}\]:([0-9]{{1,5}})[ ,]", host_keys)
    port = f":{named[1]}" if named else ""
    return f"ssh://{_USER}@{host}{port}/{'/'.join(url.parts)}{url.ending}"


@contextmanager
def hold(key: str, host_keys: str, processes: ProcessRunner) -> Iterator[Mapping[str, str]]:
    """Yield the variables by which git uses the key, until the block ends. Raises InputError."""
    with tempfile.TemporaryDirectory(prefix="megtrim-ssh-") as place:
        agent, known = Path(place, "agent"), Path(place, "known-hosts")
        known.write_text(KNOWN_HOSTS + host_keys, encoding="ascii")
        # Without -D it would leave our group, and outlive a job that is cut off.
        command = Command(argv=("ssh-agent", "-D", "-a", str(agent)), timeout_s=0)
        with processes.background(command) as running:
            deadline = time.monotonic() + _START_S
            while not agent.exists():
                if not running.alive() or time.monotonic() > deadline:
                    msg = "ssh-agent does not start"
                    raise InfrastructureFailure(msg, hint="run it again")
                time.sleep(_PAUSE_S)
            _add(key, agent, processes)
            yield {
                "GIT_SSH_COMMAND": shlex.join(_ssh(agent, known)),
                "GIT_SSH_VARIANT": "ssh",
            }


def _add(key: str, agent: Path, processes: ProcessRunner) -> None:
    memory = os.memfd_create("key")
    try:
        os.write(memory, key.encode("ascii"))
        more = {"SSH_AUTH_SOCK": str(agent), "SSH_ASKPASS_REQUIRE": "never"}
        read = Path(f"/proc/self/fd/{memory}")
        argv = ("ssh-add", "-q", "-")
        added = processes.run(Command(argv=argv, timeout_s=_TIMEOUT_S, env=more, stdin=read))
    finally:
        os.close(memory)
    if not added.ok:
        msg = "the engine's key: ssh-add does not take it"
        raise InputError(msg, hint="give a whole private key without a passphrase")


def _ssh(agent: Path, known: Path) -> tuple[str, ...]:
    options = {
        "IdentityFile": "none",
        "IdentityAgent": f'"{agent}"',
        "UserKnownHostsFile": f'"{known}"',
        "GlobalKnownHostsFile": os.devnull,
        "StrictHostKeyChecking": "yes",
        "BatchMode": "yes",
        "PreferredAuthentications": "publickey",
        "ClearAllForwardings": "yes",
        "ConnectTimeout": "30",
    }
    given = (word for name, value in options.items() for word in ("-o", f"{name}={value}"))
    return ("ssh", "-F", os.devnull, *given)
