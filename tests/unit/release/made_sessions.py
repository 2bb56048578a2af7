"""Sessions whose chain is done, from which releases are made."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from megtrim.build.engines import checkout
from megtrim.build_spec import EngineLibrary, Linkage, Origin
from megtrim.chain.graph import HEADER, REDUCED, REPORT, SIZE, VERDICT
from megtrim.chain.session import Session
from megtrim.size.baseline import dump_sizes
from megtrim.util.files import sha256_file
from megtrim.util.process import ProcessRunner
from megtrim.verdict.model import Verdict, to_json
from unit.release.examples import keep_set
from unit.trim.stages.built import built, finish
from unit.trim.stages.support import changed

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
LIBRARY = EngineLibrary(
    linkage=Linkage.SHARED,
    file="libengine.so",
    include=("lite/include",),
    copies=(
        ("lite/c/network.h", "lite/include/lite/network.h"),
        ("lite/network.h", "src/inner.h"),  # one of that name is there
        ("lite/c/none.h", "lite/include/lite/none.h"),
    ),
)
BUILT = {"bin/load_and_run": "reduced", "bin/libengine.so": "library", "build.log": "slow"}


def make_session(
    folder: Path, verdict: Verdict, *, bins: dict[str, str] = BUILT, config: str = CONFIG
) -> Session:
    """Return a session whose chain is done, as on any day."""
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
        checkout=taken, library=lambda *_: LIBRARY, identity=lambda: verdict.engine
    )
    toolchain = SimpleNamespace(**asdict(verdict.toolchain))
    made = changed(made, engine=cast("Any", engine), toolchain=cast("Any", toolchain))
    models = {name: sha256_file(folder / file) for name, file in
              (("resnet18-s", "m.mge"), ("mobilenet-s", "d.npy"))}  # fmt: skip
    finish(made, HEADER, {"keepset.json": keep_set(verdict, models=models)})
    finish(made, REDUCED, bins)
    sizes = dump_sizes({("load_and_run", "reduced"): 7}, origin=Origin(project=str(folder)))
    finish(made, SIZE, {"sizes.json": sizes})
    finish(made, VERDICT, {"verdict.json": to_json(verdict)})
    finish(made, REPORT, {"index.html": "<p>took 3 s", "report.md": "took 3 s"})
    return made
