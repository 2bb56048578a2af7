"""Trees with the file names and option names of MegEngine's generations, and nothing behind them.

Read at the tags v1.6.0, v1.9.1 and v1.13.4.
"""

from __future__ import annotations

OPTIONS = (
    *("MGE_WITH_JIT", "MGE_WITH_MIDOUT_PROFILE", "MGE_WITH_MINIMUM_SIZE", "MGE_WITH_CUDA"),
    *("MGE_ARMV8_2_FEATURE_FP16", "MGE_DISABLE_FLOAT16", "MGE_INFERENCE_ONLY", "MGE_WITH_TEST"),
)
_CMAKE = "".join(f'option({name} "help" OFF)\n' for name in OPTIONS)
_OLD = ("midout", "flatbuffers", "Json", "cpuinfo")
_NEW = (*_OLD, "gflags", "cpp_redis", "tacopie")
_V1 = 'file_identifier "mgb1";\n'


def _modules(names: tuple[str, ...]) -> dict[str, str]:
    return {f"third_party/{name}/CMakeLists.txt": "" for name in names}


OLDEST = {
    "CMakeLists.txt": f"""{_CMAKE}
check_cxx_compiler_flag(-fuse-ld=gold CXX_SUPPORT_GOLD)
if(NOT ${{MGE_BIN_REDUCE}} STREQUAL "")
  set(CMAKE_CXX_FLAGS "${{CMAKE_CXX_FLAGS}} -include ${{MGE_BIN_REDUCE}}")
endif()
""",
    "sdk/load-and-run/CMakeLists.txt": "",
    "sdk/load-and-run/src/mgblar.cpp": "MIDOUT_BEGIN\n",
    "dnn/src/kernel.cpp": "K\n",
    "dnn/test/test.cpp": "T\n",
    "lite/src/network.cpp": "",
    "src/serialization/impl/schema.fbs": _V1,
    **_modules(_OLD),
}
BETWEEN = {
    "CMakeLists.txt": f"""{_CMAKE}
check_cxx_compiler_flag(-fuse-ld=gold CXX_SUPPORT_GOLD)
set(BIN_REDUCE ${{PROJECT_SOURCE_DIR}}/src/bin_reduce_cmake.h)
set(CMAKE_CXX_FLAGS "${{CMAKE_CXX_FLAGS}} -include ${{BIN_REDUCE}}")
""",
    "src/bin_reduce_cmake.h": "",
    "src/serialization/impl/schema.fbs": _V1,
    "lite/load_and_run/CMakeLists.txt": "",
    "lite/load_and_run/main.cpp": "MIDOUT_BEGIN\n",
    "dnn/src/kernel.cpp": "K\n",
    "dnn/test/test.cpp": "T\n",
    **_modules(_NEW),
}
NEWEST = {
    **BETWEEN,
    "CMakeLists.txt": BETWEEN["CMakeLists.txt"]
    + "check_cxx_compiler_flag(-Wl,--icf=safe LINKER_SUPPORT_Z_NOCOPYRELOC_ICF_SAFE_NO_LLD)\n",
    "src/serialization/impl/schema_v2.fbs": 'file_identifier "mgv2";\n',
    "dnn/src/common/elemwise/opr_impl.cpp": "MIDOUT_DECL(megdnn_common_elemwise_mode)\n",
}
