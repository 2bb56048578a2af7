"""The parts of megtrim, and what each hands the core: the one place that knows them all."""

from megtrim.core.parts import Parts

PARTS = Parts(
    stages={
        "neighbours": "times.neighbours.stage",
        "count": "times.counts.stage",
        "perf": "times.stage",
    },
    preflights=("lab.jobs.pack:expect_packable",),
    performance="times.outcomes:summarize_performance",
    measuring_devices="times.outcomes:list_measuring_devices",
    times_tables="times.report.tables",
    times_page="times.report.page:list_values",
    callers="hosting.caller_workflows:plan_asked",
    reached="ship.cli.reached:keep_reached",
    against="hosting.against:leave_sizes",
)
