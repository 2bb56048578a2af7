"""The entry point, and the one place that turns errors into exit statuses."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import click

from megtrim.cli.echo import complain
from megtrim.cli.environment import describe_clock
from megtrim.cli.lazy_group import LazyGroup
from megtrim.util.errors import EXIT_BUG, NO_NAMES, InputError, Interrupted, MegtrimError
from megtrim.util.printable import make_printable

_CRASH_FILE = Path("megtrim-crash.md")

_LONGEST_NAME = 100

_ABOUT = """\
Trim MegEngine to what your models execute, prove that it works, and keep it small.

\b
Start here:
  megtrim doctor            show what this machine has, what is missing, and how to get it
  megtrim init MODEL...     write a starter megtrim.yaml
  megtrim trim              run all stages; a second run repeats only what changed
"""
_EXIT_STATUSES = """\b
Exit status:
  0    pass
  1    product failure: trap, parity, budget, an engine that does not compile
  2    bad usage, configuration or input; a missing compiler, submodule or tool
  3    infrastructure: device, docker, network, no space
  70   a bug in megtrim (it leaves megtrim-crash.md)
  130  interrupted
"""
_VERBS = {
    "doctor": ("doctor:doctor", "Show what this machine has, what is missing, and how to get it."),
    "init": (
        "init:init",
        "Write a commented starter configuration for MODELS, and inputs next to them.",
    ),
    "check": (
        "check:check",
        "Check the configuration and all files that it names: models, inputs, keep set, options.",
    ),
    "plan": ("plan:plan", "Show which tasks would run and which are up to date."),
    "trim": ("trim:trim", "Run all stages: build, profile, reduce, verify, measure, report."),
    "verify": (
        "verify:verify",
        "Run every scenario on the reduced build and compare its outputs with the plain build.",
    ),
    "probe": ("probe:probe", "Run MODEL with any arguments on the reduced build."),
    "explain": (
        "explain:explain",
        "Show which scenarios need THING, by which trace, and where it is in the engine's source.",
    ),
    "size": ("size.group:size", "Measure the artifacts and compare them with their budgets."),
    "report": ("stage:report", "Write the verdict as JUnit, Markdown and HTML."),
    "export": (
        "release.export:export",
        "Trim, and write programs, libraries, headers and a CMake package to FOLDER.",
    ),
    "release": ("release.group:release", "Build a release and verify it."),
    "perf": ("perf.group:perf", "Measure experiments, compare times, and keep their history."),
    "devices": (
        "devices.group:devices",
        "List devices, check them, run programs on them, and look after them.",
    ),
    "model": ("model:model", "Show what model files hold."),
    "stage": ("main:stage", "Run one stage of a trim, and those that it depends on."),
    "ci": ("ci.group:ci", "Commands for workflows and other programs."),
}
_STAGES = {
    "build": ("stage:build", "Build the plain and the profile variant of the engine."),
    "profile": ("stage:profile", "Run every scenario on the profile build and collect its trace."),
    "header": (
        "stage:header",
        "Merge the traces and the operator JSON into the keep set and the header.",
    ),
    "reduce": ("stage:reduce", "Build the engine with only what the keep set names."),
    "functions": ("stage:functions", "Record which functions run, for trim.level: function."),
    "verdict": ("stage:verdict", "Combine sizes, traps and parity into one verdict."),
}


@click.group(
    cls=LazyGroup,
    members=_VERBS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help=_ABOUT,
    epilog=_EXIT_STATUSES,
)
@click.version_option(package_name="megtrim", prog_name="megtrim")
def main() -> None:
    """Parse the command line."""


@click.group(
    cls=LazyGroup,
    members=_STAGES,
    epilog="""\b
Examples:
  megtrim stage build
  megtrim stage header --accept
""",
)
def stage() -> None:
    """Run one stage of a trim, and those that it depends on.

    `megtrim trim` runs them all. The stages `verify`, `size` and `report` are verbs of their own.
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
        shown = io.StringIO()
        error.show(shown)
        click.echo(make_printable(shown.getvalue()), err=True, nl=False)
        return InputError.exit_code
    except (KeyboardInterrupt, click.Abort):
        complain("interrupted; what is finished is kept")
        return Interrupted.exit_code
    except MegtrimError as error:
        complain(str(error))
        return error.exit_code
    except Exception as error:
        if found := _describe_file_name(error):
            complain(f"{found}\n  name another file or folder")
            return InputError.exit_code
        return _bug(arguments)
    return result if isinstance(result, int) else 0


def _describe_file_name(error: Exception) -> str:
    """Return what is wrong with a name that no system has a file by; empty for other errors."""
    if isinstance(error, OSError) and error.errno in NO_NAMES:
        shown = ascii(str(error.filename or ""))[:_LONGEST_NAME]
        return f"{shown}: {error.strerror}, expected the name of a file or folder"
    if isinstance(error, ValueError) and "null byte" in str(error):
        return "found a NUL byte in a name, expected the name of a file or folder"
    if isinstance(error, RuntimeError) and "Symlink loop" in str(error):
        return f"{error}, expected the name of a file or folder"
    if isinstance(error, UnicodeEncodeError):
        return f"found {ascii(error.object)[:_LONGEST_NAME]}, expected the name of a file or folder"
    return ""


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
        _CRASH_FILE.write_text("\n".join(lines), encoding="utf-8", errors="backslashreplace")
        complain(f"this is a bug in megtrim; please report {_CRASH_FILE}")
    except OSError:
        complain("this is a bug in megtrim; please report the lines above")
    return EXIT_BUG
