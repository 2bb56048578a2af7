"""The REST API against a real server: pages, limits, faults, and where the token goes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from megtrim.errors import InfrastructureFailure, InputError
from megtrim.github.api import Api, Forbidden, NotFound, Refused
from megtrim.http import HttpClient, TransportError
from megtrim.http import Request as WireRequest
from unit.github.support import (
    NOW_S,
    QUICK,
    TOKEN,
    asking,
    bare_server,
    reset,
    sends,
    unused_url,
)

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntrue"
PATH = "/repos/acme/phone/actions/runs"


@pytest.fixture(params=["127.0.0.1", "localhost"])
def elsewhere(request: pytest.FixtureRequest) -> Iterator[HTTPServer]:
    """Another host, as an archive's storage is, or another port of the same one."""
    with HTTPServer(host=request.param) as server:
        yield server


def url(server: HTTPServer) -> str:
    return server.url_for("").rstrip("/")


def serve(server: HTTPServer, *answers: Response) -> list[Request]:
    """Answer PATH with each of ``answers`` in turn, then with the last; return what came."""
    seen: list[Request] = []

    def answer(request: Request) -> Response:
        request.get_data()
        seen.append(request)
        return answers[min(len(seen), len(answers)) - 1]

    server.expect_request(PATH).respond_with_handler(answer)
    return seen


def said(body: Any, status: int = 200, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(json.dumps(body), status, named, mimetype="application/json")


def failure_of(api: Api, method: str = "GET") -> InfrastructureFailure:
    with pytest.raises(InfrastructureFailure) as raised:
        api.get(PATH) if method == "GET" else api.send(method, PATH, {})
    return raised.value


def test_get_returns_json_and_says_who_asks(httpserver: HTTPServer) -> None:
    """Token, media type and version of the API are in every request."""
    seen = serve(httpserver, said({"a": [1, None]}))

    assert asking(url(httpserver)).api.get(PATH, {"head": "a b/c&d"}) == {"a": [1, None]}
    assert seen[0].args.to_dict() == {"head": "a b/c&d"}
    assert seen[0].headers["Authorization"] == f"Bearer {TOKEN}"
    assert seen[0].headers["Accept"] == "application/vnd.github+json"
    assert seen[0].headers["X-GitHub-Api-Version"] == "2022-11-28"
    assert seen[0].headers["User-Agent"] == "megtrim/1.2.3"


def test_a_path_below_the_host_is_kept(httpserver: HTTPServer) -> None:
    """An enterprise server has its API at https://HOST/api/v3."""
    httpserver.expect_request("/api/v3/user").respond_with_json("me")

    assert asking(f"{url(httpserver)}/api/v3/").api.get("/user") == "me"


def test_a_netrc_does_not_replace_the_token(
    httpserver: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A self-hosted runner's home may hold a password for the host."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine localhost login me password secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    seen = serve(httpserver, said(1))

    asking(url(httpserver)).api.get(PATH)

    assert seen[0].headers["Authorization"] == f"Bearer {TOKEN}"


def test_send_gives_a_body_and_takes_none(httpserver: HTTPServer) -> None:
    """What goes out is JSON in ASCII; 204 has no body."""
    seen = serve(httpserver, said({"id": 7}, 201), Response(status=204))
    api = asking(url(httpserver)).api

    assert api.send("POST", PATH, {"body": "größer @you"}) == {"id": 7}
    assert api.send("DELETE", PATH) is None
    assert seen[0].get_data() == b'{"body": "gr\\u00f6\\u00dfer @you"}'
    assert seen[0].headers["Content-Type"] == "application/json"
    assert seen[1].method == "DELETE"
    assert seen[1].get_data() == b""


@pytest.mark.parametrize("path", ["user", "@evil.example/", "//a b", "/a?b", "/a#b", "/a\nb", ""])
def test_a_path_that_could_lead_elsewhere_is_a_bug(path: str) -> None:
    """Glued to the base it would name another host, or say something else."""
    with pytest.raises(ValueError, match="not a path"):
        asking("http://localhost").api.get(path)


@pytest.mark.parametrize(
    "base",
    ["", "api.github.com", "ftp://a", "http://", "https://me:pw@a", "http://a?b", "http://a:x/"],
)
def test_a_base_that_is_no_address_is_refused(base: str) -> None:
    """GITHUB_API_URL comes from the environment."""
    with pytest.raises(InputError, match=r"^GITHUB_API_URL: found "):
        asking(base)


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ("", "there is no GitHub token"),
        *((token, "the GitHub token is malformed") for token in ("a\nb", "ä", "a b", "x" * 4097)),
    ],
)
def test_a_token_that_is_none_is_refused_without_showing_it(token: str, text: str) -> None:
    """A library would put it into the message of its own error."""
    with pytest.raises(InputError) as raised:
        asking("http://localhost", token=token)

    assert raised.value.message == text
    assert raised.value.hint == "pass the job's own: env GITHUB_TOKEN"


