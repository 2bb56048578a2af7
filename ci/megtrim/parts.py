"""The parts of megtrim, and what each hands the core: the one place that knows them all."""

from megtrim.core.parts import Parts, PartVerb

PARTS = Parts(
    engines={
        "megengine": "engines.megengine.engine:MegEngine",
        "sample": "engines.sample:SampleEngine",
        "cmake": "engines.cmake:CMakeProject",
        "ncnn": "engines.ncnn:Ncnn",
        "link": "engines.link:LinkProject",
    },
    program="engines.megengine.load_and_run.program",
    experiments="engines.megengine.experiments:EXPERIMENTS",
    verbs=(
        PartVerb(name="explain", place="ship.cli.explain:explain", after="probe"),
        PartVerb(name="export", place="ship.cli.release:export", after="clean"),
        PartVerb(name="release", place="ship.cli.group:release", after="export"),
        PartVerb(name="perf", place="times.cli.group:perf", after="release"),
        PartVerb(name="devices", place="lab.cli.group:devices", after="perf"),
        PartVerb(name="ci", place="hosting.cli.group:ci", after="stage"),
    ),
    stages={
        "neighbours": "times.neighbours.stage",
        "count": "times.counts.stage",
        "perf": "times.stage",
    },
    preflights=("lab.jobs.pack:expect_packable",),
    notes=("hosting.caller_workflows:describe_devices",),
    pools="lab.pool.device_pool",
    performance="times.outcomes:summarize_performance",
    measuring_devices="times.outcomes:list_measuring_devices",
    times_tables="times.report.tables",
    times_page="times.report.page:list_values",
    callers="hosting.caller_workflows:plan_asked",
    reached="ship.cli.reached:keep_reached",
    against="hosting.against:leave_sizes",
)
