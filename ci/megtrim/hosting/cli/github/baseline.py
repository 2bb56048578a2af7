"""``megtrim ci github baseline``: the sizes and proofs that a change is compared with.

``OUT/baseline`` holds sizes.json, evidence.json, and wanted.json: the commit with the right sizes.
"""

import time
from dataclasses import replace
from pathlib import Path

from megtrim.core import stages
from megtrim.core.build_spec import Origin
from megtrim.core.chain.filenames import SIZES_FILE
from megtrim.core.chain.graph import SIZE, Stage, tasks_up_to
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.echo import open_console, show
from megtrim.core.cli.environment import open_processes
from megtrim.core.cli.session.setup import describe, open_session
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.evidence.evidence import EVIDENCE_FILE
from megtrim.core.size.baseline import dump_sizes, load_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.use import list_under_other_conditions
from megtrim.hosting.cli.github.client import open_job
from megtrim.hosting.github.baselines import Base, BaselineSource, FoundBaseline, find
from megtrim.hosting.github.runner import write_output
from megtrim.libs.util.errors import EXIT_PASS, InfrastructureFailure, Interrupted, MegtrimError
from megtrim.libs.util.files import guard_write, write_atomically
from megtrim.libs.util.input_files import read_text
from megtrim.libs.util.json_text import LARGEST_DOCUMENT
from megtrim.libs.util.strict_json import dump, load
from megtrim.libs.util.wording import one_line
from megtrim.times.counts.stage import find_keys

FOLDER = "baseline"
WANTED_FILE = "wanted.json"
_LONGEST_REASON = 160
_MOST_NAMED = 3


def find_baseline(out: Path, config: str, artifact: str, quick: bool) -> int:
    console = open_console()
    env, event, api = open_job()
    found = find(api, event, config=config, artifact=artifact, now_s=time.time(), quick=quick)
    for warning in found.warnings:
        console.warn(one_line(warning, most=1000))
    _leave(found, out / FOLDER, quick=quick)
    write_output(env, "how", found.how)
    write_output(env, "rebuild", found.rebuild)
    show(f"baseline: {found.source}")
    return EXIT_PASS


def compare_conditions(options: Options) -> int:
    console = open_console()
    rebuilt = ""
    try:
        others = _list_others(options)
        if others:
            named = ", ".join(others[:_MOST_NAMED])
            show(f"the baseline has other conditions: {one_line(named, most=400)}")
            rebuilt = _read_base(options.out / FOLDER / WANTED_FILE).sha
    except Interrupted:
        raise
    except MegtrimError as error:
        console.warn(f"whether counts can be compared is not known: {one_line(str(error))}")
    write_output(open_processes().env, "rebuild", rebuilt)
    return EXIT_PASS


def _list_others(options: Options) -> tuple[str, ...]:
    known = load_sizes(options.out / FOLDER / SIZES_FILE, shown=SIZES_FILE)
    how_trimmed = replace(options, committed=not known.quick, quick=known.quick)
    session = open_session(how_trimmed)
    scenarios = all_scenarios(session.config)
    keys = {each.id: find_keys(each, session) for each in scenarios}
    return list_under_other_conditions(keys, known.uses)


def rebuild_baseline(options: Options) -> int:
    folder = options.out / FOLDER
    base = _read_base(folder / WANTED_FILE)
    known = load_sizes(folder / SIZES_FILE, shown=SIZES_FILE)
    try:
        # The file that the base's own key names may be of an earlier version of megtrim.
        compared = folder / SIZES_FILE
        how_built = replace(
            options, committed=not known.quick, quick=known.quick, baseline=compared
        )
        found = _measure_variants(how_built)
        source = f"{base}, {base.what}, rebuilt"
        how = BaselineSource.REBUILT
    except Interrupted:
        raise
    except MegtrimError as error:
        open_console().warn(f"{base} cannot be rebuilt: {one_line(str(error))}")
        reason = one_line(error.message, most=_LONGEST_REASON)
        found = known
        source = f"{known.source}; {base.what} cannot be rebuilt ({reason})"
        how = BaselineSource.LAST_KNOWN if known.sizes else BaselineSource.NONE
    shown = one_line(source, most=490)
    commit = base.sha if how is BaselineSource.REBUILT else found.origin.commit
    _write_sizes(found, folder, source=shown, quick=known.quick, commit=commit)
    write_output(open_processes().env, "how", how)
    show(f"baseline: {source}")
    return EXIT_PASS


def _leave(found: FoundBaseline, folder: Path, *, quick: bool) -> None:
    _write_sizes(found.stored, folder, source=found.source, quick=quick, commit=found.commit)
    write_atomically(folder / EVIDENCE_FILE, dump(found.evidence))
    wanted = folder / WANTED_FILE
    if found.base is not None:
        write_atomically(wanted, dump(found.base))
        return
    with guard_write(wanted):
        wanted.unlink(missing_ok=True)


def _read_base(path: Path) -> Base:
    hint = "run `megtrim ci github baseline find` first, with the same --out"
    most = LARGEST_DOCUMENT
    expected = "the commit of a baseline"
    text = read_text(path, most_bytes=most, expected=expected, hint=hint)
    return load(Base, text, source=str(path), version=1, hint=hint)


def _measure_variants(options: Options) -> Baseline:
    session = open_session(options, commands=True)
    describe(session)
    stages.run(tasks_up_to(Stage.SIZE, session.request.tasks), session)
    folder = session.done.get(SIZE)
    if folder is None:
        raise next(
            iter(session.results.failed.values()), InfrastructureFailure("no sizes were measured")
        )
    return load_sizes(folder.file(SIZES_FILE), shown=SIZES_FILE)


def _write_sizes(found: Baseline, folder: Path, *, source: str, quick: bool, commit: str) -> None:
    left = replace(found, source=source, quick=quick, origin=Origin(commit=commit))
    write_atomically(folder / SIZES_FILE, dump_sizes(left))
