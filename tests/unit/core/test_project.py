"""Kinds of projects that were handed in, and one that has nothing but sources and builds."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from megtrim.core.build_spec import (
    BuildSpec,
    EngineIdentity,
    EngineLibrary,
    Linkage,
    Switch,
    Toolchain,
    Variant,
)
from megtrim.core.cli.session.preflight import (
    expect_known_options,
    expect_runnable_models,
    expect_usable_files,
)
from megtrim.core.config.load import LoadedConfig, load_config
from megtrim.core.model_facts import UnknownFormat
from megtrim.core.own_program import find_program
from megtrim.core.parts import Parts, hand_in
from megtrim.core.project import (
    Project,
    find_embedded,
    find_kind,
    find_library,
    read_any_model,
)
from megtrim.engines import sample
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.parts import PARTS
from megtrim.places.compile.projects.checkout import Checkout
from unit.places.compile.projects.support import TOOLCHAIN

CONFIG = """\
version: 1
engine: {kind: bare, source: src, target: program}
toolchain: {kind: host}
trim: {level: function, base: plain}
models:
  - {name: data, file: data.bin, scenarios: [{name: pack, args: [--any-flag]}]}
"""


class Bare(Project):
    title = "a program"

    def __init__(self, source: Path, processes: ProcessRunner, without: Path | None = None) -> None:
        del processes, without
        self.checkout = Checkout(root=source, files={}, commit="", dirty=())

    @staticmethod
    def is_checkout(folder: Path) -> bool:
        return folder.is_dir()

    def identity(self) -> EngineIdentity:
        return self.checkout.identity("bare", 0)

    def make_spec(
        self,
        variant: Variant,
        toolchain: Toolchain,
        *,
        targets: tuple[str, ...],
        minimum_size: bool,
        header: Mapping[str, str],
    ) -> BuildSpec:
        del toolchain, minimum_size, header
        return BuildSpec(variant=variant, targets=targets, options=())

    def library(self, linkage: Linkage, toolchain: Toolchain) -> EngineLibrary:
        del toolchain
        return EngineLibrary(linkage=linkage, file="libbare.so", include=())


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sample, "Bare", Bare, raising=False)
    hand_in(Parts(engines={"bare": "engines.sample:Bare"}))
    yield
    hand_in(PARTS)


@pytest.fixture
def loaded(bare: None, tmp_path: Path) -> LoadedConfig:
    del bare
    (tmp_path / "src").mkdir()
    (tmp_path / "data.bin").write_bytes(b"no model at all")
    (tmp_path / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    return load_config(tmp_path / "megtrim.yaml")


def test_what_a_project_has_not_is_not_asked(
    loaded: LoadedConfig, processes: ProcessRunner
) -> None:
    project = find_kind("bare")(loaded.folder / "src", processes)

    expect_usable_files(loaded)
    expect_known_options(loaded, project)

    assert expect_runnable_models(loaded, project) == ()
    assert (
        project.find_forced_off(
            Switch.RTTI, TOOLCHAIN, BuildSpec(variant=Variant.PLAIN, targets=(), options=())
        )
        == ""
    )
    assert (project.models, project.marks, project.flags) == (None, None, None)
    assert project.formats() == ()
    assert find_library(project, TOOLCHAIN, ("libbare.so",)) == project.library(
        Linkage.SHARED, TOOLCHAIN
    )
    assert find_library(project, TOOLCHAIN, ("libother.so",)) is None


@pytest.mark.usefixtures("bare")
def test_what_no_kind_has_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no engine in it"):
        find_embedded()
    with pytest.raises(UnknownFormat, match=r"m\.mge cannot be read: no engine"):
        read_any_model(tmp_path / "m.mge")
    with pytest.raises(InputError, match="no part for engines of kind megengine"):
        find_kind("megengine")
    with pytest.raises(InputError, match="no part for programs that run models by themselves"):
        find_program()


def test_a_kind_that_was_not_handed_in_is_no_kind(loaded: LoadedConfig) -> None:
    path = loaded.path
    path.write_text(CONFIG.replace("kind: bare", "kind: megengine"), encoding="utf-8")

    with pytest.raises(InputError, match="found 'megengine', expected bare"):
        load_config(path)
