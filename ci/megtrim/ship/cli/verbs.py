"""``megtrim explain``, ``export`` and the verbs of ``release``: their options and help."""

from __future__ import annotations

import re

import click

from megtrim.core.cli.later import call_later, do_later
from megtrim.core.cli.options import (
    PATH,
    common,
    device_option,
    each_toolchain,
    examples,
    json_option,
    release_option,
    trimming,
)


class FlagLookup(click.Command):
    """A command whose argument may be a flag of another program, such as ``-DNAME=VALUE``.

    click would look for options of one letter in it, and find ``-h`` in any that holds an h.
    """

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        names = [name for option in self.get_params(context) for name in option.opts]
        own = {name[1] for name in names if len(name) == 2}
        foreign = [word for word in args if re.match(r"-[^-].", word) and word[1] not in own]
        if "--" not in args:
            args = [*(word for word in args if word not in foreign), "--", *foreign]
        return super().parse_args(context, args)


@examples(
    "megtrim explain verdict",
    "megtrim explain MT0304                        the code of an error",
    "megtrim explain resnet50                      a model: its scenarios and their regions",
    "megtrim explain resnet50/default@any          a scenario",
    "megtrim explain megdnn_fp32_sgemv             a tag",
    "megtrim explain 'megdnn_fp32_sgemv<-1290123641>'",
    "megtrim explain my::session::run              a function: kept, left out, or not there",
    "megtrim explain 'midout: 110 items written'    a line, flag or command of its documents",
    "megtrim explain --crash tombstone_04          what a crash in the field needed",
    "megtrim explain --address 0x1a2b4",
    "megtrim explain --crash tombstone_04 --release camera-1.4.tar.gz",
)
@click.command(cls=FlagLookup, context_settings={"ignore_unknown_options": True})
@common
@json_option
@click.option(
    "--crash",
    type=PATH,
    metavar="FILE",
    help="Look up a crash: a tombstone, lines of logcat, or the output of a crash reporter or "
    "debugger.",
)
@click.option("--address", metavar="0x…", help="Look up an address of the trimmed program.")
@release_option
@click.argument("thing", required=False)
@do_later("ship.cli.explain:explain")
def explain() -> None:
    """Show which scenarios need THING, by which trace, and where it is in the engine's source.

    THING is `verdict`, the code of an error, a line, flag or command of the engine's documents, or
    a model, scenario, tag, region or function of the committed keep set. For any other function,
    you see whether the newest trim contains it, by which rule, and which functions would call it if
    it was left out. Instead of THING, you can look up a crash, either in the newest trim of the
    folder of results or in a release. With a release, you need neither results nor configuration
    nor engine.
    """


@examples(
    "megtrim export trimmed",
    "megtrim export trimmed --committed",
    "megtrim export trimmed --config megtrim.yaml#android-arm64",
)
@click.command()
@each_toolchain(call_later("ship.cli.release:join_toolchains"))
@trimming
@click.argument("folder", type=PATH, callback=call_later("ship.cli.release:expect_new_path"))
@do_later("ship.cli.release:export")
def export() -> None:
    """Trim, and write programs, libraries, headers and a CMake package to FOLDER.

    Next to them are the keep set, the configuration, licences, sizes, the report, and a README that
    lists what it can run. Nothing is written if the verdict is a failure.

    If the configuration has several toolchains, each gets its own folder in FOLDER. The shared
    libraries for Android are joined in FOLDER/MegEngineTrimmed.aar.
    """


@examples(
    "megtrim release build camera-1.4",
    "megtrim release build camera-1.4.tar.gz --committed",
    "megtrim release build draft --committed --draft",
)
@click.command()
@trimming
@click.argument("release", type=PATH, callback=call_later("ship.cli.release:expect_new_path"))
@click.option(
    "--draft",
    is_flag=True,
    help="Write a draft that devices elsewhere have to prove; `megtrim release prove` makes it"
    " a release.",
)
@do_later("ship.cli.release:build")
def build() -> None:
    """Trim, and write a RELEASE: the export, its bill of materials and provenance, and SHA256SUMS.

    It is a folder, or one file if its name ends with .tar.gz. Equal inputs give equal bytes, in
    any folder. Nothing is written unless every scenario passed.
    """


