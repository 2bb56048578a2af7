"""From options to a :class:`~megtrim.stages.context.Context`: here the doers are constructed."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import click

from megtrim import engines, toolchains
from megtrim.cli.device_orders import Around, device_orders, make, standing_for
from megtrim.cli.environment import open_processes
from megtrim.config.load import LoadedConfig, load_config
from megtrim.config.scenarios import all_scenarios
from megtrim.console import Console
from megtrim.devices import Device, qemu
from megtrim.engines import Engine
from megtrim.engines.builder import Builder
from megtrim.engines.sample import embedded
from megtrim.errors import InputError
from megtrim.evidence.given import read_traces
from megtrim.loadrun.arguments import check_arguments
from megtrim.process import Processes
from megtrim.recipe import Toolchain
from megtrim.stages import bundling, header
from megtrim.stages.context import Context
from megtrim.store import Store

DEFAULT_OUT = "megtrim-out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What every command that works on a configuration takes."""

    config: Path
    out: Path
    engine: Path | None
    jobs: int | None
    quiet: bool
    today: date | None = None
    committed: bool = False
    baseline: Path | None = None
    traces: tuple[Path, ...] = ()
    device: str | None = None
    """Name or kind of the device to use, in place of what stands for a class."""

    @property
    def results(self) -> Path:
        """The folder of results, spelled as compilers spell it in their records: without ``..``."""
        return self.out.resolve()


def today_option(help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return ``--today``, a day instead of the clock's."""
    return click.option(
        "--today",
        type=click.DateTime(["%Y-%m-%d"]),
        callback=lambda _context, _option, value: value.date() if value else None,
        help=help_text,
    )


committed_option = click.option(
    "--committed", is_flag=True, help="Use the committed keep set; trace nothing."
)


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that are the same everywhere."""
    path = click.Path(path_type=Path)
    for option in reversed(
        (
            click.option(
                *("--config", "-c"),
                type=path,
                default=Path("megtrim.yaml"),
                show_default=True,
                help="The configuration.",
            ),
            click.option(
                "--out",
                type=path,
                default=Path(DEFAULT_OUT),
                show_default=True,
                help="Where results go; the same folder makes the next run quick.",
            ),
            click.option("--engine", type=path, help="Engine checkout, instead of engine.source."),
            click.option("--jobs", "-j", type=click.IntRange(1, 1024), help="Parallel compilers."),
            click.option("--quiet", "-q", is_flag=True, help="Only warnings and results."),
            today_option("The day that waivers and proofs are judged against; else the clock's."),
        )
    ):
        command = option(command)
    return command


def trimming(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add :func:`common` options and those that say what a trim rests on."""
    baseline = click.option(
        "--baseline",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A sizes.json that growth is held against, instead of `baseline`.",
    )
    device = click.option(
        "--device",
        metavar="NAME|KIND",
        help="Run on this device, or on those of this kind, such as virtual-phone or qemu.",
    )
    return common(committed_option(baseline(device(command))))


def open_console(*, quiet: bool) -> Console:
    """Return the console of this process."""
    return Console(sys.stderr, quiet=quiet)


def open_context(options: Options, *, accept: bool = False) -> Context:
    """Load the configuration and construct everything that a trim needs."""
    console = open_console(quiet=options.quiet)
    loaded = load_config(options.config, engine_source=options.engine)
    for warning in loaded.warnings:
        console.warn(warning)
    processes = open_processes()
    engine = open_engine(loaded, processes)
    _check_arguments(loaded, engine)
    if options.committed:
        _check_committed(loaded)
        header.read_committed(loaded, engine)  # refused now, not after an hour of building
    emulated = qemu.program(processes) is not None
    toolchain = toolchains.find(loaded.config.toolchain.kind, processes, emulated=emulated)
    out = options.results
    jobs = options.jobs or loaded.config.toolchain.jobs or os.cpu_count() or 1
    context = Context(
        loaded=loaded,
        engine=engine,
        toolchain=toolchain,
        builder=Builder(engine.checkout, toolchain, processes, jobs=jobs),
        devices=_devices(loaded, toolchain, processes, options, console),
        store=Store(out, say=console.say),
        console=console,
        today=options.today or date.today(),
        accept=accept,
        committed=options.committed,
        baseline=options.baseline,
        asked_device=options.device or "",
        traced=read_traces(options.traces) if options.traces else {},
    )
    bundling.expect_packable(context)
    return context


def open_engine(loaded: LoadedConfig, processes: Processes) -> Engine:
    """Return the configured engine; the sample engine brings its own source."""
    config = loaded.config.engine
    source = embedded() if config.source is None else loaded.resolve(config.source)
    return engines.KINDS[config.kind](source, processes)


def describe(context: Context) -> None:
    """Say what is trimmed, with what, and where it runs."""
    identity = context.engine.identity()
    commit = f" at {identity.commit[:12]}" if identity.commit else ""
    context.console.say(f"engine     {identity.kind}{commit}, digest {identity.digest[:12]}")
    if identity.dirty:
        shown = ", ".join(identity.dirty[:3])
        more = f" and {len(identity.dirty) - 3} more" if len(identity.dirty) > 3 else ""
        context.console.warn(f"the engine's tree differs from its commit: {shown}{more}")
    toolchain = context.toolchain
    context.console.say(f"toolchain  {toolchain.kind} {toolchain.version} for {toolchain.target}")
    for name, device in sorted(context.devices.items()):
        facts = ", ".join(f"{label} {value}" for label, value in sorted(device.facts().items()))
        context.console.say(f"device     {device.name} ({device.kind}) for class {name}: {facts}")


def _check_arguments(loaded: LoadedConfig, engine: Engine) -> None:
    for each in all_scenarios(loaded.config):
        source = f"{loaded.path}:{loaded.line(*each.path)}: {each.id}"
        generation = engine.identity().generation
        check_arguments(each.settings.args, generation=generation, source=source)


def _check_committed(loaded: LoadedConfig) -> None:
    """Refuse a search: its result is timing, so a keep set of another search proves nothing."""
    for each in all_scenarios(loaded.config):
        if each.searches:
            where = f"{loaded.path}:{loaded.line(*each.path, 'fast_run')}"
            msg = f"{where}: {each.id} searches for algorithms, which --committed cannot repeat"
            raise InputError(
                msg,
                hint="record the cache: `megtrim trim` left algo.cache in its profile folder; "
                "commit it and name it as algo_cache",
            )


def _devices(
    loaded: LoadedConfig,
    toolchain: Toolchain,
    processes: Processes,
    options: Options,
    console: Console,
) -> dict[str, Device]:
    """Return what stands for each CPU class here."""
    around = Around(
        processes=processes,
        scratch=options.results / "runs",
        machine=toolchain.machine,
        sysroot=toolchain.sysroot,
        say=console.say,
    )
    made: dict[str, Device] = {}
    for name, entries in standing_for(loaded, options.device).items():
        orders = [order for _, order in device_orders(loaded, around, entries)]
        made[name] = make(entries[0].kind, orders, native=platform.machine())
    return made
