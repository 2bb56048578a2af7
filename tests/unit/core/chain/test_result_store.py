"""Stage folders: made once for equal inputs, redone where they are torn, one producer at a time."""

import errno
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from filelock import FileLock, Timeout

from megtrim.core.chain import result_store as manifests
from megtrim.core.chain import result_store as stores
from megtrim.core.chain.gitignore import IGNORED
from megtrim.core.chain.result_store import (
    MANIFEST,
    StageFolder,
    Store,
    code_digest,
    dump_manifest,
    key_of,
    parse_manifest,
)
from megtrim.core.chain.stage_result import StageResult
from megtrim.libs.util import files as util_files
from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.libs.util.files import sha256_file, write_atomically
from megtrim.libs.util.owned_folders import MARKER
from megtrim.libs.util.shortage import Room
from support.clock import until

INPUTS = {"model": "aa", "arguments": "--cpu"}


class Count(StageResult):
    count: int


class Other(StageResult):
    pass


FOUND = Count(count=3)


class Producer:
    def __init__(self, text: str = "result\n") -> None:
        self.text = text
        self.calls = 0

    def __call__(self, folder: Path) -> Count:
        assert [path.name for path in folder.iterdir()] == [MARKER]
        self.calls += 1
        (folder / "sub").mkdir()
        (folder / "sub" / "file.txt").write_text(self.text, encoding="utf-8")
        return FOUND


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path: Path, said: list[str]) -> Store:
    return Store(tmp_path, say=said.append, warn=said.append)


@pytest.fixture
def folder(store: Store) -> StageFolder:
    return ensure(store)[0]


def ensure(store: Store, text: str = "result\n") -> tuple[StageFolder, bool]:
    return store.ensure("build", "plain", INPUTS, Producer(text), Count)


def test_the_key_is_a_function_of_the_inputs() -> None:
    key = key_of("build", "plain", {"a": "1", "b": "2"})

    assert key == key_of("build", "plain", {"b": "2", "a": "1"})
    text = json.dumps([3, code_digest(), "build", "plain", [["a", "1"], ["b", "2"]]])
    assert key == hashlib.sha256(text.encode()).hexdigest()[:20]


@pytest.mark.parametrize(
    ("stage", "name", "inputs"),
    [
        ("reduce", "plain", {"a": "1"}),
        ("build", "profile", {"a": "1"}),
        ("build", "plain", {"a": "2"}),
        ("build", "plain", {"b": "1"}),
        ("build", "plain", {"a": "1", "b": ""}),
    ],
)
def test_anything_that_differs_is_another_key(
    stage: str, name: str, inputs: dict[str, str]
) -> None:
    assert key_of(stage, name, inputs) != key_of("build", "plain", {"a": "1"})


def test_equal_inputs_are_produced_once(tmp_path: Path) -> None:
    produce = Producer()

    first = Store(tmp_path).ensure("build", "plain", INPUTS, produce, Count)
    second = Store(tmp_path).ensure("build", "plain", INPUTS, produce, Count)

    key = key_of("build", "plain", INPUTS)
    expected = StageFolder(
        path=tmp_path / "build" / key,
        stage="build",
        name="plain",
        key=key,
        inputs=INPUTS,
        result=FOUND,
        files={"sub/file.txt": hashlib.sha256(b"result\n").hexdigest()},
    )
    assert (first, second) == ((expected, True), (expected, False))
    assert produce.calls == 1
    assert expected.file("sub/file.txt").read_text(encoding="utf-8") == "result\n"


def test_results_stay_out_of_git(tmp_path: Path) -> None:
    Store(tmp_path / "out").ensure("build", "plain", INPUTS, Producer(), Count)
    assert (tmp_path / "out" / ".gitignore").read_text(encoding="utf-8") == IGNORED

    (tmp_path / "out" / ".gitignore").write_text("*.log\n", encoding="utf-8")
    Store(tmp_path / "out").ensure("build", "profile", INPUTS, Producer(), Count)
    assert (tmp_path / "out" / ".gitignore").read_text(encoding="utf-8") == "*.log\n"


def test_a_folder_hands_out_what_its_manifest_names_as_what_it_is(folder: StageFolder) -> None:
    (folder.path / "later.txt").write_text("x", encoding="utf-8")

    with pytest.raises(KeyError, match=r"later\.txt"):
        folder.file("later.txt")
    assert folder.result_as(Count).count == 3
    with pytest.raises(TypeError, match="contains a Count, not a Other"):
        folder.result_as(Other)


