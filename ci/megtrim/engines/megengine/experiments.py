"""The experiments of the engine's page on tuning inference with load_and_run: one row each.

The page writes ``--record-com-seq2`` for ``--record-comp-seq2``, and ``fake-fisrt``. Its steps that
run a dumped model leave out ``--input``; here every step gets the scenario's inputs. Its recipe for
x86 leaves out ``--warmup-iter 2``, which its own text calls necessary for fake-first.
"""

from dataclasses import replace

from megtrim.core.timing.catalogue import BASELINE
from megtrim.core.timing.experiment import (
    FAKE_WARMUPS,
    Backend,
    CacheUse,
    DataType,
    Effects,
    Experiment,
    ExperimentNeeds,
    ModelFile,
    Step,
)
from megtrim.core.timing.spec import TimeStage
from megtrim.libs.programs.flags import Flag
from megtrim.libs.programs.parity import EXACT

_PREPARE = TimeStage.PREPARE
_WARMUP = TimeStage.WARM_UP
_INFERENCE = TimeStage.INFERENCE
_FLOAT_OR_INT8 = (DataType.FLOAT32, DataType.INT8)
_ON_CPU = ExperimentNeeds(backends=(Backend.CPU,))
_ON_ARM = replace(_ON_CPU, architectures=("aarch64", "arm"))
_ON_X86 = replace(_ON_CPU, architectures=("x86_64",))
_ON_CUDA = ExperimentNeeds(backends=(Backend.CUDA,))
_ON_CUDA_INT8 = replace(_ON_CUDA, data_types=(DataType.INT8,))

_WEIGHTS = "weight_preprocess"
_FUSE = "enable_fuse_conv_bias_nonlinearity"
_RECORD = "record_comp_seq"


def _run(*names: str) -> Step:
    return Step(flags=tuple(Flag(name, None) for name in names))


def _fake_first(*names: str) -> Step:
    return replace(_run(*names, "fake_first"), warmups=FAKE_WARMUPS)


def _search(*names: str) -> Step:
    return replace(_run(*names), cache=CacheUse.WRITES, measured=False)


def _from_cache(step: Step) -> Step:
    return replace(step, cache=CacheUse.READS)


def _on_dumped(step: Step) -> Step:
    return replace(step, model=ModelFile.DUMPED)


def _layout(
    name: str,
    title: str,
    needs: ExperimentNeeds,
    *,
    slower: tuple[TimeStage, ...] = (_PREPARE,),
    faster: tuple[TimeStage, ...] = (_WARMUP, _INFERENCE),
    on_int8: Effects | None = None,
) -> Experiment:
    return Experiment(
        name=name,
        row=f"{name} 优化",
        title=title,
        steps=(_run(f"enable_{name.replace('-', '_')}"),),
        needs=needs,
        slower=slower,
        faster=faster,
        on_int8=on_int8,
    )


