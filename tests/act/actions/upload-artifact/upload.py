"""Stand-in for actions/upload-artifact: packs what the patterns match and sends it.

The layout is the action's: names are relative to the deepest folder that all search paths share,
hidden files stay out unless asked for, and no file keeps its mode.
"""

import base64
import glob
import hashlib
import io
import json
import os
import sys
import urllib.request
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SERVICE = "twirp/github.actions.results.api.v1.ArtifactService"
FORBIDDEN = frozenset('":<>|*?\r\n\\/')
"""What GitHub does not allow in the name of an artifact."""


def main(env: Mapping[str, str]) -> int:
    name = env["IN_NAME"]
    if not name or FORBIDDEN & set(name):
        return _fail(f"{name!r} cannot be the name of an artifact")
    if env.get("MEGTRIM_STAND_IN_FAULT") == f"{env['GITHUB_JOB']} upload {name}":
        return _fail("The runner has received a shutdown signal")
    files = found(env["IN_PATH"].splitlines(), hidden=env["IN_HIDDEN"] == "true")
    if not files:
        reported = f"No files were found with the provided path: {env['IN_PATH']}"
        if env["IN_NONE"] == "error":
            return _fail(reported)
        sys.stdout.write(f"::warning::{reported}\n" if env["IN_NONE"] == "warn" else "")
        return 0
    server = Server(env)
    if name in server.names():
        if env["IN_OVERWRITE"] != "true":
            return _fail(f"an artifact with the name {name} already exists on the workflow run")
        server.call("DeleteArtifact", name=name)
    data = packed(files)
    shown_id = server.send(name, data)
    digest = hashlib.sha256(data).hexdigest()
    with Path(env["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as output:
        run = "/".join(env[f"GITHUB_{name}"] for name in ("SERVER_URL", "REPOSITORY"))
        url = f"{run}/actions/runs/{env['GITHUB_RUN_ID']}/artifacts/{shown_id}"
        output.write(f"artifact-id={shown_id}\nartifact-digest={digest}\nartifact-url={url}\n")
    sys.stdout.write(f"{name}: {len(files)} files, {len(data)} bytes\n")
    return 0


def found(patterns: list[str], *, hidden: bool) -> dict[str, Path]:
    roots = [Path(line.strip()).absolute() for line in patterns if line.strip()]
    bases = [_base(root) for root in roots]
    if not bases:
        return {}
    top = Path(os.path.commonpath(bases))
    matched = {
        file
        for root in roots
        # Path.glob takes no absolute pattern.
        for each in glob.glob(str(root), recursive=True, include_hidden=hidden)  # noqa: PTH207
        for file in _files(Path(each))
    }
    names = {str(file.relative_to(top)): file for file in sorted(matched)}
    if hidden:
        return names
    return {name: file for name, file in names.items() if "/." not in f"/{name}"}


def _base(root: Path) -> Path:
    fixed = [part for part in root.parts if not set(part) & set("*?[")]
    base = Path(*fixed)
    return base.parent if base.is_file() else base


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return [each for each in path.rglob("*") if each.is_file()]
    return [path]


def packed(files: Mapping[str, Path]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, file.read_bytes(), compresslevel=1)
    return stream.getvalue()


class Server:
    """act's artifact server, by the calls that the real client makes."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._url = env["ACTIONS_RESULTS_URL"].rstrip("/")
        self._token = env["ACTIONS_RUNTIME_TOKEN"]
        payload = self._token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        _, self._run, self._job = claims["scp"].split(":")

    def call(self, method: str, **more: str) -> dict[str, Any]:
        body = {"workflowRunBackendId": self._run, "workflowJobRunBackendId": self._job, **more}
        request = urllib.request.Request(
            f"{self._url}/{SERVICE}/{method}",
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            reported: dict[str, Any] = json.load(answer)
        return reported

    def names(self) -> tuple[str, ...]:
        listed = self.call("ListArtifacts").get("artifacts", [])
        return tuple(each["name"] for each in listed)

    def send(self, name: str, data: bytes) -> str:
        url = self.call("CreateArtifact", name=name, version="4")["signedUploadUrl"]
        self._put(f"{url}&comp=block&blockid=MDAwMA%3D%3D", data)
        self._put(f"{url}&comp=blocklist", b"<BlockList><Latest>MDAwMA==</Latest></BlockList>")
        size = str(len(data))
        return str(self.call("FinalizeArtifact", name=name, size=size)["artifactId"])

    def _put(self, url: str, data: bytes) -> None:
        with urllib.request.urlopen(urllib.request.Request(url, data, method="PUT"), timeout=60):
            return


def _fail(text: str) -> int:
    sys.stdout.write(f"::error::{text}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(os.environ))