@examples(
    "megtrim release prove draft camera-1.4 --verdict report/verdict.json"
    " --proofs report/evidence.json",
    "megtrim release prove draft camera-1.4.tar.gz --verdict report/verdict.json"
    " --again other-draft",
)
@click.command()
@click.argument("draft", type=PATH)
@click.argument("release", type=PATH)
@click.option(
    "--verdict",
    type=PATH,
    required=True,
    metavar="FILE",
    help="The verdict that `megtrim ci evidence join` wrote.",
)
@click.option("--proofs", type=PATH, metavar="FILE", help="The evidence.json that it wrote.")
@click.option(
    "--again",
    type=PATH,
    metavar="FOLDER",
    help="A draft that was built from the same inputs elsewhere; it must be equal.",
)
@do_later("ship.cli.release:prove")
def prove() -> None:
    """Make DRAFT a release, with the evidence of devices elsewhere.

    Nothing is written unless the draft is complete and equal to the one that was built again, and
    every scenario passed on exactly its programs.
    """


@examples(
    "megtrim release aar MegEngineTrimmed.aar camera-1.4-arm64.tar.gz camera-1.4-armv7.tar.gz",
)
@click.command()
@click.argument("file", type=PATH, callback=call_later("ship.cli.release:expect_new_path"))
@click.argument("releases", type=PATH, nargs=-1, required=True)
@do_later("ship.cli.release:aar")
def aar() -> None:
    """Write one AAR with the libraries of several RELEASES, each of another ABI.

    The releases are folders or .tar.gz files. They are verified first, and must come from one
    engine. Equal releases give equal bytes, so anyone who has them can check the AAR by making it
    again.
    """


def _read_digest(_context: click.Context, _option: click.Parameter, given: str | None) -> str:
    """Return the digest in small letters. An empty one, as of an unset variable, is a mistake."""
    if given is None:
        return ""
    if not re.fullmatch(r"[0-9a-f]{64}", digest := given.lower()):
        msg = f"found {given!r:.80}, expected the 64 hex digits of a sha256"
        raise click.BadParameter(msg)
    return digest


@examples(
    "megtrim release verify camera-1.4.tar.gz",
    "megtrim release verify camera-1.4 --model models/scene.mge",
    "megtrim release verify camera-1.4.tar.gz --file app/lib/arm64-v8a/liblite_shared.so",
    "megtrim release verify camera-1.4 --rebuild --engine ../MegEngine",
    "megtrim release verify camera-1.4 --rebuild --device virtual-phone",
)
@click.command()
@common
@device_option
@click.argument("release", type=PATH)
@click.option(
    "--sha256",
    callback=_read_digest,
    metavar="DIGEST",
    help="The sha256 of its SHA256SUMS, as its makers published it.",
)
@click.option("--model", type=PATH, metavar="FILE", help="A model that it must be able to run.")
@click.option(
    "--file",
    "files",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="A file from a package; print which file of the release it is.",
)
@click.option(
    "--rebuild",
    is_flag=True,
    help="Build it again here, by the configuration and the keep set, and compare every file.",
)
@do_later("ship.cli.release:verify")
def verify() -> None:
    """Check offline that the RELEASE, a folder or .tar.gz, is complete, unchanged and proven.

    Files that are damaged, missing, added, renamed or of another release are named, and so is each
    file that cannot be compared completely. Without --sha256, a release that someone forged
    completely looks like any other.

    --file proves a file that has the same bytes as a program, library or companion file of the
    release. If it was stripped since, megtrim compares its loaded parts, and reports that it was
    stripped after the release.

    With --rebuild, the release is built again from nothing and run, as `megtrim release build`
    does, in the folder rebuilt of the results. Every file must have the same bytes, and there may
    be no other file. --device names another device to run it on. The other options are for that
    build.
    """


@examples(
    "megtrim release patch camera-1.4.1.tar.gz --crash tombstone_04 --release camera-1.4.tar.gz",
    "megtrim release patch camera-1.4.1 --crash tombstone_04 --release camera-1.4 --committed",
)
@click.command()
@trimming
@click.argument("new", type=PATH)
@click.option(
    "--crash",
    type=PATH,
    required=True,
    metavar="FILE",
    help="The report of the crash, as users sent it.",
)
@click.option(
    "--release",
    type=PATH,
    required=True,
    metavar="RELEASE",
    help="The release that crashed, a folder or .tar.gz.",
)
@do_later("ship.cli.patch:patch")
def patch() -> None:
    """Write a NEW release that keeps what a crash of RELEASE needed.

    Call it in the project that RELEASE was made from. The report names the functions that trimming
    left out. megtrim keeps them, links the programs again, proves every scenario again, and states
    in NEW what changed, and why. Results that are still in the folder of results are used again.

    Nothing is built unless the report is of exactly this release and names the functions for
    certain. Nothing is written unless every scenario passed.
    """
