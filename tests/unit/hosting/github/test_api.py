import gzip
import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from megtrim.hosting.github.api import (
    LARGEST_ANSWER_BYTES,
    Api,
    Forbidden,
    NotFound,
    Refused,
    text_at,
)
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from unit.hosting.github.support import NOW_S, TOKEN, asking, bare_server, reset, sends, unused_url

PATH = "/repos/acme/phone/actions/runs"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntrue"
HALF = OK.replace(b"4", b"9")
LIMIT = "too many requests with this token in an hour; run the job again when the limit is reset"
BACKOFF = [1.0, 2.0, 4.0, 8.0]


@pytest.fixture(params=["127.0.0.1", "localhost"])
def elsewhere(request: pytest.FixtureRequest) -> Iterator[HTTPServer]:
    """Another host, as an archive's storage is, or another port of the same one."""
    with HTTPServer(host=request.param) as server:
        yield server


@pytest.fixture
def slow_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    """A server of the test's own: what still waits there when it ends reaches no other test."""
    monkeypatch.setattr("megtrim.hosting.github.api._SILENCE_S", 0.3)
    with HTTPServer(threaded=True) as server:
        yield server


def url(server: HTTPServer) -> str:
    return server.url_for("").rstrip("/")


def serve(server: HTTPServer, *answers: Response) -> list[Request]:
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


def moved(target: str, status: int = 302) -> Response:
    return Response(status=status, headers={"Location": target})


def failure_of(api: Api, method: str = "GET") -> InfrastructureFailure:
    with pytest.raises(InfrastructureFailure) as raised:
        api.get(PATH) if method == "GET" else api.send(method, PATH, {})
    return raised.value