def test_the_manifest_reports_everything(folder: StageFolder) -> None:
    text = (folder.path / MANIFEST).read_text(encoding="utf-8")
    sha = hashlib.sha256(b"result\n").hexdigest()
    data = json.loads(text)
    seal = data.pop("sha256")
    assert data == {
        "layout": 3,
        "stage": "build",
        "name": "plain",
        "key": folder.key,
        "inputs": INPUTS,
        "result": {"count": 3},
        "files": {"sub/file.txt": {"sha256": sha, "bytes": 7}},
    }
    assert text.index('"arguments"') < text.index('"model"')
    assert text.endswith("}\n")
    whole = json.dumps(data, indent=1, sort_keys=True) + "\n"
    assert seal == hashlib.sha256(whole.encode()).hexdigest()


def test_the_manifest_is_written_last(tmp_path: Path, store: Store) -> None:
    key = key_of("build", "plain", INPUTS)
    seen: list[StageFolder | None] = []

    def produce(folder: Path) -> Count:
        (folder / "file").write_text("x", encoding="utf-8")
        seen.append(Store(tmp_path).find("build", key, Count))
        return FOUND

    store.ensure("build", "plain", INPUTS, produce, Count)

    assert seen == [None]
    assert store.find("build", key, Count) is not None


def replace_by_link(path: Path) -> None:
    """What it leads to may change without anybody's notice, even if it is the right one now."""
    elsewhere = path.with_name(f"{path.name}-elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


FILE = "sub/file.txt"
DAMAGES: dict[str, Callable[[Path], object]] = {
    "no manifest": lambda folder: (folder / MANIFEST).unlink(),
    "half a manifest": lambda folder: (folder / MANIFEST).write_text("{", encoding="utf-8"),
    "a list": lambda folder: (folder / MANIFEST).write_text("[]", encoding="utf-8"),
    "no text": lambda folder: (folder / MANIFEST).write_bytes(b"\xff\xfe"),
    "lost": lambda folder: (folder / FILE).unlink(),
    "longer": lambda folder: (folder / FILE).write_text("longer than", encoding="utf-8"),
    "emptied": lambda folder: (folder / FILE).write_text("", encoding="utf-8"),
    "a link to the same bytes": lambda folder: replace_by_link(folder / FILE),
    "a link to the same result": replace_by_link,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_folder_is_redone(
    damage: Callable[[Path], object], store: Store, folder: StageFolder
) -> None:
    damage(folder.path)

    assert store.find("build", folder.key, Count) is None
    again, fresh = ensure(store)
    assert fresh
    assert again == folder


def test_another_megtrim_does_not_take_a_result(
    monkeypatch: pytest.MonkeyPatch, store: Store, said: list[str], folder: StageFolder
) -> None:
    monkeypatch.setattr(stores, "code_digest", lambda: "another")

    assert store.find("build", folder.key, Count) is None
    assert store.previous("build", Count, "plain") is None
    assert store.holds_foreign("build")
    assert store.holds_foreign("build", "plain")
    assert not store.holds_foreign("build", "profile")
    assert not store.holds_foreign("reduce")
    again, fresh = ensure(store)
    assert fresh
    assert again.key != folder.key
    assert said == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"layout": 2}', '{"layout": 3, "key": "KEY"}'])
def test_a_damaged_result_is_not_of_another_megtrim(
    text: str, store: Store, folder: StageFolder
) -> None:
    assert not store.holds_foreign("build")
    (folder.path / MANIFEST).write_text(text.replace("KEY", folder.key), encoding="utf-8")

    assert not store.holds_foreign("build")


def test_a_result_of_an_older_layout_is_made_again(
    monkeypatch: pytest.MonkeyPatch, store: Store, said: list[str]
) -> None:
    with monkeypatch.context() as older:
        older.setattr(stores, "LAYOUT", 2)
        older.setattr(manifests, "LAYOUT", 2)
        old, _ = store.ensure("build", "plain", INPUTS, Producer("old\n"), Count)
        assert store.previous("build", Count, "plain") == old
    assert store.holds_foreign("build", "plain")

    assert store.previous("build", Count, "plain") is None
    made, fresh = store.ensure("build", "plain", INPUTS, Producer("new\n"), Count)
    assert fresh
    assert made.file("sub/file.txt").read_text(encoding="utf-8") == "new\n"
    assert store.find("build", old.key, Count) is None
    assert said == [
        f"{old.path} was damaged: its manifest is not as it was written; it is made again"
    ]


@pytest.mark.parametrize(
    ("result", "wrong"),
    [
        ({}, "count: found nothing, expected this key"),
        ({"count": "3"}, "count: found '3', expected a whole number"),
        ({"count": 3.0}, "count: found 3.0, expected a whole number"),
        ({"count": True}, "count: found True, expected a whole number"),
        ({"count": 3, "more": 1}, "more: found 1, expected no such key"),
    ],
)
def test_an_odd_result_is_made_again(
    result: dict[str, object], wrong: str, store: Store, said: list[str], folder: StageFolder
) -> None:
    manifest = parse_manifest((folder.path / MANIFEST).read_text(encoding="utf-8"))
    odd = dump_manifest(replace(manifest, result=result))
    (folder.path / MANIFEST).write_text(odd, encoding="utf-8")

    assert store.previous("build", Count, "plain") is None
    assert ensure(store) == (folder, True)
    why = f"its result is odd: {wrong}"
    assert said == [f"{folder.path} was damaged: {why}; it is made again"]


def test_the_code_is_known_by_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "megtrim"
    (package / "size").mkdir(parents=True)
    (tmp_path / "virtual_phone").mkdir()
    (package / "size/page.j2").write_text("a", encoding="utf-8")
    monkeypatch.setattr(stores, "__file__", str(package / "core" / "chain" / "store.py"))

    def digest() -> str:
        code_digest.cache_clear()
        return code_digest()

    try:
        first = digest()
        (package / "__pycache__").mkdir()
        (package / "__pycache__/store.pyc").write_bytes(b"x")
        assert digest() == first
        (package / "size/page.j2").write_text("b", encoding="utf-8")
        second = digest()
        (package / "size/page.j2").rename(package / "size/other.j2")
        third = digest()
        (tmp_path / "virtual_phone/shim").write_text("", encoding="utf-8")
        (tmp_path / "unrelated.py").write_text("", encoding="utf-8")
        assert len({first, second, third, digest()}) == 4
        shutil.rmtree(tmp_path / "virtual_phone")
        with pytest.raises(FileNotFoundError):
            digest()
    finally:
        code_digest.cache_clear()


def settle(folder: StageFolder, by_s: int = 100) -> None:
    """Let everything about a folder have happened a while ago, as the store sees it."""
    real = time.time_ns
    util_files.time.time_ns = lambda: real() + by_s * 1_000_000_000  # type: ignore[attr-defined]
    try:
        assert Store(folder.path.parents[1]).find(folder.stage, folder.key, Count) is not None
    finally:
        util_files.time.time_ns = real  # type: ignore[attr-defined]


def flip(path: Path) -> None:
    """Change one bit, and restore the time of the last write."""
    before = path.stat()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_size == before.st_size


@pytest.mark.parametrize("remembered", [True, False])
def test_a_flipped_bit_is_found_named_and_mended(
    remembered: bool, store: Store, said: list[str], folder: StageFolder
) -> None:
    if remembered:
        settle(folder)
    assert (folder.path / util_files.MEMORY).exists() is remembered
    flip(folder.path / "sub/file.txt")

    again, fresh = ensure(store)

    assert (again, fresh) == (folder, True)
    why = "sub/file.txt: it does not have the sha256 that its manifest states"
    assert said == [f"{folder.path} was damaged: {why}; it is made again"]


def test_what_is_handed_out_was_not_changed_since(store: Store, folder: StageFolder) -> None:
    settle(folder)
    for found in (folder, store.find("build", folder.key, Count)):
        assert found is not None
        before = (folder.path / "sub/file.txt").read_bytes()
        flip(folder.path / "sub/file.txt")
        with pytest.raises(InfrastructureFailure, match=r"sub/file\.txt was damaged: it does not"):
            found.file("sub/file.txt")
        (folder.path / "sub/file.txt").write_bytes(before)
        assert found.file("sub/file.txt").read_bytes() == before


def test_what_is_remembered_is_not_read_again(
    monkeypatch: pytest.MonkeyPatch, store: Store, folder: StageFolder
) -> None:
    settle(folder)
    read: list[Path] = []
    monkeypatch.setattr(util_files, "_digest", read.append)

    found = store.find("build", folder.key, Count)

    assert found is not None
    assert found.file("sub/file.txt") == folder.path / "sub/file.txt"
    assert read == []


@pytest.mark.parametrize(
    "memory",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"../x": []}',
        '{"sub/file.txt": 3}',
        '{"sub/file.txt": ["x", 1, 2, 3, 4]}',
        '{"sub/file.txt": [1]}',
    ],
    ids=range(8),
)
def test_a_damaged_memory_is_of_no_account(memory: str, store: Store, folder: StageFolder) -> None:
    (folder.path / util_files.MEMORY).write_text(memory, encoding="utf-8")

    assert store.find("build", folder.key, Count) == folder
    flip(folder.path / "sub/file.txt")
    assert store.find("build", folder.key, Count) is None


