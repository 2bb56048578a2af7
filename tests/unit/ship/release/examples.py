import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from megtrim.core.build_spec import EngineLibrary, Linkage, Origin
from megtrim.core.chain.graph import HEADER, REDUCED, REPORT, SIZE, VERDICT
from megtrim.core.chain.session import Session
from megtrim.core.checks.check import ToolchainIdentity
from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.evidence.evidence import parse_set
from megtrim.core.keep.keepset import KeepSet, ScenarioRecord
from megtrim.core.keep.keepset_files import dump_keep_set
from megtrim.core.keep.region import Region
from megtrim.core.size.baseline import dump_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.trim.results import FunctionsUse
from megtrim.core.verdict.model import Verdict, to_json
from megtrim.engines.megengine.models import reader
from megtrim.libs.elf.layout import AARCH64, ARM
from megtrim.libs.util.files import sha256_file
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects import checkout
from megtrim.ship.crashes.program import TrimmedProgram, dump_left_out
from megtrim.ship.release.aar import CONFIG_PATH, collect_aar, render_config
from megtrim.ship.release.archive import ReleaseFile, from_text, seal_files, write_folder
from megtrim.ship.release.check import add_proofs, clean_proofs
from megtrim.ship.release.contents import (
    KEEP_SET_PATH,
    ArtifactKind,
    ReleaseArtifact,
    ReleaseContents,
    ThirdParty,
    locate_left_out,
    make_contents,
    name_files,
)
from megtrim.ship.release.documents import CHECKSUMS_FILE, DOCUMENTS, dump_checksums, seal
from unit.core.trim.stages.built import built, finish
from unit.core.trim.stages.support import changed
from unit.core.verdict.examples import PLAIN_BYTES, RESNET, passing
from unit.lab.evidence.support import evidence, result, written
from unit.libs.elf.made_objects import with_machine, with_segments

MODELS = {"resnet18-s": "1" * 64, "mobilenet-s": "2" * 64}


def as_elf(text: str) -> str:
    """Return a linked file for arm64 as a text; ``encode`` makes bytes of it again."""
    return with_segments().decode("utf-8", "surrogateescape") + text


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


PROGRAM = "the program\n"
LIBRARY = as_elf("the library\n")
CONFIGURED = "version: 1\n"
THIRD_PARTIES = (
    ThirdParty(path="third_party/cpuinfo", commit="c" * 40, is_used=False),
    ThirdParty(path="third_party/flatbuffers", commit="f" * 40, is_used=True),
)
GRAPHS = dict.fromkeys(MODELS, "f" * 64)
STAGES = {"build/plain": "0" * 20, "reduce/reduced": "1" * 20}


def sha(text: str) -> str:
    return hashlib.sha256(encode(text)).hexdigest()


def keep_set(
    verdict: Verdict,
    *,
    models: dict[str, str],
    graph: str | None = None,
    caches: Mapping[str, str] | None = None,
) -> str:
    """``caches``: the digest of a scenario's algorithm cache, by its id."""
    records = tuple(
        ScenarioRecord(
            id=each.id,
            model_sha256=models[each.model],
            graph_sha256=graph,
            arguments=each.arguments,
            inputs=(),
            algo_cache_sha256=(caches or {}).get(each.id),
            threads=1,
            trace_sha256="b" * 64,
            regions=(Region("kern", (1,)),),
        )
        for each in sorted(verdict.scenarios, key=lambda each: each.id)
    )
    return dump_keep_set(KeepSet(generation=20220507, scenarios=records, operators=None))


def artifact(name: str, kind: ArtifactKind, text: str) -> ReleaseArtifact:
    return ReleaseArtifact(
        name=name,
        kind=kind,
        sha256=sha(text),
        size_bytes=len(text),
        plain_bytes=PLAIN_BYTES if kind is ArtifactKind.PROGRAM else None,
    )


def contents(verdict: Verdict | None = None, *, program: str = PROGRAM) -> ReleaseContents:
    verdict = verdict or passing()
    return make_contents(
        verdict,
        artifacts=(
            artifact("libengine.so", ArtifactKind.SHARED, LIBRARY),
            artifact("load_and_run", ArtifactKind.PROGRAM, as_elf(program)),
        ),
        models=MODELS,
        graphs=GRAPHS,
        third_parties=THIRD_PARTIES,
        keep_set_sha256=sha(keep_set(verdict, models=MODELS)),
        configuration_sha256=sha(CONFIGURED),
    )


