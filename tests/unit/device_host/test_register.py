import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

PATH = "/repos/team/models/actions/runners/generate-jitconfig"


def _script() -> ModuleType:
    path = Path(__file__).parents[3] / "scripts" / "device-host" / "installed" / "register.py"
    spec = importlib.util.spec_from_file_location("device_host_register", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


register = _script()


@pytest.fixture
def unit(httpserver: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What systemd gives to the unit; returns where the configuration is wanted."""
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("MEGTRIM_API", httpserver.url_for("").rstrip("/"))
    monkeypatch.setenv("MEGTRIM_SCOPE", "repos/team/models")
    monkeypatch.setenv("MEGTRIM_RUNNER_GROUP", "1")
    monkeypatch.setenv("MEGTRIM_LABELS", "self-hosted,megtrim,armv82")
    (tmp_path / "github-token").write_text("ghs_secret\n", encoding="ascii")
    return tmp_path / "config"


def test_a_registration(httpserver: HTTPServer, unit: Path) -> None:
    asked: list[tuple[str, object]] = []

    def answer(request: Request) -> Response:
        asked.append((request.headers["Authorization"], json.loads(request.get_data())))
        return Response(json.dumps({"encoded_jit_config": "Zm9v"}), status=201)

    httpserver.expect_request(PATH, method="POST").respond_with_handler(answer)

    assert register.main(["3", str(unit)]) == 0
    assert unit.read_text(encoding="ascii") == "Zm9v"
    assert unit.stat().st_mode & 0o777 == 0o640
    token, body = asked[0]
    assert token == "Bearer ghs_secret"
    assert isinstance(body, dict)
    assert "-3-" in body.pop("name")
    assert body == {
        "runner_group_id": 1,
        "labels": ["self-hosted", "megtrim", "armv82"],
        "work_folder": "_work",
    }


@pytest.mark.parametrize(
    ("status", "answer", "rc", "said"),
    [
        (401, "{}", 2, "the token is wrong, or has expired"),
        (403, "{}", 2, "Administration (write)"),
        (404, "{}", 2, "there is no such repository"),
        (422, "{}", 2, "labels or the runner group"),
        (500, "{}", 3, "answered 500"),
        (201, "{}", 3, "without a configuration"),
        (201, "[", 3, "without a configuration"),
        (201, '{"encoded_jit_config": "not base64!"}', 3, "without a configuration"),
        (201, '{"encoded_jit_config": 7}', 3, "without a configuration"),
    ],
)
def test_refusals_say_what_to_do(
    httpserver: HTTPServer,
    unit: Path,
    capsys: pytest.CaptureFixture[str],
    status: int,
    answer: str,
    rc: int,
    said: str,
) -> None:
    httpserver.expect_request(PATH).respond_with_data(answer, status=status)

    assert register.main(["1", str(unit)]) == rc
    reported = capsys.readouterr().err
    assert said in reported
    assert "ghs_secret" not in reported
    assert not unit.exists()


def test_a_redirect_does_not_get_the_token(httpserver: HTTPServer, unit: Path) -> None:
    there = {"Location": httpserver.url_for("/elsewhere")}
    httpserver.expect_request(PATH).respond_with_data("", status=307, headers=there)

    assert register.main(["1", str(unit)]) == 3
    assert [request.path for request, _ in httpserver.log] == [PATH]


def test_no_answer(unit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that is not there is not this host's mistake."""
    monkeypatch.setenv("MEGTRIM_API", "http://127.0.0.1:9")

    assert register.main(["1", str(unit)]) == 3


@pytest.mark.parametrize("token", ["", "two words", "a\nb"])
def test_a_file_that_holds_no_token(
    unit: Path, token: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (unit.parent / "github-token").write_text(token, encoding="ascii")

    assert register.main(["1", str(unit)]) == 2
    assert "must hold one line with the token" in capsys.readouterr().err


def test_a_link_where_the_configuration_goes_is_replaced(
    httpserver: HTTPServer, unit: Path
) -> None:
    """A job could have put it there, to have a file of the registering user overwritten."""
    target = unit.parent / "target"
    target.write_text("theirs", encoding="ascii")
    unit.symlink_to(target)
    httpserver.expect_request(PATH).respond_with_json({"encoded_jit_config": "Zm9v"}, status=201)

    assert register.main(["1", str(unit)]) == 0
    assert target.read_text(encoding="ascii") == "theirs"
    assert unit.read_text(encoding="ascii") == "Zm9v"
