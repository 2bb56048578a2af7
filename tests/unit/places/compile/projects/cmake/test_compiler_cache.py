from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.places.compile.projects.cmake.compiler_cache import (
    VARIABLE,
    CompilerCache,
    Storage,
    parse_storages,
    render_storages,
)

URL = "redis://ci:secret@cache.lan"
HIT = "remote_storage_read_hit\n"
MISS = "remote_storage_read_miss\n"
ERROR = "remote_storage_error\n"
TIMEOUT = "remote_storage_timeout\n"
SECRET = "geheim"
NO_URL = "found no URL of a storage that ccache knows"
NO_HOST = "found a URL that names no host"
NO_PATH = "found a URL that names no path"
NO_SUPPORT = "found {}://, which ccache does not support"
UNKNOWN = "found an attribute that ccache does not know for {}://"
NO_TIME = "{}-timeout: found something other than milliseconds"
NO_URLS = "expected URLs of a remote storage, separated by one space each"


class Machine(ProcessRunner):
    def __init__(self, counted: str, *, ccache: bool = True, hangs: bool = False) -> None:
        super().__init__({})
        self.commands: list[Command] = []
        self._counted = counted
        self._ccache = ccache
        self._hangs = hangs

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}" if self._ccache else None

    def run(self, command: Command) -> CompletedCommand:
        self.commands.append(command)
        assert command.cwd is not None
        assert (command.cwd / "empty.cpp").read_bytes() == b""
        Path(command.env["CCACHE_STATSLOG"]).write_text(self._counted, encoding="utf-8")
        return CompletedCommand(
            argv=command.argv, rc=0, stdout="", stderr="", wall_s=0.0, timed_out=self._hangs
        )


class Broken(Machine):
    def run(self, command: Command) -> CompletedCommand:
        msg = "cannot be started"
        raise InfrastructureFailure(msg)


def settings(
    machine: ProcessRunner, folder: Path, *, writes: bool = True
) -> tuple[dict[str, str], list[str]]:
    warnings: list[str] = []
    remote = parse_storages(URL, source="test")
    cache = CompilerCache(remote, writes=writes, passed={"X": "1"}, warn=warnings.append)
    found = cache.variables(machine, ("c++", "-m64"), folder)
    assert cache.variables(machine, ("other",), folder) is found
    assert list(folder.iterdir()) == []
    return dict(found), warnings


@pytest.mark.parametrize("counted", [HIT, MISS, HIT + MISS, ""])
def test_a_storage_that_answers_is_used(tmp_path: Path, counted: str) -> None:
    machine = Machine(counted)
    found, warnings = settings(machine, tmp_path)

    assert found["X"] == "1"
    assert found[VARIABLE].startswith(f"{URL}|")
    assert "read-only" not in found[VARIABLE]
    assert warnings == []
    (command,) = machine.commands
    assert command.argv[:3] == ("/usr/bin/ccache", "c++", "-m64")
    assert command.env["CCACHE_DIR"].startswith(str(tmp_path))
    assert command.env[VARIABLE] == found[VARIABLE]


@pytest.mark.parametrize(
    "machine",
    [Machine(ERROR), Machine(TIMEOUT), Machine(HIT, hangs=True), Broken("")],
    ids=["error", "timeout", "hangs", "broken"],
)
def test_a_storage_that_does_not_answer_is_not_used(tmp_path: Path, machine: Machine) -> None:
    found, (warning,) = settings(machine, tmp_path)

    assert found == {"X": "1", VARIABLE: ""}
    assert warning.endswith("does not answer: built without it")
    assert "cache.lan" in warning
    assert "secret" not in warning


@pytest.mark.parametrize(
    ("counted", "writes", "warned"), [(MISS + ERROR, True, [True]), (MISS, False, [])]
)
def test_a_storage_that_takes_nothing_is_only_read(
    tmp_path: Path, counted: str, writes: bool, warned: list[bool]
) -> None:
    machine = Machine(counted)
    found, warnings = settings(machine, tmp_path, writes=writes)

    assert "read-only" in found[VARIABLE]
    assert ("read-only" in machine.commands[0].env[VARIABLE]) is not writes
    assert [each.endswith("cannot be written: it is only read") for each in warnings] == warned


