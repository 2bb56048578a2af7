"""From options to a context: which device stands for a class, and what committed mode refuses."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim import devices
from megtrim.cli import setup
from megtrim.config.load import load_config
from megtrim.devices import DeviceOrder
from megtrim.process import Processes
from unit.cli.support import Shell

RUNNERS = """\
version: 1
engine: {kind: sample}
classes:
- {name: a53, qemu_cpu: cortex-a53}
- {name: a76, qemu_cpu: cortex-a76}
- {name: none, qemu_cpu: max}
devices:
- {name: phone, kind: local, class: a53, runner: true}
- {name: other, kind: local, class: a53, runner: true, sysroot: roots}
- {name: tablet, kind: local, class: a76, runner: true}
- {name: desk, kind: qemu, class: a76, sysroot: roots}
- {name: second, kind: qemu, class: a76}
models:
- {name: m, file: m.mge, scenarios: [{name: s}]}
"""


def test_what_hangs_on_a_runner_is_never_used_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class of runners has an automatic device; one with another device has that."""
    made: dict[str, tuple[str, DeviceOrder]] = {}

    def make(kind: str, order: DeviceOrder, *, native: str) -> str:
        made[order.name] = kind, order
        return order.name

    monkeypatch.setattr(devices, "make", make)
    (tmp_path / "m.mge").write_bytes(b"model")
    (tmp_path / "megtrim.yaml").write_text(RUNNERS, encoding="utf-8")
    loaded = load_config(tmp_path / "megtrim.yaml")
    toolchain = cast(Any, SimpleNamespace(machine="aarch64", sysroot=Path("/its/own")))

    found: Any = setup._devices(loaded, toolchain, Processes(os.environ), tmp_path / "out")

    assert dict(found) == {"a76": "desk", "a53": "auto-a53"}
    assert set(made) == {"auto-a53", "desk"}
    kind, order = made["auto-a53"]
    assert (kind, order.qemu_cpu, order.sysroot) == ("auto", "cortex-a53", Path("/its/own"))
    kind, order = made["desk"]
    assert (kind, order.qemu_cpu, order.sysroot) == ("qemu", "cortex-a76", tmp_path / "roots")


CONFIG = """\
version: 1
engine: {kind: sample}
models:
- name: m
  file: m.mge
  scenarios:
  - {name: s}
  - name: tuned
    fast_run: true
"""


TOO_LONG = """\
version: 1
engine: {kind: sample}
toolchain: {kind: host}
classes: [{name: any}]
devices: [{name: board, kind: local, class: any, runner: true}]
models:
- {name: m, file: m.mge, scenarios: [{name: s, timeout: 2 days}]}
"""


@pytest.fixture
def project(shell: Shell) -> Shell:
    """A configuration whose second scenario searches for algorithms."""
    (shell.folder / "m.mge").write_bytes(b"model")
    (shell.folder / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    return shell


@pytest.mark.parametrize("verb", ["trim", "plan", "build", "verify"])
def test_a_search_cannot_be_committed(project: Shell, verb: str) -> None:
    """Its result is timing: the team records it, and is told how."""
    answer = project(verb, "--committed")

    assert answer.status == 2
    assert answer.err == (
        "megtrim: megtrim.yaml:9: m/tuned@any searches for algorithms, which --committed cannot "
        "repeat\n  record the cache: `megtrim trim` left algo.cache in its profile folder; commit "
        "it and name it as algo_cache\n"
    )


def test_a_recorded_search_can_be_committed(project: Shell) -> None:
    """What lacks then is the keep set itself."""
    config = project.folder / "megtrim.yaml"
    config.write_text(f"{CONFIG}    algo_cache: m.mge\n", encoding="utf-8")

    answer = project("plan", "--committed")

    assert answer.status == 2
    assert "there is no keep set, which --committed trims by" in answer.err


@pytest.mark.parametrize("verb", ["trim", "plan", "build"])
def test_what_devices_on_runners_do_not_take_is_refused_first(shell: Shell, verb: str) -> None:
    """Not when it is packed, after a verdict that had to do without them."""
    (shell.folder / "m.mge").write_bytes(b"model")
    (shell.folder / "megtrim.yaml").write_text(TOO_LONG, encoding="utf-8")

    answer = shell(verb)

    assert answer.status == 2
    assert (
        "megtrim.yaml:7: m/s@any: timeout_s: found 172800.0, expected up to a day of seconds"
        in answer.err
    )


def test_the_folder_of_results_is_spelled_without_detours(tmp_path: Path) -> None:
    """As compilers spell it in their records."""
    out = tmp_path / "project" / ".." / "out"
    options = setup.Options(config=Path("c"), out=out, engine=None, jobs=None, quiet=False)

    assert options.results == tmp_path / "out"