def test_a_memory_of_other_files_is_of_no_account(tmp_path: Path, folder: StageFolder) -> None:
    settle(folder)
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "build", copy / "build")
    flip(copy / "build" / folder.key / "sub/file.txt")

    assert Store(copy).find("build", folder.key, Count) is None


@pytest.mark.parametrize("name", [MANIFEST, "sub/file.txt", util_files.MEMORY])
def test_a_pipe_in_a_files_place_does_not_hang(
    name: str, store: Store, folder: StageFolder
) -> None:
    (folder.path / name).unlink(missing_ok=True)
    os.mkfifo(folder.path / name)

    assert (store.find("build", folder.key, Count) is None) is (name != util_files.MEMORY)
    assert ensure(store)[0] == folder


def test_previous_is_the_newest_of_that_name_or_what_was_used_again(store: Store) -> None:
    made = {}
    for age, (name, model) in enumerate([("plain", "1"), ("plain", "2"), ("other", "3")]):
        made[model], _ = store.ensure("build", name, {"model": model}, Producer(), Count)
        os.utime(made[model].path / MANIFEST, (1000 + age, 1000 + age))

    assert store.previous("build", Count, "plain") == made["2"]
    assert store.previous("build", Count, "other") == made["3"]
    assert store.previous("build", Count, "no_one") is None
    assert store.previous("reduce", Count, "plain") is None

    store.ensure("build", "plain", {"model": "1"}, Producer(), Count)
    assert store.previous("build", Count, "plain") == made["1"]
    (made["1"].path / "sub" / "file.txt").unlink()
    assert store.previous("build", Count, "plain") == made["2"]


