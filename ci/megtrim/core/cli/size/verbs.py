"""The verbs of ``megtrim size``: their options and help."""

from __future__ import annotations

import click

from megtrim.core.build_spec import Variant
from megtrim.core.cli.history_options import history_options, parse_day
from megtrim.core.cli.later import do_later
from megtrim.core.cli.options import (
    PATH,
    committed_option,
    common,
    examples,
    json_option,
    quick_option,
)
from megtrim.core.size.views import PriceKind, View

top_option = click.option(
    "--top",
    type=click.IntRange(1, 10_000),
    default=15,
    show_default=True,
    help="Number of rows in a table; all others share one row.",
)
deflate_option = click.option(
    "--deflate",
    is_flag=True,
    help="Also deflate the stripped file, as an app package stores it; takes some seconds.",
)


@examples(
    "megtrim size show app",
    "megtrim size show app --map app.map --by source --top 40",
    "megtrim size show app/libcodec.so --twin build/libcodec.so --json",
)
@click.command("show")
@click.argument("file", type=PATH)
@click.option("--map", "link_map", type=PATH, help="The linker's map, which names the sources.")
@click.option("--twin", type=PATH, help="The same file before it was stripped.")
@click.option(
    "--by",
    type=click.Choice([each.value for each in View]),
    multiple=True,
    help="Print a table by this; repeatable. Default: section, component and symbol.",
)
@top_option
@deflate_option
@json_option
@do_later("core.cli.size.show:show_file")
def show_file() -> None:
    """Show what each byte of a program, library or archive is.

    Every table adds up to the file: headers, padding, relocations, unwind tables and unexplained
    bytes have their own rows. The linker's map is the best source of names; without it, the symbols
    of the file or of its unstripped twin are used.
    """


@examples(
    "megtrim size diff before/app after/app",
    "megtrim size diff old.so new.so --map-a old.map --map-b new.map --top 40",
)
@click.command()
@click.argument("first", metavar="A", type=PATH)
@click.argument("second", metavar="B", type=PATH)
@click.option("--map-a", type=PATH, help="The linker's map of A.")
@click.option("--map-b", type=PATH, help="The linker's map of B.")
@click.option("--twin-a", type=PATH, help="A before it was stripped.")
@click.option("--twin-b", type=PATH, help="B before it was stripped.")
@top_option
@deflate_option
@json_option
@do_later("core.cli.size.show:diff")
def diff() -> None:
    """Show what grew and what shrank from file A to file B.

    The changes add up exactly. Instances of a template count together, so an instance that moved to
    another file or got other arguments is no change. If a symbol disappeared and another one of the
    same size appeared in the same component, it is shown as renamed.
    """


program_option = click.option(
    "--program", metavar="NAME", help="The program. Default: the first one that is trimmed."
)


@examples(
    "megtrim size why mgb::opr::Convolution::make",
    "megtrim size why kernels/fallback            a component",
    "megtrim size why libmegdnn.a                 an archive",
    "megtrim size why .rodata --top 30            a section",
    "megtrim size why megdnn_fp32_sgemv           a tag, or a region:"
    " 'megdnn_fp32_sgemv<-1290123641>'",
    "megtrim size why Convolution                 an operator",
    "megtrim size why main --file build/app --map build/app.map",
)
@click.command("why")
@common
@committed_option
@quick_option
@top_option
@program_option
@click.option(
    "--file", type=PATH, help="Look in this file, whatever built it; needs no configuration."
)
@click.option("--map", "link_map", type=PATH, help="The linker's map of that file.")
@json_option
@click.argument("thing")
@do_later("core.cli.size.why:why")
def why() -> None:
    """Show why THING is in the trimmed program, what it costs, and what would go with it.

    THING can be a function or variable, by its linkage name or as in the source; all overloads or
    instances of a template count as one. It can also be a component, an object or archive, or a
    section. You see the shortest chain of references to it from something that always stays, and if
    functions are trimmed, the rule that keeps it. If THING is the whole name of a region, a tag or
    an operator, you see the scenarios that ran it, or the models that have it.

    For a function that was left out or deferred, you see the size that it had before the trim, and
    the functions that would call it.

    For this, the trimmed program is linked once more, which takes seconds. If you ask about your
    own file, link it with `-Wl,--emit-relocs`.
    """


@examples(
    "megtrim size history --branch perf-history",
    "megtrim size history --branch perf-history --since 2026-10-01 --measure deflated",
    "megtrim size history --variant plain --json",
)
@click.command()
@history_options
@click.option(
    "--since", callback=parse_day, metavar="DATE", help="Only commits of this day and later."
)
@click.option(
    "--variant",
    default=Variant.REDUCED.value,
    show_default=True,
    type=click.Choice([each.value for each in Variant]),
    help="The build whose sizes are shown.",
)
@click.option(
    "--measure",
    default="",
    metavar="MEASURE",
    help="What is measured: unstripped, loaded, deflated, aar, 'section .text', "
    "'component kernels', 'model NAME'. [default: the stripped file]",
)
@click.option(
    "--last",
    type=click.IntRange(min=0),
    default=30,
    show_default=True,
    help="Commits that the table shows; 0 shows all. Totals always cover all commits.",
)
@json_option
@do_later("core.cli.size.history:history")
def history() -> None:
    """Print the size of each artifact at each commit, and what changed it most.

    The sizes come from the history, which is a folder or a branch. Each configuration has its own
    table. Budgets come from the configurations in the checkout, if it has them.
    """


@examples(
    "megtrim size prices",
    "megtrim size prices --by scenario",
    "megtrim size prices --by function --top 40",
)
@click.command("prices")
@common
@committed_option
@quick_option
@top_option
@click.option(
    "--by",
    type=click.Choice([kind.value for kind in PriceKind]),
    multiple=True,
    help="Print a table of these; repeatable. Default: model, operator and function.",
)
@program_option
@json_option
@do_later("core.cli.size.prices:prices")
def prices() -> None:
    """Show what each model, scenario, operator and function costs.

    The price of something is the number of bytes that would go from the trimmed program if it were
    removed and all others stayed. Code that several share is in the price of none of them. A model
    also has a size `alone`, that of a program trimmed only for it. Prices are found by following
    references, which takes seconds.

    For this, the trimmed program is linked once more, and so is the profile build, which shows
    where regions are. Without a profile build, no price includes the code of regions. A function is
    shown with its own bytes, and with all bytes that would go with it.
    """
