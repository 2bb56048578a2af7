#!/usr/bin/env python3
"""Ask GitHub for the configuration of a runner that takes one job. usage: register.py N FILE

The token is the credential `github-token`, which systemd gives to this unit alone; repository,
labels and group come from the environment. FILE gets the configuration, readable by the group.
Standard library only. Exit status: 0, 2 (this host's set-up, or a refusal), 3 (network, GitHub).
"""

from __future__ import annotations

import binascii
import json
import os
import secrets
import socket
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

TIMEOUT_S = 30.0
ANSWER_LIMIT_BYTES = 1024 * 1024
_HINTS = {
    401: "the token is wrong, or has expired",
    403: "the token may not register runners there: a repository needs Administration (write),"
    " an organization Self-hosted runners (write); or the runner group is not open to it",
    404: "there is no such repository, organization or runner group, or the token cannot see it",
    409: "a runner of that name exists already",
    422: "GitHub does not take the labels or the runner group",
}


class Refusal(Exception):
    def __init__(self, text: str, *, rc: int) -> None:
        super().__init__(text)
        self.rc = rc


def main(arguments: list[str]) -> int:
    try:
        instance, file = arguments
        token = _token(os.environ)
        name = f"{socket.gethostname()[:40]}-{instance}-{secrets.token_hex(4)}"
        config = ask(request(os.environ, name=name, token=token))
        write_config(Path(file), config)
    except Refusal as refusal:
        sys.stderr.write(f"register.py: {refusal}\n")
        return refusal.rc
    except (OSError, ValueError, KeyError) as error:
        sys.stderr.write(f"register.py: {type(error).__name__}: {error}\n")
        return 2
    sys.stdout.write(f"registered as {name}\n")
    return 0


def _token(env: Mapping[str, str]) -> str:
    token = Path(env["CREDENTIALS_DIRECTORY"], "github-token").read_text(encoding="ascii").strip()
    if not token or not token.isprintable() or " " in token:
        msg = "the file with the token must hold one line with the token, and nothing else"
        raise Refusal(msg, rc=2)
    return token


def request(env: Mapping[str, str], *, name: str, token: str) -> urllib.request.Request:
    body = {
        "name": name,
        "runner_group_id": int(env["MEGTRIM_RUNNER_GROUP"]),
        "labels": env["MEGTRIM_LABELS"].split(","),
        "work_folder": "_work",
    }
    return urllib.request.Request(
        f"{env['MEGTRIM_API']}/{env['MEGTRIM_SCOPE']}/actions/runners/generate-jitconfig",
        data=json.dumps(body).encode(),
        method="POST",
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "User-Agent": "megtrim-device-host",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """One would send the token to another host."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return


def ask(call: urllib.request.Request) -> str:
    opener = urllib.request.build_opener(_NoRedirects)
    try:
        with opener.open(call, timeout=TIMEOUT_S) as answer:
            data = answer.read(ANSWER_LIMIT_BYTES)
    except urllib.error.HTTPError as error:
        hint = _HINTS.get(error.code, "")
        msg = f"{call.full_url} answered {error.code}{': ' if hint else ''}{hint}"
        raise Refusal(msg, rc=2 if hint else 3) from None
    except OSError as error:
        msg = f"{call.full_url} did not answer: {getattr(error, 'reason', error)}"
        raise Refusal(msg, rc=3) from None
    try:
        config = json.loads(data)["encoded_jit_config"]
        binascii.a2b_base64(config, strict_mode=True)
    except (ValueError, KeyError, TypeError):
        msg = f"{call.full_url} answered without a configuration for a runner"
        raise Refusal(msg, rc=3) from None
    return str(config)


def write_config(file: Path, config: str) -> None:
    """Write the configuration atomically, readable by the group; a link is replaced."""
    descriptor, made = tempfile.mkstemp(dir=file.parent)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        os.fchmod(descriptor, 0o640)
        stream.write(config)
    Path(made).replace(file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
