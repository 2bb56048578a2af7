from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from megtrim.core.build_spec import (
    MINIMUM_SIZE,
    BuildRecord,
    BuildSpec,
    EngineIdentity,
    Switch,
    Toolchain,
    Variant,
)
from megtrim.core.chain.graph import HEADER
from megtrim.core.chain.session import Session
from megtrim.core.config.load import load_config
from megtrim.core.trim.results import HeaderResult
from megtrim.engines.megengine.models.reader import MgeModels
from megtrim.engines.options import forced_off
from megtrim.libs.util.errors import ProductFailure
from megtrim.places.compile.projects.checkout import Checkout
from unit.core.trim.stages.results import sample
from unit.core.trim.stages.support import MARKS, changed, open_session
from unit.places.compile.projects.support import TOOLCHAIN

SIZES = {
    "MGE_WITH_MINIMUM_SIZE=ON": 700,
    "MGE_ENABLE_RTTI=OFF": 100,
    "MGE_ENABLE_LOGGING=OFF": -24,
    "MGE_ENABLE_EXCEPTIONS=OFF": 300,
}
"""Bytes that an option takes off a program of 1,000."""


class Engine:
    def __init__(self, root: Path, kind: str = "sample") -> None:
        text = ""
        self.switches: tuple[Switch, ...] = MINIMUM_SIZE
        if kind == "megengine":
            self.switches = tuple(Switch)
            text += 'if(T STREQUAL "Release" AND NOT A STREQUAL "x86_64")\n'
            text += "set(MGE_ENABLE_RTTI OFF)\nendif()\n"
        (root / "CMakeLists.txt").write_text(text, encoding="utf-8")
        self.checkout = Checkout(root=root, files={"CMakeLists.txt": "d"}, commit="", dirty=())
        self.kind = kind
        self.marks = MARKS
        self.models = MgeModels()

    def find_forced_off(self, switch: Switch, toolchain: Toolchain, spec: BuildSpec) -> str:
        return forced_off(switch, self.checkout, toolchain, spec)

    def identity(self) -> EngineIdentity:
        return self.checkout.identity(self.kind, 20220507)

    def make_spec(
        self,
        variant: Variant,
        toolchain: Toolchain,
        *,
        targets: tuple[str, ...],
        minimum_size: bool,
        header: Mapping[str, str],
    ) -> BuildSpec:
        assert header == ({"midout.h": "regions"} if variant is Variant.REDUCED else {})
        minimum = ("MGE_WITH_MINIMUM_SIZE", "ON" if minimum_size else "OFF")
        options = (("CMAKE_BUILD_TYPE", "Release"), minimum)
        return BuildSpec(variant=variant, targets=targets, options=options)


class Builder:
    def __init__(self, fails_with: str = "") -> None:
        self.built: list[tuple[str, str]] = []
        self.fails_with = fails_with

    def build(
        self, spec: BuildSpec, *, work: Path, folder: Path, progress: object, applications: object
    ) -> BuildRecord:
        said = [f"{name}={value}" for name, value in spec.options]
        self.built.append((work.name, " ".join(each for each in said if each in SIZES)))
        if self.fails_with in said:
            msg = "log.cpp:3: error: unused\nin all its length"
            raise ProductFailure(msg)
        (folder / "bin").mkdir()
        data = bytes(1000 - sum(SIZES.get(each, 0) for each in said))
        (folder / "bin/load_and_run").write_bytes(data)
        return BuildRecord(
            artifacts={"load_and_run": len(data)}, translation_units=1, rebuilt=("log.cpp",)
        )


def made(
    folder: Path,
    trim: str,
    *,
    kind: str = "sample",
    builder: Builder | None = None,
    model: str = "",
) -> Session:
    folder.mkdir(exist_ok=True)
    base, _ = open_session(folder)
    if model:
        data = Path(__file__).parents[4] / "data/models" / model
        (folder / "m.mge").write_bytes(data.read_bytes())
    text = (folder / "megtrim.yaml").read_text(encoding="utf-8")
    (folder / "megtrim.yaml").write_text(f"{text}trim: {trim}\n", encoding="utf-8")
    (folder / "engine").mkdir()
    ready = changed(
        base,
        loaded=load_config(folder / "megtrim.yaml"),
        engine=cast(Any, Engine(folder / "engine", kind)),
        toolchain=TOOLCHAIN,
        builder=cast(Any, builder or Builder()),
    )

    def write(path: Path) -> HeaderResult:
        (path / "include").mkdir()
        (path / "include/midout.h").write_text("regions", encoding="utf-8")
        return sample(HeaderResult)

    ready.results.done[HEADER] = ready.services.store.ensure(
        "header", "keepset", {}, write, HeaderResult
    )[0]
    return ready
