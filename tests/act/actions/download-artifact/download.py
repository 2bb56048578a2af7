"""Stand-in for actions/download-artifact: one by name, some by id, or all that fit a pattern.

A single artifact is unpacked into the folder, several into folders of their names, unless they
are to be merged. A name or an id that is not there fails; a pattern that fits nothing does not.
"""

import base64
import fnmatch
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


def main(env: Mapping[str, str]) -> int:
    target = Path(env["IN_PATH"]).absolute()
    stored = _call(env, "ListArtifacts").get("artifacts", [])
    wanted = chosen({each["name"]: str(each["databaseId"]) for each in stored}, env)
    if not wanted and (env["IN_NAME"] or env["IN_IDS"]):
        asked = f"name: {env['IN_NAME']}" if env["IN_NAME"] else f"id: {env['IN_IDS']}"
        sys.stdout.write(f"::error::Artifact not found for {asked}\n")
        return 1
    flat = len(wanted) == 1 or env["IN_MERGE"] == "true"
    for name in wanted:
        folder = target if flat else target / name
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(io.BytesIO(_bytes_of(env, name))) as archive:
            archive.extractall(folder)
        sys.stdout.write(f"{name} -> {folder}\n")
    with Path(env["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as output:
        output.write(f"download-path={target}\n")
    return 0


def chosen(listed: Mapping[str, str], env: Mapping[str, str]) -> list[str]:
    if env["IN_NAME"]:
        return [name for name in listed if name == env["IN_NAME"]]
    if env["IN_IDS"]:
        ids = {each.strip() for each in env["IN_IDS"].split(",")}
        return sorted(name for name, number in listed.items() if number in ids)
    return sorted(fnmatch.filter(listed, env["IN_PATTERN"] or "*"))


def _bytes_of(env: Mapping[str, str], name: str) -> bytes:
    url = _call(env, "GetSignedArtifactURL", name=name)["signedUrl"]
    with urllib.request.urlopen(url, timeout=60) as answer:
        data: bytes = answer.read()
    return data


def _call(env: Mapping[str, str], method: str, **more: str) -> dict[str, Any]:
    token = env["ACTIONS_RUNTIME_TOKEN"]
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    _, run, job = claims["scp"].split(":")
    request = urllib.request.Request(
        f"{env['ACTIONS_RESULTS_URL'].rstrip('/')}/{SERVICE}/{method}",
        data=json.dumps(
            {"workflowRunBackendId": run, "workflowJobRunBackendId": job, **more}
        ).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        reported: dict[str, Any] = json.load(answer)
    return reported


if __name__ == "__main__":
    sys.exit(main(os.environ))
