"""Stage `build`: the plain and the profile variant of the engine."""

from pathlib import Path

from megtrim.core.build_spec import Variant
from megtrim.core.chain.filenames import REGIONS_FILE
from megtrim.core.chain.graph import Task, trims_functions
from megtrim.core.chain.session import Session
from megtrim.core.keep.region import Region
from megtrim.core.size import byte_tables
from megtrim.core.trim.builds import applications, variants
from megtrim.core.trim.results import BuildResult


def inputs(task: Task, session: Session) -> dict[str, str]:
    named = variants.inputs(session, variants.make_spec(session, Variant(task.name), {}))
    if task.name == Variant.PLAIN and session.config.work is not None:
        named["symbols"] = "kept"
    return named


def work(task: Task, session: Session, folder: Path) -> BuildResult:
    wanted = variants.make_spec(session, Variant(task.name), {})
    build = variants.work(session, wanted, folder)
    if wanted.variant is Variant.PLAIN and trims_functions(session.config):
        # All builds are linked alike: said now, it spares the others.
        variants.expect_linkable(session, wanted, folder)
    if wanted.variant is Variant.PLAIN:
        byte_tables.leave_tables(folder, wanted, build.artifacts, session)
    if wanted.variant is Variant.PROFILE:
        _list_regions(session, folder)
    return BuildResult(build=build)


def _list_regions(session: Session, folder: Path) -> None:
    found: set[Region] = set()
    for name in applications.holders(session):
        program = (folder / "bin" / name).read_bytes()
        found.update(session.services.marks.find_held(program, name=name))
    text = "".join(f"{region}\n" for region in sorted(found))
    (folder / REGIONS_FILE).write_text(text, encoding="utf-8")
