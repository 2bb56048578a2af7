"""The size of the AAR that an export or a release of a build would hold."""

from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session, binary
from megtrim.core.project import find_library
from megtrim.core.size.aar_format import AndroidTarget, make_aar, make_part, parse_target
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value
from megtrim.places.compile.public_files import list_public_files


class PlannedAar(Value):
    target: AndroidTarget
    file: str
    """Its shared library."""


def plan_aar(session: Session, build: StageFolder) -> PlannedAar | None:
    """None where there is no single shared library for Android."""
    target = parse_target(session.services.toolchain)
    paths = (path.rpartition("/") for path in build.files)
    names = [name for folder, _, name in paths if folder == "bin" and name.endswith(".so")]
    if target is None or len(names) != 1:
        return None
    return PlannedAar(target=target, file=names[0])


def weigh_aar(session: Session, build: StageFolder) -> dict[str, int]:
    """Return its bytes by the name of its library; empty: there is none.

    An export warns of a library that no app can link. Raises InputError for a damaged one.
    """
    planned = plan_aar(session, build)
    engine = session.services.engine
    if planned is None:
        return {}
    try:
        library = find_library(engine, session.services.toolchain, (planned.file,))
    except InputError:
        return {}
    public = {
        path: (engine.checkout.root / name).read_bytes()
        for path, name in list_public_files(engine.checkout, library).items()
    }
    data = binary(build, planned.file).read_bytes()
    digest = engine.identity().digest
    part = make_part(planned.target, planned.file, data, public, engine=digest)
    return {} if part is None else {planned.file: len(make_aar([part]))}
