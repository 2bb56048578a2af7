"""What one more model costs where the reduced engine was built before: files and CPU time.

    python benchmarks/one_more_model.py
    python benchmarks/one_more_model.py --config examples/megengine-linux-arm64.yaml \
        --engine ENGINE --keep-set megtrim/keepset --out OUT

One model is taken out of a keep set, the engine is built for the others, and then for all of them:
once with the upstream header, once with the scoped one, each in a tree of its own and with one
compiler cache that begins empty. The figure to quote is the ratio of the CPU time of the whole
second build commands. Without a keep set, the configuration's own scenarios are traced first.
MegEngine takes an hour on two cores; ``--out`` keeps the trees, for another model.
"""

import os
import tempfile
from pathlib import Path

import click

from megtrim.core import stages
from megtrim.core.build_spec import BuildRecord, Variant
from megtrim.core.chain.filenames import KEEP_SET_FILE
from megtrim.core.chain.graph import HEADER
from megtrim.core.chain.session import Session
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.session.setup import open_session
from megtrim.core.keep.keepset import KeepSet, build_keep_set
from megtrim.core.keep.keepset_files import read_folder, read_keep_set
from megtrim.core.keep.operators import select_needs, unite_needs
from megtrim.core.parts import hand_in
from megtrim.core.trim.builds import variants
from megtrim.engines.midout.header import Layout
from megtrim.parts import PARTS

MOST_FILES = 5
MOST_CPU = 0.03
"""Targets on MegEngine, for a model of the same family; the sample engine is too small for them."""
SAMPLE = Path(__file__).parents[1] / "examples/sample-engine/megtrim.yaml"


def without(keep: KeepSet, model: str) -> KeepSet:
    scenarios = [each for each in keep.scenarios if each.id.partition("/")[0] != model]
    if not 0 < len(scenarios) < len(keep.scenarios):
        known = sorted({each.id.partition("/")[0] for each in keep.scenarios})
        msg = f"found --model {model!r}, expected one of several: {', '.join(known)}"
        raise click.BadParameter(msg)
    models = {each.id.partition("/")[0] for each in scenarios}
    needs = keep.operators and unite_needs(select_needs(keep.operators, each) for each in models)
    return build_keep_set(keep.generation, scenarios, needs)


def build(session: Session, keep: KeepSet, layout: Layout, out: Path) -> tuple[BuildRecord, bytes]:
    files = session.services.marks.render_header(keep, layout=layout, crash_ids=False)
    spec = variants.make_spec(session, Variant.REDUCED, files)
    with tempfile.TemporaryDirectory(dir=out) as folder:
        record = session.services.builder.build(
            spec,
            work=out / "one-more-model" / layout,
            folder=Path(folder),
            progress=session.console.progress(f"building {layout}"),
        )
        return record, (Path(folder) / "bin" / spec.targets[0]).read_bytes()


def whole_keep_set(session: Session, path: Path | None) -> KeepSet:
    if path is not None:
        return read_folder(path)
    folder = stages.obtain(HEADER, session)
    if folder is None:
        raise next(iter(session.results.failed.values()))
    return read_keep_set(folder.file(KEEP_SET_FILE))


def _cpu_of_children() -> float:
    """Return the seconds of programs that were waited for; those in an image are none of them."""
    times = os.times()
    return times.children_user + times.children_system


def measure(options: Options, keep_set: Path | None, model: str) -> None:
    hand_in(PARTS)
    session = open_session(options)
    keep = whole_keep_set(session, keep_set)
    added = model or keep.scenarios[-1].id.partition("/")[0]
    before = without(keep, added)
    click.echo(f"one more model, {added}: {len(keep.regions()) - len(before.regions())} regions")
    programs = []
    cpu_s = []
    for layout in (Layout.UPSTREAM, Layout.SCOPED):
        build(session, before, layout, options.out)
        start_s = _cpu_of_children()
        record, program = build(session, keep, layout, options.out)
        cpu_s.append(_cpu_of_children() - start_s)
        click.echo(
            f"{layout:<9} {len(record.rebuilt):>5} of {record.translation_units} files compiled; "
            f"{cpu_s[-1]:.1f} s of CPU"
        )
        programs.append(program)
    click.echo(f"programs are {'equal' if programs[0] == programs[1] else 'NOT EQUAL'}")
    ratio = cpu_s[1] / cpu_s[0]
    click.echo(f"ratio {ratio:.3f} (on MegEngine: target {MOST_CPU}, at most {MOST_FILES} files)")


@click.command()
@click.option("--config", type=click.Path(path_type=Path), default=SAMPLE)
@click.option("--engine", type=click.Path(path_type=Path))
@click.option("--keep-set", type=click.Path(path_type=Path), help="Of several models.")
@click.option("--model", default="", help="The one that comes last; else the keep set's last.")
@click.option("--out", type=click.Path(path_type=Path), help="Keep what is built here.")
def main(
    config: Path, engine: Path | None, keep_set: Path | None, model: str, out: Path | None
) -> None:
    """Measure in ``out``, or in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = (out or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["CCACHE_DIR"] = str(folder / "ccache")
        options = Options(config=config, out=folder, engine=engine, jobs=None, quiet=True)
        measure(options, keep_set, model)


if __name__ == "__main__":
    main()
