"""What a response of GitHub means: success, a retry after a pause, or a failure with advice."""

from __future__ import annotations

import json

import pytest

from megtrim.errors import InfrastructureFailure
from megtrim.github.responses import (
    SECONDARY_PAUSE_S,
    Forbidden,
    NotFound,
    Refused,
    backoff_s,
    failure,
    is_rate_limited,
    parse_json,
    pause_s,
    text_at,
)
from megtrim.http import Response

PATH = "/repos/team/app/issues/3/comments"


def response(status: int, body: object = "", **headers: str) -> Response:
    """Return a response with a JSON body; ``_`` in a header's name is ``-``."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status=status, headers=named, body=data)


def refused(answer: Response, method: str = "GET", path: str = PATH, after: str = "") -> Refused:
    return failure(answer, method=method, path=path, asked="comments of #3", after=after)


@pytest.mark.parametrize(
    ("answer", "wait_s"),
    [
        (response(429), SECONDARY_PAUSE_S),
        (response(429, retry_after="7"), 7.0),
        (response(403, retry_after="7"), 7.0),
        (response(403, x_ratelimit_remaining="0", x_ratelimit_reset="1100"), 101.0),
        (response(403, x_ratelimit_remaining="0", x_ratelimit_reset="900"), 1.0),
        (response(403, x_ratelimit_remaining="0"), SECONDARY_PAUSE_S),
        (response(403, {"message": "You have exceeded a secondary rate limit"}), SECONDARY_PAUSE_S),
        (response(403, {"message": "Resource not accessible"}), None),
        (response(503, retry_after="3"), 3.0),
        (response(503, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), 4.0),
        (response(500), 4.0),
        (response(404), None),
        (response(200), None),
    ],
)
def test_a_pause_is_what_github_asks_for(answer: Response, wait_s: float | None) -> None:
    """Without a time of its own, each attempt waits twice as long as the one before."""
    assert pause_s(answer, method="GET", tries=3, now_s=1000.0) == wait_s
    assert [backoff_s(tries) for tries in (1, 2, 3, 4)] == [1.0, 2.0, 4.0, 8.0]


def test_a_post_that_may_have_worked_is_not_repeated() -> None:
    """It would leave two comments; one that a limit refused did nothing."""
    assert pause_s(response(500), method="POST", tries=1, now_s=0.0) is None
    assert pause_s(response(429), method="POST", tries=1, now_s=0.0) == SECONDARY_PAUSE_S
    assert pause_s(response(503, retry_after="3"), method="POST", tries=1, now_s=0.0) == 3.0


@pytest.mark.parametrize(
    ("answer", "kind", "hint"),
    [
        (response(401), Forbidden, "the token is not valid (any more)"),
        (response(403), Forbidden, "give the job `permissions: pull-requests: read`"),
        (
            response(403, x_accepted_github_permissions="pull_requests=write"),
            Forbidden,
            "give the job `permissions: pull-requests: write`",
        ),
        (response(403, retry_after="9"), Refused, "too many requests with this token"),
        (response(404), NotFound, "the job needs `permissions: pull-requests: read`"),
        (response(410), NotFound, "it has expired or was deleted"),
        (response(429), Refused, "too many requests with this token"),
        (response(502), Refused, "GitHub has trouble; run the job again later"),
        (response(422), Refused, ""),
    ],
)
def test_a_refusal_says_what_to_do(answer: Response, kind: type[Refused], hint: str) -> None:
    """By its status; the kind is what callers decide by."""
    error = refused(answer)

    assert type(error) is kind
    assert (error.status, error.exit_code) == (answer.status, 3)
    assert hint in error.hint
    assert bool(error.hint) is bool(hint)


@pytest.mark.parametrize(
    ("method", "path", "permission"),
    [
        ("POST", "/repos/t/a/pulls", "pull-requests: write"),
        ("GET", "/repos/t/a/actions/runs", "actions: read"),
        ("POST", "/repos/t/a/dispatches", "actions: write"),
        ("PATCH", "/repos/t/a/git/refs/heads/x", "contents: write"),
    ],
)
def test_a_missing_permission_is_named(method: str, path: str, permission: str) -> None:
    """Reading needs less than writing."""
    assert f"`permissions: {permission}`" in refused(response(403), method, path).hint


def test_githubs_own_message_is_one_printable_line() -> None:
    """With the first errors below it; a page of a proxy is not repeated."""
    errors = [{"message": "a\nb"}, "c", {"code": 1}, "fourth"]
    reported = refused(response(422, {"message": "Validation\x1b Failed", "errors": errors}))

    assert "\n" not in reported.message
    assert "\x1b" not in reported.message
    assert reported.message.startswith("comments of #3: GitHub answered 422 (Validation")
    assert reported.message.endswith("; a b; c)")
    assert refused(response(502, b"<html>"), after=" after 5 attempts").message == (
        "comments of #3: GitHub answered 502 after 5 attempts"
    )


def test_a_limit_is_distinguished_from_a_missing_permission() -> None:
    """Both come as 403."""
    assert is_rate_limited(response(403, x_ratelimit_remaining="0"))
    assert not is_rate_limited(response(403))
    assert not is_rate_limited(response(500))


def test_a_body_is_json_or_the_failure_of_a_proxy() -> None:
    """An empty one is allowed."""
    assert parse_json(response(200, {"a": [1]}), "runs") == {"a": [1]}
    assert parse_json(response(204, b" \n"), "runs") is None
    for body in (b"<html>\x1bproxy", b"[" * 100_000):
        with pytest.raises(InfrastructureFailure, match="runs: the answer is not JSON") as caught:
            parse_json(response(200, body), "runs")
        assert "\x1b" not in caught.value.message


@pytest.mark.parametrize("answer", [None, [], {}, {"a": "text"}, {"a": {"b": 3}}, {"a": {"b": ""}}])
def test_a_text_is_where_it_is_expected(answer: object) -> None:
    """Whatever else the answer holds, it never ends in a traceback."""
    assert text_at({"a": {"b": "text"}}, "a", "b") == "text"
    with pytest.raises(InfrastructureFailure, match=r"the answer holds no a\.b"):
        text_at(answer, "a", "b")
