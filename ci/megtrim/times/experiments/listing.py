"""Experiments as text, for lists and for the page of the reference. Pure."""

from megtrim.core.own_program import find_program
from megtrim.core.timing.catalogue import list_experiments
from megtrim.core.timing.experiment import Backend, CacheUse, Effects, Experiment, ModelFile, Step
from megtrim.core.timing.spec import TimeStage
from megtrim.libs.programs.flags import Dialect
from megtrim.times.experiments.commands import (
    StepFiles,
    describe_needs,
    find_missing,
    make_commands,
)

_CACHES = {CacheUse.WRITES: "leave an algorithm cache", CacheUse.READS: "algorithms from the cache"}


def show_commands(
    experiment: Experiment, *, dialect: Dialect, backend: Backend, architecture: str | None
) -> tuple[tuple[str, ...], ...]:
    if find_missing(experiment, backend, dialect) is not None:
        return ()
    files = StepFiles(
        program=find_program().NAME,
        model="MODEL",
        dumped_model="DUMPED_MODEL",
        algo_cache="ALGO_CACHE",
    )
    made = make_commands(
        experiment, files, dialect=dialect, backend=backend, architecture=architecture
    )
    return tuple(each.argv for each in made)


def describe_step(step: Step) -> str:
    flags = ", ".join(f"--{flag.name.replace('_', '-')}" for flag in step.flags)
    on = "the dumped model" if step.model is ModelFile.DUMPED else "the model"
    parts = [f"run {on} with {flags}" if flags else f"run {on}"]
    if step.transforms:
        parts.append("choose layouts" + (", and dump the model" if step.dumps else ""))
    if step.in_place:
        parts.append("in the calling thread")
    if step.cache is not CacheUse.NONE:
        parts.append(_CACHES[step.cache])
    if step.warmups > 1:
        parts.append(f"{step.warmups} warm-ups")
    if step.measured:
        parts.append("measured")
    return "; ".join(parts)


def describe_effects(experiment: Experiment) -> str:
    usual = _describe(experiment.effects)
    if experiment.on_int8 is None:
        return usual
    return f"{usual}; for int8: {_describe(experiment.on_int8)}"


def _describe(effects: Effects) -> str:
    changed = effects.slower + effects.faster
    found = [
        f"{stage} {'slower' if stage in effects.slower else 'faster'}"
        for stage in TimeStage
        if stage in changed
    ]
    return ", ".join(found)


def render_reference() -> str:
    lines = [
        "| name | in the document | what | needs | changes | outputs |",
        "|---|---|---|---|---|---|",
    ]
    for experiment in list_experiments():
        within = experiment.tolerance
        outputs = f"{within.absolute:g} + {within.relative:g} of each"
        cells = (
            f"[`{experiment.name}`](#{experiment.name})",
            experiment.row,
            experiment.title,
            ", ".join(describe_needs(experiment)),
            describe_effects(experiment),
            "equal" if within.is_exact else outputs,
        )
        lines.append(f"| {' | '.join(cells)} |")
    for each in list_experiments():
        machine = (each.needs.architectures or ("x86_64",))[0]
        new, old = (
            "\n".join(
                " ".join(words)
                for words in show_commands(
                    each, dialect=dialect, backend=each.needs.backends[0], architecture=machine
                )
            )
            for dialect in find_program().DIALECTS
        )
        lines += ["", f"## {each.name}", "", "```text", new, "```"]
        if old != new:
            lines += ["", "Up to 1.6:", "", "```text", old, "```"]
    return "\n".join(lines) + "\n"
