"""What a reader of the engine's two documents may look up: their words, and the pages that answer.

Written down from the documents, not from the pages.
"""

ROWS = "reference/from-the-engines-documents"
_DUMP = "how-to/bring-a-model"
_TRAP = "how-to/find-out-why-it-trapped"
_MESSAGE = "reference/find-a-message"
_SMALL = "how-to/make-it-smaller"
_TIMES = "how-to/measure-times reference/experiments explanation/experiments-on-x86"
_TRIM = "how-to/trim-megengine how-to/trim-for-android explanation/header how-to/choose-a-level"
_APP = "how-to/three-ways-in how-to/trim-functions"
_DUMP_COMMAND = (
    "python3 sdk/load-and-run/dump_with_testcase_mge.py --optimize-for-inference resnet50.pkl "
    '-o resnet50.mge --enable-fuse-conv-bias-nonlinearity --data "#rand(0,1)" --no-assert '
    "--output-strip-info"
)
_HEADER_COMMAND = (
    "python3 ./tools/gen_header_for_bin_reduce.py resnet50.mge.json midout_trace.20717 "
    "-o bin_reduce.h"
)
_WARNING = (
    "[02 15:03:11 check_magic@serializer_mdl.cpp:744][WARN] Graph (with hash "
    "10003400899095033006) is not among the graphs fed to midout, may caused by midout json is "
    "not create by org pkl also to compat for model operation after dump_with_testcase.py"
)

