import hashlib
from pathlib import Path

import pytest

from megtrim.devices.remote import run_directory
from megtrim.elf.needed_libraries import Needs
from megtrim.util.errors import InfrastructureFailure, InputError
from unit.devices.remote_rig import FolderMachine, digest


def test_a_file_is_brought_once(machine: FolderMachine, tmp_path: Path) -> None:
    model = tmp_path / "m"
    model.write_bytes(b"weights")
    for name in ("a", "b"):
        with machine.open() as directory:
            directory.put(model, name)
            directory.put(model, f"{name}2")
            assert directory.get(name) == directory.get(f"{name}2") == b"weights"
    assert [call for call in machine.link.calls if call.startswith("push")] == ["push m"]
    assert [path.name for path in (machine.root / "files").iterdir()] == [digest(b"weights")]


def test_a_kept_file_that_a_program_wrote_to_is_brought_again(
    machine: FolderMachine, tmp_path: Path
) -> None:
    """The copy is what is checked, at every use."""
    model = tmp_path / "m"
    model.write_bytes(b"weights")
    with machine.open() as directory:
        directory.put(model, "m")
        assert directory.get("m") == b"weights"
    (machine.root / "files" / digest(b"weights")).write_bytes(b"evil")
    with machine.open() as directory:
        directory.put(model, "m")
        assert directory.get("m") == b"weights"
    assert (machine.root / "files" / digest(b"weights")).read_bytes() == b"weights"


def test_damage_on_the_way_is_mended_once(machine: FolderMachine, tmp_path: Path) -> None:
    model = tmp_path / "m"
    model.write_bytes(b"weights")
    with machine.open() as directory:
        machine.link.damage = 1
        directory.put(model, "m")
        assert directory.get("m") == b"weights"
    (machine.root / "files" / digest(b"weights")).unlink()
    with machine.open() as directory:
        machine.link.damage = 2
        directory.put(model, "m")
        with pytest.raises(InfrastructureFailure, match="m did not arrive there as sent"):
            directory.get("m")
    assert machine.left() == []


def test_a_file_is_not_put_through_a_link(machine: FolderMachine, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    with machine.open() as directory:
        directory.put(machine.program(f"ln -s {victim} cache; mkdir folder"), "p")
        directory.run(("p",), timeout_s=9)
        for name in ("cache", "folder"):
            directory.put(tmp_path / "program", name)
            assert directory.get(name) == (tmp_path / "program").read_bytes()
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["", "../x", "a/../b", "/x", "-x", "a b", "a\nb", "*", "é"])
def test_names_that_cannot_be_put(machine: FolderMachine, tmp_path: Path, name: str) -> None:
    (tmp_path / "m").write_bytes(b"")
    with machine.open() as directory, pytest.raises(InputError):
        directory.put(tmp_path / "m", name)


@pytest.mark.parametrize("there", [True, False])
def test_a_loader_is_brought_where_the_machine_has_none(
    machine: FolderMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    loader = tmp_path / "lib" / "ld-test.so.1"
    brought = tmp_path / "sysroot-ld"
    brought.write_text('#!/bin/sh\necho "$@"\n')
    if there:
        loader.parent.mkdir()
        loader.write_text("")
    needs = Needs(loader=str(loader), files=(("ld-test.so.1", brought), ("libx.so", brought)))
    monkeypatch.setattr(run_directory, "read_loader", lambda _program: str(loader))
    monkeypatch.setattr(run_directory, "read_needs", lambda *_given: needs)
    with machine.open() as directory:
        directory.put(machine.program("echo itself $@"), "p")
        run = directory.run(("p", "a"), timeout_s=9)
        again = directory.run(("p", "a"), timeout_s=9)
    expected = "itself a\n" if there else "--library-path . ./p a\n"
    assert run.stdout == again.stdout == expected


@pytest.mark.parametrize("there", [True, False])
def test_androids_loader_is_the_phones_own(
    machine: FolderMachine, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    loader = "/system/bin/linker64"
    libs = Needs(loader=loader, files=(("libc++_shared.so", machine.program("")),))
    monkeypatch.setattr(run_directory, "read_loader", lambda _program: loader)
    monkeypatch.setattr(run_directory, "read_needs", lambda *_given: libs)
    with machine.open() as directory:
        monkeypatch.setattr(directory, "_present", {loader: there})
        directory.put(machine.program("echo $LD_LIBRARY_PATH; ls libc*"), "p")
        if there:
            assert directory.run(("p",), timeout_s=9).stdout == ".\nlibc++_shared.so\n"
        else:
            with pytest.raises(InputError, match=r"has no /system/bin/linker64"):
                directory.run(("p",), timeout_s=9)


def test_a_machine_that_only_has_the_older_digest(machine: FolderMachine, tmp_path: Path) -> None:
    tools = tmp_path / "old"
    tools.mkdir()
    names = "sh cp mv rm ls find stat df mkdir chmod touch sleep setsid env cat date uname sha1sum"
    for name in names.split():
        (tools / name).symlink_to(f"/usr/bin/{name}")
    machine.link.path = str(tools)
    (tmp_path / "m").write_bytes(b"weights")
    with machine.open() as directory:
        directory.put(tmp_path / "m", "m")
        assert directory.get("m") == b"weights"
    expected = hashlib.sha1(b"weights", usedforsecurity=False).hexdigest()
    assert [path.name for path in (machine.root / "files").iterdir()] == [expected]


def test_a_machine_without_any_digest_is_refused(machine: FolderMachine, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ["sh", "rm", "ls", "find", "df", "mkdir", "chmod", "date"]:
        (tools / name).symlink_to(Path("/usr/bin") / name)
    machine.link.path = str(tools)
    with pytest.raises(InfrastructureFailure, match="did not report"), machine.open():
        pass
    assert machine.left() == []


def test_files_of_odd_names_come_back(machine: FolderMachine) -> None:
    text = r"""
for name in 'a b' '-x' '[1]*' 'q"' 'b\n' 'é'; do echo 1 >"d/$name"; done
ln -s /etc/passwd d/l
mkdir d/sub
echo 1 >"d/new
line"
"""
    with machine.open() as directory:
        directory.put(machine.program(text), "p")
        directory.make("d")
        directory.run(("p",), timeout_s=9)
        names = directory.names("d")
        assert names == ("-x", "[1]*", "a b", "b\\n", 'q"', "é")
        assert all(directory.get(f"d/{name}") == b"1\n" for name in names)
        assert directory.get("d/l") is None
