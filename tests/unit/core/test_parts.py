"""What parts hand in, and a core that nothing was handed."""

import sys

import click
import pytest

from megtrim.core.cli.main import VERBS, main
from megtrim.core.parts import Parts, PartVerb, add_verbs, find_parts, load
from megtrim.core.report import comment, html, junit, table
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.parts import PARTS
from unit.core.verdict.performance_examples import timed

OWN = {"plan": "core.plan:plan", "trim": "core.trim:trim"}
ALONE = """
import pkgutil, sys
from importlib import import_module


class NoParts:
    def find_spec(self, name, path=None, target=None):
        if name.removeprefix("megtrim.") in ABSENT:
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, NoParts())
for room in ROOMS:
    package = import_module(f"megtrim.{room}")
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(found.name)
from megtrim.core.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("after", "names"),
    [
        ("plan", ["plan", "perf", "trim"]),
        ("trim", ["plan", "trim", "perf"]),
        ("of no part that is here", ["plan", "trim", "perf"]),
    ],
)
def test_a_verb_follows_the_one_it_names(after: str, names: list[str]) -> None:
    added = add_verbs(OWN, [PartVerb(name="perf", place="times.perf:perf", after=after)])

    assert list(added) == names
    assert added["perf"] == "times.perf:perf"
    assert added["plan"] == OWN["plan"]


def test_what_no_part_has_is_named() -> None:
    with pytest.raises(InputError, match="no part for the stage perf"):
        load("", "the stage perf")


PLACES = [
    *PARTS.engines.values(),
    PARTS.program,
    PARTS.experiments,
    *(verb.place for verb in PARTS.verbs),
    *PARTS.stages.values(),
    *PARTS.preflights,
    PARTS.pools,
    PARTS.performance,
    PARTS.measuring_devices,
    PARTS.times_tables,
    PARTS.times_page,
    PARTS.callers,
    PARTS.reached,
    PARTS.against,
]


@pytest.mark.parametrize("place", [place for place in PLACES if place])
def test_each_place_is_there(place: str) -> None:
    assert load(place, "it") is not None


@pytest.mark.usefixtures("nothing_is_handed")
def test_without_parts_there_are_the_verbs_of_the_core() -> None:
    assert find_parts() == Parts()
    assert main.list_commands(click.Context(main)) == list(VERBS)


@pytest.mark.usefixtures("nothing_is_handed")
def test_without_its_part_a_report_has_no_times_and_all_else() -> None:
    verdict = timed()

    assert "**times: " not in comment.render(verdict)
    assert "#performance" not in html.render(verdict)
    assert verdict.headline in table.render(verdict)
    assert "median_ms" not in junit.render(verdict)


@pytest.mark.parametrize(
    ("absent", "rooms"),
    [((), ("core", "libs", "places", "engines")), (("engines",), ("core", "libs", "places"))],
    ids=["parts", "parts and engines"],
)
def test_the_core_loads_without_any_part(
    processes: ProcessRunner, absent: tuple[str, ...], rooms: tuple[str, ...]
) -> None:
    missing = ("times", "lab", "hosting", "ship", "parts", *absent)
    script = f"ABSENT = {missing!r}\nROOMS = {rooms!r}\n{ALONE}"
    ended = processes.run(Command(argv=(sys.executable, "-c", script, "--help"), timeout_s=60))

    assert ended.ok, ended.stderr
    assert "  trim " in ended.stdout
    assert "  perf " not in ended.stdout