def test_discard_drops_one_stage_or_one_name(store: Store) -> None:
    built, _ = ensure(store)
    measured, _ = store.ensure("size", "artifacts", INPUTS, Producer(), Count)
    other, _ = store.ensure("size", "other", INPUTS, Producer(), Count)

    store.discard("build")
    store.discard("size", "other")

    assert store.find("build", built.key, Count) is None
    assert store.find("size", measured.key, Count) == measured
    assert store.find("size", other.key, Count) is None
    assert ensure(store) == (built, True)


def test_what_is_discarded_is_the_previous_until_it_is_made_again(
    tmp_path: Path, store: Store
) -> None:
    built, _ = ensure(store)

    fail = Mock(side_effect=InfrastructureFailure("no phone"))
    for _ in range(2):
        store.discard("build")
        with pytest.raises(InfrastructureFailure):
            store.ensure("build", "plain", INPUTS, fail, Count)
        previous = store.previous("build", Count, "plain")
        assert previous is not None
        assert (previous.key, previous.files) == (built.key, built.files)
        assert store.find("build", built.key, Count) is None

    ensure(store)

    assert store.previous("build", Count, "plain") == built
    assert [path.name for path in (tmp_path / "build").iterdir()] == [built.key]


def test_a_lock_is_waited_for_and_the_wait_is_announced(tmp_path: Path) -> None:
    said: list[str] = []
    held = threading.Event()
    events = []

    def hold() -> None:
        with Store(tmp_path).lock("work-plain"):
            held.set()
            time.sleep(0.5)
            events.append("released")

    other = threading.Thread(target=hold)
    other.start()
    held.wait()
    with Store(tmp_path, say=said.append).lock("work-plain"):
        events.append("acquired")
    other.join()

    assert events == ["released", "acquired"]
    assert said == ["waiting for another megtrim that works on work-plain"]


def test_a_lock_is_one_file_for_all_processes(store: Store, said: list[str]) -> None:
    with pytest.raises(ZeroDivisionError), store.lock("x"):
        raise ZeroDivisionError
    with store.lock("x"), store.lock("y"), pytest.raises(Timeout):
        FileLock(store.root / "locks" / "x.lock").acquire(timeout=0)

    assert said == []


