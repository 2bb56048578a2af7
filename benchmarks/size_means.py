"""What each of the means against size takes off the recipe's build, singly and together.

    python benchmarks/size_means.py
    python benchmarks/size_means.py --config examples/megengine-android-arm64.yaml --engine ENGINE
    python benchmarks/size_means.py --out OUT --only unwind_tables --only size

One plain build, one keep set, and a reduced build for each row, in one folder of results; what a
row gives on every scenario must equal the plain build's outputs. The figures to quote are the
ratios to the recipe's bytes of the same run. Minutes for the sample engine; for MegEngine up to an
hour a row on two cores, so rows can be named.
"""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from megtrim.core import stages
from megtrim.core.chain.graph import REDUCED, Stage, tasks, tasks_up_to, verify_task
from megtrim.core.chain.session import Session, TaskResults
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.session.setup import open_session
from megtrim.core.config.model import TrimConfig
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.parts import hand_in
from megtrim.core.proof.results import VerifyResult
from megtrim.core.trim.builds import size_options
from megtrim.core.trim.results import ReduceResult
from megtrim.parts import PARTS

SAMPLE = Path(__file__).resolve().parents[1] / "examples/sample-engine/megtrim.yaml"
RECIPE = "recipe"
OF_RECIPE = ("minimum_size", "switches", "layout", "relocations")
_NOTHING = {"unwind_tables": True, "virtual_functions": True}
_NONE = _NOTHING | dict.fromkeys(("small_code", "lto", "fold"), "none")
ROWS: Mapping[str, Mapping[str, Any]] = {
    RECIPE: {},
    "unwind_tables": {"means": {"unwind_tables": False}},
    "small_code Os": {"means": {"small_code": "Os"}},
    "small_code Oz": {"means": {"small_code": "Oz"}},
    "lto": {"means": {"lto": "full"}},
    "lto, virtual_functions": {"means": {"lto": "full", "virtual_functions": False}},
    "fold": {"means": {"fold": "all"}},
    # Only optimize: size chooses it for one build alone.
    "relocations": {"optimize": "size", "means": _NONE},
    "all but small_code": {"optimize": "size", "means": {"small_code": "none"}},
    "all but lto": {"optimize": "size", "means": {"lto": "none"}},
    "all but both": {"optimize": "size", "means": {"lto": "none", "small_code": "none"}},
    "size": {"optimize": "size"},
}
"""Of ``trim``, beyond what the recipe has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One build; ``note`` says why there is none."""

    name: str
    size_bytes: int = 0
    outputs: int = 0
    """Compared, and equal to the plain build's."""
    note: str = ""


def side(session: Session, name: str, kept: Path) -> Session:
    config = session.config
    trim = config.trim.model_dump(include=set(OF_RECIPE), exclude_none=True) | dict(ROWS[name])
    own = {"trim": TrimConfig.model_validate(trim), "keep_set": kept, "budgets": (), "waivers": ()}
    loaded = replace(session.request.loaded, config=config.model_copy(update=own))
    return replace(session, request=replace(session.request, loaded=loaded), results=TaskResults())


def measured(name: str, session: Session) -> Row:
    refused = [each for each in size_options.choices(session) if each.requested and each.why_not]
    if refused:
        return Row(name=name, note=refused[0].why_not)
    stages.run(tasks_up_to(Stage.VERIFY, tasks(session.config)), session)
    for failure in session.results.failed.values():
        return Row(name=name, note=failure.message.splitlines()[0])
    outcomes = [
        session.done[verify_task(each)].result_as(VerifyResult).outcome
        for each in all_scenarios(session.config)
    ]
    outputs = [output for outcome in outcomes for output in outcome.outputs]
    wrong = [outcome.text for outcome in outcomes if not outcome.outputs]
    if wrong or not all(output.equal for output in outputs):
        return Row(
            name=name, note=f"outputs differ: {wrong[0] if wrong else 'not to the last bit'}"
        )
    target = session.config.artifacts[0]
    size_bytes = session.done[REDUCED].result_as(ReduceResult).build.artifacts[target]
    return Row(name=name, size_bytes=size_bytes, outputs=len(outputs))


def told(rows: list[Row]) -> Iterator[str]:
    recipe = rows[0].size_bytes
    for row in rows:
        share = f"{row.size_bytes:>12,}{row.size_bytes / recipe:>8.3f}" if row.size_bytes else ""
        proof = f"{row.outputs} outputs equal" if row.size_bytes else f"- {row.note}"
        yield f"{row.name:24}{share}  {proof}"


@click.command()
@click.option("--config", type=click.Path(path_type=Path), default=SAMPLE)
@click.option("--engine", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Keep the results there.")
@click.option("--only", multiple=True, type=click.Choice(list(ROWS)), help="Rows to measure.")
@click.option("--jobs", "-j", type=int)
def main(
    config: Path, engine: Path | None, out: Path | None, only: tuple[str, ...], jobs: int | None
) -> None:
    """Build the rows, and print the table."""
    names = [name for name in ROWS if not only or name in (RECIPE, *only)]
    with tempfile.TemporaryDirectory() as folder:
        results = out or Path(folder)
        options = Options(config=config, out=results, engine=engine, jobs=jobs, quiet=True)
        hand_in(PARTS)
        session = open_session(options)
        kept = results.resolve() / "means.keepset"
        rows = []
        for name in names:
            rows.append(measured(name, side(session, name, kept)))
            if not rows[0].size_bytes:
                raise SystemExit(rows[0].note)
    artifact = session.config.artifacts[0]
    click.echo(f"{artifact}, reduced, stripped: bytes, and of the recipe's")
    click.echo("\n".join(told(rows)))


if __name__ == "__main__":
    main()