# Pages


def pages(server: HTTPServer, *texts: Any, links: bool = True) -> list[Request]:
    answers = []
    for number, body in enumerate(texts, 1):
        last = f'<{url(server)}{PATH}?page={len(texts)}>; rel="last"'
        following = f'<{url(server)}{PATH}?page={number + 1}&per_page=2>; rel="next"'
        more = links and number < len(texts)
        answers.append(said(body, Link=f"{last}, {following}" if more else last))
    return serve(server, *answers)


def test_pages_follow_the_link_header(httpserver: HTTPServer) -> None:
    """Until there is no next one; the server says how a page is named."""
    seen = pages(httpserver, [{"id": 1}, {"id": 2}], [{"id": 3}], [], [{"id": 4}])

    found = list(asking(url(httpserver)).api.pages(PATH, params={"name": "x"}))

    assert [item["id"] for item in found] == [1, 2, 3, 4]
    assert seen[0].args.to_dict() == {"per_page": "100", "name": "x"}
    assert [request.args.get("page") for request in seen] == [None, "2", "3", "4"]


def test_pages_of_an_object_have_the_list_under_a_key(httpserver: HTTPServer) -> None:
    """Runs, jobs and artifacts come so."""
    pages(httpserver, {"total_count": 2, "jobs": [{"id": 1}]}, {"jobs": [{"id": 2}]})

    found = list(asking(url(httpserver)).api.pages(PATH, key="jobs"))

    assert found == [{"id": 1}, {"id": 2}]


def test_pages_end_at_the_most(httpserver: HTTPServer) -> None:
    """The page that would exceed it is cut, the one after it is not asked for."""
    seen = pages(httpserver, [{"id": 1}, {"id": 2}], [{"id": 3}, {"id": 4}], [{"id": 5}])

    found = list(asking(url(httpserver)).api.pages(PATH, most=3))

    assert found == [{"id": 1}, {"id": 2}, {"id": 3}]
    assert len(seen) == 2


def test_pages_end_though_the_server_does_not(httpserver: HTTPServer) -> None:
    """Empty pages that always name a next one come to an end."""
    seen = serve(httpserver, said([], Link=f'<{url(httpserver)}{PATH}?page=2>; rel="next"'))

    assert list(asking(url(httpserver)).api.pages(PATH)) == []
    assert len(seen) == 100


def test_a_next_page_elsewhere_is_refused(httpserver: HTTPServer, elsewhere: HTTPServer) -> None:
    """It would get the token."""
    serve(httpserver, said([{"id": 1}], Link=f'<{url(elsewhere)}/more>; rel="next"'))

    with pytest.raises(InfrastructureFailure, match="the next page lies on another host"):
        list(asking(url(httpserver)).api.pages(PATH))
    assert elsewhere.log == []


@pytest.mark.parametrize("body", [{}, {"jobs": {}}, {"jobs": [1]}, [1], None, "jobs"])
def test_a_page_that_is_no_list_of_objects_is_a_failure(httpserver: HTTPServer, body: Any) -> None:
    """Callers may rely on what they iterate over."""
    serve(httpserver, said(body))

    with pytest.raises(InfrastructureFailure, match="the answer is not a list of objects"):
        list(asking(url(httpserver)).api.pages(PATH, key="jobs"))


