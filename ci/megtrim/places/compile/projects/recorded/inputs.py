"""What a recorded link reads: where that may be, what of it cannot go, and sources made objects."""

from collections.abc import Iterator
from pathlib import Path

from megtrim.core.functions import link_map
from megtrim.libs.elf import objects
from megtrim.libs.elf.layout import ELF_MAGIC
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import guard_write
from megtrim.libs.util.value import Value
from megtrim.places.compile.projects.link import relink
from megtrim.places.compile.projects.link.invocation import (
    LINK_TIMEOUT_S,
    LinkCommand,
    LinkEnvironment,
    without_output,
)
from megtrim.places.compile.projects.link.splitting import CompiledUnit
from megtrim.places.compile.projects.recorded.links import RecordedLink, iter_inputs

_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/opt", "/nix", "/gnu")
"""Folders of packages: what an installation brings, as for any other build."""

_CODE = 6
"""Flags of a section that is loaded and executed."""
_MOST_SHOWN = 5


class UnsplitCode(Value):
    """Code of a link that stays whole, because its functions have no sections of their own."""

    file: str
    size_bytes: int


def expect_known_places(link: RecordedLink, link_env: LinkEnvironment) -> None:
    """Raise InputError for a file that the link reads where no key holds its content."""
    for spelt in link.files_read:
        _expect_known(spelt, Path(link.cwd, spelt), link, link_env)
    for spelt in iter_inputs(link.words):
        path = Path(link.cwd, spelt)
        if not path.is_file():
            msg = f"{link.name}: the build removed {spelt}, which it had linked"
            hint = "build without the step that removes it"
            raise InputError(msg, hint=hint)
        _expect_known(spelt, path, link, link_env)
        relink.expect_objects(path, shown=f"{link.name}: {spelt}")
    for spelt, found in relink.resolve_argv((link.program, *link.words), link_env):
        if found is not None:
            _expect_known(spelt, found, link, link_env)


def _expect_known(spelt: str, path: Path, link: RecordedLink, link_env: LinkEnvironment) -> None:
    whole = path.resolve()
    if whole.is_relative_to(link_env.tree.resolve()):
        return
    if any(whole.is_relative_to(folder) for folder in _SYSTEM):
        return
    msg = f"{link.name}: its link reads {spelt}, which is neither in engine.source nor installed"
    hint = f"megtrim would not see that {whole} changes: copy it into the source"
    raise InputError(msg, hint=hint)


def compile_sources(link: RecordedLink, folder: Path, link_env: LinkEnvironment) -> LinkCommand:
    """Return the link, with an object in place of each source that it compiles as well."""
    made: dict[str, str] = {}
    for source, unit in zip(link.sources, list_units(link, folder), strict=True):
        with guard_write(unit.output):
            folder.mkdir(parents=True, exist_ok=True)
        outcome = link_env.run((*unit.words, "-o", str(unit.output)), LINK_TIMEOUT_S)
        link_env.expect(outcome, f"{source} of {link.name} does not compile on its own")
        made[source] = str(unit.output)
    words = (made.get(word, word) for word in link.words)
    return LinkCommand(
        driver=(link.program,),
        # What the build links stays as it is; here unused code has to be able to go.
        words=(*without_output(tuple(words)), "-Wl,--gc-sections"),
        output=link.output,
    )


def list_units(link: RecordedLink, folder: Path) -> tuple[CompiledUnit, ...]:
    """Return how each source that the link compiles is made an object in ``folder``, in order."""
    return tuple(
        CompiledUnit(
            output=folder / f"{number}.{Path(source).name}.o",
            words=(link.program, *link.compile_words, "-c", source),
            folder=Path(link.cwd),
        )
        for number, source in enumerate(link.sources)
    )


def find_unsplit(command: LinkCommand, link_env: LinkEnvironment) -> tuple[list[UnsplitCode], int]:
    """Return what stays whole, largest first, and the bytes of functions that can go."""
    found: list[UnsplitCode] = []
    split_bytes = 0
    for spelt, path in relink.resolve_argv((*command.driver, *command.words), link_env):
        if path is None or link_map.is_platform(path.name):
            continue
        whole = 0
        for name, size in _iter_code(path):
            if name in (".text", ".text.unlikely", ".text.startup", ".text.hot"):
                whole += size
            else:
                split_bytes += size
        if whole:
            found.append(UnsplitCode(file=spelt, size_bytes=whole))
    return sorted(found, key=lambda each: (-each.size_bytes, each.file)), split_bytes


def _iter_code(path: Path) -> Iterator[tuple[str, int]]:
    data = path.read_bytes()
    parts = [data]
    if data.startswith(objects.ARCHIVE_MAGIC):
        members = objects.iter_members(data)
        parts = [
            data[each.start : each.end] for each in members if each.kind is objects.MemberKind.FILE
        ]
    for part in parts:
        if part.startswith(ELF_MAGIC):
            for section in objects.Object(part).sections:
                if section.flags & _CODE == _CODE:
                    yield section.name, section.size_bytes


def describe_unsplit(found: list[UnsplitCode], target: str) -> str:
    shown = [f"{Path(each.file).name} {each.size_bytes:,} B" for each in found[:_MOST_SHOWN]]
    if len(found) > _MOST_SHOWN:
        shown.append(f"{len(found) - _MOST_SHOWN} more")
    total = sum(each.size_bytes for each in found)
    return (
        f"{target}: {total:,} bytes of code stay whole if any of it is used, because its functions "
        f"have no sections of their own: {', '.join(shown)}"
    )
