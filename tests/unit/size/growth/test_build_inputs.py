from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from megtrim.build.engines.checkout import Checkout, digest_of
from megtrim.chain.session import Session
from megtrim.chain.store import Store
from megtrim.size.growth.build_inputs import (
    SourceKind,
    find_dependency,
    find_kind,
    read_build_inputs,
    strip_sources,
)
from megtrim.size.growth.inputs import Cause
from megtrim.trim.results import ReduceResult
from unit.trim.stages.results import BUILD
from unit.trim.stages.support import open_session

FILES = {
    "src/add.cpp": "void Add::run() { helper(); }\n",
    "src/paste.cpp": "#define NAME(x) k_##x\n",
    "third_party/z/z.c": "int z;\n",
    "third_party/z/z.h": "extern int z;\n",
    "CMakeLists.txt": "add_compile_options(-O2)  # fast\n",
    "README.md": "# Engine\n",
}
BOTH = (Cause.SOURCE, Cause.TOOLCHAIN)


def opened(folder: Path) -> Session:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    files = {name: digest_of(folder / name) or "" for name in FILES}
    engine = SimpleNamespace(checkout=Checkout(root=folder, files=files, commit="", dirty=()))
    made, _ = open_session(folder)
    return replace(made, services=replace(made.services, engine=engine))


def test_each_file_is_part_of_one_cause(tmp_path: Path) -> None:
    now = opened(tmp_path)
    inputs = {"engine": "x", "toolchain version": "14", "keep set": "a list"}
    shipped, _ = Store(tmp_path / "out").ensure(
        "reduce", "x", inputs, lambda _: ReduceResult(build=BUILD, functions={}), ReduceResult
    )

    found = read_build_inputs(shipped, now)

    assert found.sources.keys() == {"src/add.cpp", "src/paste.cpp"}
    assert found.values["toolchain version"] == "14"
    assert found.values["dependency third_party/z"]
    assert {"build files", "megtrim"} <= found.values.keys()
    assert "keep set" not in found.values  # its content stands for it
    digests = found.digests()
    (tmp_path / "CMakeLists.txt").write_text("add_compile_options(-O2)\n", encoding="utf-8")
    assert read_build_inputs(shipped, now).digests() == digests
    (tmp_path / "CMakeLists.txt").write_text("add_compile_options(-O3)\n", encoding="utf-8")
    later = read_build_inputs(shipped, now).digests()
    assert {name for name, each in later.items() if each != digests[name]} == {Cause.FLAGS}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/opr/conv.cpp", SourceKind.SOURCE),
        ("src/elemwise_modes.txt", SourceKind.SOURCE),
        ("dnn/scripts/gen_param_defs.py", SourceKind.SOURCE),
        ("third_party/cpuinfo/src/init.c", SourceKind.DEPENDENCY),
        ("third_party/cpuinfo/CMakeLists.txt", SourceKind.DEPENDENCY),
        ("src/third_party/z/a.c", SourceKind.DEPENDENCY),
        ("lib/fmt/format.cc", SourceKind.DEPENDENCY),
        ("third_party/cpuinfo.cmake", SourceKind.BUILD),
        ("CMakeLists.txt", SourceKind.BUILD),
        ("cmake/flags.cmake", SourceKind.BUILD),
        ("README.md", SourceKind.OTHER),
        ("src/LICENSE", SourceKind.OTHER),
        (".github/workflows/ci.yml", SourceKind.OTHER),
    ],
)
def test_a_file_is_of_a_kind(path: str, kind: SourceKind) -> None:
    assert find_kind(path, {"lib/fmt"}) is kind


def test_a_third_party_is_named_by_its_folder() -> None:
    assert find_dependency("third_party/cpuinfo/src/init.c") == "third_party/cpuinfo"
    assert find_dependency("lib/fmt/src/format.cc", {"lib/fmt"}) == "lib/fmt"
    assert find_dependency("src/a.cpp") == ""


def test_the_name_of_a_source_is_no_flag() -> None:
    before = "set(sources\n  a.cpp\n)  # all\nadd_compile_options(-O2)\n"
    more = "set(sources\n  a.cpp b/c.cpp\n)\nadd_compile_options(-O2)\n"

    assert strip_sources(before) == strip_sources(more)
    assert strip_sources(before) != strip_sources(before.replace("-O2", "-O3"))