def proofs_of(binding: str) -> str:
    results = [result(scenario=each.id, binding=binding) for each in passing().scenarios]
    return written(
        *(evidence(each, cpu_class=each.scenario.rpartition("@")[2]) for each in results)
    )


def documents(
    *,
    described: ReleaseContents | None = None,
    keep: str = "",
    program: str = PROGRAM,
    more: dict[str, str] | None = None,
) -> dict[str, str]:
    """Return the text of each file of a release; ``described``: what release.json says.

    ``program``: what stands in the program behind its header.
    """
    said = described or contents(program=program)
    texts = {
        "bin/load_and_run": as_elf(program),
        "lib/libengine.so": LIBRARY,
        "include/engine/model.h": "#pragma once\n",
        "include/engine/twin.h": "#pragma once\n",
        "licences/LICENSE": "Apache-2.0\n",
        "licences/third_party/flatbuffers/LICENSE.txt": "Apache-2.0\n",
        "share/configuration/megtrim.yaml": CONFIGURED,
        CONFIG_PATH: render_config(library="libengine.so", programs=["load_and_run"]),
        KEEP_SET_PATH: keep or keep_set(passing(), models=MODELS),
    } | (more or {})
    digests = {path: sha(text) for path, text in texts.items()}
    return texts | seal(name_files(said, digests), digests, stages=STAGES, megtrim="0.1.0")


ARM64 = "aarch64-linux-android23"


def for_android(target: str = ARM64, *, page_bytes: int = 0) -> ReleaseContents:
    toolchain = ToolchainIdentity(
        kind="ndk", target=target, version="NDK r21e, clang", page_bytes=page_bytes
    )
    return replace(contents(), toolchain=toolchain)


def write_for_android(
    folder: Path,
    library: bytes,
    *,
    target: str = ARM64,
    aar: bytes | None = None,
    page_bytes: int = 0,
) -> Path:
    made = for_android(target, page_bytes=page_bytes)
    machine = AARCH64 if target.startswith("aarch64") else ARM
    first = with_segments(machine=machine)
    shipped = {"bin/load_and_run": first, "lib/libengine.so": with_machine(library, machine)}
    artifacts = (
        replace(each, sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data))
        for each, data in zip(made.artifacts, shipped.values(), strict=True)
    )
    said = replace(made, artifacts=tuple(artifacts))
    texts = {path: encode(text) for path, text in documents().items() if path not in DOCUMENTS}
    files = as_files(texts | shipped)
    own = collect_aar(said, files)
    assert own is not None
    if aar is not None:
        own = replace(own, source=aar, sha256=hashlib.sha256(aar).hexdigest())
    payload = [*files, own]
    write_folder(seal_files(said, payload, stages=STAGES, megtrim="0.1.0"), folder)
    return folder


def sum_up(texts: dict[str, str]) -> dict[str, str]:
    rest = {path: text for path, text in texts.items() if path != CHECKSUMS_FILE}
    sums = dump_checksums({path: sha(text) for path, text in rest.items()})
    return rest | {CHECKSUMS_FILE: sums}


def as_files(files: Mapping[str, str] | Mapping[str, bytes]) -> tuple[ReleaseFile, ...]:
    read = {path: encode(each) if isinstance(each, str) else each for path, each in files.items()}
    return tuple(
        ReleaseFile(path=path, source=data, sha256=hashlib.sha256(data).hexdigest())
        for path, data in read.items()
    )


def write(folder: Path, texts: dict[str, str] | None = None) -> Path:
    write_folder(as_files(texts or documents()), folder)
    return folder


BINDING = "b" * 64
LEFT_TO_DEVICES = replace(
    contents(),
    scenarios=tuple(
        replace(each, on_devices=CheckStatus.UNVERIFIED, binding=BINDING)
        for each in contents().scenarios
    ),
)
PROOFS = clean_proofs(LEFT_TO_DEVICES, parse_set(proofs_of(BINDING), source="p"))
PROVEN = add_proofs(LEFT_TO_DEVICES, PROOFS)


def for_other_engine() -> ReleaseContents:
    said = contents()
    return replace(said, engine=replace(said.engine, digest="e" * 64, commit="d" * 40))


NAME = "app"