# Limits


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    ("refusal", "pause"),
    [
        (said({}, 429, Retry_After="7"), 7.0),
        (said({}, 403, Retry_After="30"), 30.0),
        (said({"message": "You have exceeded a secondary rate limit. Wait"}, 403), 60.0),
        (said({}, 429), 60.0),
        (said({}, 429, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"), 60.0),
        (said({}, 403, X_RateLimit_Remaining="0", X_RateLimit_Reset=str(int(NOW_S) + 41)), 42.0),
        (said({}, 429, X_RateLimit_Remaining="0", X_RateLimit_Reset="17"), 1.0),
        (said({}, 403, X_RateLimit_Remaining="0"), 60.0),
        (said({}, 503, Retry_After="5"), 5.0),
    ],
    ids=[
        "429",
        "403",
        "secondary",
        "429-bare",
        "date",
        "used-up",
        "reset-is-past",
        "no-reset",
        "503",
    ],
)
def test_a_limit_is_waited_for(
    httpserver: HTTPServer, method: str, refusal: Response, pause: float
) -> None:
    """As long as GitHub asks; the server did nothing, so even a POST is asked again."""
    seen = serve(httpserver, refusal, said({"id": 1}))
    asked = asking(url(httpserver))

    assert asked.api.send(method, PATH, {"a": 1}) == {"id": 1}
    assert asked.pauses == [pause]
    assert [request.get_data() for request in seen] == [b'{"a": 1}'] * 2


def test_a_pause_that_is_too_long_is_a_failure_at_once(httpserver: HTTPServer) -> None:
    """A job that sleeps for an hour costs more than one that says why it ends."""
    seen = serve(httpserver, said({"message": "API rate limit exceeded"}, 403, Retry_After="121"))
    asked = asking(url(httpserver))

    failed = failure_of(asked.api)

    assert type(failed) is Refused
    assert failed.status == 403
    assert failed.message == (
        f"GET {PATH}: GitHub answered 403 (API rate limit exceeded); it asks for a pause of 121 s"
    )
    assert failed.hint == (
        "too many requests with this token in an hour; run the job again when the limit is reset"
    )
    assert asked.pauses == []
    assert len(seen) == 1


def test_the_longest_pause_is_waited_for(httpserver: HTTPServer) -> None:
    """Two minutes, and no second more."""
    serve(httpserver, said({}, 403, Retry_After="120"), said(1))
    asked = asking(url(httpserver))

    assert asked.api.get(PATH) == 1
    assert asked.pauses == [120.0]


def test_all_pauses_of_a_call_are_bounded(httpserver: HTTPServer) -> None:
    """Two minutes together, however often it is asked."""
    seen = serve(httpserver, said({}, 429, Retry_After="50"))
    asked = asking(url(httpserver))

    assert isinstance(failure_of(asked.api), Refused)
    assert asked.pauses == [50.0, 50.0]
    assert len(seen) == 3


# Refusals


def test_403_names_the_permission_that_github_names(httpserver: HTTPServer) -> None:
    """The header says it exactly; it is not asked again."""
    refusal = said(
        {"message": "Resource not accessible by integration"},
        403,
        X_Accepted_GitHub_Permissions="pull_requests=write",
    )
    seen = serve(httpserver, refusal)

    failed = failure_of(asking(url(httpserver)).api)

    assert isinstance(failed, Forbidden)
    assert failed.message == (
        f"GET {PATH}: GitHub answered 403 (Resource not accessible by integration)"
    )
    assert failed.hint == (
        "the token is missing a permission: give the job `permissions: pull-requests: write`; "
        "the token of a pull request from a fork only reads, whatever the workflow says"
    )
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("method", "path", "permission"),
    [
        ("POST", "/repos/a/b/issues/1/comments", "pull-requests: write"),
        ("GET", "/repos/a/b/pulls/1", "pull-requests: read"),
        ("GET", "/repos/a/b/actions/artifacts", "actions: read"),
        ("POST", "/repos/a/b/actions/workflows/x.yml/dispatches", "actions: write"),
        ("PUT", "/repos/a/b/contents/keepset.json", "contents: write"),
        ("GET", "/repos/a/b/compare/x...y", "contents: read"),
    ],
)
def test_403_names_the_permission_that_the_path_needs(
    httpserver: HTTPServer, method: str, path: str, permission: str
) -> None:
    """Where GitHub does not."""
    httpserver.expect_request(path).respond_with_json({"message": "no"}, status=403)

    with pytest.raises(Forbidden) as raised:
        asking(url(httpserver)).api.send(method, path)

    assert f"give the job `permissions: {permission}`" in raised.value.hint


