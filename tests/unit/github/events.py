"""Events as GitHub writes them, shortened to what a reader could meet."""

import json
from pathlib import Path
from typing import Any

HEAD = "1" * 40
BASE = "2" * 40
MERGE = "3" * 40
REPOSITORY = {"id": 11, "full_name": "acme/phone", "default_branch": "main"}


def pull_request(*, number: int = 17, head_repository: Any = REPOSITORY) -> dict[str, Any]:
    return {
        "number": number,
        "title": "$(reboot) @everyone",
        "body": None,
        "head": {"ref": "a`b", "sha": HEAD, "repo": head_repository},
        "base": {"ref": "release/1.0", "sha": BASE, "repo": REPOSITORY},
    }


def payload(name: str) -> dict[str, Any]:
    own: dict[str, dict[str, Any]] = {
        "pull_request": {"number": 17, "action": "synchronize", "pull_request": pull_request()},
        "push": {"ref": "refs/heads/main", "before": BASE, "after": HEAD},
        "workflow_dispatch": {"ref": "refs/heads/work", "inputs": {"pull-request": "17"}},
        "merge_group": {
            "merge_group": {
                "head_sha": MERGE,
                "head_ref": "refs/heads/gh-readonly-queue/main/pr-17-2222",
                "base_sha": BASE,
                "base_ref": "refs/heads/main",
            }
        },
        "schedule": {"schedule": "0 4 * * *"},
    }
    repository = {} if name == "schedule" else {"repository": REPOSITORY}
    return {**own[name], **repository}


def environment(folder: Path, name: str, content: Any = None) -> dict[str, str]:
    path = folder / "event.json"
    data = json.dumps(payload(name) if content is None else content)
    path.write_text(data, encoding="utf-8")
    return {
        "GITHUB_EVENT_NAME": name,
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REPOSITORY": "acme/phone",
        "GITHUB_SHA": MERGE if name in ("pull_request", "merge_group") else HEAD,
        "GITHUB_REF": "refs/pull/17/merge" if name == "pull_request" else "refs/heads/main",
        "GITHUB_RUN_ID": "9007",
        "GITHUB_RUN_ATTEMPT": "2",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_API_URL": "https://api.github.com",
    }
