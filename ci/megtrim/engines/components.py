"""Which component of an engine, or of what it links, bytes are of: by their file and their symbol.

The first row that matches counts; files go before symbols. ``{0}`` is a group of the pattern. Pure.
"""

import re
from functools import lru_cache
from itertools import islice

from megtrim.libs.elf.components import OTHER, UNNAMED
from megtrim.libs.elf.symbol_names import iter_names

_LIBRARY = "C++ library"
_TOOLCHAIN = "toolchain"
_INITIALISERS = "static initialisers"
_MKL = (
    # Kernels are local C functions without a prefix of their own, and labels of an assembler.
    r"_?_?(?:lib|intel_)?(?:mkl|MKL|vml|VML)_|__internal_[vi]m|L[A-Z]\w*gas_[0-9]|mm_account_"
    r"|_?(?:[sdx]|ds_|cblas_)?(?:gemm|trsm|trmm|syrk|symm)_"
)

_BACKENDS = (
    "naive|fallback|arm_common|aarch64|armv7|x86|cuda|rocm|cambricon|atlas|common|dtype_cvt|gi"
)
_Rows = tuple[tuple[str, str], ...]
_FILES: _Rows = (
    ("kernels/{0}/{1}", rf"\bdnn/(?:.*/)?(?:src|megdnn\.dir)/({_BACKENDS})/(\w+)/"),
    ("kernels/{0}", rf"\bdnn/(?:.*/)?(?:src|megdnn\.dir)/({_BACKENDS})/"),
    ("graph optimiser", r"\bsrc/(?:.*/)?gopt/"),
    ("serialisation", r"\bsrc/(?:.*/)?serialization/|\bflatbuffers\b"),
    ("operators", r"\bsrc/(?:.*/)?opr(?:-mm)?/"),
    ("runtime", r"\bsrc/(?:.*/)?(?:core|jit|plugin|custom|rdnn)/"),
    ("load_and_run", r"\bload_and_run/"),
    (_LIBRARY, r"(?:^|/)lib(?:stdc\+\+|c\+\+|c\+\+abi|c\+\+_static|supc\+\+)\.a\b"),
    (_TOOLCHAIN, r"(?:^|/)[A-Za-z]*crt[A-Za-z0-9_]*\.o$"),
    (_TOOLCHAIN, r"(?:^|/)lib(?:gcc|gcc_eh|gcc_real|unwind|compiler_rt|clang_rt\.[^/]*)\.a\b"),
    ("C library", r"(?:^|/)lib(?:c|zigc|m|pthread|dl|rt|util|resolv|mvec|c_nonshared)\.a\b"),
    ("dependencies/{0}", r"(?:^|/)lib(mkl|dnnl|cpuinfo|gflags|protobuf|zmq|LLVM)\w*\.a\b"),
    ("dependencies/{0}", r"\bthird_party/([\w-]+)/"),
)  # fmt: skip
_NAMES: _Rows = (
    ("kernels/{0}/{1}", rf"megdnn::({_BACKENDS})::(\w+)"),
    ("kernels/{0}", rf"megdnn::({_BACKENDS})\b"),
    ("kernels", r"(?:megdnn|midout|megcv|megcore|half_float)\b"),
    ("graph optimiser", r"mgb::gopt\b"),
    ("serialisation", r"(?:mgb::serialization|mgb::fbs|flatbuffers)\b"),
    ("operators", r"mgb::opr\b"),
    ("load_and_run", r"(?:lar|fL[SBIUD]+|npy)\b"),
    ("runtime", r"(?:mgb|lite|lcg|jit)\b"),
    ("sample engine", r"sample\b"),
    ("dependencies/dnnl", r"(?:dnnl|Xbyak|itt)\b|_?dnnl_|_Z\w*?dnnl_"),
    ("dependencies/{0}", r"(cpuinfo|gflags|google|nlohmann|llvm|zmq)(?:\b|_)"),
    ("dependencies/mkl", _MKL),
    (_TOOLCHAIN, r"_Unwind_|__(?:aeabi_|gnu_[uU]nwind_|aarch64_(?:cas|swp|ld))"),
    (_TOOLCHAIN, r"__(?:u?div|mul|u?mod)\w*[sdt]i[34]\b"),
    (_INITIALISERS, r"__cxx_global_(?:var_init|array_dtor)|_GLOBAL__(?:sub_)?[ID]_"),
    (_LIBRARY, r"__cxa_|__gxx_|_Zn[wa]|_Zd[la]"),
    (_LIBRARY, r"_Z(?:T[VTIS]|G[VR]|[ZLNKVRO])*(?:S[absiodt]|9__gnu_cxx|10__cxxabiv1)"),
)  # fmt: skip


def _compile(rows: _Rows) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((component, re.compile(text)) for component, text in rows)


_BY_FILE = _compile(_FILES)
_BY_NAME = _compile(_NAMES)
_SPACE = re.compile(
    r"(?<![0-9])(?:6megdnn|3mgb|4lite|3lar|6midout|5megcv|7megcore|3npy|3lcg|11flatbuffers"
    r"|10half_float|6sample|3fL[SBIUD]|4dnnl|5Xbyak|3itt|7cpuinfo|6gflags|6google|8nlohmann|4llvm|3zmq)"
)
"""A namespace that no other program has; the first shows what a symbol is of, also an instance."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IMPLEMENTATION = re.compile(r"_(?:opr_)?impl$")
_MOST_NAMES = 3


def _make_pattern(component: str) -> str:
    first = rf"(?:{_BACKENDS})" if component.startswith("kernels") else r"[\w-]+"
    return re.escape(component).replace(r"\{0\}", first).replace(r"\{1\}", r"\w+")


_COMPONENTS = dict.fromkeys(component for component, _ in (*_FILES, *_NAMES))
_KNOWN = re.compile("|".join(map(_make_pattern, _COMPONENTS)))


def list_components() -> tuple[str, ...]:
    named = {component.partition("/")[0] for component, _ in (*_FILES, *_NAMES)}
    return tuple(sorted({*named, OTHER, *UNNAMED}))


def is_component(name: str) -> bool:
    return name in list_components() or _KNOWN.fullmatch(name) is not None


def find_component(symbol: str, source: str) -> str:
    if not symbol and not source:
        return ""
    return (source and _of_file(source)) or (symbol and _of_symbol(symbol)) or OTHER


@lru_cache(maxsize=65_536)
def _of_file(source: str) -> str:
    return next((_name(row, found) for row, each in _BY_FILE if (found := each.search(source))), "")


def _of_symbol(symbol: str) -> str:
    space = _SPACE.search(symbol) if symbol.startswith("_Z") else None
    if space is None:
        return _of_scope(symbol)
    return _of_scope("::".join(islice(iter_names(symbol, space.start()), _MOST_NAMES)))


@lru_cache(maxsize=65_536)
def _of_scope(scope: str) -> str:
    return next((_name(row, found) for row, each in _BY_NAME if (found := each.match(scope))), "")


def _name(component: str, found: re.Match[str]) -> str:
    return component.format(*(_as_folder(group or "") for group in found.groups()))


def _as_folder(name: str) -> str:
    """Return ``conv_bias`` for the class ``ConvBiasImpl``: as the engine names its folders."""
    return _IMPLEMENTATION.sub("", _HUMP.sub("_", name).lower())