def test_401_says_that_the_token_is_not_valid(httpserver: HTTPServer) -> None:
    """A token of a job ends with the job."""
    serve(httpserver, said({"message": "Bad credentials"}, 401))

    failed = failure_of(asking(url(httpserver)).api)

    assert isinstance(failed, Forbidden)
    assert failed.status == 401
    assert failed.hint == "the token is not valid (any more): pass the job's own, env GITHUB_TOKEN"


def test_404_says_that_it_may_be_hidden(httpserver: HTTPServer) -> None:
    """GitHub answers 404 for what a token may not know of."""
    serve(httpserver, said({"message": "Not Found"}, 404))

    failed = failure_of(asking(url(httpserver)).api)

    assert isinstance(failed, NotFound)
    assert failed.message == f"GET {PATH}: GitHub answered 404 (Not Found)"
    assert failed.hint == (
        "it does not exist, or the token may not see it: for a private repository the job needs "
        "`permissions: actions: read`"
    )


def test_410_says_that_it_is_gone(httpserver: HTTPServer) -> None:
    """An artifact after its time."""
    serve(httpserver, said({"message": "Artifact has expired"}, 410))

    failed = failure_of(asking(url(httpserver)).api)

    assert isinstance(failed, NotFound)
    assert failed.status == 410
    assert failed.hint == "it has expired or was deleted"


def test_other_refusals_keep_their_status_and_words(httpserver: HTTPServer) -> None:
    """Callers tell 409 from 422 by it."""
    errors = [{"message": "A pull request already exists"}, {"code": "custom"}, "odd", 7]
    serve(httpserver, said({"message": "Validation Failed", "errors": errors}, 422))

    failed = failure_of(asking(url(httpserver)).api, "PUT")

    assert type(failed) is Refused
    assert failed.status == 422
    assert failed.message == (
        f"PUT {PATH}: GitHub answered 422 (Validation Failed; A pull request already exists; odd)"
    )


def test_a_server_cannot_write_commands_or_the_token_into_the_log(httpserver: HTTPServer) -> None:
    """What it says becomes one printable line that no runner takes for a command."""
    text = f"a\n::error::x\r##[add-path]y \x1b[31m {TOKEN} " + "z" * 500
    serve(httpserver, said({"message": text}, 400))

    failed = failure_of(asking(url(httpserver)).api)

    assert failed.message.startswith(
        f"GET {PATH}: GitHub answered 400 (a : :error: :x # #[add-path]y [31m *** zzz"
    )
    assert failed.message.endswith("zzz…)")
    assert str(failed) == failed.message
    assert len(failed.message) < 400


# Faults


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_5xx_is_asked_again_with_growing_pauses(httpserver: HTTPServer, method: str) -> None:
    """Where asking twice does no harm."""
    seen = serve(httpserver, said({}, 502), said({}, 500), said({}, 503), said({}, 504), said(5))
    asked = asking(url(httpserver))

    assert asked.api.send(method, PATH) == 5
    assert asked.pauses == [1.0, 2.0, 4.0, 8.0]
    assert len(seen) == 5


def test_5xx_ends_after_five_tries(httpserver: HTTPServer) -> None:
    """The page of a proxy is not repeated in the message."""
    seen = serve(httpserver, Response("<html>Unicorn!</html>", 502))
    asked = asking(url(httpserver))

    failed = failure_of(asked.api)

    assert type(failed) is Refused
    assert failed.message == f"GET {PATH}: GitHub answered 502"
    assert "githubstatus.com" in failed.hint
    assert asked.pauses == [1.0, 2.0, 4.0, 8.0]
    assert len(seen) == 5


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_post_with_an_unknown_fate_is_not_asked_again(
    httpserver: HTTPServer, status: int
) -> None:
    """It could leave two comments."""
    seen = serve(httpserver, said({}, status))

    failed = failure_of(asking(url(httpserver)).api, "POST")

    assert isinstance(failed, Refused)
    assert failed.status == status
    assert len(seen) == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_refused_connection_is_tried_again(method: str) -> None:
    """Nothing was done, whatever was asked."""
    base = unused_url()
    asked = asking(base)

    failed = failure_of(asked.api, method)

    assert failed.message == f"{method} {PATH}: no connection (Connection refused)"
    host = base.removeprefix("http://")
    assert failed.hint == f"is {host} reachable from this machine? then run the job again"
    assert asked.pauses == [1.0, 2.0, 4.0, 8.0]


