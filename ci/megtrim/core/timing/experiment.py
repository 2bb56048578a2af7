"""What an experiment is: steps of an engine's own program, whose last one is measured.

Flags have ``_`` for ``-``; :mod:`megtrim.times.experiments.commands` spells them for an engine.
Pure.
"""

import re
from enum import StrEnum

from megtrim.core.timing.spec import TimeStage
from megtrim.libs.programs.flags import Flag
from megtrim.libs.programs.parity import Tolerance
from megtrim.libs.util.value import Value

REORDERED = Tolerance(absolute=1e-4, relative=1e-3)
"""For experiments that choose other algorithms, layouts or fused operators.

Other orders of sums move a float32 result by about 1e-5 of itself in each layer, tens of layers by
some 1e-4; a wrong kernel is off by far more. A step of int8 is for a scenario's own tolerance.
"""
FAKE_WARMUPS = 2
"""With fake-first the first warm-up computes nothing, so the second is the real one."""

_ALGORITHM_SEARCHES = frozenset({"fast_run", "full_run"})
_LAYOUT_SEARCH = "layout_transform"
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+){0,9}", re.ASCII)


class Backend(StrEnum):
    CPU = "cpu"
    CUDA = "cuda"


class DataType(StrEnum):
    FLOAT32 = "float32"
    INT8 = "int8"
    INT4 = "int4"


class ModelFile(StrEnum):
    ORIGINAL = "the scenario's model"
    DUMPED = "the model that an earlier step dumped"


class CacheUse(StrEnum):
    """The engine writes the file at the end of every run that names it, whether it searched or
    not.
    """

    NONE = "none"
    WRITES = "writes"
    READS = "reads"


class Step(Value):
    flags: tuple[Flag, ...] = ()
    in_place: bool = False
    """On a CPU: run in the calling thread (``--cpu-default``), not in one of its own."""
    model: ModelFile = ModelFile.ORIGINAL
    transforms: bool = False
    dumps: bool = False
    cache: CacheUse = CacheUse.NONE
    warmups: int = 1
    measured: bool = True

    @property
    def searches(self) -> bool:
        names = {flag.name for flag in self.flags}
        for_algorithms = self.cache is not CacheUse.READS and bool(names & _ALGORITHM_SEARCHES)
        return for_algorithms or self.transforms or _LAYOUT_SEARCH in names


class ExperimentNeeds(Value):
    """What must be there, beyond flags that the program knows; empty: anything will do."""

    backends: tuple[Backend, ...] = (Backend.CPU, Backend.CUDA)
    architectures: tuple[str, ...] = ()
    cpu_features: tuple[str, ...] = ()
    data_types: tuple[DataType, ...] = ()
    elsewhere: str = ""
    """What only another program can prepare; then it is never measured."""
    why_elsewhere: str = ""


class Effects(Value):
    slower: tuple[TimeStage, ...] = ()
    faster: tuple[TimeStage, ...] = ()


class Experiment(Value):
    name: str
    """Stable: histories and configurations use it."""
    title: str
    steps: tuple[Step, ...]
    row: str = ""
    needs: ExperimentNeeds = ExperimentNeeds()
    tolerance: Tolerance = REORDERED
    slower: tuple[TimeStage, ...] = ()
    faster: tuple[TimeStage, ...] = (TimeStage.INFERENCE,)
    on_int8: Effects | None = None
    """Where the document has figures of an int8 model, and they point another way."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            msg = f"{self.name!r} is not the name of an experiment"
            raise ValueError(msg)
        if [step.measured for step in self.steps] != [False] * (len(self.steps) - 1) + [True]:
            msg = f"{self.name}: the last step is measured, and no other"
            raise ValueError(msg)
        dumped = cached = False
        for step in self.steps:
            absent = (step.model is ModelFile.DUMPED and not dumped) or (
                step.cache is CacheUse.READS and not cached
            )
            if absent or (step.dumps and not step.transforms):
                msg = f"{self.name}: a step reads a file that no earlier one writes"
                raise ValueError(msg)
            dumped = dumped or step.dumps
            cached = cached or step.cache is CacheUse.WRITES

    @property
    def measured(self) -> Step:
        return self.steps[-1]

    @property
    def searches(self) -> bool:
        return self.measured.searches

    @property
    def effects(self) -> Effects:
        return Effects(slower=self.slower, faster=self.faster)

    @property
    def makes(self) -> tuple[str, ...]:
        made = []
        if any(step.dumps for step in self.steps):
            made.append("a model with other layouts")
        if any(step.cache is CacheUse.WRITES for step in self.steps):
            made.append("an algorithm cache")
        return tuple(made)