WORDS: tuple[tuple[str, str, str], ...] = (
    # words, a part of the row's command or pages, further pages that answer
    ('export EXTRA_CMAKE_ARGS="-DBUILD_SHARED_LIBS=OFF"', "megtrim trim", _TRIM),
    ("./cross_build_android_arm_inference.sh", "megtrim trim", _TRIM),
    ("./scripts/cmake-build/cross_build_android_arm_inference.sh -r", "megtrim trim", _TRIM),
    ("du ./build_dir/android/arm64-v8a/Release/install/bin/load_and_run", "megtrim size", ""),
    ("dump_with_testcase_mge.py", "bring-a-model", _DUMP),
    (
        _DUMP_COMMAND,
        "bring-a-model",
        _DUMP,
    ),
    ("--optimize-for-inference", "bring-a-model", _DUMP),
    ("--no-assert", "bring-a-model", _DUMP),
    ("--output-strip-info", "strip_info", _DUMP),
    ("cat resnet50.mge.json", "strip_info", _DUMP),
    ('--data "#rand(0,1)"', "#rand", f"{_DUMP} {_TRIM}"),
    ("-DMGE_WITH_MIDOUT_PROFILE=ON", "megtrim stage build", ""),
    ("MGE_WITH_MIDOUT_PROFILE", "megtrim stage build", ""),
    ("./load_and_run ./resnet50.mge", "scenario", ""),
    ("mgb load-and-run: using MegBrain MegBrain 8.4.1(0) and MegDNN 9.3.0", "megtrim perf", ""),
    ("load model: 70.888ms", "megtrim perf", ""),
    ("=== going to run 1 testcases; output vars: ADD(reshape[2655])", "megtrim perf", ""),
    ("=== prepare: 4.873ms; going to warmup", "megtrim perf", ""),
    ("warmup 0: 877.578ms", "megtrim perf", ""),
    ("=== going to run test #0 for 10 times", "megtrim perf", ""),
    ("iter 0/10: 481.445ms (exec=481.436,device=480.794)", "megtrim perf", ""),
    ("=== finished test #0: time=4802.333ms avg_time=480.233ms sd=0.688ms", "megtrim perf", ""),
    ("=== total time: 4802.333ms", "megtrim perf", ""),
    ("midout: 110 items written to midout_trace.20717", "megtrim trim", "explanation/traps"),
    ("midout_trace.20717", "megtrim trim", "explanation/traps"),
    ("gen_header_for_bin_reduce.py", "megtrim stage header", "explanation/header"),
    (
        _HEADER_COMMAND,
        "megtrim stage header",
        "explanation/header",
    ),
    ("-DMGE_BIN_REDUCE=/absolute/path/to/bin_reduce.h", "megtrim stage reduce", _SMALL),
    ("MGE_BIN_REDUCE", "megtrim stage reduce", f"{_SMALL} explanation/header"),
    (
        _WARNING,
        "find-a-message",
        _MESSAGE,
    ),
    ("is not among the graphs fed to midout", "find-a-message", _MESSAGE),
    ("check_magic@serializer_mdl.cpp:744", "find-a-message", _MESSAGE),
    ("Trap", "find-out-why-it-trapped", f"{_TRAP} explanation/traps concepts"),
    (
        "./load_and_run resnet50.mge --fast-run --fast-run-algo-policy resnet50.cache",
        "fast_run",
        "",
    ),
    (
        "./load_and_run resnet50.mge --fast-run-algo-policy resnet50.cache --winograd-transform",
        "fast_run",
        "",
    ),
    ("--winograd-transform", "--weight-preprocess", ""),
    ("[04 15:34:18 from_argv@mgblar.cpp:1392][WARN] enable winograd transform", "fast_run", ""),
    ("A.mge.json A.trace B.mge.json B.trace -o bin_reduce.h", "models", ""),
    ("MGB_WITH_FLATBUFFERS", "trim.switches", _SMALL),
    ("MGE_ENABLE_RTTI", "trim.switches", _SMALL),
    ("MGE_ENABLE_LOGGING", "trim.switches", _SMALL),
    ("MGE_ENABLE_EXCEPTIONS", "trim.switches", _SMALL),
    ("MGE_WITH_MINIMUM_SIZE", "trim.minimum_size", _SMALL),
    ("libmegengine.a", "lto: full", _APP),
    ("-flto=full", "lto: full", _APP),
    ("libmegengine.so", "shared library", _APP),
    (
        "load_and_run <model_path> --input <input_name:input_data_description> --fast-run",
        "experiment fast-run",
        _TIMES,
    ),
    ("--fast-run", "experiment fast-run", _TIMES),
    ("--fast-run-algo-policy <algo_cache_file>", "fast-run-cache", _TIMES),
    ("--full-run", "experiment full-run", _TIMES),
    ("--input <input_name:input_data_description>", "inputs", ""),
    ("--enable-nchw44", "experiment nchw44", _TIMES),
    ("--enable-nchw44-dot", "experiment nchw44-dot", _TIMES),
    ("--enable-nchw88", "experiment nchw88", _TIMES),
    ("--enable-nchw4", "experiment nchw4", _TIMES),
    ("--enable-chwn4", "experiment chwn4", _TIMES),
    ("--enable-nchw32", "experiment nchw32", _TIMES),
    ("--enable-nchw64", "experiment nchw64", _TIMES),
    ("--layout-transform <backend_type>", "layout-online", _TIMES),
    (
        "--layout-transform-dump <model_path_after_layout_transform>",
        "layout-dumped",
        _TIMES,
    ),
    ("--weight-preprocess", "weight-preprocess", _TIMES),
    ("--fake-first --warmup-iter 2", "fake-first", _TIMES),
    ("--fake-first", "fake-first", _TIMES),
    ("--enable-fuse-preprocess", "fuse-preprocess", _TIMES),
    ("--enable-fuse-conv-bias-nonlinearity", "bring-a-model", f"{_TIMES} {_DUMP}"),
    ("--enable-fuse-conv-bias-with-z", "with-z", _TIMES),
    ("--record-comp-seq", "record-1", _TIMES),
    ("--no-sanity-check --record-com-seq2", "record-2", _TIMES),
    ("--cpu-default", "recipe-arm", _TIMES),
    ("--layout-transform cuda", "recipe-nvidia", f"{_TIMES} explanation/what-it-does-not-do"),
    ("单独使用opr信息", "level: operator", ""),
    ("单独使用trace文件", "operators: all", ""),
    ("使用 fast-run 离线缓存", "fast-run-cache", _TIMES),
    ("模型离线 layout 优化", "layout-dumped", _TIMES),
    ("加法以及非线性算子的融合", "with-z", _TIMES),
)