def test_a_reset_connection_is_tried_again() -> None:
    """A GET only asks."""
    with bare_server(reset, sends(OK)) as base:
        asked = asking(base)

        assert asked.api.get(PATH) is True
    assert asked.pauses == [1.0]


def test_a_reset_connection_ends_a_post() -> None:
    """The server may have done it before it died."""
    with bare_server(reset) as base:
        asked = asking(base)
        failed = failure_of(asked.api, "POST")

    assert failed.message == f"POST {PATH}: the connection broke (Connection reset by peer)"
    assert asked.pauses == []


def test_an_answer_that_breaks_off_is_asked_for_again() -> None:
    """Half an answer is none."""
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntrue"
    with bare_server(sends(half), sends(OK)) as base:
        asked = asking(base)

        assert asked.api.get(PATH) is True
    assert asked.pauses == [1.0]


def test_what_is_no_http_is_a_failure() -> None:
    """Something else listens there."""
    with bare_server(*(sends(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),) * 5) as base:
        failed = failure_of(asking(base).api)

    assert failed.message == f"GET {PATH}: the connection broke"


@pytest.fixture
def slow_server() -> Iterator[HTTPServer]:
    """A server of the test's own: what still waits there when it ends reaches no other test."""
    with HTTPServer(threaded=True) as server:
        yield server


@pytest.mark.parametrize(("method", "tries"), [("GET", 5), ("POST", 1)])
def test_a_silent_server_is_given_up(slow_server: HTTPServer, method: str, tries: int) -> None:
    """A call has an end; a POST may have been done, so it is not asked again."""

    def sleep(_request: Request) -> Response:
        time.sleep(0.5)
        return said(1)

    slow_server.expect_request(PATH).respond_with_handler(sleep)
    asked = asking(url(slow_server), limits=QUICK)

    failed = failure_of(asked.api, method)

    assert failed.message == f"{method} {PATH}: no answer within 0.3 s"
    assert len(asked.pauses) == tries - 1


def test_an_answer_that_trickles_is_given_up(slow_server: HTTPServer) -> None:
    """Always a byte before the silence is too long: the whole answer has an end, too."""

    def trickle() -> Iterator[bytes]:
        for _ in range(20):
            time.sleep(0.02)
            yield b" " * 100

    slow_server.expect_request(PATH).respond_with_handler(lambda _: Response(trickle()))
    ticks = iter(range(10_000))
    api = Api(
        url(slow_server),
        TOKEN,
        user_agent="megtrim",
        pause=lambda _: None,
        clock=lambda: float(next(ticks)),
        limits=QUICK,
    )

    assert failure_of(api).message == f"GET {PATH}: the answer took longer than 5 s"


@pytest.mark.parametrize(
    "body", [b"<html>Log in</html>", b'{"a": ', b"[" * 9000, b"\xff\xfe{", b"9" * 5000]
)
def test_what_is_no_json_is_a_failure(httpserver: HTTPServer, body: bytes) -> None:
    """A proxy's page, half a document, one that is nested too deep."""
    seen = serve(httpserver, Response(body))

    failed = failure_of(asking(url(httpserver)).api)

    assert failed.message.startswith(f"{PATH}: the answer is not JSON; it begins with: ")
    assert failed.hint == "a proxy in between may have answered instead; is GITHUB_API_URL right?"
    assert len(seen) == 1


def test_an_answer_that_is_too_large_is_not_read(httpserver: HTTPServer) -> None:
    """Neither as it comes nor after unpacking."""
    bomb = Response(_gzip(b" " * 3_000_000), headers={"Content-Encoding": "gzip"})
    seen = serve(httpserver, Response(b" " * 10_001), bomb, Response(b" " * 9_999 + b"1"))
    api = asking(url(httpserver), limits=QUICK).api

    assert failure_of(api).message == f"GET {PATH}: the answer is larger than 10000 bytes"
    assert failure_of(api).message == f"GET {PATH}: the answer is larger than 10000 bytes"
    assert api.get(PATH) == 1
    assert len(seen) == 3


def test_the_words_of_a_refusal_are_bounded_too(httpserver: HTTPServer) -> None:
    """A refusal is a refusal, however long it is."""
    serve(httpserver, said({"message": "x" * 20_000}, 404))

    failed = failure_of(asking(url(httpserver), limits=QUICK).api)

    assert isinstance(failed, NotFound)
    assert failed.message == f"GET {PATH}: GitHub answered 404"


