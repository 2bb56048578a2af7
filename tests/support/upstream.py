"""The engine's own header generator: run on the recorded data, and what its headers enabled.

``MEGTRIM_ENGINE=CHECKOUT python -m support.upstream`` (in ``tests``, with ``ci`` on the path)
writes those facts to ``tests/data/upstream-enabled.json``. The checkout is not written to; it
must know the tag of the older generation.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from megtrim.util.process import Command, ProcessRunner
from support.sample_logs import CASES, DATA
from support.upstream_flags import Enabled, enabled

FACTS = DATA / "upstream-enabled.json"
OLD_TAG = "v1.6.0"
"""The last release whose headers are of the older generation."""
_GENERATOR = "tools/gen_header_for_bin_reduce.py"
_MIDOUT_GENERATOR = "third_party/midout/gen_header.py"
_SCRIPTS = ("gen_param_defs.py", "opr_param_defs.py")
_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    """One generation's header generator, ready to run."""

    generation: int
    commit: str
    script: Path
    scripts: Path
    """The folder that holds the definitions of operators' parameters."""
    processes: ProcessRunner

    def header(self, names: Iterable[str], folder: Path) -> str:
        out = folder / "upstream.h"
        inputs = tuple(str(DATA / name) for name in names)
        self._python(str(self.script), *inputs, "-o", str(out), cwd=folder)
        return out.read_text(encoding="utf-8")

    def modes(self, folder: Path) -> tuple[tuple[str, int], ...]:
        """Return every elementwise mode of this generation with its number."""
        out = folder / "modes.txt"
        define, parameters = (str(self.scripts / name) for name in _SCRIPTS)
        self._python(define, "--write-enum-items", "Elemwise:Mode", parameters, str(out))
        rows = (line.partition("=") for line in out.read_text(encoding="utf-8").splitlines())
        return tuple((name.strip(), int(value)) for name, _, value in rows)

    def _python(self, *argv: str, cwd: Path | None = None) -> None:
        env = {"PYTHONDONTWRITEBYTECODE": "1"}
        command = Command(argv=(sys.executable, *argv), cwd=cwd, env=env, timeout_s=_TIMEOUT_S)
        outcome = self.processes.run(command)
        assert outcome.ok, outcome.stderr


def newer(checkout: Path, processes: ProcessRunner) -> Generator:
    return Generator(
        generation=20220507,
        commit=processes.capture("git", "-C", str(checkout), "rev-parse", "HEAD").strip(),
        script=checkout / _GENERATOR,
        scripts=checkout / "dnn/scripts",
        processes=processes,
    )


def older(checkout: Path, processes: ProcessRunner, folder: Path) -> Generator | None:
    """Lay out the older generator below ``folder``; None if its tag is missing in the checkout.

    It expects a tree of another shape, which is known by a file named ``WORKSPACE``.
    """
    git = ("git", "-C", str(checkout))
    known = processes.run(
        Command(argv=(*git, "rev-parse", f"{OLD_TAG}^{{commit}}"), timeout_s=_TIMEOUT_S)
    )
    if not known.ok:
        return None
    (folder / "WORKSPACE").touch()
    scripts = folder / "brain/megbrain/dnn/scripts"
    for source, target in (
        (_GENERATOR, folder / _GENERATOR),
        *((f"dnn/scripts/{name}", scripts / name) for name in _SCRIPTS),
    ):
        _place(processes.capture(*git, "show", f"{OLD_TAG}:{source}"), target)
    midout = (checkout / _MIDOUT_GENERATOR).read_text(encoding="utf-8")
    _place(midout, folder / "brain/midout/gen_header.py")
    return Generator(
        generation=20190219,
        commit=known.stdout.strip(),
        script=folder / _GENERATOR,
        scripts=scripts,
        processes=processes,
    )


def _place(text: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    target.chmod(0o755)


def facts(found: Enabled) -> dict[str, Any]:
    """Return what a header enables as JSON data: regions as their number and digest."""
    regions = found.regions
    return {
        "regions": None if regions is None else len(regions),
        "regions_sha256": None if regions is None else digest(regions),
        "operators": _list(found.operators),
        "switches": _list(found.switches),
        "modes": _list(found.modes),
        "hashes": _list(found.hashes),
    }


def digest(regions: Iterable[str]) -> str:
    """Return the sha256 of regions' canonical texts, sorted by character, a line each."""
    return hashlib.sha256("".join(f"{each}\n" for each in sorted(regions)).encode()).hexdigest()


def _list(items: Iterable[Any] | None) -> list[Any] | None:
    return None if items is None else list(items)


def _write(checkout: Path, processes: ProcessRunner) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old = older(checkout, processes, folder)
        assert old is not None, f"{checkout} has no tag {OLD_TAG}"
        parts = [_generation(each, folder) for each in (old, newer(checkout, processes))]
        midout = processes.capture(
            "git", "-C", str(checkout / "third_party/midout"), "rev-parse", "HEAD"
        )
    head = f'"midout_commit": {json.dumps(midout.strip())}'
    FACTS.write_text("{\n" + ",\n".join([head, *parts]) + "\n}\n", encoding="utf-8")


def _generation(generator: Generator, folder: Path) -> str:
    rows = [
        f"{json.dumps(case)}: {json.dumps(facts(enabled(generator.header(names, folder))))}"
        for case, names in CASES.items()
    ]
    lines = (
        f'"commit": {json.dumps(generator.commit)}',
        f'"all_modes": {json.dumps(generator.modes(folder))}',
        '"headers": {\n' + ",\n".join(rows) + "\n}",
    )
    return f'"{generator.generation}": {{\n' + ",\n".join(lines) + "\n}"


if __name__ == "__main__":
    _write(Path(os.environ["MEGTRIM_ENGINE"]), ProcessRunner(os.environ))
