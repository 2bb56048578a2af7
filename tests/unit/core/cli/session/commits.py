"""A team's repository, real git, with passes of it in a folder of results."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from megtrim.core.build_spec import Toolchain
from megtrim.core.chain.made_of import MadeOf
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.session.made_of import gather
from megtrim.core.cli.session.origin import read_origin
from megtrim.core.cli.session.setup import settle_baseline
from megtrim.core.config.load import LoadedConfig, load_config
from megtrim.core.size.baseline import dump_sizes, load_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.growth.causes import InputPrint
from megtrim.core.size.passes import keep_pass
from megtrim.libs.util.console import Console
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects import checkout
from megtrim.places.compile.projects.checkout import Checkout
from support.source_forge import GIT_ENV

KEY = ("load_and_run", "reduced")
CONFIG = """\
version: 1
engine: {kind: sample, source: engine}
models: models/*.yaml
keep_set: keep
"""
MODEL = "name: NAME\nfile: models/NAME.mge\nscenarios: [{name: s}]\n"
FILES = {
    "megtrim.yaml": CONFIG,
    "models/a.yaml": MODEL.replace("NAME", "a"),
    "models/a.mge": "a model",
    "keep/a/s@any.json": "{}",
    "engine/CMakeLists.txt": "project(engine)\n",
    "engine/src/add.cpp": "int add() { return 1; }\n",
    ".gitignore": "out\n*.ignored\n",
}
TOOLCHAIN = Toolchain(
    kind="host",
    target="x86_64-linux-gnu",
    machine="x86_64",
    version="gcc 12",
    c_compiler=("cc",),
    cxx_compiler=("c++",),
)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@dataclass(slots=True)
class Team:
    folder: Path
    toolchain: Toolchain = TOOLCHAIN
    config: str = "megtrim.yaml"
    quick: bool = False
    reached: tuple[Path, ...] = ()
    said: list[str] = field(default_factory=list)

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def processes(self) -> ProcessRunner:
        return ProcessRunner({"PATH": os.environ["PATH"]})

    def git(self, *argv: str, folder: Path | None = None) -> str:
        known = {**GIT_ENV, "GIT_ALLOW_PROTOCOL": "file"}
        return ProcessRunner(known).capture("git", "-C", str(folder or self.folder), *argv).strip()

    def start(self, files: dict[str, str] | None = None) -> str:
        self.folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main", ".")
        if files is None:
            files = FILES
        for path, text in files.items():
            write(self.folder / path, text)
        return self.commit("add", "--all")

    def commit(self, *add: str) -> str:
        if add:
            self.git(*add)
        self.git("commit", "--quiet", "--allow-empty", "--message", "A change")
        return self.git("rev-parse", "HEAD")

    def options(self, against: str | None = None) -> Options:
        return Options(
            config=self.folder / self.config,
            out=self.out,
            against=against,
            quick=self.quick,
            reached=self.reached,
        )

    def gather(self) -> MadeOf | None:
        options = self.options()
        loaded = load_config(options.config, quick=self.quick)
        tree = self.take_engine(loaded)
        origin = read_origin(loaded.path, self.processes)
        return gather(loaded, options, origin, (tree,), self.toolchain, self.processes)

    def trim(self, size_bytes: int, made_of: MadeOf | None = None) -> None:
        """Leave what a trim that passed does."""
        sizes = self.folder / "out/sizes.json"
        made_from = InputPrint(made_from={"megtrim": str(size_bytes)})
        found = Baseline(sizes={KEY: size_bytes}, quick=self.quick, made_from=made_from)
        write(sizes, dump_sizes(found))
        keep_pass(self.out, sizes, made_of or self.gather())
        sizes.unlink()

    def find(self, rev: str) -> tuple[str, int]:
        options = self.options(rev)
        loaded = load_config(options.config, quick=self.quick)
        log = self.folder / "out/log"
        write(log, "")
        with log.open("w") as stream:
            settled, _ = settle_baseline(
                options,
                loaded,
                (self.take_engine(loaded),),
                self.toolchain,
                self.processes,
                Console(stream, quiet=True),
            )
        self.said = log.read_text(encoding="utf-8").splitlines()
        assert settled.baseline is not None
        found = load_sizes(settled.baseline, shown="against.json")
        return found.source, found.sizes[KEY]

    def take_engine(self, loaded: LoadedConfig) -> Checkout:
        source = loaded.config.engine.source
        assert source is not None
        return checkout.take(loaded.resolve(source), self.processes)
