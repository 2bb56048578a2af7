"""The engine's own header generator: run on the recorded data, and what its headers enabled.

``MEGTRIM_ENGINE=CHECKOUT python -m support.upstream`` (in ``tests``, with ``ci`` on the path)
writes those facts to ``tests/data/upstream-enabled.json``. The checkout is not written to; it
must know the tag of the older generation.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from megtrim.core.keep.keepset import KeepSet, ScenarioRecord, build_keep_set
from megtrim.engines.midout.trace import read_trace
from megtrim.engines.models.operators import merge, parse_operator_json
from megtrim.libs.util.process import Command, ProcessRunner
from support.scenario_records import make_record

DATA = Path(__file__).resolve().parents[1] / "data"
FACTS = DATA / "upstream-enabled.json"
OLD_TAG = "v1.6.0"
"""The last release whose headers are of the older generation."""
_GENERATOR = "tools/gen_header_for_bin_reduce.py"
_MIDOUT_GENERATOR = "third_party/midout/gen_header.py"
_SCRIPTS = ("gen_param_defs.py", "opr_param_defs.py")
_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    generation: int
    commit: str
    script: Path
    scripts: Path
    processes: ProcessRunner

    def header(self, names: Iterable[str], folder: Path) -> str:
        out = folder / "upstream.h"
        inputs = tuple(str(DATA / name) for name in names)
        self._python(str(self.script), *inputs, "-o", str(out), cwd=folder)
        return out.read_text(encoding="utf-8")

    def modes(self, folder: Path) -> tuple[tuple[str, int], ...]:
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


_DEFINE = re.compile(r"#\s*define\s+(\w+)(\(.*?\))?(?:\s+(.*))?", re.DOTALL)
_REGION = re.compile(r"template\s*<\s*>\s*struct\s+(Region<[^;{]*>)\s*(?:;|\{([^}]*)\};)")
_OPERATOR = re.compile(
    r"struct\s+OprRegistryCaller<opr::(\w+),\s*Callee>\s*:\s*public\s+OprRegistryCallerDefaultImpl"
)


@dataclass(frozen=True, slots=True)
class _Macro:
    parameters: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Enabled:
    """What is kept. None where the header says nothing of it, so that all of it is kept."""

    generation: int
    regions: tuple[str, ...] | None
    operators: tuple[str, ...] | None
    switches: tuple[str, ...]
    modes: tuple[str, ...] | None
    all_modes: tuple[str, ...]
    hashes: tuple[int, ...] | None


def enabled(*texts: str) -> Enabled:
    macros = _macros(texts)
    modes = _modes(macros)
    registry = macros.get("MGB_OPR_REGISTRY_CALLER_SPECIALIZE")
    return Enabled(
        generation=int(macros["MGB_BINREDUCE_VERSION"].body),
        regions=_regions(macros, texts),
        operators=None if registry is None else tuple(sorted(_OPERATOR.findall(registry.body))),
        switches=tuple(sorted(name for name in macros if name.startswith("MEGDNN_DISABLE_"))),
        modes=None if modes is None else tuple(sorted(n for n, calls in modes.items() if calls)),
        all_modes=tuple(sorted(modes or ())),
        hashes=_hashes(macros.get("MGB_BINREDUCE_GRAPH_HASHES")),
    )


def _macros(texts: Iterable[str]) -> dict[str, _Macro]:
    macros: dict[str, _Macro] = {}
    for text in texts:
        for line in re.sub(r"\\\n", " ", text).splitlines():
            match = _DEFINE.fullmatch(line.strip())
            if match:
                assert match[1] not in macros, f"{match[1]} is defined twice"
                macros[match[1]] = _Macro(match[2] or "", (match[3] or "").strip())
    return macros


def _modes(macros: dict[str, _Macro]) -> dict[str, bool] | None:
    entry = macros.get("MEGDNN_ELEMWISE_MODE_ENABLE")
    if entry is None:
        return None
    joined = re.fullmatch(r"\((\w+), (\w+)\) (\w+)##\1\(\2\)", f"{entry.parameters} {entry.body}")
    assert joined, entry
    modes = {}
    for name, macro in macros.items():
        if name.startswith(joined[3]):
            mode = name.removeprefix(joined[3])
            assert macro.body in ("", f"{macro.parameters.strip('()')}({mode})")
            modes[mode] = bool(macro.body)
    return modes


def _regions(macros: dict[str, _Macro], texts: Iterable[str]) -> tuple[str, ...] | None:
    if "MIDOUT_GENERATED" not in macros:
        return None
    found = [
        _canonical(type_)
        for text in texts
        for line in text.splitlines()
        # A tag's own file declares its regions in no macro.
        for type_, _ in _REGION.findall(line if line.endswith(";") else "")
    ]
    for type_, body in _REGION.findall(macros["MIDOUT_GENERATED"].body):
        assert body.strip() == "static constexpr bool enable = true;"
        found.append(_canonical(type_))
    for name, macro in macros.items():
        if name.startswith("MEGTRIM_TAG_") and macro.body != "~, (MEGTRIM_ELSEWHERE)":
            tag = name.removeprefix("MEGTRIM_TAG_")
            kept = [_canonical(type_) for type_, body in _REGION.findall(macro.body) if not body]
            assert kept
            assert all(region.startswith(f"{tag}<") for region in kept)
            found.extend(kept)
    # The engine's generator writes a region twice when traces of two C++ libraries are merged.
    return tuple(sorted(set(found)))


def _canonical(type_: str) -> str:
    """Return ``TAG<1, float>`` for ``Region<tags::TAG, std::integral_constant<int, 1>, float>``."""
    text = re.sub(r"\s+", " ", type_).replace("> >", ">>").replace("> >", ">>")
    text = re.sub(r"(?<=[<, (])::", "", text.replace("__ndk1::", ""))
    text = re.sub(r"std::integral_constant<int, (-?\d+)>", r"\1", text)
    text = re.sub(r"\bhalf\b(?!_|::)", "__fp16", text)
    inner = text.removeprefix("Region<tags::").removesuffix(">")
    tag, _, arguments = inner.partition(", ")
    return f"{tag}<{arguments}>"


def _hashes(macro: _Macro | None) -> tuple[int, ...] | None:
    if macro is None:
        return None
    numbers = [number.strip() for number in macro.body.split(",")]
    assert all(number.endswith("ULL") for number in numbers)
    return tuple(sorted(int(number.removesuffix("ULL")) for number in numbers))


TRACES = tuple(
    f"{folder}/{path.name}"
    for folder in ("traces", "traces-android")
    for path in sorted((DATA / folder).glob("*.trace"))
)
JSONS = tuple(f"strip-info/{path.name}" for path in sorted((DATA / "strip-info").glob("*.json")))


def record(trace: str) -> ScenarioRecord:
    read = read_trace(DATA / trace)
    return make_record(read.regions, scenario=trace, trace_sha256=read.sha256)


def keep_set(generation: int, names: Sequence[str]) -> KeepSet:
    """Return the keep set of traces and operator JSON in one list, as the engine takes them."""
    infos = [
        (name, info)
        for name in names
        if name.endswith(".json")
        for info in parse_operator_json((DATA / name).read_bytes(), source=name)
    ]
    return build_keep_set(
        generation=generation,
        scenarios=tuple(record(name) for name in names if name.endswith(".trace")),
        operators=merge(infos) if infos else None,
    )


def _cases() -> dict[str, tuple[str, ...]]:
    linux = tuple(name for name in TRACES if name.startswith("traces/"))
    android = tuple(name for name in TRACES if name.startswith("traces-android/"))
    own = {trace: next(name for name in JSONS if _model(name) == _model(trace)) for trace in TRACES}
    return {
        **{f"trace {trace}": (trace,) for trace in TRACES},
        **{f"json {name}": (name,) for name in JSONS},
        **{f"both {trace}": (trace, name) for trace, name in own.items()},
        "merged linux": linux,
        "merged android": android,
        "merged json": JSONS,
        "merged resnet18-s": tuple(n for n in (*TRACES, *JSONS) if _model(n) == "resnet18-s"),
        "merged mobilenet-s": tuple(n for n in (*TRACES, *JSONS) if _model(n) == "mobilenet-s"),
        "merged all": (*TRACES, *JSONS),
    }


def _model(name: str) -> str:
    return name.rpartition("/")[2].partition(".")[0]


CASES = _cases()


if __name__ == "__main__":
    _write(Path(os.environ["MEGTRIM_ENGINE"]), ProcessRunner(os.environ))
