"""The verbs of a trim: their options and help. Their work is imported when they are called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from megtrim.core.chain.filenames import REPORT_FORMS
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.later import call_later, do_later
from megtrim.core.cli.options import (
    PATH,
    Command,
    accept_option,
    add_options,
    again_option,
    base_options,
    config_option,
    each_toolchain,
    engine_option,
    examples,
    json_option,
    neighbours_option,
    out_option,
    quiet_option,
    reached_option,
    releases_option,
    running,
    traces_option,
    trimming,
)
from megtrim.libs.util.errors import InputError


@examples("megtrim check", "megtrim check --config android.yaml --engine ../MegEngine")
@click.command()
@each_toolchain()
@config_option
@engine_option
@do_later("core.cli.check:check")
def check() -> None:
    """Check the configuration and all files that it names: models, inputs, keep set, options.

    Needs no compiler and no device, and builds nothing. Prints `fine`, or everything that is wrong.
    This includes the reasons for which a pull request would fail: the keep set is missing or
    belongs to something else, or a waiver has expired.
    """


@click.group()
def model() -> None:
    """Show what model files contain."""


@examples("megtrim model show models/resnet50.mge")
@model.command("show")
@click.argument("file", type=PATH)
@json_option
@do_later("core.cli.model:show_model")
def show_model() -> None:
    """Print a model's hashes, inputs, outputs, data types and operators."""


def _read_inputs(
    _ctx: click.Context, _param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, Path]:
    files = {}
    for text in texts:
        name, _, path = text.partition("=")
        if not (name and path):
            msg = f"--input: found {text!r}, expected NAME=FILE"
            raise InputError(msg, hint="for example --input data=inputs/cat.npy")
        files[name] = Path(path)
    return files


@examples(
    "megtrim probe models/other.mge -- --cpu --enable-nchw44",
    "megtrim probe resnet50 --input data=inputs/cat.npy -- --cpu --iter 3",
    "megtrim probe resnet50 --application classify -- {model} --top 5",
    "megtrim probe resnet50 --record gaps.txt -- --cpu --iter 3",
)
@click.command()
@running
@json_option
@click.option(
    "--input",
    "inputs",
    multiple=True,
    callback=_read_inputs,
    metavar="NAME=FILE",
    help="An input; repeatable.",
)
@click.option(
    "--application", metavar="NAME", help="Application to run, instead of the engine's program."
)
@click.option(
    "--record",
    type=PATH,
    metavar="FILE",
    help="Run it with its companion file, and append the deferred functions that it calls to FILE, "
    "for `megtrim trim --reached FILE`.",
)
@click.argument("model")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="-- ARGUMENT...")
@do_later("core.cli.probe:probe")
def probe() -> None:
    """Run MODEL with any arguments on the reduced build.

    MODEL is the name of a model in the configuration, or a file; without models, it is a program.
    The run need not be a scenario. If it traps, the missing regions or functions are named, and the
    exit status is 1.

    With --record, it runs once, to its end, and FILE gets its command line and every deferred
    function that it calls. Repeat this with other runs and the same FILE to find all gaps at once.
    """


def _command(
    about: str, verb: str, *own: Callable[[Command], Command], calls: tuple[str, ...] = ()
) -> click.Command:
    """Return the verb of a stage, whose name is the last word of ``verb``."""
    stage = verb.rsplit(maxsplit=1)[-1]
    call = f"megtrim {verb} --accept" if accept_option in own else f"megtrim {verb}"
    configured = f"{call} --config examples/megengine-linux-arm64.yaml --engine ../MegEngine"
    execute = call_later("core.cli.stage:execute_named")

    def command(options: Options) -> Any:
        return execute(options, stage)

    with_options = trimming(add_options(command, json_option, again_option, *own))
    command_of_stage = click.command(stage, help=about)(each_toolchain()(with_options))
    return examples(call, configured, *calls)(command_of_stage)


