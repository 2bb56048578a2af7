"""What the routes of the GitHub double share: a request as they read it, and forms of answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from werkzeug import Request, Response

from support.github_state import Refused, Repository


class Asked:
    """One request about one repository."""

    def __init__(self, request: Request, repository: Repository, login: str) -> None:
        self.request = request
        self.repository = repository
        self.login = login
        self.query = request.args
        given = request.get_json(silent=True)
        self.body: dict[str, Any] = given if isinstance(given, dict) else {}

    def need(self, *names: str) -> list[Any]:
        """Return fields of the body; a missing one is refused."""
        if lacking := [name for name in names if name not in self.body]:
            said = f"Invalid request. {lacking[0]!r} wasn't supplied."
            raise Refused(422, said)
        return [self.body[name] for name in names]


def as_json(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json.dumps(body), status, headers, mimetype="application/json")


def paged(asked: Asked, items: Sequence[Any], key: str | None = None) -> Response:
    size = min(100, max(1, int(asked.query.get("per_page", 30))))
    page = max(1, int(asked.query.get("page", 1)))
    last = max(1, -(-len(items) // size))
    links = []
    for name, number in (("prev", page - 1), ("next", page + 1), ("last", last)):
        if 1 <= number <= last and (name != "last" or page < last):
            query = "&".join(f"{k}={v}" for k, v in asked.query.items() if k != "page")
            links.append(f'<{asked.request.base_url}?{query}&page={number}>; rel="{name}"')
    shown = list(items[(page - 1) * size : page * size])
    body = shown if key is None else {"total_count": len(items), key: shown}
    return as_json(body, headers={"Link": ", ".join(links)} if links else {})