SCRIPT = """\
import sys, time
sys.path.insert(0, {package!r})
from pathlib import Path
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.chain.result_store import Store

class Count(StageResult):
    count: int

def produce(folder):
    with Path({count!r}).open("a") as stream:
        stream.write("x")
    for number in range(20):
        (folder / f"file{{number}}").write_text("line\\n" * 100)
        time.sleep(0.01)
    return Count(count=3)

Path({ready!r}).touch()
Store(Path({root!r})).ensure("build", "plain", {inputs!r}, produce, Count)
"""


def start(tmp_path: Path) -> int:
    """Start a process that produces 20 files in about 0.2 s; return its id once it begins."""
    ready = tmp_path / "ready"
    ready.unlink(missing_ok=True)
    script = SCRIPT.format(
        package=str(Path(stores.__file__).parents[3]),
        root=str(tmp_path / "out"),
        count=str(tmp_path / "count"),
        ready=str(ready),
        inputs=INPUTS,
    )
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", script], dict(os.environ))
    until(ready.exists, "the producer")
    return pid


def test_two_processes_produce_one_result(tmp_path: Path) -> None:
    pids = [start(tmp_path), start(tmp_path)]

    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0]
    assert (tmp_path / "count").read_text(encoding="utf-8") == "x"
    folder = Store(tmp_path / "out").find("build", key_of("build", "plain", INPUTS), Count)
    assert folder is not None
    assert len(folder.files) == 20


@pytest.mark.parametrize("seed", range(6))
def test_a_killed_producer_leaves_a_store_that_goes_on(tmp_path: Path, seed: int) -> None:
    pid = start(tmp_path)
    time.sleep(random.Random(seed).uniform(0, 0.3))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

    said: list[str] = []
    store = Store(tmp_path / "out", say=said.append)
    found = store.find("build", key_of("build", "plain", INPUTS), Count)
    assert found is None or len(found.files) == 20

    folder, fresh = ensure(store)
    assert said == []
    assert fresh == (found is None)
    assert len(folder.files) == (1 if fresh else 20)


def test_a_text_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.json"
    write_atomically(path, "one ä\n")

    with path.open(encoding="utf-8") as reader:
        write_atomically(path, "two\n")
        assert reader.read() == "one ä\n"

    assert path.read_bytes() == b"two\n"
    assert [file.name for file in path.parent.iterdir()] == ["file.json"]


NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("error", "raised"),
    [(KeyboardInterrupt(), KeyboardInterrupt), (NO_SPACE, InfrastructureFailure)],
    ids=["interrupted", "no space"],
)
def test_a_write_that_is_cut_off_leaves_the_old_text(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    raised: type[BaseException],
) -> None:
    path = tmp_path / "file.json"
    write_atomically(path, "old\n")
    seen = []

    def cut_off(_descriptor: int) -> None:
        seen.append(path.read_text(encoding="utf-8"))
        raise error

    monkeypatch.setattr(os, "fsync", cut_off)
    with pytest.raises(raised) as caught:
        write_atomically(path, "new and longer\n")

    assert [*seen, path.read_text(encoding="utf-8")] == ["old\n", "old\n"]
    assert [file.name for file in tmp_path.iterdir()] == ["file.json"]
    if isinstance(caught.value, InfrastructureFailure):
        assert caught.value.exit_code == 3
        assert str(caught.value) == (
            f"{path} cannot be written: No space left on device\n"
            "  free some space, or choose another folder with --out"
        )


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (NO_SPACE, InfrastructureFailure),
        # A file that a stage forgot to write is our own bug, not a full disk.
        (FileNotFoundError(errno.ENOENT, "never-written"), FileNotFoundError),
        (ProductFailure("the engine does not compile"), ProductFailure),
    ],
    ids=["no space", "a bug", "a failure"],
)
def test_a_stage_that_ends_with_an_error_keeps_its_logs_and_is_redone(
    store: Store, error: Exception, raised: type[Exception]
) -> None:
    def produce(folder: Path) -> Count:
        (folder / "build.log").write_text("error", encoding="utf-8")
        raise error

    with pytest.raises(raised, match=str(error.args[-1])):
        store.ensure("build", "plain", INPUTS, produce, Count)
    assert [file.name for file in (store.root / "build").glob("*/[!.]*")] == ["build.log"]
    folder, fresh = ensure(store)
    assert fresh
    assert sorted(file.name for file in folder.path.glob("[!.]*")) == [MANIFEST, "sub"]