build = _command("Build the plain and the profile variant of the engine.", "stage build")
profile = _command(
    "Run every scenario on the profile build and collect its trace.", "stage profile"
)
header = _command(
    "Merge the traces and the operator JSON into the keep set and the header.",
    "stage header",
    accept_option,
)
reduce = _command("Build the engine with only what the keep set names.", "stage reduce")
functions = _command(
    "Record which functions run, for trim.level: function.", "stage functions", accept_option
)
size = _command("Measure the artifacts and compare them with their budgets.", "size")
verdict = _command("Combine sizes, traps and parity into one verdict.", "stage verdict")
_form_option = click.option(
    "--format", "form", type=click.Choice([*REPORT_FORMS]), help="Print the report in this format."
)
_to_junit = "megtrim report --format junit > junit.xml"
report = _command(
    "Write the verdict as JUnit, Markdown and HTML.", "report", _form_option, calls=(_to_junit,)
)


@examples(
    "megtrim verify",
    "megtrim verify --scenario resnet50/default@any --again",
    "megtrim verify --neighbours",
)
@click.command()
@each_toolchain()
@trimming
@neighbours_option
@json_option
@again_option
@click.option("--scenario", metavar="ID", help="Verify only this scenario: MODEL/SCENARIO@CLASS.")
@do_later("core.cli.stage:verify")
def verify() -> None:
    """Run every scenario on the reduced build and compare its outputs with the plain build.

    With --neighbours, also run variations of each scenario, and show how many still work.
    """


@examples("megtrim plan", "megtrim plan --why")
@click.command()
@each_toolchain()
@trimming
@traces_option
@base_options
@click.option("--why", is_flag=True, help="Show what changed since the last result.")
@json_option
@do_later("core.cli.stage:plan")
def plan() -> None:
    """Show which tasks would run and which are up to date. Nothing is built or run."""


@examples(
    "megtrim trim",
    "megtrim trim models/resnet50.mge --engine ../MegEngine",
    "megtrim trim --config examples/megengine-linux-arm64.yaml --engine ../MegEngine",
    "megtrim trim --quick",
    "megtrim trim --committed --no-gate",
    "megtrim trim --reached field.txt --release camera-1.3.tar.gz --release camera-1.4.tar.gz",
)
@click.command()
@each_toolchain(call_later("core.cli.trim:summarize"))
@trimming
@neighbours_option
@json_option
@accept_option
@click.option("--no-gate", is_flag=True, help="Exit with 0 if there is a verdict, whatever it is.")
@traces_option
@reached_option
@releases_option
@base_options
@click.argument("models", nargs=-1, type=PATH)
@do_later("core.cli.trim:trim")
def trim() -> None:
    """Run all stages: build, profile, reduce, verify, measure, report.

    Give MODELS the first time: if there is no configuration, one is written for them, as `megtrim
    init` does. After that, they must be models of the configuration.

    Results that are up to date are used again; an interrupted run continues where it ended.
    """


_OPTIONS = ("out", "jobs", "quiet", "quick", "device", "as_json")


@examples("megtrim demo", "megtrim demo --out /tmp/demo --device virtual-phone")
@click.command(params=[option for option in trim.params if option.name in _OPTIONS])
@click.pass_context
@do_later("core.cli.demo:demo")
def demo() -> None:
    """Trim the small engine that comes with megtrim, and show how small it gets.

    You need no checkout and no configuration. It builds with zig, or otherwise with this machine's
    compiler. The report is megtrim-out/final/index.html. A second run repeats only what changed.
    """


@examples("megtrim doctor")
@click.command()
@config_option
@json_option
@do_later("core.cli.doctor:doctor")
def doctor() -> None:
    """Show what this machine has, what is missing, and how to get it.

    If there is a configuration, the things that it needs are listed separately. Without one, you
    need a toolchain that can build an engine. Exits with 2 if something that you need is missing.
    """