def test_a_body_that_lies_about_its_coding_is_a_failure(httpserver: HTTPServer) -> None:
    """Not gzip at all."""
    serve(httpserver, Response(b"true", headers={"Content-Encoding": "gzip"}))

    assert failure_of(asking(url(httpserver)).api).message == f"GET {PATH}: the connection broke"


def _gzip(data: bytes) -> bytes:
    import gzip

    return gzip.compress(data)


# Where the token goes


def test_a_move_within_the_host_is_followed(httpserver: HTTPServer) -> None:
    """A repository that was renamed."""
    seen = serve(httpserver, Response(status=301, headers={"Location": "/repositories/7"}))
    httpserver.expect_request(
        "/repositories/7", headers={"Authorization": f"Bearer {TOKEN}"}
    ).respond_with_json("here")

    assert asking(url(httpserver)).api.get(PATH) == "here"
    assert len(seen) == 1


def test_a_change_follows_only_where_its_method_stays(httpserver: HTTPServer) -> None:
    """307 repeats it; 301 would have turned it into a GET."""
    moved = [Response(status=code, headers={"Location": "/repositories/7"}) for code in (307, 301)]
    serve(httpserver, *moved)
    httpserver.expect_request("/repositories/7", method="POST", data=b"{}").respond_with_json(1)
    api = asking(url(httpserver)).api

    assert api.send("POST", PATH, {}) == 1
    assert failure_of(api, "POST").message == f"POST {PATH}: GitHub answered 301"


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_call_is_led_to_another_host(
    httpserver: HTTPServer, elsewhere: HTTPServer, method: str, status: int
) -> None:
    """The token is for the API alone."""
    target = f"{url(elsewhere)}/steal?x=secret"
    seen = serve(httpserver, Response(status=status, headers={"Location": target}))
    asked = asking(url(httpserver))

    failed = failure_of(asked.api, method)

    assert elsewhere.log == []
    assert asked.pauses == []
    assert len(seen) == 1
    if method == "GET" or status in (307, 308):
        host = url(elsewhere).removeprefix("http://")
        assert failed.message == (
            f"{method} {PATH}: the answer redirects to {host}, where this request must not go"
        )


def test_the_body_of_a_move_is_not_read(httpserver: HTTPServer) -> None:
    """However long it is."""
    given = []

    def endless() -> Iterator[bytes]:
        for number in range(200):
            given.append(number)
            yield b" " * 1_000_000

    moved = Response(endless(), 302, {"Location": "/repositories/7"})
    httpserver.expect_request(PATH).respond_with_handler(lambda _: moved)
    httpserver.expect_request("/repositories/7").respond_with_json("here")

    assert asking(url(httpserver), limits=QUICK).api.get(PATH) == "here"
    assert len(given) < 50


@pytest.mark.parametrize("location", ["ftp://a/b", "http://[", "http://u:p@a/", "http://a:x/", ""])
def test_a_move_to_nowhere_is_a_failure(location: str) -> None:
    """What a server names need not be an address; none at all leads in a circle."""
    head = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n"
    answer = sends(f"{head}Connection: close\r\n\r\n".encode())
    with bare_server(*(answer,) * (1 if location else 5)) as base:
        asked = asking(base)
        failed = failure_of(asked.api)

    nowhere = "the answer redirects to nowhere, where this request must not go"
    assert (
        failed.message
        == f"GET {PATH}: {nowhere if location else 'the answers redirect in a circle'}"
    )
    assert asked.pauses == []


