import pytest

from megtrim.engines.components import find_component, is_component
from megtrim.libs.elf.components import OTHER


@pytest.mark.parametrize(
    ("symbol", "component"),
    [
        ("_ZN6megdnn7aarch6412ConvBiasImpl4execEPv", "kernels/aarch64/conv_bias"),
        ("_ZTVN6megdnn10arm_common11PoolingImplE", "kernels/arm_common/pooling"),
        ("_ZN6megdnn3x866matmul4packIiEEvT_", "kernels/x86/matmul"),
        ("_ZN6megdnn3x8612_GLOBAL__N_16matmul4packEv", "kernels/x86/matmul"),
        ("_ZN6megdnn12TensorLayout4spanEv", "kernels"),
        ("_ZNK3mgb4gopt16FuseConvBiasPass5applyERNS0_8OptStateE", "graph optimiser"),
        ("_ZN3mgb13serialization11GraphLoader4makeEv", "serialisation"),
        ("_ZN3mgb3opr11Convolution4makeEv", "operators"),
        ("_ZN3mgb3oprL4helpEv", "operators"),
        ("_ZN3mgb2cg14ComputingGraph7compileEPN6megdnn6HandleE", "runtime"),
        ("_ZN3lar6Runner3runEi", "load_and_run"),
        ("_ZN6sample11conv_directEv", "sample engine"),
        ("_ZNSt6vectorIiSaIiEE9push_backEOi", "C++ library"),
        ("_ZNSs6appendEv", "C++ library"),
        ("_ZGVZNSt6locale7classicEvE1x", "C++ library"),
        ("_ZN1a1fESt6vectorIiSaIiEE", OTHER),
        ("_Znwm", "C++ library"),
        ("_ZN4dnnl4impl3cpu6x86_6410jit_kernelEv", "dependencies/dnnl"),
        ("dnnl_engine_create", "dependencies/dnnl"),
        ("_ZN8nlohmann6detail4diyE", "dependencies/nlohmann"),
        ("mkl_blas_avx512_sgemm", "dependencies/mkl"),
        ("gemm_sus_copya", "dependencies/mkl"),
        ("__cxx_global_var_init.7", "static initialisers"),
        ("_GLOBAL__sub_I_opr_impl.cpp", "static initialisers"),
        ("_Unwind_Resume", "toolchain"),
        ("__aeabi_uldivmod", "toolchain"),
        ("_ZN6my_mgb3opr1fEv", OTHER),
        ("_ZN2my1fE13mgb", OTHER),
        ("some_c_function", OTHER),
        ("", ""),
    ],
)
def test_a_symbol_has_a_component(symbol: str, component: str) -> None:
    assert find_component(symbol, "") == component


@pytest.mark.parametrize(
    ("source", "component"),
    [
        ("dnn/src/CMakeFiles/megdnn.dir/x86/conv_bias/algos.cpp.o", "kernels/x86/conv_bias"),
        ("../dnn/src/fallback/pooling/opr_impl.cpp.o", "kernels/fallback/pooling"),
        ("src/CMakeFiles/megengine.dir/gopt/impl/inference.cpp.o", "graph optimiser"),
        ("/usr/lib/gcc/x86_64-linux-gnu/12/libstdc++.a(locale.o)", "C++ library"),
        ("/usr/lib/aarch64-linux-gnu/libc.a(memcpy.o)", "C library"),
        ("/usr/lib/x86_64-linux-gnu/Scrt1.o", "toolchain"),
        ("third_party/cpuinfo/init.c.o", "dependencies/cpuinfo"),
        ("third_party/intel-mkl-dnn/src/libdnnl.a(gemm.cpp.o)", "dependencies/dnnl"),
        ("/opt/mkl/lib/libmkl_core.a(sgemm.o)", "dependencies/mkl"),
        ("app/main.cpp.o", OTHER),
    ],
)
def test_a_file_has_a_component(source: str, component: str) -> None:
    assert find_component("", source) == component


@pytest.mark.parametrize(
    ("symbol", "source", "component"),
    [
        # An instance is of its arguments.
        ("_ZNSt6vectorIPN3mgb3opr3AddESaIS3_EE2atEm", "", "operators"),
        # A template of the C++ library is instantiated in the engine.
        ("_ZNSt6vectorIiSaIiEE2atEm", "src/gopt/pass.cpp.o", "graph optimiser"),
        # Members of a merged archive have no folders.
        (
            "_ZN6megdnn3x8612ConvBiasImpl4execEv",
            "lite/liblite_static.a(opr_impl.cpp.o)",
            "kernels/x86/conv_bias",
        ),
    ],
)
def test_files_with_folders_go_before_symbols(symbol: str, source: str, component: str) -> None:
    assert find_component(symbol, source) == component


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("kernels", True),
        ("kernels/x86", True),
        ("kernels/arm_common/conv_bias", True),
        ("dependencies/mkl", True),
        ("C++ library", True),
        ("headers", True),
        ("unexplained code", True),
        ("kernels/x87", False),
        ("kernels/x86/", False),
        ("kernel", False),
        (".text", False),
        ("", False),
    ],
)
def test_components_that_there_may_be_are_known(name: str, known: bool) -> None:
    assert is_component(name) is known
    assert is_component(find_component("_ZN6megdnn3x868SomeImplE", ""))
