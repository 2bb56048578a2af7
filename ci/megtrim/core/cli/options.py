"""Options that several verbs take, each declared once; most of them travel as one value."""

import errno
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import click

from megtrim.core.checks.invocation import DEFAULT_OUT, Options
from megtrim.core.cli.environment import read_invocation
from megtrim.core.cli.later import call_later
from megtrim.core.config.config_id import DEFAULT_CONFIG, split
from megtrim.libs.util.errors import InputError, MegtrimError
from megtrim.libs.util.files import cannot_write

Command = Callable[..., Any]
C = TypeVar("C", bound=click.Command)

PATH = click.Path(path_type=Path)
_MISTAKES = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG}
)
"""Errors that the given name causes; others are the machine's."""
_CIRCLE = "links that lead in a circle"
_FIELDS = frozenset(field.name for field in fields(Options))


class _Folder(click.Path):
    """A path, but not an empty one, which would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("found nothing, expected a folder", param, ctx)
        return super().convert(value, param, ctx)


def examples(*calls: str, more: str = "") -> Callable[[C], C]:
    """Let the help of a command end with examples of it."""

    def decorate(command: C) -> C:
        lines = (f"  {call}\n" for call in calls)
        title = "Examples" if len(calls) > 1 else "Example"
        command.epilog = f"\b\n{title}:\n{''.join(lines)}{more}"
        return command

    return decorate


def outputs(**meanings: str) -> str:
    """Return what the help of a verb says of the outputs of its step."""
    width = max(map(len, meanings))
    lines = (f"  {name.replace('_', '-'):{width}}  {text}\n" for name, text in meanings.items())
    title = "Outputs" if len(meanings) > 1 else "Output"
    return f"\n\b\n{title} of the step:\n{''.join(lines)}"


def needs_token(permissions: str) -> str:
    """Return what the help of a verb says of its environment, such as ``contents: write``."""
    return (
        "\nFrom the environment: GITHUB_EVENT_PATH and the runner's other variables, and "
        f"GITHUB_TOKEN, which needs `permissions: {permissions}`.\n"
    )


def config_path_option(note: str = "") -> Callable[[Command], Command]:
    text = "; ".join(filter(None, ("The configuration, from the top of the repository", note)))
    return click.option(
        "--config",
        "-c",
        default=DEFAULT_CONFIG,
        show_default=True,
        # Another spelling would be another name of a comment or an artifact.
        callback=lambda _context, _option, path: path and str(PurePosixPath(path)),
        help=f"{text}.",
    )


def out_option(help_text: str) -> Callable[[Command], Command]:
    return click.option(
        "--out",
        type=_Folder(path_type=Path),
        default=Path(DEFAULT_OUT),
        show_default=True,
        help=help_text,
    )


config_option = click.option(
    "--config",
    "-c",
    type=PATH,
    default=Path(DEFAULT_CONFIG),
    show_default=True,
    help="The configuration; FILE#TOOLCHAIN chooses one of several toolchains.",
)
engine_option = click.option(
    "--engine", type=PATH, help="Engine checkout to use instead of engine.source."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Print only warnings and results.")
to_option = click.option(
    "--to", type=PATH, required=True, metavar="DIR", help="Folder to write to: new or empty."
)
artifact_option = click.option(
    "--artifact", default="", help="Artifact of the run that contains the report."
)
again_option = click.option(
    "--again", is_flag=True, help="Run this stage again, even if its results are up to date."
)
accept_option = click.option(
    "--accept", is_flag=True, help="Update the committed keep set, even if a trace shrank."
)
committed_option = click.option(
    "--committed", is_flag=True, help="Use the committed keep set, and trace nothing."
)
quick_option = click.option(
    "--quick",
    is_flag=True,
    help="Trim by functions, from the plain build only, without a profile build; nothing is "
    "compiled again.",
)
neighbours_option = click.option(
    "--neighbours",
    is_flag=True,
    help="Also run neighbours of each scenario: other iterations, threads, flags and so on.",
)
device_option = click.option(
    "--device",
    metavar="NAME|KIND",
    help="Run on this device, or on devices of this kind, such as virtual-phone or qemu.",
)
traces_option = click.option(
    "--traces",
    type=PATH,
    multiple=True,
    metavar="DIR",
    help="Evidence with traces or functions from device jobs, to use as it is; repeatable.",
)
_REACHED = "Keep the deferred functions that this record names, and show their bytes; repeatable."
reached_option = click.option("--reached", type=PATH, multiple=True, metavar="FILE", help=_REACHED)
_RELEASE = "Look up the crash in this release, a folder or .tar.gz, instead of the results."
_RELEASES = "The record has lines of this release, a folder or .tar.gz; repeatable."
releases_option = click.option(
    "--release", "of_releases", type=PATH, multiple=True, metavar="RELEASE", help=_RELEASES
)
release_option = click.option(
    "--release", "of_release", type=PATH, metavar="RELEASE", help=_RELEASE
)
_BASE = (
    click.option(
        "--base",
        envvar="MEGTRIM_BASE",
        type=PATH,
        metavar="DIR",
        help="Folder of results of an earlier commit. Times are compared with its plain "
        "program, if it has one. If the baseline has work and memory under other "
        "conditions, its programs are measured again.",
    ),
    click.option(
        "--base-name",
        default="",
        metavar="TEXT",
        help="Name of --base in reports, such as its commit.",
    ),
)
_COMMON = (
    config_option,
    out_option("Folder of results; with the same folder, the next run repeats only what changed."),
    click.option(
        "--reuse",
        type=PATH,
        metavar="DIR",
        help="Folder of results of an earlier run; results with equal inputs are copied.",
    ),
    engine_option,
    click.option(
        "--jobs", "-j", type=click.IntRange(1, 1024), help="How many compilers run in parallel."
    ),
    quiet_option,
    click.option(
        "--image",
        envvar="MEGTRIM_IMAGE",
        metavar="NAME",
        help="Image with the toolchain, to use instead of toolchain.image.",
    ),
    click.option(
        "--no-docker",
        is_flag=True,
        help="Use this machine's compilers, even if an image is configured.",
    ),
)
_RUNNING = (committed_option, quick_option, device_option)
_TRIMMING = (
    click.option(
        "--baseline",
        type=PATH,
        metavar="FILE",
        help="A sizes.json to measure growth against, instead of `baseline`.",
    ),
    click.option(
        "--against",
        metavar="REV",
        help="Measure growth against the sizes of this commit, or of the commit at which you "
        "left this branch: its committed `baseline`, a trim of it that passed here, or "
        "the sizes that its check on GitHub stored (needs GITHUB_TOKEN).",
    ),
    click.option(
        "--require-baseline",
        is_flag=True,
        help="Refuse to trim if there are no sizes that growth can be measured against.",
    ),
)


def add_options(command: Command, *options: Callable[[Command], Command]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def base_options(command: Command) -> Command:
    return add_options(command, *_BASE)


def common(command: Command) -> Command:
    @wraps(command)
    def call_with_options(**values: Any) -> Any:
        own = {name: values.pop(name) for name in (*values,) if name in _FIELDS}
        _, toolchain = split(str(own["config"]))
        if toolchain and str(own["out"]) == DEFAULT_OUT:
            own["out"] /= toolchain
        options = Options(**own)
        try:
            return command(options, **values)
        except MegtrimError as error:
            error.complete(read_invocation(options).place)
            raise

    return add_options(call_with_options, *_COMMON)


def running(command: Command) -> Command:
    return common(add_options(command, *_RUNNING))


def trimming(command: Command) -> Command:
    return running(add_options(command, *_TRIMMING))


def each_toolchain(
    summarize: Callable[[Mapping[str, Path | None]], str] | None = None,
) -> Callable[[Command], Command]:
    """Let a command without a choice of a toolchain do its work for each; it ends with the worst.

    A mistake in the file is reported for all at once, before anything else. ``summarize`` takes the
    folder of results of each toolchain, None for one that an error ended, whose results are those
    of an earlier run; it returns what is printed last.
    """
    do_for_each = call_later("core.cli.session.each_toolchain:do_for_each")

    def decorate(command: Command) -> Command:
        @wraps(command)
        def work(**values: Any) -> Any:
            return do_for_each(command, summarize, values)

        return work

    return decorate


def expect_writable(out: Path) -> None:
    """Refuse a folder that results cannot go to; nothing is left there. Raises InputError.

    It tries to write where the folder is or will be: permissions do not show everything, and a
    full disk is no mistake of the user.
    """
    try:
        whole = out.resolve()
        ways = (whole, *whole.parents)
        # Later Pythons leave a circle as it is, where older ones raise.
        if any(way.is_symlink() for way in ways):
            raise RuntimeError
        nearest = next(way for way in ways if way.exists())
        with TemporaryDirectory(prefix=".megtrim-", dir=nearest):
            return
    except RuntimeError:
        found = _CIRCLE
    except OSError as error:
        if error.errno not in _MISTAKES:
            raise cannot_write(out, error) from None
        found = error.strerror or str(error)
    msg = f"--out {out}: nothing can be written there: {found}"
    raise InputError(msg, hint="name a folder that can be written or made")