@pytest.fixture
def netrc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "netrc"
    path.write_text("default login me password secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(path))


@pytest.mark.usefixtures("netrc")
def test_requests_carry_token_form_and_body(httpserver: HTTPServer) -> None:
    answers = (said({"a": [1, None]}), said({"id": 7}, 201), Response(status=204), said({"id": 1}))
    seen = serve(httpserver, *answers)
    api = asking(url(httpserver)).api

    assert api.get(PATH, {"head": "a b/c&d"}) == {"a": [1, None]}
    assert api.send("POST", PATH, {"body": "größer @you"}) == {"id": 7}
    assert api.send("DELETE", PATH) is None
    assert api.upload(f"{url(httpserver)}{PATH}?name=a", b"\x00a") == {"id": 1}

    assert seen[0].args.to_dict() == {"head": "a b/c&d"}
    assert seen[0].headers["Accept"] == "application/vnd.github+json"
    assert seen[0].headers["X-GitHub-Api-Version"] == "2022-11-28"
    assert seen[0].headers["User-Agent"] == "megtrim/1.2.3"
    assert {request.headers["Authorization"] for request in seen} == {f"Bearer {TOKEN}"}
    assert [(request.method, request.get_data(), request.content_type) for request in seen] == [
        ("GET", b"", None),
        ("POST", b'{"body": "gr\\u00f6\\u00dfer @you"}', "application/json"),
        ("DELETE", b"", None),
        ("POST", b"\x00a", "application/octet-stream"),
    ]


def test_a_path_below_the_host_is_kept(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/api/v3/user").respond_with_json("me")

    assert asking(f"{url(httpserver)}/api/v3/").api.get("/user") == "me"


@pytest.mark.parametrize("path", ["user", "@evil.example/", "//a b", "/a?b", "/a#b", "/a\nb", ""])
def test_a_path_that_could_lead_elsewhere_is_a_bug(path: str) -> None:
    with pytest.raises(ValueError, match="not a path"):
        asking("http://localhost").api.get(path)


@pytest.mark.parametrize(
    ("base", "token", "message"),
    [
        *(
            (base, TOKEN, f"GITHUB_API_URL: found {base!r}, expected https://HOST[/PATH]")
            for base in (
                "",
                "api.github.com",
                "ftp://a",
                "http://",
                "https://me:pw@a",
                "http://a?b",
                "http://a#b",
                "http://a:x/",
                "http://a:99999",
                "https://[: :1",
            )
        ),
        ("http://a", "", "there is no GitHub token"),
        *(
            ("http://a", token, "the GitHub token is malformed")
            for token in ("a\nb", "ä", "a b", "x" * 4097)
        ),
    ],
)
def test_the_environment_names_an_address_and_a_token(base: str, token: str, message: str) -> None:
    """A library would put a malformed token into the message of its own error."""
    with pytest.raises(InputError) as raised:
        asking(base, token=token)

    assert raised.value.message == message


@pytest.mark.parametrize("answer", [None, [], {}, {"a": "text"}, {"a": {"b": 3}}, {"a": {"b": ""}}])
def test_a_text_is_where_it_is_expected(answer: object) -> None:
    assert text_at({"a": {"b": "text"}}, "a", "b") == "text"
    with pytest.raises(InfrastructureFailure, match=r"the answer holds no a\.b"):
        text_at(answer, "a", "b")


# Pages


def pages(server: HTTPServer, *texts: Any) -> list[Request]:
    answers = []
    for number, body in enumerate(texts, 1):
        last = f'<{url(server)}{PATH}?page={len(texts)}>; rel="last"'
        following = f'<{url(server)}{PATH}?page={number + 1}&per_page=2>; rel="next"'
        answers.append(said(body, Link=f"{last}, {following}" if number < len(texts) else last))
    return serve(server, *answers)


def test_pages_follow_the_link_header(httpserver: HTTPServer) -> None:
    seen = pages(httpserver, [{"id": 1}, {"id": 2}], [{"id": 3}], [], [{"id": 4}])

    found = list(asking(url(httpserver)).api.pages(PATH, params={"name": "x"}))

    assert [item["id"] for item in found] == [1, 2, 3, 4]
    assert seen[0].args.to_dict() == {"per_page": "100", "name": "x"}
    assert [request.args.get("page") for request in seen] == [None, "2", "3", "4"]


def test_pages_end_at_the_most(httpserver: HTTPServer) -> None:
    seen = pages(httpserver, {"jobs": [{"id": 1}, {"id": 2}]}, {"jobs": [{"id": 3}, {}]}, {})

    found = list(asking(url(httpserver)).api.pages(PATH, key="jobs", most=3))

    assert found == [{"id": 1}, {"id": 2}, {"id": 3}]
    assert len(seen) == 2


def test_pages_end_though_the_server_does_not(httpserver: HTTPServer) -> None:
    seen = serve(httpserver, said([], Link=f'<{url(httpserver)}{PATH}?page=2>; rel="next"'))

    assert list(asking(url(httpserver)).api.pages(PATH)) == []
    assert len(seen) == 100


@pytest.mark.parametrize("body", [{}, {"jobs": {}}, {"jobs": [1]}, [1], None, "jobs"])
def test_a_page_that_is_no_list_of_objects_is_a_failure(httpserver: HTTPServer, body: Any) -> None:
    serve(httpserver, said(body))

    with pytest.raises(InfrastructureFailure, match="the answer is not a list of objects"):
        list(asking(url(httpserver)).api.pages(PATH, key="jobs"))


# Limits


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    ("refusal", "pause"),
    [
        (said({}, 429, Retry_After="7"), 7.0),
        (said({}, 403, Retry_After="120"), 120.0),
        (said({"message": "You have exceeded a secondary rate limit. Wait"}, 403), 60.0),
        (said({}, 429), 60.0),
        (said({}, 429, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"), 60.0),
        (said({}, 403, X_RateLimit_Remaining="0", X_RateLimit_Reset=str(int(NOW_S) + 41)), 42.0),
        (said({}, 429, X_RateLimit_Remaining="0", X_RateLimit_Reset="17"), 1.0),
        (said({}, 403, X_RateLimit_Remaining="0"), 60.0),
        (said({}, 503, Retry_After="5"), 5.0),
    ],
)
def test_a_limit_is_waited_for(
    httpserver: HTTPServer, method: str, refusal: Response, pause: float
) -> None:
    seen = serve(httpserver, refusal, said({"id": 1}))
    asked = asking(url(httpserver))

    assert asked.api.send(method, PATH, {"a": 1}) == {"id": 1}
    assert asked.pauses == [pause]
    assert [request.get_data() for request in seen] == [b'{"a": 1}'] * 2


@pytest.mark.parametrize(("after", "pauses"), [("121", []), ("50", [50.0, 50.0])])
def test_all_pauses_of_a_call_are_bounded(
    httpserver: HTTPServer, after: str, pauses: list[float]
) -> None:
    serve(httpserver, said({"message": "API rate limit exceeded"}, 403, Retry_After=after))
    asked = asking(url(httpserver))

    failed = failure_of(asked.api)

    assert type(failed) is Refused
    assert failed.status == 403
    assert failed.message == (
        f"GET {PATH}: GitHub answered 403 (API rate limit exceeded); "
        f"it asks for a pause of {after} s"
    )
    assert failed.hint == LIMIT
    assert asked.pauses == pauses


# Refusals


@pytest.mark.parametrize(
    ("answer", "kind", "words", "hint"),
    [
        (
            said({"message": "Bad credentials"}, 401),
            Forbidden,
            "401 (Bad credentials)",
            "the token is not valid (any more): pass the job's own, env GITHUB_TOKEN",
        ),
        (
            said({"message": "no"}, 403, X_Accepted_GitHub_Permissions="pull_requests=write"),
            Forbidden,
            "403 (no)",
            (
                "the token is missing a permission: give the job `permissions: pull-requests: "
                "write`; the token of a pull request from a fork only reads, whatever the "
                "workflow says"
            ),
        ),
        (
            said({"message": "Not Found"}, 404, X_Accepted_GitHub_Permissions="actions=read"),
            NotFound,
            "404 (Not Found)",
            (
                "it does not exist, or the token may not see it: for a private repository the job "
                "needs `permissions: actions: read`"
            ),
        ),
        (
            said({"message": "Artifact has expired"}, 410),
            NotFound,
            "410 (Artifact has expired)",
            "it has expired or was deleted",
        ),
        (
            said(
                {
                    "message": "Validation\x1b Failed",
                    "errors": [{"message": "A pull\nrequest"}, {"code": "custom"}, "odd", "4th"],
                },
                422,
            ),
            Refused,
            "422 (Validation Failed; A pull request; odd)",
            "",
        ),
    ],
)
def test_a_refusal_says_what_to_do(
    httpserver: HTTPServer, answer: Response, kind: type[Refused], words: str, hint: str
) -> None:
    refuse(httpserver, answer, kind, words, hint)


def test_the_words_of_a_refusal_are_bounded(httpserver: HTTPServer) -> None:
    refuse(httpserver, said({"message": "x" * (LARGEST_ANSWER_BYTES + 1)}, 409), Refused, "409", "")


def refuse(
    httpserver: HTTPServer, answer: Response, kind: type[Refused], words: str, hint: str
) -> None:
    seen = serve(httpserver, answer)

    failed = failure_of(asking(url(httpserver)).api)

    assert type(failed) is kind
    assert (failed.status, failed.exit_code) == (answer.status_code, 3)
    assert (failed.message, failed.hint) == (f"GET {PATH}: GitHub answered {words}", hint)
    assert len(seen) == 1


def test_a_server_cannot_write_commands_or_the_token_into_the_log(httpserver: HTTPServer) -> None:
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


@pytest.mark.parametrize(
    ("method", "statuses", "pauses"),
    [
        *((method, (502, 500, 503, 504, 200), BACKOFF) for method in ("GET", "PUT", "DELETE")),
        ("PATCH", (502,), BACKOFF),
        *(("POST", (status,), []) for status in (500, 502, 503, 504)),
    ],
)
def test_trouble_of_the_server_is_asked_again(
    httpserver: HTTPServer, method: str, statuses: tuple[int, ...], pauses: list[float]
) -> None:
    seen = serve(httpserver, *(Response("<html>Unicorn!</html>", each) for each in statuses))
    asked = asking(url(httpserver))

    with pytest.raises(InfrastructureFailure) as raised:
        asked.api.send(method, PATH)

    assert asked.pauses == pauses
    assert len(seen) == len(pauses) + 1
    if statuses[-1] == 200:
        assert raised.value.message.startswith(f"{PATH}: the answer is not JSON; it begins with: ")
    else:
        assert raised.value.message == f"{method} {PATH}: GitHub answered {statuses[-1]}"
        assert "githubstatus.com" in raised.value.hint


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_refused_connection_is_tried_again(method: str) -> None:
    base = unused_url()
    asked = asking(base)

    failed = failure_of(asked.api, method)

    assert failed.message == f"{method} {PATH}: no connection"
    host = base.removeprefix("http://")
    assert failed.hint == f"is {host} reachable from this machine? then run the job again"
    assert asked.pauses == BACKOFF


@pytest.mark.parametrize("broken", [reset, sends(HALF), sends(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")])
def test_a_broken_connection_is_tried_again_unless_it_is_a_post(
    broken: Callable[[socket.socket], None],
) -> None:
    with bare_server(broken, sends(OK), broken) as base:
        asked = asking(base)
        assert asked.api.get(PATH) is True
        failed = failure_of(asked.api, "POST")

    assert failed.message == f"POST {PATH}: the connection broke"
    assert asked.pauses == [1.0]


@pytest.mark.parametrize(("method", "tries"), [("GET", 5), ("POST", 1)])
def test_a_silent_server_is_given_up(slow_server: HTTPServer, method: str, tries: int) -> None:
    def sleep(_request: Request) -> Response:
        time.sleep(0.5)
        return said(1)

    slow_server.expect_request(PATH).respond_with_handler(sleep)
    asked = asking(url(slow_server))

    assert failure_of(asked.api, method).message == f"{method} {PATH}: no answer within 0.3 s"
    assert len(asked.pauses) == tries - 1


def test_an_answer_that_trickles_is_given_up(slow_server: HTTPServer) -> None:
    def trickle() -> Iterator[bytes]:
        for _ in range(20):
            time.sleep(0.02)
            yield b" " * 100

    slow_server.expect_request(PATH).respond_with_handler(lambda _: Response(trickle()))
    ticks = iter(range(0, 100_000, 10))
    api = Api(
        url(slow_server),
        TOKEN,
        user_agent="megtrim",
        pause=lambda _: None,
        clock=lambda: float(next(ticks)),
    )

    assert failure_of(api).message == f"GET {PATH}: the answer took longer than 60 s"


def test_a_long_upload_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("megtrim.hosting.github.api._CONNECT_S", 0.5)
    with bare_server(sends(OK), pause_s=0.004) as base:
        assert asking(base).api.upload(f"{base}/upload", bytes(16 * 1024 * 1024)) is True


@pytest.mark.parametrize(
    "body", [b"<html>Log in\x1b</html>", b'{"a": ', b"[" * 9000, b"\xff\xfe{", b"9" * 5000]
)
def test_what_is_no_json_is_a_failure(httpserver: HTTPServer, body: bytes) -> None:
    seen = serve(httpserver, Response(body))

    failed = failure_of(asking(url(httpserver)).api)

    assert failed.message.startswith(f"{PATH}: the answer is not JSON; it begins with: ")
    assert "\x1b" not in failed.message
    assert failed.hint == "a proxy in between may have answered instead; is GITHUB_API_URL right?"
    assert len(seen) == 1


def test_an_answer_that_is_too_large_is_not_read(httpserver: HTTPServer) -> None:
    bomb = Response(
        gzip.compress(b" " * (LARGEST_ANSWER_BYTES + 1)), headers={"Content-Encoding": "gzip"}
    )
    whole = Response(gzip.compress(b"x" * 900 + b"y"), headers={"Content-Encoding": "gzip"})
    seen = serve(httpserver, bomb, Response(b" " * (LARGEST_ANSWER_BYTES + 1)), whole)
    api = asking(url(httpserver)).api

    for _ in range(2):
        assert failure_of(api).message == (
            f"GET {PATH}: the answer is larger than {LARGEST_ANSWER_BYTES} bytes"
        )
    assert api.download(PATH, limit_bytes=901) == b"x" * 900 + b"y"
    with pytest.raises(InfrastructureFailure, match="the answer is larger than 900 bytes"):
        api.download(PATH, limit_bytes=900)
    assert len(seen) == 4


def test_a_body_that_lies_about_its_coding_is_a_failure(httpserver: HTTPServer) -> None:
    serve(httpserver, Response(b"true", headers={"Content-Encoding": "gzip"}))

    assert failure_of(asking(url(httpserver)).api).message == f"GET {PATH}: the connection broke"


# Where the token goes


def test_a_move_within_the_host_is_followed(httpserver: HTTPServer) -> None:
    given = []

    def endless() -> Iterator[bytes]:
        for number in range(200):
            given.append(number)
            yield b" " * 1_000_000

    move = Response(endless(), 301, {"Location": "/repositories/7"})
    httpserver.expect_request(PATH).respond_with_handler(lambda _: move)
    httpserver.expect_request(
        "/repositories/7", headers={"Authorization": f"Bearer {TOKEN}"}
    ).respond_with_json("here")

    assert asking(url(httpserver)).api.get(PATH) == "here"
    assert len(given) < 50


def test_a_change_follows_only_where_its_method_stays(httpserver: HTTPServer) -> None:
    serve(httpserver, moved("/repositories/7", 307), moved("/repositories/7", 301))
    httpserver.expect_request("/repositories/7", method="POST", data=b"{}").respond_with_json(1)
    api = asking(url(httpserver)).api

    assert api.send("POST", PATH, {}) == 1
    assert failure_of(api, "POST").message == f"POST {PATH}: GitHub answered 301"


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_call_is_led_to_another_host(
    httpserver: HTTPServer, elsewhere: HTTPServer, method: str, status: int
) -> None:
    seen = serve(httpserver, moved(f"{url(elsewhere)}/steal?x=secret", status))
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


def test_neither_a_page_nor_a_file_goes_to_another_host(
    httpserver: HTTPServer, elsewhere: HTTPServer
) -> None:
    serve(httpserver, said([{"id": 1}], Link=f'<{url(elsewhere)}/more>; rel="next"'))
    api = asking(url(httpserver)).api

    with pytest.raises(InfrastructureFailure, match="the next page is on another host"):
        list(api.pages(PATH))
    with pytest.raises(InfrastructureFailure, match="the upload goes to another host"):
        api.upload(f"{url(elsewhere)}{PATH}", b"a")
    assert elsewhere.log == []


@pytest.mark.parametrize(
    ("location", "words"),
    [
        *(
            (location, "the answer redirects to nowhere, where this request must not go")
            for location in ("ftp://a/b", "http://[", "http://u:p@a/", "http://a:x/")
        ),
        ("", "the answers redirect in a circle"),
    ],
)
def test_a_move_to_nowhere_is_a_failure(location: str, words: str) -> None:
    head = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n"
    answer = sends(f"{head}Connection: close\r\n\r\n".encode())
    with bare_server(*(answer,) * (1 if location else 5)) as base:
        asked = asking(base)
        failed = failure_of(asked.api)

    assert failed.message == f"GET {PATH}: {words}"
    assert asked.pauses == []


@pytest.mark.usefixtures("netrc")
def test_a_download_lies_elsewhere_and_gets_no_token(
    httpserver: HTTPServer, elsewhere: HTTPServer
) -> None:
    seen = serve(httpserver, moved(f"{url(elsewhere)}/blob?sig=s3cret"))
    elsewhere.expect_request("/blob").respond_with_data(b"PK\x03\x04")
    api = asking(url(httpserver)).api

    assert api.download(PATH, limit_bytes=4, accept="application/zip") == b"PK\x03\x04"
    assert seen[0].headers["Authorization"] == f"Bearer {TOKEN}"
    assert seen[0].headers["Accept"] == "application/zip"
    assert "Authorization" not in elsewhere.log[0][0].headers


@pytest.mark.parametrize(
    ("base", "target", "words"),
    [
        ("https://a.example", "http://b.example/", "the answer redirects to b.example"),
        ("https://a.example", "http://a.example/", "the answer redirects to a.example"),
        ("https://a.example", "https://b.example/", "the answers redirect in a circle"),
        ("http://a.example", "http://b.example/", "the answers redirect in a circle"),
    ],
)
def test_a_download_is_not_led_out_of_tls(
    monkeypatch: pytest.MonkeyPatch, base: str, target: str, words: str
) -> None:
    """Whoever listens on the way could give other bytes."""
    import requests
    import urllib3

    def send(_adapter: object, request: requests.PreparedRequest, **_: Any) -> requests.Response:
        response = requests.Response()
        response.status_code = 302
        response.headers["Location"] = target
        response.raw = urllib3.HTTPResponse(b"", preload_content=False)
        response.request = request
        return response

    monkeypatch.setattr("requests.adapters.HTTPAdapter.send", send)

    with pytest.raises(InfrastructureFailure, match=words):
        asking(base).api.download(PATH, limit_bytes=1)


def test_a_failed_download_does_not_show_where_it_lay(
    httpserver: HTTPServer, elsewhere: HTTPServer
) -> None:
    """Its address is signed: whoever reads the log could use it."""
    gone = f"{unused_url()}/blob?sig=s3cret"
    serve(httpserver, moved(f"{url(elsewhere)}/blob?sig=s3cret"), moved(gone))
    elsewhere.expect_request("/blob").respond_with_data(b"<Error>sig</Error>", status=404)
    api = asking(url(httpserver)).api

    with pytest.raises(NotFound) as raised:
        api.download(PATH, limit_bytes=10)
    with pytest.raises(InfrastructureFailure) as broken:
        api.download(PATH, limit_bytes=10)

    assert raised.value.message == f"GET {PATH}: GitHub answered 404"
    assert broken.value.message == f"GET {PATH}: no connection"
    assert "s3cret" not in str(broken.value)


@pytest.mark.parametrize(
    ("api", "target", "is_home"),
    [
        ("https://api.github.com", "https://uploads.github.com/repos/a/b", True),
        ("https://api.github.com", "http://uploads.github.com/repos/a/b", False),
        ("https://api.github.com", "https://uploads.github.com.example/a", False),
        ("https://api.acme.ghe.com", "https://uploads.acme.ghe.com/a", True),
        ("https://ghe.acme.com/api/v3", "https://ghe.acme.com/api/uploads/a", True),
        ("https://ghe.acme.com/api/v3", "https://uploads.acme.com/a", False),
        ("https://api.example/v3", "https://api.example:443/other", True),
        ("https://api.example/v3", "http://api.example/", False),
        ("https://api.example/v3", "https://api.example:444/", False),
        ("https://api.example/v3", "https://user@api.example/", False),
        ("https://api.example/v3", "not a url", False),
    ],
)
def test_only_the_api_and_its_uploads_get_the_token(api: str, target: str, is_home: bool) -> None:
    assert asking(api).api._is_home(target) is is_home