@pytest.mark.parametrize("root", ["a-file/out", "a-file"])
def test_a_folder_that_cannot_be_made_is_shown(tmp_path: Path, root: str) -> None:
    (tmp_path / "a-file").write_text("x", encoding="utf-8")

    with pytest.raises(InfrastructureFailure, match="cannot be written: ") as caught:
        Store(tmp_path / root).ensure("build", "plain", INPUTS, Producer(), Count)
    assert caught.value.hint == "choose another folder with --out"  # more room would not help
    with pytest.raises(InfrastructureFailure, match="cannot be written: "):
        write_atomically(tmp_path / root / "x" / "file", "text")


def test_a_file_is_known_by_its_bytes(tmp_path: Path) -> None:
    file = tmp_path / "model.mge"
    file.write_bytes(b"abc")

    assert sha256_file(file) == hashlib.sha256(b"abc").hexdigest()
    with pytest.raises(InputError) as caught:
        sha256_file(tmp_path / "gone")
    assert caught.value.message == f"{tmp_path}/gone: cannot be read: No such file or directory"
    with pytest.raises(InputError, match="found a folder"):
        sha256_file(tmp_path)


@pytest.mark.parametrize(
    "error",
    [
        None,
        ProductFailure("the engine does not compile"),
        InputError("no such file"),
        FileNotFoundError(errno.ENOENT, "gone"),
    ],
    ids=str,
)
def test_a_folder_that_is_removed_meanwhile_is_infrastructure(
    tmp_path: Path, error: Exception | None
) -> None:
    store = Store(tmp_path / "out")

    def produce(folder: Path) -> Count:
        shutil.rmtree(store.root)
        if error is not None:
            raise error
        return FOUND

    with pytest.raises(InfrastructureFailure, match="was removed or unmounted"):
        store.ensure("build", "plain", {}, produce, Count)
    assert store.previous("build", Count) is None


@pytest.mark.parametrize("link", [True, False])
def test_another_result_in_its_place_is_damage(link: bool, store: Store, said: list[str]) -> None:
    good, _ = store.ensure("verify", "m", {"reduced": "good"}, Producer("pass"), Count)
    bad, _ = store.ensure("verify", "m", {"reduced": "bad"}, Producer("trap"), Count)
    shutil.rmtree(bad.path)
    if link:
        bad.path.symlink_to(good.path)
    else:
        shutil.copytree(good.path, bad.path)

    again, fresh = store.ensure("verify", "m", {"reduced": "bad"}, Producer("trap"), Count)

    assert fresh
    assert again == bad
    assert said == [f"{bad.path} was damaged: another result is in its place; it is made again"]
    assert good.file("sub/file.txt").read_text(encoding="utf-8") == "pass"


@pytest.mark.parametrize("damaged", [False, True])
def test_a_result_of_an_earlier_run_is_taken_unless_it_is_damaged(
    tmp_path: Path, damaged: bool
) -> None:
    produce = Producer()
    made, _ = Store(tmp_path / "earlier").ensure("build", "plain", INPUTS, produce, Count)
    if damaged:
        (made.path / "sub" / "file.txt").write_bytes(b"damaged")
    store = Store(tmp_path / "now", earlier=tmp_path / "earlier")
    taken, fresh = store.ensure("build", "plain", INPUTS, produce, Count)
    _, produced = store.ensure("build", "plain", INPUTS | {"model": "bb"}, produce, Count)

    assert (fresh, produced, produce.calls) == (damaged, True, 2 + damaged)
    assert store.taken == (set() if damaged else {made.key})
    assert taken == replace(made, path=tmp_path / "now" / "build" / made.key)
    assert taken.file("sub/file.txt").read_text(encoding="utf-8") == "result\n"
    left = (made.path / "sub" / "file.txt").read_text(encoding="utf-8")
    assert left == ("damaged" if damaged else "result\n")


@pytest.mark.parametrize(
    ("free_bytes", "raised"),
    [(0, InfrastructureFailure), (15 * 2**20, InfrastructureFailure), (2**24, ProductFailure)],
)
def test_a_stage_that_fails_on_a_full_disk_says_nothing_of_the_product(
    store: Store, monkeypatch: pytest.MonkeyPatch, free_bytes: int, raised: type[Exception]
) -> None:
    def produce(_folder: Path) -> Count:
        msg = "the engine does not compile"
        raise ProductFailure(msg)

    rooms = (Room(place="/out", free_bytes=free_bytes),)
    monkeypatch.setattr(util_files, "read_rooms", lambda _: rooms)

    with pytest.raises(raised):
        store.ensure("build", "x", {}, produce, Count)
