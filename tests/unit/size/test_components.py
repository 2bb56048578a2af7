"""Components of the engine, by file and by symbol."""

from __future__ import annotations

import pytest

from megtrim.size.components import NAMELESS, OTHER, find_component


@pytest.mark.parametrize(
    ("symbol", "component"),
    [
        ("megdnn::aarch64::ConvBiasImpl::exec(…)", "kernels/aarch64/conv_bias"),
        ("vtable for megdnn::arm_common::PoolingImpl", "kernels/arm_common/pooling"),
        ("void megdnn::x86::matmul::pack<…>(…)", "kernels/x86/matmul"),
        ("megdnn::TensorLayout::span(…)", "kernels"),
        ("mgb::gopt::FuseConvBiasPass::apply(…)", "graph optimiser"),
        ("mgb::serialization::GraphLoader::make(…)", "serialisation"),
        ("mgb::opr::Convolution::make(…)", "operators"),
        ("mgb::cg::ComputingGraph::compile(…)", "runtime"),
        ("lar::Runner::run(…)", "load_and_run"),
        ("std::vector<…>::push_back(…)", "C++ library"),
        ("mkl_blas_avx512_sgemm", "dependencies/mkl"),
        ("_Unwind_Resume", "toolchain"),
        ("my_mgb::opr::f(…)", OTHER),
        ("some_c_function", OTHER),
        ("", NAMELESS),
    ],
)
def test_a_symbol_has_a_component(symbol: str, component: str) -> None:
    """By its namespace, wherever in the readable name that begins."""
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
        ("app/main.cpp.o", OTHER),
    ],
)
def test_a_file_has_a_component(source: str, component: str) -> None:
    """By its path, or by the archive that it is from."""
    assert find_component("", source) == component


def test_an_instance_is_of_its_arguments() -> None:
    """Who made the C++ library's template, if its arguments show that."""
    folded, whole = "std::vector<…>::at(…)", "std::vector<mgb::opr::Add*, A>::at(unsigned long)"

    assert find_component(folded, "", whole) == "operators"
    assert find_component(folded, "", "std::vector<int>::at(unsigned long)") == "C++ library"


def test_files_go_before_symbols() -> None:
    """A template of the C++ library is instantiated in the engine."""
    assert find_component("std::vector<…>::at(…)", "src/gopt/pass.cpp.o") == "graph optimiser"
