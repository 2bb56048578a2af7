"""How long it takes to make the header of 100 traces, and that its bytes are always the same.

    python benchmarks/header_of_100_traces.py
    MEGTRIM_ENGINE=CHECKOUT python benchmarks/header_of_100_traces.py

The traces are the recorded ones of Linux, over and over, each as a scenario of its own, with
the recorded operator JSON. Reading them, the keep set and the header are timed, imports are not.
With a checkout of the engine, its own generator makes its header of the same files in the same
run, and the figure to quote is the ratio of the two.
"""

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path

from megtrim.core.keep.keepset import ScenarioRecord, build_keep_set
from megtrim.core.keep.keepset_files import dump_keep_set
from megtrim.engines.midout.header import MACROS, Layout, Scopes, render
from megtrim.engines.midout.trace import read_trace
from megtrim.engines.models.operators import merge, parse_operator_json
from megtrim.libs.util.process import Command, ProcessRunner

DATA = Path(__file__).resolve().parents[1] / "tests/data"
COUNT = 100
GENERATION = 20220507
RUNS = 5
DIGEST = "--digest"
"""Prints the digest of the result and nothing else."""


def make(traces: list[Path], jsons: list[Path], modes: list[tuple[str, int]]) -> str:
    """Return the keep set and the scoped header, with all files that it can have, as one text."""
    infos = [
        (path.name, info)
        for path in jsons
        for info in parse_operator_json(path.read_bytes(), source=path.name)
    ]
    records = [_record(number, path) for number, path in enumerate(traces)]
    keep = build_keep_set(generation=GENERATION, scenarios=records, operators=merge(infos))
    scopes = Scopes(tags=tuple(sorted({r.tag for r in keep.regions()})), macros=MACROS)
    header = render(keep, layout=Layout.SCOPED, elemwise_modes=modes, scopes=scopes)
    return dump_keep_set(keep) + "".join(text for _, text in header.files)


def _record(number: int, path: Path) -> ScenarioRecord:
    trace = read_trace(path)
    return ScenarioRecord(
        id=f"model-{number:03}/{path.stem}@any",
        model_sha256="0" * 64,
        arguments=(),
        inputs=(),
        algo_cache_sha256=None,
        threads=1,
        trace_sha256=trace.sha256,
        regions=trace.regions,
    )


def upstream(checkout: str, files: list[Path], folder: Path) -> None:
    script = f"{checkout}/tools/gen_header_for_bin_reduce.py"
    argv = (sys.executable, script, *map(str, files), "-o", str(folder / "upstream.h"))
    env = {"PYTHONDONTWRITEBYTECODE": "1"}
    outcome = ProcessRunner(os.environ).run(Command(argv=argv, cwd=folder, env=env, timeout_s=300))
    if not outcome.ok:
        raise SystemExit(outcome.stderr)


def digest(seed: int) -> str:
    """Return the digest of what another process makes, whose sets are ordered by ``seed``."""
    argv = (sys.executable, str(Path(__file__).resolve()), DIGEST)
    env = {"PYTHONHASHSEED": str(seed)}
    return ProcessRunner({**os.environ, **env}).capture(*argv).strip()


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main(*arguments: str) -> None:
    traces = list(islice(cycle(sorted((DATA / "traces").glob("*.trace"))), COUNT))
    jsons = sorted((DATA / "strip-info").glob("*.json"))
    facts = json.loads((DATA / "upstream-enabled.json").read_text(encoding="utf-8"))
    modes = [(name, value) for name, value in facts[str(GENERATION)]["all_modes"]]
    if arguments == (DIGEST,):
        text = make(traces, jsons, modes)
        sys.stdout.write(f"{hashlib.sha256(text.encode()).hexdigest()}\n")
        return
    ours_s = min(seconds(lambda: make(traces, jsons, modes)) for _ in range(RUNS))
    digests = {digest(seed) for seed in range(RUNS)}
    lines = [
        f"header of {COUNT} traces: {ours_s:.3f} s (the best of {RUNS})",
        f"different results of {RUNS} processes: {len(digests)}",
    ]
    checkout = os.environ.get("MEGTRIM_ENGINE")
    if checkout:
        with tempfile.TemporaryDirectory() as folder:
            files = [*traces, *jsons]
            theirs_s = min(
                seconds(lambda: upstream(checkout, files, Path(folder))) for _ in range(RUNS)
            )
        lines.append(f"the engine's own generator: {theirs_s:.3f} s, {theirs_s / ours_s:.0f} times")
    sys.stdout.write("\n".join(lines) + "\n")
    if len(digests) != 1:
        msg = "equal inputs gave different bytes"
        raise SystemExit(msg)


if __name__ == "__main__":
    main(*sys.argv[1:])
