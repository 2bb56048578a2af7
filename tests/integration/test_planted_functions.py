"""Defects planted where functions are trimmed: each is found before anything ships, and named.

Three kinds: a function that is needed is not on the list, something is no longer registered, and
the list is not this link's, or shrank. The sample engine is built once; a plant costs a link and
the runs behind it, or less.
"""

import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from integration.conftest import MakeProject
from megtrim.core import stages
from megtrim.core.build_spec import Link
from megtrim.core.chain.filenames import DROPPED_FILE
from megtrim.core.chain.graph import LINKED, REDUCED, Stage, tasks, tasks_up_to, verify_task
from megtrim.core.chain.result_store import MANIFEST
from megtrim.core.chain.session import Session
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.session.setup import open_session
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.functions import linker_script, local_functions
from megtrim.core.functions.kept_functions import BY_VALUES
from megtrim.core.functions.observables import read_observables
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import read_folder
from megtrim.core.proof.results import VerifyResult
from megtrim.core.trim.builds import variants
from megtrim.core.trim.builds.links import locate_unstripped, observables
from megtrim.libs.elf.objects import Object
from megtrim.libs.elf.symbol_names import brief, is_local_name, readable
from megtrim.libs.elf.symbol_table import read_table
from support.megtrim_cli import KeepFolder, Project

pytestmark = [pytest.mark.chain]

MODEL = "tiny-vgg"
SCENARIO = f"{MODEL}/default@any"
TARGET = "load_and_run"
GONE = "are no longer there: "
UNKNOWN = "functions on the list are not in the link that it belongs to: "
FUNCTIONS = 16
"""How many needed functions are dropped, one at a time, evenly over the list."""
REGISTERING = ("axis", "conv_bias", "elemwise", "matrix_mul", "movement", "pooling", "sources")
"""Files of the engine that register operators before ``main``."""
_INIT_ARRAY = 14
"""Kind of the sections that list what is called before ``main``."""
_FLAGS_AT = 8
_SIZE_AT = 32
_EXCLUDED = 0x80000000
"""In a section's header: where its flags and its size stand; the flag to leave it out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    project: Project
    traced: KeepSet

    @property
    def committed(self) -> KeepFolder:
        return KeepFolder(self.project.folder / "megtrim/keepset")

    def ship(self, keep: KeepSet, *, committed: bool = True) -> Session:
        """Commit a keep set, and do everything up to the verification by it."""
        self.committed.write(keep)
        options = Options(
            config=self.project.config,
            out=self.project.out,
            engine=None,
            jobs=None,
            quiet=True,
            committed=committed,
        )
        session = open_session(options)
        config = session.request.config
        stages.run(tasks_up_to(Stage.VERIFY, tasks(config, committed=committed)), session)
        return session

    def with_functions(self, names: tuple[str, ...], **other: Any) -> KeepSet:
        (record,) = self.traced.scenarios
        changed = replace(record, functions=tuple(sorted(names)), **other)
        return replace(self.traced, scenarios=(changed,))


def reported(session: Session) -> str:
    results = [
        session.results.done[id_].result_as(VerifyResult)
        for each in all_scenarios(session.request.config)
        if (id_ := verify_task(each)) in session.results.done
    ]
    wrong = [result.outcome.text for result in results if result.exit_code != 0]
    return "\n".join([*(str(failure) for failure in session.results.failed.values()), *wrong])


def _shop(make_project: MakeProject, **trim: str) -> Shop:
    project = make_project(MODEL)
    config = project.read()
    config["trim"] |= {"level": "function", **trim}
    if trim.get("base") == "plain":
        # What a reduced build alone obeys is refused next to it.
        config["trim"] = {"level": "function", **trim}
    # A search is timing, which a committed keep set does not repeat.
    config["models"][0]["scenarios"] = config["models"][0]["scenarios"][:1]
    project.write(config)
    project.expect("trim")
    traced = read_folder(project.folder / "megtrim/keepset")
    return Shop(project=project, traced=traced)


@pytest.fixture(scope="module")
def shop(make_project: MakeProject) -> Shop:
    return _shop(make_project)


def test_nothing_is_reported_where_nothing_is_planted(shop: Shop) -> None:
    """The recorded list ships: the plants get what is theirs."""
    assert reported(shop.ship(shop.traced)) == ""


def _needed(session: Session, kept: frozenset[str]) -> list[tuple[str, ...]]:
    links = session.results.done[LINKED]
    table = read_table(links.file(locate_unstripped(Link.UNFOLDED, TARGET)))
    observed = read_observables(links.file(observables(TARGET)))
    possible = kept & {*linker_script.droppable(table, (), observed)}
    by_address: dict[int, set[str]] = {}
    for each in table.functions:
        by_address.setdefault(each.address, set()).add(each.name)
    groups = {tuple(sorted(names)) for names in by_address.values() if names <= possible}
    # Whether an internal one goes is not for the list alone to say, nor is a part of another, nor
    # what stays for its kind.
    return sorted(group for group in groups if all(map(_is_plain, group)))


def _is_plain(name: str) -> bool:
    own = name.startswith("_Z") and not BY_VALUES.search(name)
    return own and not is_local_name(name) and "." not in name


def _reports_of(said: str, group: tuple[str, ...]) -> bool:
    """Say whether a function is named, or what only it led to and went with it."""
    if any(readable(name) in said or brief(name) in said for name in group):
        return True
    return GONE in said and "a function that runs is not on the list" in said


def test_a_needed_function_that_is_not_on_the_list_is_found(shop: Shop) -> None:
    """Whichever it is: the proof of the link misses what it led to, or verify names its trap."""
    (record,) = shop.traced.scenarios
    needed = _needed(shop.ship(shop.traced), frozenset(record.functions))
    spread = [needed[len(needed) * place // FUNCTIONS] for place in range(FUNCTIONS)]
    said: dict[tuple[str, ...], str] = {}
    for group in dict.fromkeys((*spread, *needed)):
        rest = tuple(name for name in record.functions if name not in group)
        session = shop.ship(shop.with_functions(rest))
        if not _stays(group, session):
            said[group] = reported(session)
        if len(said) == FUNCTIONS:
            break

    assert len(said) == FUNCTIONS
    assert [(group, words) for group, words in said.items() if not _reports_of(words, group)] == []


def _stays(group: tuple[str, ...], session: Session) -> bool:
    if REDUCED not in session.results.done:
        return False
    dropped = session.results.done[REDUCED].file(DROPPED_FILE.format(target=TARGET))
    return {*group}.isdisjoint(dropped.read_text(encoding="utf-8").splitlines())


Edits = list[tuple[int, bytes]]


def _left_out(data: bytes) -> Edits:
    """Return the edits after which a linker leaves out what an object has called before main."""
    unit = Object(data)
    arrays = [(at, e.flags) for at, e in enumerate(unit.sections) if e.kind == _INIT_ARRAY]
    assert arrays
    return [
        (unit.header_at(at) + _FLAGS_AT, (flags | _EXCLUDED).to_bytes(8, "little"))
        for at, flags in arrays
    ]


def _losing(source: str) -> Callable[..., Edits]:
    """Return the editor of a link's inputs, with which one object's registrations get lost."""
    edits: Callable[..., Edits] = local_functions.edits

    def lossy(data: bytes, *names: Any, **how: Any) -> Edits:
        found = edits(data, *names, **how)
        if how["source"].endswith(f"/opr/{source}.cpp.o"):
            return [*found, *_left_out(data)]
        return found

    return lossy


def test_a_registration_that_the_link_lost_is_named(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked = shop.ship(shop.traced).results.done[REDUCED].path
    unfound = []
    for source in REGISTERING:
        shutil.rmtree(linked, ignore_errors=True)
        with monkeypatch.context() as patch:
            patch.setattr(local_functions, "edits", _losing(source))
            said = reported(shop.ship(shop.traced))
        if f"{GONE}_GLOBAL__sub_I_{source}.cpp" not in said:
            unfound.append((source, said))

    assert unfound == []
    assert not (linked / MANIFEST).exists()


def _shortened(path: Path) -> None:
    """Let a linked file's list of what is called before main end one entry earlier."""
    data = bytearray(path.read_bytes())
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        number = elf.get_section_index(".init_array")
        assert number is not None
        header = elf["e_shoff"] + number * elf["e_shentsize"]
        size = elf.get_section(number)["sh_size"]
    struct.pack_into("<Q", data, header + _SIZE_AT, size - 8)
    path.write_bytes(data)