def test_a_download_lies_elsewhere_and_gets_no_token(
    httpserver: HTTPServer, elsewhere: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Storage that is handed a token refuses it, or keeps it; a netrc is of no concern to it."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login me password secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    target = f"{url(elsewhere)}/blob?sig=s3cret"
    seen = serve(httpserver, Response(status=302, headers={"Location": target}))
    elsewhere.expect_request("/blob").respond_with_data(b"PK\x03\x04")

    assert asking(url(httpserver)).api.download(PATH, limit_bytes=4) == b"PK\x03\x04"
    assert seen[0].headers["Authorization"] == f"Bearer {TOKEN}"
    assert "Authorization" not in elsewhere.log[0][0].headers


@pytest.mark.parametrize(
    ("target", "follows"), [("https://b.example/", True), ("http://b.example/", False)]
)
def test_a_download_is_not_led_out_of_tls(target: str, follows: bool) -> None:
    """Whoever listens on the way could give other bytes."""
    base = "https://api.example"
    wire = HttpClient(base, TOKEN, headers={}, clock=lambda: NOW_S, limits=QUICK)
    request = WireRequest(
        method="GET", url=base, body=None, largest_bytes=1, longest_s=1.0, may_leave=True
    )

    if follows:
        assert wire._redirect_url(request, base, target) == target
    else:
        with pytest.raises(TransportError, match=r"the answer redirects to b\.example"):
            wire._redirect_url(request, base, target)


def test_a_download_is_bounded(httpserver: HTTPServer) -> None:
    """By what its caller can use, not by what an answer may have."""
    serve(httpserver, Response(b"x" * 20_000))
    api = asking(url(httpserver), limits=QUICK).api

    assert len(api.download(PATH, limit_bytes=20_000)) == 20_000
    with pytest.raises(InfrastructureFailure, match="the answer is larger than 19999 bytes"):
        api.download(PATH, limit_bytes=19_999)


def test_a_failed_download_does_not_show_where_it_lay(
    httpserver: HTTPServer, elsewhere: HTTPServer
) -> None:
    """Its address is signed: whoever reads the log could use it."""
    target = f"{url(elsewhere)}/blob?sig=s3cret"
    serve(httpserver, Response(status=302, headers={"Location": target}))
    elsewhere.expect_request("/blob").respond_with_data(b"<Error>sig</Error>", status=404)

    with pytest.raises(NotFound) as raised:
        asking(url(httpserver)).api.download(PATH, limit_bytes=10)
    assert raised.value.message == f"GET {PATH}: GitHub answered 404"

    httpserver.clear()
    gone = f"{unused_url()}/blob?sig=s3cret"
    serve(httpserver, Response(status=302, headers={"Location": gone}))
    with pytest.raises(InfrastructureFailure) as broken:
        asking(url(httpserver)).api.download(PATH, limit_bytes=10)
    assert broken.value.message == f"GET {PATH}: no connection (Connection refused)"
    assert "s3cret" not in str(broken.value)


def test_a_file_is_sent_as_it_is(httpserver: HTTPServer) -> None:
    """With the token, and no form of its own."""
    seen = serve(httpserver, said({"id": 1}, 201))

    assert asking(url(httpserver)).api.upload(f"{url(httpserver)}{PATH}?name=a", b"\x00a") == {
        "id": 1
    }
    assert (seen[0].get_data(), seen[0].content_type) == (b"\x00a", "application/octet-stream")
    assert seen[0].headers["Authorization"] == f"Bearer {TOKEN}"


def test_a_file_is_sent_to_no_other_host(httpserver: HTTPServer, elsewhere: HTTPServer) -> None:
    """A server that names one gets neither the file nor the token."""
    with pytest.raises(InfrastructureFailure, match="the upload lies on another host"):
        asking(url(httpserver)).api.upload(f"{url(elsewhere)}{PATH}", b"a")
    assert elsewhere.log == []


@pytest.mark.parametrize(
    ("api", "uploads", "is_home"),
    [
        ("https://api.github.com", "https://uploads.github.com/repos/a/b", True),
        ("https://api.github.com", "http://uploads.github.com/repos/a/b", False),
        ("https://api.github.com", "https://uploads.github.com.example/a", False),
        ("https://api.acme.ghe.com", "https://uploads.acme.ghe.com/a", True),
        ("https://ghe.acme.com/api/v3", "https://ghe.acme.com/api/uploads/a", True),
        ("https://ghe.acme.com/api/v3", "https://uploads.acme.com/a", False),
    ],
)
def test_uploads_have_a_host_of_their_own(api: str, uploads: str, is_home: bool) -> None:
    """The one that belongs to the API's."""
    assert asking(api).api._wire.is_home(uploads) is is_home


def test_the_form_of_a_download_is_asked_for(httpserver: HTTPServer) -> None:
    """A file of a release comes as bytes only to whoever asks for them."""
    seen = serve(httpserver, Response(b"bytes"))
    api = asking(url(httpserver)).api

    assert api.download(PATH, limit_bytes=10, accept="application/octet-stream") == b"bytes"
    assert seen[0].headers["Accept"] == "application/octet-stream"