_DUMP = Step(transforms=True, dumps=True, measured=False)

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name=BASELINE,
        row="无优化设置",
        title="no optimisation",
        steps=(_run(),),
        tolerance=EXACT,
        faster=(),
    ),
    Experiment(
        name="fast-run",
        row="开启 fast-run",
        title="fastest of the optimised algorithms, searched in the warm-up",
        steps=(_run("fast_run"),),
        slower=(_WARMUP,),
    ),
    Experiment(
        name="fast-run-cache",
        row="使用 fast-run 离线缓存",
        title="algorithms from the cache of a fast-run",
        steps=(_search("fast_run"), _from_cache(_run())),
    ),
    Experiment(
        name="full-run",
        row="开启 full-run",
        title="fastest of all algorithms, searched in the warm-up",
        steps=(_run("full_run"),),
        slower=(_WARMUP,),
    ),
    Experiment(
        name="full-run-cache",
        title="algorithms from the cache of a full-run",
        steps=(_search("full_run"), _from_cache(_run())),
    ),
    _layout(
        "nchw44",
        "layout nchw44",
        replace(_ON_ARM, data_types=_FLOAT_OR_INT8),
        slower=(_PREPARE, _WARMUP),
        faster=(_INFERENCE,),
        # 212.1 instead of 82.7 ms: the one row of the page that is a loss.
        on_int8=Effects(slower=(_PREPARE, _WARMUP, _INFERENCE)),
    ),
    _layout(
        "nchw44-dot",
        "layout nchw44 with dot products",
        replace(_ON_ARM, cpu_features=("dotprod",), data_types=_FLOAT_OR_INT8),
        faster=(_INFERENCE,),
        on_int8=Effects(slower=(_PREPARE,), faster=(_WARMUP, _INFERENCE)),
    ),
    _layout(
        "nchw88",
        "layout nchw88",
        replace(_ON_X86, cpu_features=("avx2",), data_types=(DataType.FLOAT32,)),
    ),
    _layout("nchw4", "layout nchw4", _ON_CUDA_INT8),
    _layout("chwn4", "layout chwn4, for tensor cores", _ON_CUDA_INT8),
    # The table has two rows of this name, 23.3 and 14.9 ms; the page has one flag for it.
    replace(
        _layout("chwn4", "layout chwn4, the table's second row", _ON_CUDA_INT8),
        name="chwn4-again",
        row="chwn4 优化 (2)",
    ),
    _layout("nchw32", "layout nchw32, for tensor cores", _ON_CUDA_INT8),
    # Its flag is described for int4, its row stands in the table of int8.
    _layout(
        "nchw64",
        "layout nchw64, for tensor cores",
        replace(_ON_CUDA_INT8, data_types=(DataType.INT4, DataType.INT8)),
    ),
    Experiment(
        name="layout-by-dump",
        row="单一 layout 优化 (dump)",
        title="one layout, chosen when the model is dumped",
        steps=(_run(),),
        needs=replace(
            _ON_CPU,
            elsewhere="the engine's Python package",
            # ``optimize_options`` of the schema: ``serializer_oss.cpp`` reads it into the metadata,
            # and no option of a graph is set from there.
            why_elsewhere="its dump rewrites the graph, and the options that it notes in the model "
            "change nothing when that is loaded, so megtrim cannot write the layout",
        ),
        slower=(),
    ),
    Experiment(
        name="layout-online",
        row="在线全局 layout 优化",
        title="layouts chosen for the whole graph, in the measured run",
        steps=(Step(transforms=True),),
        slower=(_PREPARE,),
        faster=(_WARMUP, _INFERENCE),
    ),
    Experiment(
        name="layout-dumped",
        row="模型离线 layout 优化",
        title="layouts chosen for the whole graph, dumped, then run",
        steps=(_DUMP, _on_dumped(_run())),
        faster=(_WARMUP, _INFERENCE),
    ),
    Experiment(
        name="weight-preprocess",
        row="只使用 weight 预处理",
        title="weights prepared ahead",
        steps=(_run(_WEIGHTS),),
        slower=(_WARMUP,),
    ),
    Experiment(
        name="weight-preprocess-cache",
        row="fast-run 缓存 + weight 预处理",
        title="weights prepared ahead, algorithms from a cache that was searched so",
        steps=(_search("fast_run", _WEIGHTS), _from_cache(_run(_WEIGHTS))),
        slower=(_WARMUP,),
    ),
    Experiment(
        name="fake-first",
        row="无优化设置 + fake-first",
        title="first warm-up without computing",
        steps=(_fake_first(),),
        needs=_ON_CPU,
        tolerance=EXACT,
        faster=(_WARMUP,),
    ),
    Experiment(
        name="fake-first-cache",
        row="只使用 fast-run 缓存 + fake-first",
        title="first warm-up without computing, algorithms from a cache",
        steps=(_search("fast_run"), _from_cache(_fake_first())),
        needs=_ON_CPU,
        faster=(_WARMUP, _INFERENCE),
    ),
    Experiment(
        name="fake-first-weight-preprocess",
        row="只使用 weight 预处理 + fake-first",
        title="first warm-up without computing, weights prepared ahead",
        steps=(_fake_first(_WEIGHTS),),
        needs=_ON_CPU,
        faster=(_WARMUP, _INFERENCE),
    ),
    Experiment(
        name="fake-first-weight-preprocess-cache",
        row="fast-run 缓存 + weight 预处理 + fake-first",
        title="first warm-up without computing, weights prepared ahead, algorithms from a cache",
        steps=(_search("fast_run", _WEIGHTS), _from_cache(_fake_first(_WEIGHTS))),
        needs=_ON_CPU,
        faster=(_WARMUP, _INFERENCE),
    ),
    Experiment(
        name="fuse-preprocess",
        title="conversions of the input fused",
        steps=(_run("enable_fuse_preprocess"),),
        faster=(),
    ),
    Experiment(
        name="fuse-conv-bias-nonlinearity",
        row="卷积与非线性算子的融合",
        title="convolution, bias and nonlinearity fused",
        steps=(_run(_FUSE),),
        slower=(_PREPARE,),
        faster=(_WARMUP, _INFERENCE),
    ),
    Experiment(
        name="fuse-conv-bias-with-z",
        row="卷积\N{FULLWIDTH COMMA}加法以及非线性算子的融合",
        title="convolution, addition and nonlinearity fused",
        steps=(_run("enable_fuse_conv_bias_with_z"),),
        slower=(_PREPARE,),
    ),
    Experiment(
        name="record-1",
        row="开启 record level 1",
        title="kernels recorded in the first run, then only replayed",
        steps=(_run(_RECORD),),
        tolerance=EXACT,
        slower=(_WARMUP,),
    ),
    Experiment(
        name="record-2",
        row="开启record level 2",
        title="kernels recorded, and the graph's data released",
        steps=(_run("no_sanity_check", "record_comp_seq2"),),
        tolerance=EXACT,
        slower=(_PREPARE,),
        faster=(_WARMUP, _INFERENCE),
    ),
    Experiment(
        name="recipe-x86",
        row="x86 CPU 平台推理测速",
        title="the document's recipe for x86",
        steps=(
            _DUMP,
            _on_dumped(_search("fast_run", _WEIGHTS)),
            _on_dumped(_from_cache(_fake_first(_WEIGHTS))),
        ),
        needs=_ON_X86,
        faster=(_WARMUP, _INFERENCE),
    ),
    Experiment(
        name="recipe-arm",
        row="ARM CPU 平台推理测速",
        title="the document's recipe for Arm",
        steps=(
            _DUMP,
            _on_dumped(_search("fast_run", _WEIGHTS, _FUSE)),
            replace(_on_dumped(_from_cache(_run(_WEIGHTS, _FUSE, _RECORD))), in_place=True),
        ),
        needs=_ON_ARM,
    ),
    Experiment(
        # As documented, only the last step fuses.
        name="recipe-nvidia",
        row="NVIDIA GPU 平台推理测速",
        title="the document's recipe for NVIDIA",
        steps=(
            _DUMP,
            _on_dumped(_search("fast_run", _WEIGHTS)),
            _on_dumped(_from_cache(_run(_WEIGHTS, _FUSE, _RECORD))),
        ),
        needs=_ON_CUDA,
    ),
)
