from pathlib import Path

import pytest

from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import ProcessRunner
from virtual_phone.system import rootfs

MIRROR = "http://mirror.example/debian"
APT = """\
#!/bin/sh
echo "$@" >>"$CALLS"
case "$1" in
indextargets) printf '%b' "$LISTED";;
update) [ -z "$UNREACHABLE" ] || { echo "reading" >&2; echo "E: no route" >&2; exit 100; };;
install)
    archives=$(sed -n 's/^Dir::Cache "\\(.*\\)";/\\1/p' "$APT_CONFIG")/archives
    touch "$archives/toybox_0.8_amd64.deb" "$archives/adbd_34_amd64.deb"
    grep -h deb "$(dirname "$APT_CONFIG")/sources.list" >>"$CALLS";;
esac
"""
DPKG_DEB = '#!/bin/sh\nmkdir -p "$3/usr/lib" && basename "$2" >>"$3/usr/lib/unpacked"\n'
DPKG = "#!/bin/sh\necho amd64\n"


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls"


@pytest.fixture
def machine(tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    keyring = tmp_path / "keyring.gpg"
    keyring.touch()
    monkeypatch.setattr(rootfs, "KEYRING", keyring)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("apt-get", APT), ("dpkg-deb", DPKG_DEB), ("dpkg", DPKG)):
        (tools / name).write_text(text, encoding="utf-8")
        (tools / name).chmod(0o755)
    return {
        "PATH": f"{tools}:/usr/bin:/bin",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "CALLS": str(calls),
        "LISTED": f"Other http://other.example/\\nDebian {MIRROR}/\\n",
    }


def test_it_is_made_once(machine: dict[str, str], calls: Path, tmp_path: Path) -> None:
    processes = ProcessRunner(machine)
    folder = rootfs.cache_folder(processes)
    left = folder / ".making-killed" / "root"
    left.mkdir(parents=True)

    made = rootfs.provide(processes)

    for listing in ("packages", "lib/unpacked"):
        names = (made / listing).read_text(encoding="utf-8").split()
        assert names == ["adbd_34_amd64.deb", "toybox_0.8_amd64.deb"]
    assert (made / "phone").is_dir()
    assert {path.name for path in folder.iterdir()} == {".lock", made.name}
    asked = calls.read_text(encoding="utf-8").splitlines()
    assert asked[-1] == f"deb [signed-by={tmp_path / 'keyring.gpg'}] {MIRROR} trixie main"
    assert rootfs.provide(ProcessRunner(machine)) == made
    assert calls.read_text(encoding="utf-8").splitlines() == asked


def test_another_mirror(machine: dict[str, str], calls: Path) -> None:
    rootfs.provide(ProcessRunner({**machine, "LISTED": ""}), mirror="http://named.example/debian")

    asked = calls.read_text(encoding="utf-8")
    assert "] http://named.example/debian trixie main\n" in asked
    assert "indextargets" not in asked


def test_no_mirror(machine: dict[str, str]) -> None:
    processes = ProcessRunner({**machine, "LISTED": "Ubuntu http://ubuntu.example/\\n"})

    for ask in (rootfs.provide, rootfs.describe):
        with pytest.raises(InputError) as failure:
            ask(processes)
        assert failure.value.message == (
            "virtual phone: this machine's package sources name no mirror of Debian"
        )
        assert failure.value.hint == (
            "name one with --mirror, such as the one in another Debian's sources"
        )
    assert [path.name for path in rootfs.cache_folder(processes).iterdir()] == [".lock"]


def test_no_keyring(machine: dict[str, str], tmp_path: Path, calls: Path) -> None:
    (tmp_path / "keyring.gpg").unlink()

    for ask in (rootfs.provide, rootfs.describe):
        with pytest.raises(InputError) as failure:
            ask(ProcessRunner(machine))
        assert failure.value.message == (
            f"virtual phone: there is no {tmp_path / 'keyring.gpg'} to check packages with"
        )
        assert failure.value.hint == "on Debian and Ubuntu: apt-get install debian-archive-keyring"
    assert "update" not in calls.read_text(encoding="utf-8").split()


@pytest.mark.parametrize("tool", ["apt-get", "dpkg-deb", "dpkg"])
def test_no_apt(machine: dict[str, str], tmp_path: Path, tool: str) -> None:
    tools = tmp_path / "bin"
    (tools / tool).unlink()

    for ask in (rootfs.provide, rootfs.describe):
        with pytest.raises(InputError) as failure:
            ask(ProcessRunner({**machine, "PATH": str(tools)}))
        assert failure.value.message == f"virtual phone: there is no {tool} here"
        assert failure.value.hint == (
            "this needs apt-get and dpkg-deb; elsewhere use the image docker/virtual-phone"
        )


def test_a_mirror_that_does_not_deliver(machine: dict[str, str]) -> None:
    processes = ProcessRunner({**machine, "UNREACHABLE": "1"})

    with pytest.raises(InfrastructureFailure) as failure:
        rootfs.provide(processes)
    assert failure.value.message == "virtual phone: apt-get update ended with 100: E: no route"
    assert failure.value.hint == "is the mirror reachable? another: --mirror"
    assert {path.name for path in rootfs.cache_folder(processes).iterdir()} == {".lock"}


def test_where_it_is(machine: dict[str, str]) -> None:
    processes = ProcessRunner(machine)

    assert rootfs.describe(processes) == f"made on first use from {MIRROR}"
    made = rootfs.provide(processes)
    assert rootfs.describe(processes) == str(made)


def test_a_cache_that_cannot_be(machine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "cache").touch()

    with pytest.raises(InfrastructureFailure, match="a root for virtual phones cannot be made: "):
        rootfs.provide(ProcessRunner(machine))
