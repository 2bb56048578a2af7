"""Tags and releases of the GitHub double: drafts that no one sees, files, and publishing."""

import hashlib
from collections.abc import Callable
from typing import Any

from werkzeug import Response

from support.github_state import Asked, Refused, as_json, paged


def get_tag(asked: Asked, tag: str) -> Response:
    if tag not in asked.repository.tags:
        raise Refused(404, "Not Found")
    return as_json({"ref": f"refs/tags/{tag}", "object": asked.repository.tags[tag]})


def get_annotated(asked: Asked, sha: str) -> Response:
    if sha not in asked.repository.notes:
        raise Refused(404, "Not Found")
    return as_json({"sha": sha, "object": {"type": "commit", "sha": asked.repository.notes[sha]}})


def list_releases(asked: Asked) -> Response:
    return paged(asked, [*asked.repository.releases.values()][::-1])


def create_release(asked: Asked) -> Response:
    repository = asked.repository
    (tag,) = asked.need("tag_name")
    taken = {each["tag_name"] for each in repository.releases.values() if not each["draft"]}
    if tag in taken and not asked.body.get("draft"):
        raise Refused(422, "Validation Failed", errors=[{"code": "already_exists"}])
    number = next(repository.ids)
    at = f"{asked.request.host_url}repos/{repository.name}/releases/{number}/assets"
    repository.releases[number] = {
        "id": number,
        "tag_name": tag,
        "name": asked.body.get("name", tag),
        "body": asked.body.get("body", ""),
        "draft": bool(asked.body.get("draft")),
        "html_url": f"https://github.example/{repository.name}/releases/tag/{tag}",
        "upload_url": f"{at}{{?name,label}}",
        "assets": [],
    }
    return as_json(repository.releases[number], 201)


def _find(asked: Asked, number: int) -> dict[str, Any]:
    if number not in asked.repository.releases:
        raise Refused(404, "Not Found")
    return asked.repository.releases[number]


def edit_release(asked: Asked, number: int) -> Response:
    release, every = _find(asked, number), asked.repository.releases.values()
    taken = {each["tag_name"] for each in every if not each["draft"]}
    if release["draft"] and asked.body.get("draft") is False and release["tag_name"] in taken:
        raise Refused(422, "Validation Failed", errors=[{"code": "already_exists"}])
    release |= {key: value for key, value in asked.body.items() if key in ("draft", "body")}
    return as_json(release)


def delete_release(asked: Asked, number: int) -> Response:
    for asset in _find(asked, number)["assets"]:
        del asked.repository.assets[asset["id"]]
    del asked.repository.releases[number]
    return Response(status=204)


def upload_asset(asked: Asked, number: int) -> Response:
    release, name = _find(asked, number), asked.query["name"]
    if name in {each["name"] for each in release["assets"]}:
        raise Refused(422, "Validation Failed", errors=[{"code": "already_exists"}])
    data = asked.repository.stores(asked.request.get_data())
    asset_id = next(asked.repository.ids)
    asset = {
        "id": asset_id,
        "name": name,
        "size": len(data),
        "state": "uploaded",
        "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
    }
    asked.repository.assets[asset_id] = data
    release["assets"].append(asset)
    return as_json(asset, 201)


def get_asset(asked: Asked, asset_id: int) -> Response:
    if asset_id not in asked.repository.assets:
        raise Refused(404, "Not Found")
    if asked.request.headers.get("Accept") != "application/octet-stream":
        return as_json({"id": asset_id})
    return Response(asked.repository.assets[asset_id], mimetype="application/octet-stream")


ROUTES: tuple[tuple[str, str, str, Callable[..., Response]], ...] = (
    ("GET", "/git/ref/tags/<path:tag>", "contents", get_tag),
    ("GET", "/git/tags/<sha>", "contents", get_annotated),
    ("GET", "/releases", "contents", list_releases),
    ("POST", "/releases", "contents", create_release),
    ("PATCH", "/releases/<int:number>", "contents", edit_release),
    ("DELETE", "/releases/<int:number>", "contents", delete_release),
    ("POST", "/releases/<int:number>/assets", "contents", upload_asset),
    ("GET", "/releases/assets/<int:asset_id>", "contents", get_asset),
)