def test_a_lost_entry_of_the_start_up_list_is_counted(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All functions are there, and one of them is no longer called: the numbers say so."""
    shutil.rmtree(shop.ship(shop.traced).results.done[REDUCED].path)
    link = variants.link

    def lossy(session: Session, spec: Any, links: Any, folder: Path) -> None:
        link(session, spec, links, folder)
        _shortened(folder / locate_unstripped(Link.SHIPPED, TARGET))

    monkeypatch.setattr(variants, "link", lossy)
    said = reported(shop.ship(shop.traced))

    assert f"{TARGET}: " in said
    assert "functions are called before main, expected" in said
    assert "something is no longer registered" in said


def test_a_list_that_is_not_of_this_link_or_shrank_is_refused(
    shop: Shop, make_project: MakeProject
) -> None:
    """By its identity, by what is missing, or by the run that fails; with a message each time."""
    (record,) = shop.traced.scenarios
    names = record.functions
    (foreign,) = _shop(make_project, base="plain").traced.scenarios
    stale = replace(shop.traced, scenarios=(replace(record, id=f"{MODEL}/older@any"),))
    plants = {
        "another link": (shop.with_functions(names, link_sha256="0" * 64), "on another link"),
        "the plain build": (
            shop.with_functions(foreign.functions, link_sha256=foreign.link_sha256),
            f"recorded on another link ({str(foreign.link_sha256)[:12]})",
        ),
        "the plain build's under this link's name": (
            shop.with_functions(foreign.functions),
            UNKNOWN,
        ),
        "another scenario": (stale, f"{SCENARIO} is not in the keep set"),
        "empty": (shop.with_functions((), link_sha256=None), f"{SCENARIO}: the committed keep set"),
        "half of it": (shop.with_functions(names[::2]), GONE),
        "the first ten": (
            shop.with_functions(names[:10]),
            "is not kept, because the committed keep set does not list it",
        ),
        "misspelt": (shop.with_functions(tuple(f"{name}v" for name in names)), UNKNOWN),
    }
    said = {what: reported(shop.ship(keep)) for what, (keep, _) in plants.items()}

    assert [what for what, (_, words) in plants.items() if words not in said[what]] == []


def test_a_list_that_shrank_waits_for_a_person(shop: Shop) -> None:
    (record,) = shop.traced.scenarios
    more = shop.with_functions((*record.functions, "_ZN6sample4goneEv"))
    said = reported(shop.ship(more, committed=False))

    assert f"{SCENARIO} no longer runs sample::gone()" in said
