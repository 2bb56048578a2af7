"""The entry point, and the one place that turns errors into exit statuses."""

import io
import sys
from collections.abc import Mapping
from pathlib import Path

import click
from click.exceptions import NoSuchCommand, NoSuchOption

from megtrim.core.cli.clock import describe_clock
from megtrim.core.cli.echo import complain
from megtrim.core.cli.failures import translate
from megtrim.core.cli.lazy_group import LazyGroup
from megtrim.core.cli.message_codes import describe_error
from megtrim.core.parts import add_verbs, find_parts
from megtrim.libs.util.errors import (
    EXIT_BUG,
    InputError,
    Interrupted,
)
from megtrim.libs.util.wording import make_printable

CRASH_FILE = Path("megtrim-crash.md")

_ABOUT = """\
Trim native programs to the code that you use, prove that they work, and keep them small.

\b
Start here:
  megtrim doctor            show what this machine has, what is missing, and how to get it
  megtrim demo              trim the small engine that comes with megtrim
  megtrim init              write a starter megtrim.yaml: --cmake DIR, --record, or MODEL...
  megtrim trim              run all stages; a second run repeats only what changed
"""
_EXIT_STATUSES = """\b
Exit status:
  0    pass
  1    product failure: trap, parity, budget, source that does not compile
  2    bad usage, configuration or input; a missing compiler, submodule or tool
  3    infrastructure: device, docker, network, no space
  70   a bug in megtrim (it leaves megtrim-crash.md)
  130  interrupted
"""
VERBS = {
    "doctor": "core.cli.verbs:doctor",
    "demo": "core.cli.verbs:demo",
    "init": "core.cli.verbs:init",
    "check": "core.cli.verbs:check",
    "plan": "core.cli.verbs:plan",
    "trim": "core.cli.verbs:trim",
    "verify": "core.cli.verbs:verify",
    "probe": "core.cli.verbs:probe",
    "size": "core.cli.main:size",
    "report": "core.cli.verbs:report",
    "clean": "core.cli.verbs:clean",
    "model": "core.cli.verbs:model",
    "stage": "core.cli.main:stage",
}


class _MainGroup(LazyGroup):
    """The core's verbs, and among them those that parts hand in."""

    @property
    def members(self) -> Mapping[str, str]:
        return add_verbs(self._own, find_parts().verbs)

    @members.setter
    def members(self, own: Mapping[str, str]) -> None:
        self._own = own


@click.group(
    cls=_MainGroup,
    members=VERBS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help=_ABOUT,
    epilog=_EXIT_STATUSES,
)
@click.version_option(package_name="megtrim", prog_name="megtrim")
def main() -> None:
    """Parse the command line."""


@click.group(
    cls=LazyGroup,
    members={
        "build": "core.cli.verbs:build",
        "profile": "core.cli.verbs:profile",
        "header": "core.cli.verbs:header",
        "reduce": "core.cli.verbs:reduce",
        "functions": "core.cli.verbs:functions",
        "verdict": "core.cli.verbs:verdict",
    },
    epilog="""\b
Examples:
  megtrim stage build
  megtrim stage header --accept
""",
)
def stage() -> None:
    """Run one stage of a trim, and those that it depends on.

    `megtrim trim` runs them all. The stages `verify`, `size` and `report` are separate verbs.
    """


@click.group(
    cls=LazyGroup,
    alone="core.cli.verbs:size",
    members={
        "show": "core.cli.size.verbs:show_file",
        "diff": "core.cli.size.verbs:diff",
        "history": "core.cli.size.verbs:history",
        "why": "core.cli.size.verbs:why",
        "prices": "core.cli.size.verbs:prices",
    },
    epilog="""\b
Examples:
  megtrim size
  megtrim size --config android.yaml
  megtrim size show build/app --map build/app.map
  megtrim size diff before/app after/app
  megtrim size history --branch perf-history
  megtrim size prices --by model
""",
)
def size() -> None:
    """Measure the artifacts and compare them with their budgets.

    `show` and `diff` explain the bytes of any file. They take none of the options below, which
    belong to `megtrim size` without a verb. `why` and `prices` need a finished trim.
    """


def run() -> None:
    if warning := describe_clock():
        complain(warning)
    sys.exit(_status(sys.argv[1:]))


def _status(arguments: list[str]) -> int:
    try:
        result = main.main(args=arguments, prog_name="megtrim", standalone_mode=False)
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except click.ClickException as error:
        if gone := _describe_removed(error):
            complain(gone)
            return InputError.exit_code
        shown = io.StringIO()
        error.show(shown)
        click.echo(make_printable(shown.getvalue()), err=True, nl=False)
        return InputError.exit_code
    except (KeyboardInterrupt, click.Abort):
        complain("interrupted; finished results are kept")
        return Interrupted.exit_code
    except Exception as error:
        failure = translate(error)
        if failure is not None:
            complain(describe_error(failure))
            return failure.exit_code
        return _bug(arguments)
    return result if isinstance(result, int) else 0


def _describe_removed(error: click.ClickException) -> str:
    """Return what became of a verb or option of an earlier version; empty: another mistake."""
    if isinstance(error, NoSuchCommand):
        name = error.command_name
    elif isinstance(error, NoSuchOption):
        name = error.option_name
    else:
        return ""
    if error.ctx is None:
        return ""
    from megtrim.core.config.removed import describe_words

    _, _, group = error.ctx.command_path.partition(" ")
    return describe_words(f"{group} {name}".strip())


def _bug(arguments: list[str]) -> int:
    import platform
    import traceback
    from importlib.metadata import version

    lines = [
        "# megtrim crashed",
        f"- version: {version('megtrim')}, Python {platform.python_version()}",
        f"- platform: {platform.platform()}",
        f"- arguments: `{' '.join(arguments)}`",
        f"\n```\n{traceback.format_exc()}```\n",
    ]
    click.echo(make_printable(traceback.format_exc()), err=True)
    try:
        CRASH_FILE.write_text("\n".join(lines), encoding="utf-8", errors="backslashreplace")
        complain(f"this is a bug in megtrim; please report {CRASH_FILE}")
    except OSError:
        complain("this is a bug in megtrim; please report the lines above")
    return EXIT_BUG