def write_release(
    folder: Path, made: TrimmedProgram, *, symbols: bool = True, left_out: str | None = None
) -> Path:
    """Write the release of one program; ``left_out``: another list than its own, empty: none."""
    sha256 = hashlib.sha256(made.shipped).hexdigest()
    count = len(made.left_out)
    size_bytes = len(made.shipped)
    artifact = ReleaseArtifact(
        name=NAME, kind=ArtifactKind.PROGRAM, sha256=sha256, size_bytes=size_bytes, plain_bytes=None
    )
    functions = (FunctionsUse(artifact=NAME, held=count + 2, kept=2),) if count else ()
    said = replace(contents(), artifacts=(artifact,), functions=functions)
    text = dump_left_out(made.left_out, program_sha256=sha256) if left_out is None else left_out
    files = [
        ReleaseFile(path=f"bin/{NAME}", source=made.shipped, sha256=sha256),
        *(from_text(path, each) for path, each in documents().items() if path.startswith("share/")),
        from_text(CONFIG_PATH, render_config(library="", programs=[NAME])),
    ]
    if symbols:
        files.append(ReleaseFile(path=f"symbols/{NAME}", source=made.shipped, sha256=sha256))
    if text:
        files.append(from_text(locate_left_out(NAME), text))
    write_folder(seal_files(said, files, stages=STAGES, megtrim="0.1.0"), folder)
    return folder


CONFIG = """\
version: 1
engine: {kind: sample}
models:
- {name: resnet18-s, file: m.mge, scenarios: [{name: default, algo_cache: fast.cache}]}
- {name: mobilenet-s, file: d.npy, scenarios: megtrim/*.yaml}
"""
TREE = {
    "LICENSE": "Apache-2.0",
    "third_party/flat/COPYING.txt": "BSD",
    "lite/include/lite/network.h": "#pragma once",
    "lite/include/lite/notes.md": "no header",
    "src/inner.h": "private",
    "src/license_manager.cpp": "private",
    "src/Notice.H": "private",
}
ENGINE_LIBRARY = EngineLibrary(
    linkage=Linkage.SHARED,
    file="libengine.so",
    include=("lite/include",),
    copies=(
        ("lite/c/network.h", "lite/include/lite/network.h"),
        ("lite/network.h", "src/inner.h"),  # one of that name is there
        ("lite/c/none.h", "lite/include/lite/none.h"),
    ),
)
BUILT = {
    "bin/load_and_run": as_elf("reduced"),
    "bin/libengine.so": as_elf("library"),
    "build.log": "slow",
}


def _measure(bins: Mapping[str, str]) -> dict[tuple[str, str], int]:
    reduced = {
        (path.removeprefix("bin/"), "reduced"): len(text.encode("utf-8", "surrogateescape"))
        for path, text in bins.items()
        if path.startswith("bin/")
    }
    return reduced | {("load_and_run", "plain"): PLAIN_BYTES}


def make_session(
    folder: Path, verdict: Verdict, *, bins: dict[str, str] = BUILT, config: str = CONFIG
) -> Session:
    tree = folder / "engine"
    for name, text in TREE.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    (tree / "LICENSE.link").symlink_to("/etc/hostname")
    (folder / "megtrim").mkdir()
    (folder / "megtrim/other.yaml").write_text("name: default\n", encoding="utf-8")
    (folder / "fast.cache").write_text("algorithms", encoding="utf-8")
    made = built(folder, config=config)
    taken = checkout.take(tree, ProcessRunner({}))
    engine = SimpleNamespace(
        models=reader,
        checkout=taken,
        library=lambda *_: ENGINE_LIBRARY,
        identity=lambda: verdict.engine,
    )
    toolchain = SimpleNamespace(**asdict(verdict.toolchain))
    made = changed(made, engine=cast("Any", engine), toolchain=cast("Any", toolchain))
    models = {name: sha256_file(folder / file) for name, file in
              (("resnet18-s", "m.mge"), ("mobilenet-s", "d.npy"))}  # fmt: skip
    caches = {RESNET: sha("algorithms")}
    finish(made, HEADER, {"keepset.json": keep_set(verdict, models=models, caches=caches)})
    finish(made, REDUCED, bins)
    sizes = dump_sizes(Baseline(sizes=_measure(bins), origin=Origin(project=str(folder))))
    finish(made, SIZE, {"sizes.json": sizes})
    finish(made, VERDICT, {"verdict.json": to_json(verdict)})
    finish(made, REPORT, {"index.html": "<p>took 3 s", "report.md": "took 3 s"})
    return made
