"""Stage `verdict`: what all stages saw, joined into ``verdict.json``.

Failures enter as well as results: a scenario that a dead device could not run is there, with
the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from megtrim.config.scenarios import all_scenarios
from megtrim.errors import InfrastructureFailure
from megtrim.pipeline.building import links
from megtrim.pipeline.building.programs import warn_unweighed
from megtrim.pipeline.committed_keepset import keep_set_checks
from megtrim.pipeline.filenames import VERDICT_FILE
from megtrim.pipeline.result_content import content_of, failure_content
from megtrim.pipeline.session import Context
from megtrim.pipeline.summary.keepset_usage import (
    functions_use,
    operators_use,
    rebuild,
    regions_use,
    trim_choice,
)
from megtrim.pipeline.summary.last_proof import find_expired, last_proofs
from megtrim.pipeline.summary.neighbours import neighbour_checks, neighbour_results
from megtrim.pipeline.summary.scenario_results import scenario_results
from megtrim.pipeline.summary.sizes import artifact_sizes, baseline_text, budget_rows, switch_sizes
from megtrim.plan.graph import (
    FUNCTIONS,
    HEADER,
    LINKED,
    PLAIN,
    PROFILE,
    REDUCED,
    REGION,
    Task,
    verb_of,
    verify_task,
)
from megtrim.size.budgets import ending
from megtrim.store import sha256_file
from megtrim.verdict.document import dump
from megtrim.verdict.join import VerdictInputs, exit_code, join
from megtrim.verdict.model import (
    Check,
    CheckKind,
    CheckStatus,
    DeviceIdentity,
    ToolchainIdentity,
    to_json,
)

_STAGE_CHECKS = {
    PLAIN: CheckKind.BUILD,
    PROFILE: CheckKind.BUILD,
    HEADER: CheckKind.HEADER,
    REGION: CheckKind.REDUCE,
    LINKED: CheckKind.REDUCE,
    FUNCTIONS: CheckKind.HEADER,
    REDUCED: CheckKind.REDUCE,
}


def inputs(task: Task, context: Context) -> dict[str, str]:
    """Name what every task found, or how it failed, and all that is told beside that."""
    config, toolchain = context.loaded.config, context.toolchain
    identity = context.engine.identity()
    named = {
        "project": context.loaded.folder.name,
        "config file": context.loaded.path.name,
        "config": context.loaded.sha256,
        "engine": identity.digest,
        "commit": identity.commit,
        "dirty": " ".join(identity.dirty),
        "keep set": "committed" if context.committed else "quick" if context.quick else "traced",
        "invocation": dump(context.invocation),
        **{f"toolchain {label}": value for label, value in toolchain.identity().items()},
    }
    for name, device in context.devices.items():
        told = {"name": device.name, "kind": device.kind, "facts": device.facts()}
        named[f"device of {name}"] = json.dumps(told, sort_keys=True)
    for wanted in task.wants:
        if wanted in context.done:
            named[wanted] = content_of(context.done[wanted])
        elif wanted in context.failed:
            named[wanted] = failure_content(context.failed[wanted])
        else:
            named[wanted] = "not reached"
    committed = context.path(config.keep_set)
    if not (context.committed or context.quick) and committed.is_file():
        named["committed keep set"] = sha256_file(committed)
    if config.waivers:
        named["today"] = context.today.isoformat()  # people are told before one lapses
    for scenario, proof in last_proofs(context).items():
        if proof is not None:
            named[f"last proof of {scenario}"] = repr(proof)
    return named


def work(task: Task, context: Context, folder: Path) -> dict[str, Any]:
    """Join, write ``verdict.json``, say what the exit status is."""
    config = context.loaded.config
    toolchain = context.toolchain
    proofs = last_proofs(context)
    lines = {e.id: context.loaded.line(*e.path) for e in all_scenarios(config)}
    lines |= {b.artifact: context.loaded.line("budgets", i) for i, b in enumerate(config.budgets)}
    verdict = join(
        VerdictInputs(
            project=context.loaded.folder.name,
            config=context.loaded.path.name,
            lines=lines,
            engine=context.engine.identity(),
            toolchain=ToolchainIdentity(
                kind=toolchain.kind,
                target=toolchain.target,
                version=toolchain.version,
                image=toolchain.image,
            ),
            devices=_devices(context),
            trim=trim_choice(context),
            artifacts=artifact_sizes(context),
            regions=regions_use(task, context),
            operators=operators_use(context),
            scenarios=scenario_results(context, proofs),
            expired=find_expired(proofs, allowed_s=config.verify.max_age_s),
            budgets=budget_rows(context),
            baseline=baseline_text(context),
            switches=switch_sizes(context),
            functions=functions_use(context),
            rebuild=rebuild(context),
            neighbours=neighbour_results(context),
            checks=(
                *_stage_checks(task, context),
                *keep_set_checks(context),
                *neighbour_checks(context),
            ),
            warnings=_warnings(context),
            invocation=context.invocation,
        )
    )
    (folder / VERDICT_FILE).write_text(to_json(verdict), encoding="utf-8")
    return {"verdict": verdict.verdict, "exit code": exit_code(verdict)}


def _devices(context: Context) -> tuple[DeviceIdentity, ...]:
    """Return the machines that ran something, and for a class without any what stands for it."""
    found: dict[str, DeviceIdentity] = {}
    for each in all_scenarios(context.loaded.config):
        device = context.devices.get(each.cpu_class.name)
        done = context.done.get(verify_task(each))
        if done is not None:
            told = DeviceIdentity(**done.result["device"])
        elif device is not None:
            told = DeviceIdentity(name=device.name, kind=device.kind, facts=device.facts())
        else:
            continue
        found.setdefault(told.name, told)
    return tuple(found[name] for name in sorted(found))


def _stage_checks(judged: Task, context: Context) -> Iterator[Check]:
    """Yield a check for each stage that is no scenario and no budget."""
    for task, kind in _STAGE_CHECKS.items():
        if task not in judged.wants:
            continue
        done, failure = context.done.get(task), context.failed.get(task)
        if done is None and failure is None:
            continue
        infrastructure = isinstance(failure, InfrastructureFailure)
        bad = CheckStatus.INFRASTRUCTURE if infrastructure else CheckStatus.FAIL
        yield Check(
            id=f"{kind}:{task}",
            kind=kind,
            subject=task,
            status=bad if failure else CheckStatus.PASS,
            text=failure.message.splitlines()[0] if failure else _describe_result(task, context),
            detail=str(failure) if failure else "",
            hint=failure.hint if failure else "",
            reproduce=context.invocation.again(verb_of(task)) if failure else "",
            file=context.loaded.path.name,
            line=context.loaded.line("engine"),
        )


def _describe_result(task: str, context: Context) -> str:
    result = context.done[task].result
    if task == HEADER:
        return f"{result['regions']} regions, {result['operators']} operators are kept"
    if task == LINKED:
        return f"{len(result['links'])} programs linked unfolded"
    if task == FUNCTIONS:
        return f"{result['functions']} functions ran"
    if links.DROPPED in result:
        dropped, held = (sum(result[each].values()) for each in (links.DROPPED, links.HELD))
        stay = f"{held - dropped} stay: what ran, and what must stay whatever ran"
        return f"linked without {dropped} of {held} functions; {stay}"
    if task in (REGION, REDUCED):
        units = result["translation units"]
        return f"built; the header was in all {units} translation units that were compiled"
    return "built"


def _warnings(context: Context) -> tuple[str, ...]:
    dirty = context.engine.identity().dirty
    header = context.done.get(HEADER)
    return (
        *context.loaded.warnings,
        *((f"the engine's tree differs from its commit in {len(dirty)} files",) if dirty else ()),
        *(header.result["warnings"] if header else ()),
        *warn_unweighed(context),
        *ending(context.loaded.config.waivers, context.today),
    )
