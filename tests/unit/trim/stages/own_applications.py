from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from megtrim.build.engines.checkout import Checkout
from megtrim.build_spec import EngineLibrary, Linkage, Toolchain
from megtrim.chain.graph import HEADER, PLAIN, PROFILE, REDUCED
from megtrim.chain.session import Session
from megtrim.config.load import load_config
from megtrim.devices import Device
from megtrim.regions.keepset_files import dump_keep_set
from unit.trim.stages.built import finish
from unit.trim.stages.fake_device import FakeDevice
from unit.trim.stages.support import changed, keep_set, open_session

LIBRARY = "libengine.so"
CONFIG = """\
version: 1
engine: {kind: sample}
classes: [{name: any}]
devices: [{name: board, kind: local, class: any, runner: true}]
applications:
- {name: classify, source: app, lto: full}
- {name: served, source: app, library: shared}
- {name: intree}
models:
- name: m
  file: m.mge
  scenarios:
  - {name: s, application: classify, args: ["{model}", "{input:data}"], inputs: {data: d.npy}}
  - {name: t, application: served, args: ["{model}", "--to={outputs}"]}
"""
TRACES = "trace 1\npromise 1\nprint cat\nwrite o cat\n"
SAYS = {
    PLAIN: "print cat\nwrite o cat\n",
    PROFILE: TRACES,
    REDUCED: "print cat\nwrite o cat\nstderr reduced\n",
}


class Engine:
    def identity(self) -> Any:
        return SimpleNamespace(generation=20220507)

    def library(self, linkage: Linkage, toolchain: Toolchain) -> EngineLibrary:
        file = LIBRARY if linkage is Linkage.SHARED else "libengine.a"
        return EngineLibrary(linkage=linkage, file=file, include=("include",))


def built(folder: Path, config: str = CONFIG, says: Mapping[str, str] = SAYS) -> Session:
    base, _ = open_session(folder)
    (folder / "d.npy").write_bytes(b"numbers")
    (folder / "app").mkdir()
    (folder / "app/CMakeLists.txt").write_text("project(x)\n", encoding="utf-8")
    (folder / "megtrim.yaml").write_text(config, encoding="utf-8")
    checkout = Checkout(root=folder / "app", files={"CMakeLists.txt": "a"}, commit="", dirty=())
    made = changed(
        base,
        loaded=load_config(folder / "megtrim.yaml"),
        engine=cast("Any", Engine()),
        toolchain=cast(
            "Any", SimpleNamespace(machine="aarch64", sysroot=None, kind="ndk", link_flags=())
        ),
        devices={"any": cast("Device", FakeDevice("board"))},
        applications={"classify": checkout, "served": checkout},
    )
    for task, text in says.items():
        files = {"bin/classify": text, "bin/served": text, f"bin/{LIBRARY}": f"library of {task}"}
        finish(made, task, files)
    finish(made, HEADER, {"keepset.json": dump_keep_set(keep_set(1))})
    return made
