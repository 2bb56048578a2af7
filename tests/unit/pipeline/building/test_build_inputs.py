"""What ships is described by what it was built from, and words of sources rule causes out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from megtrim.engines.checkout import Checkout, digest_of
from megtrim.pipeline.building.build_inputs import gather_evidence, read_build_inputs
from megtrim.pipeline.results import ReduceResult
from megtrim.pipeline.session import Session
from megtrim.size.growth.causes import Cause
from megtrim.size.growth.inputs import InputChanges, ValueChange
from megtrim.store import Store
from unit.stages.results import BUILD
from unit.stages.support import open_session

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
    """Return a session whose engine consists of these files."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    files = {name: digest_of(folder / name) or "" for name in FILES}
    engine = SimpleNamespace(checkout=Checkout(root=folder, files=files, commit="", dirty=()))
    made, _ = open_session(folder)
    return replace(made, services=replace(made.services, engine=engine))


def test_each_file_is_part_of_one_cause(tmp_path: Path) -> None:
    """A page of documentation is of none."""
    now = opened(tmp_path)
    inputs = {"engine": "x", "toolchain version": "14", "keep set": "a list"}
    shipped, _ = Store(tmp_path / "out").ensure(
        "reduce", "x", inputs, lambda _: ReduceResult(build=BUILD, functions={}), ReduceResult
    )

    found = read_build_inputs(shipped, now)

    assert found.sources.keys() == {"src/add.cpp", "src/paste.cpp"}
    assert found.values["toolchain version"] == "14"
    assert len(found.values["dependency third_party/z"].split()) == 2
    assert {"build files", "megtrim"} <= found.values.keys()
    assert "keep set" not in found.values  # its content stands for it
    digests = found.digests()
    (tmp_path / "CMakeLists.txt").write_text("add_compile_options(-O2)\n", encoding="utf-8")
    assert read_build_inputs(shipped, now).digests() == digests
    (tmp_path / "CMakeLists.txt").write_text("add_compile_options(-O3)\n", encoding="utf-8")
    later = read_build_inputs(shipped, now).digests()
    assert {name for name, each in later.items() if each != digests[name]} == {Cause.FLAGS}


def test_words_are_those_of_files_that_differ(tmp_path: Path) -> None:
    """A name that a macro puts together is in no file."""
    now = opened(tmp_path)
    plain = InputChanges(causes=BOTH, files=("src/add.cpp",))

    assert gather_evidence(plain, now).source_words == frozenset({"void", "Add", "run", "helper"})
    for changes in (
        replace(plain, files=("src/add.cpp", "src/paste.cpp")),
        replace(plain, files=("src/add.h",)),
        replace(plain, removed_files=1),
        replace(plain, files=()),
    ):
        assert gather_evidence(changes, now).source_words is None


def test_headers_of_a_third_party_count_for_all(tmp_path: Path) -> None:
    """The second digest is theirs."""
    now = opened(tmp_path)

    def evidence(after: str) -> tuple[frozenset[str], bool]:
        value = ValueChange(label="dependency third_party/z", before="1 2", after=after)
        found = gather_evidence(InputChanges(causes=BOTH, values=(value,)), now)
        return found.dependencies, found.headers_of_dependencies

    assert evidence("9 2") == (frozenset({"z"}), False)
    assert evidence("1 9") == (frozenset({"z"}), True)


def test_kept_functions_are_named_as_symbols_are(tmp_path: Path) -> None:
    """Only where nothing else is kept in another way."""
    now = opened(tmp_path)
    came = {"function _ZN3mgb3opr3Add3runEv": ("m/d@any",)}
    causes = (Cause.KEEP_SET, Cause.FLAGS)

    found = gather_evidence(InputChanges(causes=causes, came=came), now)
    assert (found.functions_only, found.kept_names) == (True, frozenset({"mgb::opr::Add::run()"}))
    region = {**came, "region conv<1>": ("m/d@any",)}
    assert not gather_evidence(InputChanges(causes=causes, came=region), now).functions_only


def test_one_cause_needs_no_evidence(tmp_path: Path) -> None:
    """It has everything."""
    found = gather_evidence(InputChanges(causes=(Cause.SOURCE,), files=("x",)), opened(tmp_path))
    assert found.source_words is None
