"""The routes of the GitHub double: a request and a repository in, a response out."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from werkzeug import Request, Response
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule

from support.github_state import Asked, Refused, Repository, as_json, blob_sha, paged, tree_sha


def answer(
    request: Request, found: tuple[Repository, str] | None, permissions: Mapping[str, str]
) -> Response:
    if found is None:
        raise Refused(404, "Not Found")
    try:
        name, parts = _URLS.bind_to_environ(request.environ).match()
    except HTTPException:
        raise Refused(404, "Not Found") from None
    arguments = {key: value for key, value in parts.items() if key not in ("owner", "repo")}
    handler, permission = _HANDLERS[name]
    level = "read" if request.method == "GET" else "write"
    if permission and permissions.get(permission) not in (level, "write"):
        body = {"message": "Resource not accessible by integration", "status": "403"}
        return as_json(body, 403, {"X-Accepted-GitHub-Permissions": f"{permission}={level}"})
    return handler(Asked(request, *found), **arguments)


def about(asked: Asked) -> Response:
    return as_json(asked.repository.brief())


def list_comments(asked: Asked, number: int) -> Response:
    every = sorted(asked.repository.comments.values(), key=lambda each: each["id"])
    return paged(asked, [each for each in every if each["number"] == number])


def create_comment(asked: Asked, number: int) -> Response:
    (body,) = asked.need("body")
    return as_json(asked.repository.comment(number, body, login=asked.login), 201)


def _comment(asked: Asked, comment_id: int) -> dict[str, Any]:
    if comment_id not in asked.repository.comments:
        raise Refused(404, "Not Found")
    return asked.repository.comments[comment_id]


def edit_comment(asked: Asked, comment_id: int) -> Response:
    comment = _comment(asked, comment_id)
    (body,) = asked.need("body")
    if len(body) > 65536:
        raise Refused(422, "Validation Failed: body is too long (maximum is 65536 characters)")
    comment |= {"body": body, "updated_at": asked.repository.stamp()}
    return as_json(comment)


def delete_comment(asked: Asked, comment_id: int) -> Response:
    _comment(asked, comment_id)
    del asked.repository.comments[comment_id]
    return Response(status=204)


def list_issues(asked: Asked) -> Response:
    state = asked.query.get("state", "open")
    labels = asked.query.get("labels", "")
    pulls = ({**each, "labels": [], "pull_request": {}} for each in asked.repository.pulls.values())
    every = [
        each
        for each in (*pulls, *asked.repository.issues.values())
        if state in ("all", each["state"])
        and {*labels.split(",")} - {""} <= {label["name"] for label in each["labels"]}
    ]
    return paged(asked, every[::-1])


def create_issue(asked: Asked) -> Response:
    (title,) = asked.need("title")
    body = _text(asked.body.get("body", ""))
    labels = asked.body.get("labels", [])
    if len(title) > 256:
        raise Refused(422, "Validation Failed: title is too long (maximum is 256 characters)")
    return as_json(asked.repository.issue(title, body, labels=labels, login=asked.login), 201)


def edit_issue(asked: Asked, number: int) -> Response:
    issue = asked.repository.issues.get(number)
    if issue is None:
        raise Refused(404, "Not Found")
    _text(asked.body.get("body", ""))
    fields = ("title", "body", "state", "state_reason")
    issue |= {key: asked.body[key] for key in fields if key in asked.body}
    return as_json(issue)


def compare(asked: Asked, span: str) -> Response:
    base, _, head = span.partition("...")
    merge_base = asked.repository.merge_base(base, head)
    return as_json({"merge_base_commit": {"sha": merge_base}, "commits": [], "files": []})


def list_activity(asked: Asked) -> Response:
    asked_for = (asked.query["ref"], asked.query["activity_type"])
    every = asked.repository.activity
    return paged(asked, [e for e in every if (e["ref"], e["activity_type"]) == asked_for])


def list_artifacts(asked: Asked, run_id: int = 0) -> Response:
    by = asked.repository.stored_by
    every = [*asked.repository.artifacts.values()][::-1]
    every = [each for each in every if by[each["id"]] == run_id] if run_id else every
    name = asked.query.get("name")
    return paged(asked, [a for a in every if name in (None, a["name"])], "artifacts")


def download(asked: Asked, artifact_id: int) -> Response:
    artifact = asked.repository.artifacts.get(artifact_id)
    if artifact is None:
        raise Refused(404, "Not Found")
    if artifact["expired"]:
        raise Refused(410, "Artifact has expired")
    # Another host for whoever looks at names, and the same socket.
    elsewhere = asked.request.host_url.replace("127.0.0.1", "localhost")
    where = f"{elsewhere}storage/{asked.repository.name}/{artifact_id}?sig=abc"
    return Response(status=302, headers={"Location": where})


def storage(asked: Asked, artifact_id: int) -> Response:
    return Response(asked.repository.archives[artifact_id], mimetype="application/zip")


def list_workflow_runs(asked: Asked, file: str) -> Response:
    if file not in asked.repository.workflows:
        raise Refused(404, "Not Found")
    wanted = {key: asked.query[key] for key in ("head_sha", "event") if key in asked.query}
    wanted["path"] = f".github/workflows/{file}"
    runs = sorted(asked.repository.runs.values(), key=lambda each: -each["id"])
    fitting = [run for run in runs if all(run.get(key) == each for key, each in wanted.items())]
    return paged(asked, fitting, "workflow_runs")


def get_run(asked: Asked, run_id: int) -> Response:
    if run_id not in asked.repository.runs:
        raise Refused(404, "Not Found")
    return as_json(asked.repository.runs[run_id])


def get_environment(asked: Asked, name: str) -> Response:
    if name not in asked.repository.environments:
        raise Refused(404, "Not Found")
    rules = [{"type": each} for each in asked.repository.environments[name]]
    return as_json({"name": name, "protection_rules": rules})


def list_jobs(asked: Asked, run_id: int, attempt: int) -> Response:
    rounds = asked.repository.jobs.get((run_id, attempt))
    if not rounds:
        raise Refused(404, "Not Found")
    last_page = int(asked.query.get("page", 1)) * 100 >= len(rounds[0])
    jobs = rounds.pop(0) if len(rounds) > 1 and last_page else rounds[0]
    return paged(asked, jobs, "jobs")


def list_pulls(asked: Asked) -> Response:
    state, head, base = (asked.query.get(k, d) for k, d in (("state", "open"), *_NO_FILTER))
    every = [
        pull
        for pull in sorted(asked.repository.pulls.values(), key=lambda each: -each["number"])
        if state in ("all", pull["state"])
        and (not head or head == _label(pull["head"]))
        and base in ("", pull["base"]["ref"])
    ]
    return paged(asked, every)


_NO_FILTER = (("head", ""), ("base", ""))


def _label(end: dict[str, Any]) -> str:
    owner = end["repo"]["full_name"].partition("/")[0]
    return f"{owner}:{end['ref']}"


def create_pull(asked: Asked) -> Response:
    if not asked.repository.may_open_pulls:
        said = "GitHub Actions is not permitted to create or approve pull requests."
        raise Refused(403, said)
    head, base, title = asked.need("head", "base", "title")
    number = asked.repository.pull(head, base=base, title=title)
    asked.repository.pulls[number]["body"] = _text(asked.body.get("body", ""))
    return as_json(asked.repository.pulls[number], 201)


def _text(body: str) -> str:
    if len(body) > 65536:
        raise Refused(422, "Validation Failed: body is too long (maximum is 65536 characters)")
    return body


def _pull(asked: Asked, number: int) -> dict[str, Any]:
    if number not in asked.repository.pulls:
        raise Refused(404, "Not Found")
    return asked.repository.pulls[number]


def get_pull(asked: Asked, number: int) -> Response:
    return as_json(_pull(asked, number))


def edit_pull(asked: Asked, number: int) -> Response:
    pull = _pull(asked, number)
    _text(asked.body.get("body", ""))
    pull |= {key: asked.body[key] for key in ("title", "body", "state") if key in asked.body}
    return as_json(pull)


def get_ref(asked: Asked, branch: str) -> Response:
    if branch not in asked.repository.heads:
        raise Refused(404, "Not Found")
    return as_json(_ref(branch, asked.repository.heads[branch]))


def _ref(branch: str, sha: str) -> dict[str, Any]:
    return {"ref": f"refs/heads/{branch}", "object": {"type": "commit", "sha": sha}}


def create_ref(asked: Asked) -> Response:
    ref, sha = asked.need("ref", "sha")
    branch = ref.removeprefix("refs/heads/")
    if branch in asked.repository.heads:
        raise Refused(422, "Reference already exists")
    if sha not in asked.repository.commits:
        raise Refused(422, "Object does not exist")
    asked.repository.set_head(branch, sha)
    return as_json(_ref(branch, sha), 201)


def move_ref(asked: Asked, branch: str) -> Response:
    (sha,) = asked.need("sha")
    repository = asked.repository
    if branch not in repository.heads:
        raise Refused(422, "Reference does not exist")
    if sha not in repository.commits:
        raise Refused(422, "Object does not exist")
    before = repository.heads[branch]
    if not asked.body.get("force") and repository.merge_base(before, sha) != before:
        raise Refused(422, "Update is not a fast forward")
    repository.set_head(branch, sha)
    return as_json(_ref(branch, sha))


def get_commit(asked: Asked, sha: str) -> Response:
    commit = asked.repository.resolve(sha)
    parents = [{"sha": parent} for parent in commit.parents]
    tree = {"sha": commit.tree}
    found = {"sha": commit.sha, "tree": tree, "parents": parents, "message": commit.message}
    found["committer"] = {"date": commit.committed_at}
    return as_json(found)


def create_commit(asked: Asked) -> Response:
    message, tree, parents = asked.need("message", "tree", "parents")
    files = asked.repository.trees.get(tree)
    if files is None or any(parent not in asked.repository.commits for parent in parents):
        raise Refused(422, "Tree SHA does not exist")
    sha = asked.repository.add_commit(files, tuple(parents), message)
    return as_json({"sha": sha, "tree": {"sha": tree}}, 201)


def create_tree(asked: Asked) -> Response:
    (entries,) = asked.need("tree")
    files = dict(asked.repository.trees[asked.body["base_tree"]])
    for entry in entries:
        if entry.get("mode") != "100644" or entry.get("type") != "blob":
            raise Refused(422, "tree.mode must be one of the supported modes")
        if "sha" in entry and entry["sha"] is None:
            if files.pop(entry["path"], None) is None:
                raise Refused(422, "GitRPC::BadObjectState")
            continue
        data = asked.repository.blobs.get(entry.get("sha", ""))
        files[entry["path"]] = entry["content"].encode() if data is None else data
    asked.repository.add_tree(files)
    return as_json({"sha": tree_sha(files)}, 201)


def get_tree(asked: Asked, sha: str) -> Response:
    files = asked.repository.trees.get(sha)
    if files is None:
        raise Refused(404, "Not Found")
    within: dict[str, dict[str, bytes]] = {}
    for path, data in files.items():
        *folders, _ = path.split("/")
        for depth in range(1, len(folders) + 1):
            folder = "/".join(folders[:depth])
            within.setdefault(folder, {})[path.removeprefix(f"{folder}/")] = data
    entries = [
        *(("blob", path, blob_sha(data)) for path, data in files.items()),
        *(("tree", path, asked.repository.add_tree(inner)) for path, inner in within.items()),
    ]
    found = [
        {"type": kind, "path": path, "sha": each}
        for kind, path, each in sorted(entries, key=lambda entry: entry[1])
        if "recursive" in asked.query or "/" not in path
    ]
    return as_json({"sha": sha, "tree": found, "truncated": False})


def get_blob(asked: Asked, sha: str) -> Response:
    data = asked.repository.blobs.get(sha)
    if data is None:
        raise Refused(404, "Not Found")
    content = base64.encodebytes(data).decode()
    return as_json({"sha": sha, "encoding": "base64", "content": content, "size": len(data)})


def dispatch(asked: Asked, file: str) -> Response:
    (ref,) = asked.need("ref")
    inputs = asked.body.get("inputs", {})
    known = asked.repository.workflows.get(file)
    if known is None:
        raise Refused(404, "Not Found")
    if ref.removeprefix("refs/heads/") not in asked.repository.heads:
        raise Refused(422, f"No ref found for: {ref}")
    if extra := sorted(inputs.keys() - known):
        raise Refused(422, f"Unexpected inputs provided: {json.dumps(extra)}")
    branch = ref.removeprefix("refs/heads/")
    asked.repository.dispatches.append({"workflow": file, "ref": ref, "inputs": inputs})
    head = asked.repository.heads[branch]
    started = asked.repository.run(head, event="workflow_dispatch", branch=branch, status="queued")
    asked.repository.runs[started]["path"] = f".github/workflows/{file}"
    return Response(status=204)


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


def _release(asked: Asked, number: int) -> dict[str, Any]:
    if number not in asked.repository.releases:
        raise Refused(404, "Not Found")
    return asked.repository.releases[number]


def edit_release(asked: Asked, number: int) -> Response:
    release = _release(asked, number)
    every = asked.repository.releases.values()
    taken = {each["tag_name"] for each in every if not each["draft"]}
    if release["draft"] and asked.body.get("draft") is False and release["tag_name"] in taken:
        raise Refused(422, "Validation Failed", errors=[{"code": "already_exists"}])
    release |= {key: value for key, value in asked.body.items() if key in ("draft", "body")}
    return as_json(release)


def delete_release(asked: Asked, number: int) -> Response:
    for asset in _release(asked, number)["assets"]:
        del asked.repository.assets[asset["id"]]
    del asked.repository.releases[number]
    return Response(status=204)


def upload_asset(asked: Asked, number: int) -> Response:
    release = _release(asked, number)
    name = asked.query["name"]
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


_ROUTES: tuple[tuple[str, str, str, Callable[..., Response]], ...] = (
    ("GET", "", "", about),
    ("GET", "/issues", "issues", list_issues),
    ("POST", "/issues", "issues", create_issue),
    ("PATCH", "/issues/<int:number>", "issues", edit_issue),
    ("GET", "/issues/<int:number>/comments", "pull_requests", list_comments),
    ("POST", "/issues/<int:number>/comments", "pull_requests", create_comment),
    ("PATCH", "/issues/comments/<int:comment_id>", "pull_requests", edit_comment),
    ("DELETE", "/issues/comments/<int:comment_id>", "pull_requests", delete_comment),
    ("GET", "/compare/<path:span>", "contents", compare),
    ("GET", "/activity", "contents", list_activity),
    ("GET", "/actions/artifacts", "actions", list_artifacts),
    ("GET", "/actions/artifacts/<int:artifact_id>/zip", "actions", download),
    ("GET", "/actions/runs/<int:run_id>", "actions", get_run),
    ("GET", "/environments/<name>", "actions", get_environment),
    ("GET", "/actions/runs/<int:run_id>/artifacts", "actions", list_artifacts),
    ("GET", "/actions/runs/<int:run_id>/attempts/<int:attempt>/jobs", "actions", list_jobs),
    ("GET", "/actions/workflows/<file>/runs", "actions", list_workflow_runs),
    ("POST", "/actions/workflows/<file>/dispatches", "actions", dispatch),
    ("GET", "/pulls", "pull_requests", list_pulls),
    ("POST", "/pulls", "pull_requests", create_pull),
    ("GET", "/pulls/<int:number>", "pull_requests", get_pull),
    ("PATCH", "/pulls/<int:number>", "pull_requests", edit_pull),
    ("GET", "/git/ref/heads/<path:branch>", "contents", get_ref),
    ("POST", "/git/refs", "contents", create_ref),
    ("PATCH", "/git/refs/heads/<path:branch>", "contents", move_ref),
    ("GET", "/git/commits/<sha>", "contents", get_commit),
    ("POST", "/git/commits", "contents", create_commit),
    ("POST", "/git/trees", "contents", create_tree),
    ("GET", "/git/trees/<sha>", "contents", get_tree),
    ("GET", "/git/blobs/<sha>", "contents", get_blob),
    ("GET", "/git/ref/tags/<path:tag>", "contents", get_tag),
    ("GET", "/git/tags/<sha>", "contents", get_annotated),
    ("GET", "/releases", "contents", list_releases),
    ("POST", "/releases", "contents", create_release),
    ("PATCH", "/releases/<int:number>", "contents", edit_release),
    ("DELETE", "/releases/<int:number>", "contents", delete_release),
    ("POST", "/releases/<int:number>/assets", "contents", upload_asset),
    ("GET", "/releases/assets/<int:asset_id>", "contents", get_asset),
)
_REPOSITORY = "/repos/<owner>/<repo>"
_STORAGE = "/storage/<owner>/<repo>/<int:artifact_id>"
_HANDLERS = {
    **{f"{method} {path}": (handler, needs) for method, path, needs, handler in _ROUTES},
    "storage": (storage, ""),
}
_URLS = Map(
    [
        *(
            Rule(f"{_REPOSITORY}{path}", methods=[method], endpoint=f"{method} {path}")
            for method, path, _, _ in _ROUTES
        ),
        Rule(_STORAGE, methods=["GET"], endpoint="storage"),
    ],
    strict_slashes=False,
    merge_slashes=False,
)