@pytest.mark.parametrize(("writes", "expected"), [(True, {}), (False, {VARIABLE: ""})])
def test_without_a_storage_or_ccache(
    tmp_path: Path, writes: bool, expected: dict[str, str]
) -> None:
    machine = Machine("")
    cache = CompilerCache((), writes=writes, passed={}, warn=pytest.fail)

    assert cache.variables(machine, ("c++",), tmp_path) == expected
    assert machine.commands == []
    lacking = f"{VARIABLE} has no effect: there is no ccache on this machine"
    assert settings(Machine("", ccache=False), tmp_path) == ({"X": "1"}, [lacking])


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("", ""),
        ("  ", ""),
        ("redis://cache.lan", "redis://cache.lan|connect-timeout=250|operation-timeout=1000"),
        (
            " http://u:p@cache.lan:8080/x|layout=bazel|operation-timeout=50\n",
            "http://u:p@cache.lan:8080/x|layout=bazel|operation-timeout=50|connect-timeout=250",
        ),
        ("file:/shared|umask=002", "file:/shared|umask=002"),
        (
            "redis+unix:/run/redis.sock|read-only",
            "redis+unix:/run/redis.sock|read-only|connect-timeout=250|operation-timeout=1000",
        ),
        (
            "file:///a redis://[::1]:7/2|connect-timeout=1|operation-timeout=2",
            "file:///a redis://[::1]:7/2|connect-timeout=1|operation-timeout=2",
        ),
        (
            "http://*.lan|shards=a(3),b",
            "http://*.lan|shards=a(3),b|connect-timeout=250|operation-timeout=1000",
        ),
    ],
)
def test_ccache_gets(given_text: str, expected: str) -> None:
    storages = parse_storages(given_text, source="CCACHE_REMOTE_STORAGE")
    assert render_storages([each.add_timeouts() for each in storages]) == expected


@pytest.mark.parametrize("said", ["", "|read-only", "|read-only=true", "|read-only=false"])
def test_read_only_wins(said: str) -> None:
    (storage,) = parse_storages(f"redis://cache.lan{said}", source="")

    assert render_storages([storage.read_only()]) == "redis://cache.lan|read-only=true"


def test_a_url_is_shown_without_its_password() -> None:
    text = f"redis://ci:{SECRET}@cache.lan:6380/1|operation-timeout=9"
    (storage,) = parse_storages(text, source="")

    assert storage.redact_url() == "redis://cache.lan:6380/1"
    (storage,) = parse_storages(f"http://cache.lan/megtrim?token={SECRET}", source="")
    assert storage.redact_url() == "http://cache.lan/megtrim"
    secrets = {
        "redis://cache.lan": False,
        "redis://p@cache.lan": True,
        "http://cache.lan/a@b": False,
        "http://cache.lan|bearer-token=x": True,
        "http://cache.lan|header=Authorization%3a%20x": True,
    }
    for text, secret in secrets.items():
        (storage,) = parse_storages(text, source="")
        assert (text, storage.secret) == (text, secret)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cache.lan:6379", NO_URL),
        (f"gopher://{SECRET}@cache.lan", NO_URL),
        (f"https://x:{SECRET}@cache.lan", NO_SUPPORT.format("https")),
        ("rediss://cache.lan", NO_SUPPORT.format("rediss")),
        (f"redis://{SECRET}@", NO_HOST),
        ("redis+unix:run", NO_PATH),
        ("file:shared", NO_PATH),
        ("redis://cache.lan:0", NO_HOST),
        (f"redis://{SECRET}@cache.lan:port", "found a URL with a broken host or port"),
        ("redis://[::1", "found a URL with a broken host or port"),
        (f"redis://cache.lan|{SECRET}", UNKNOWN.format("redis")),
        ("redis://cache.lan|readonly", UNKNOWN.format("redis")),
        ("redis://cache.lan|bearer-token=x", UNKNOWN.format("redis")),
        ("file:/a|operation-timeout=5", UNKNOWN.format("file")),
        ("redis://cache.lan|operation-timeout=1s", NO_TIME.format("operation")),
        ("redis://cache.lan|connect-timeout", NO_TIME.format("connect")),
        ("redis://cache.lan|read-only=yes", "read-only: found something other than true or false"),
        (f"redis://{SECRET}\x00@cache.lan", NO_URLS),
        ("redis://a  redis://b", NO_URLS),
        ("redis://" + "a" * 2000, NO_URLS),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_storages(text, source="CCACHE_REMOTE_STORAGE")

    assert caught.value.message == f"CCACHE_REMOTE_STORAGE: {message}"
    assert SECRET not in str(caught.value)


@given(st.text(max_size=60) | st.from_regex(r"(redis|http|file):[/a-z@:\[\]|=-]{0,30}"))
def test_anything_is_read_or_refused(text: str) -> None:
    try:
        found = parse_storages(text, source="x")
    except InputError:
        return
    assert render_storages(found) == text.strip()
    assert parse_storages(
        render_storages([each.add_timeouts() for each in found]), source="x"
    ) == tuple(each.add_timeouts() for each in found)
    assert all(isinstance(each, Storage) for each in found)
