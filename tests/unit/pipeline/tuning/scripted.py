"""A program that is a shell script: its flags decide what it computes, and how long that takes."""

from __future__ import annotations

import os
from pathlib import Path

from megtrim.config.load import load_config
from megtrim.config.scenarios import all_scenarios
from megtrim.devices.local import Local
from megtrim.load_and_run.dialects import LITE
from megtrim.perf.experiments.situation import Situation
from megtrim.perf.tuning.candidates import list_candidates
from megtrim.pipeline.tuning.field import Field, RaceFiles
from megtrim.process import ProcessRunner
from support.timing_logs import Form, MadeLog
from unit.stages.support import floats

X86 = Situation(dialect=LITE, architecture="x86_64")
CONFIG = """\
version: 1
engine: {kind: sample}
models:
  - name: net
    file: net.mge
    scenarios:
      # as we ship it
      - {name: default, args: [--cpu, --iter, 3], inputs: {data: in.npy}}
"""
RACERS = ("baseline", "weight-preprocess", "record", "cache", "cache-record", "nchw88")
_SCRIPT = """\
#!/bin/sh
words="$*"
while [ $# -gt 0 ]; do
  case "$1" in
    --bin-out-dump) folder=$2 ;;
    --fast-run-algo-policy) cache=$2 ;;
  esac
  shift
done
log=40 output=right
case "$words" in
  *--fitting*)
    printf 'the best options:\\n--weight_preprocess=true\\n--cpu=true\\n\\n'
    exit ;;
  *--enable-nchw88*) echo 'ERROR: no such layout' >&2; exit 1 ;;
  *--fast-run\\ *) echo searched >"$cache"; echo search >>FOLDER/searches ;;
  *--fast-run-algo-policy*) log=30 ;;
  *--weight-preprocess*) log=20 ;;
  *--record-comp-seq*) log=25 output=wrong ;;
esac
if [ -n "$folder" ]; then cp "FOLDER/$output" "$folder/run0-var1"; fi
cat "FOLDER/$log.log"
"""


def make_field(folder: Path, script: str = _SCRIPT) -> Field:
    """Return a race of RACERS: prepared weights halve the time, recording computes nonsense."""
    for name, values in (("right", (1, 2, 3)), ("wrong", (1, 2, 9))):
        (folder / name).write_bytes(floats(*values))
    for time_ms in (20.0, 25.0, 30.0, 40.0):
        log = MadeLog(
            form=Form.E2E,
            load_ms=1.0,
            prepare_ms=2.0,
            warmup_ms=(time_ms,),
            tests=(((time_ms, time_ms, time_ms),) * 10,),
        )
        (folder / f"{time_ms:.0f}.log").write_text(log.text(), encoding="utf-8")
    program = folder / "program"
    program.write_text(script.replace("FOLDER", str(folder)), encoding="utf-8")
    for name in ("net.mge", "in.npy"):
        (folder / name).write_bytes(b"")
    config = folder / "megtrim.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    (scenario,) = all_scenarios(load_config(config).config)
    made = Field(
        scenario=scenario,
        situation=X86,
        kept=(),
        files=RaceFiles(
            program=program, model=folder / "net.mge", inputs={"data": folder / "in.npy"}
        ),
        other_load=1.0,
    )
    for each in list_candidates(X86):
        if each.name in RACERS:
            made.enter(each)
    return made


def find_machine(folder: Path) -> Local:
    """Return this machine."""
    return Local("here", ProcessRunner(os.environ), folder / "runs")