@examples(
    "megtrim init models/resnet50.mge",
    "megtrim init --config trim/megtrim.yaml models/*.mge --engine ../MegEngine",
    "megtrim init models/resnet50.mge --github --kit OWNER/REPO",
    "megtrim init --github --kit OWNER/REPO --kit-version v1.2.3 --kit-sha SHA",
    "megtrim init --github --release",
    "megtrim init --github --upgrade",
    "megtrim init models/resnet50.mge --gitlab --kit OWNER/REPO",
    "megtrim init --add models/mobilenet.mge",
    "megtrim init --cmake ../zstd --target zstd",
    "megtrim init --cmake ../zstd --target zstd -- -q -3 data.bin -o {outputs}/data.zst",
    "megtrim init --record -- make -j4",
    "megtrim init --record --target libpng16.so.16 -- ./configure --then make -j4",
)
@click.command()
@click.argument("words", nargs=-1, metavar="[MODELS]...")
@click.option(
    "--config",
    "-c",
    type=PATH,
    default=Path("megtrim.yaml"),
    show_default=True,
    help="The file to write; it must not exist.",
)
@click.option(
    "--engine",
    type=PATH,
    help="Checkout of the engine. Default: one in, next to or above the configuration's folder.",
)
@click.option(
    "--cmake",
    type=PATH,
    help="Instead of MODELS: a CMake project, whose --target is trimmed.",
)
@click.option(
    "--target", default="", help="With --cmake or --record: the program or library to trim."
)
@click.option(
    "--github",
    is_flag=True,
    help="Write the workflows that call the kit, for MODELS or for an existing configuration.",
)
@click.option(
    "--release",
    is_flag=True,
    help="With --github: also write the workflow that makes a release of each tag.",
)
@click.option(
    "--gitlab", is_flag=True, help="Write .gitlab-ci.yml with the job that checks merge requests."
)
@click.option(
    "--upgrade",
    is_flag=True,
    help="With --github: replace existing workflows with those of the newest version.",
)
@click.option(
    "--kit",
    default="",
    help="The kit's repository, OWNER/REPO or its URL. Default: the one that workflows call.",
)
@click.option(
    "--kit-version",
    default="",
    help="Its tag, such as v1.2.3. Default: the one that workflows call, or else the newest.",
)
@click.option("--kit-sha", default="", help="The commit that this tag must point to.")
@click.option("--branch", help="Default branch of your repository. Default: the one git knows.")
@click.option(
    "--record",
    is_flag=True,
    help="Build any project once by the command after --, and write a configuration for it.",
)
@click.option(
    "--add", is_flag=True, help="Add MODELS to an existing configuration, as separate files."
)
@do_later("core.cli.init:init")
def init() -> None:
    """Write a commented starter configuration for MODELS, and inputs next to them.

    The inputs have the names, types and shapes from the model's file, and varying numbers: replace
    them with real inputs when you have some. The engine is the one that runs models of this kind.
    If one of the files cannot be written, none is.

    With --cmake, words after -- are the arguments of a first command of the project's program;
    words that are files become its inputs. With --record, words after -- are the command that
    builds the project in this folder, or in the folder of --engine. megtrim runs it once, in a
    copy, and records how it compiles and links.
    """


@examples(
    "megtrim clean --dry-run",
    "megtrim clean",
    "megtrim clean --out /tmp/demo --all",
)
@click.command()
@out_option("The folder of results.")
@click.option("--all", "everything", is_flag=True, help="Remove everything that megtrim wrote.")
@click.option("--dry-run", "-n", is_flag=True, help="Only show what would be removed.")
@quiet_option
@do_later("core.cli.clean:clean")
def clean() -> None:
    """Remove results that the next run does not need, and show them with their bytes.

    This removes build trees, and all results of each task except the one that the last run used.
    The next run of the same configuration is still up to date, but once it has to compile, it
    compiles everything. Files that megtrim did not make stay; its own folders have a marker.
    """
