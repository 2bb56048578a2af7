"""Which component of MegEngine bytes are of, by the file that they are from and by their symbol.

A row of a table is a component and a pattern; the first row that matches counts, and files go
before symbols: a template of the C++ library is instantiated in the engine. ``{0}`` and ``{1}`` of
a component are the pattern's groups. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

OTHER = "other"
"""What has a name that no row knows."""
NAMELESS = "unexplained"
"""What neither a symbol nor a file explains."""
_LIBRARY, _TOOLCHAIN = "C++ library", "toolchain"

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
    ("runtime", r"\bsrc/(?:.*/)?(?:core|jit|plugin|custom|rdnn)/|\blite/"),
    ("load_and_run", r"\b(?:lite/)?load_and_run/|\bgflags\b"),
    (_LIBRARY, r"(?:^|/)lib(?:stdc\+\+|c\+\+|c\+\+abi|c\+\+_static|supc\+\+)\.a\b"),
    (_TOOLCHAIN, r"(?:^|/)[A-Za-z]*crt[A-Za-z0-9_]*\.o$"),
    (_TOOLCHAIN, r"(?:^|/)lib(?:gcc|gcc_eh|gcc_real|unwind|compiler_rt|clang_rt\.[^/]*)\.a\b"),
    ("C library", r"(?:^|/)lib(?:c|zigc|m|pthread|dl|rt|util|resolv|mvec|c_nonshared)\.a\b"),
    ("dependencies/{0}", r"\bthird_party/([\w-]+)/"),
    ("dependencies/{0}", r"(?:^|/)lib(mkl|dnnl|mkldnn|cpuinfo|protobuf|zmq|llvm)\w*\.a\b"),
)  # fmt: skip
_NAMES: _Rows = (
    ("kernels/{0}/{1}", rf"megdnn::({_BACKENDS})::(\w+)"),
    ("kernels/{0}", rf"megdnn::({_BACKENDS})\b"),
    ("kernels", r"megdnn::|midout::"),
    ("graph optimiser", r"mgb::gopt::"),
    ("serialisation", r"mgb::serialization::|flatbuffers::|mgb::fbs::|mgb::.*\bserialize\b"),
    ("operators", r"mgb::opr::"),
    ("load_and_run", r"lar::|gflags::|fLS::|fLB::|fLI::"),
    ("runtime", r"(?:mgb|lite|lcg|jit)::"),
    ("dependencies/{0}", r"(dnnl|mkldnn|cpuinfo|protobuf|google::protobuf|Json|llvm)(?:::|_)"),
    ("dependencies/mkl", r"_?mkl_"),
    (_LIBRARY, r"(?:std|__gnu_cxx|__cxxabiv1|__ndk1)::|__cxa_|operator (?:new|delete)"),
    (_TOOLCHAIN, r"_Unwind_|__aarch64_(?:cas|swp|ld)|__(?:u?div|mul|u?mod)\w*[sdt]i[34]\b"),
)  # fmt: skip


def _compile(rows: _Rows, before: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((component, re.compile(f"{before}(?:{text})")) for component, text in rows)


_BY_FILE = _compile(_FILES, "")
_BY_NAME = _compile(_NAMES, r"(?:^|(?<=[^\w:]))")
"""A name in them begins where a name begins: ``vtable for mgb::opr::Add``."""
_OF_ENGINE = tuple(row for row in _BY_NAME if row[0] not in {_LIBRARY, _TOOLCHAIN})
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IMPLEMENTATION = re.compile(r"_(?:opr_)?impl$")


@lru_cache(maxsize=65_536)
def find_component(symbol: str, source: str, whole: str = "") -> str:
    """Return the component of bytes by folded symbol and source; either may be empty.

    ``whole`` is the symbol with its brackets' content: an instance of a template of the C++ library
    is of the component that its arguments are of.
    """
    if not symbol and not source:
        return NAMELESS
    found = _match(_BY_FILE, source) or _match(_BY_NAME, symbol)
    if found == _LIBRARY:
        found = _match(_OF_ENGINE, whole) or found
    return found or OTHER


def _match(rows: tuple[tuple[str, re.Pattern[str]], ...], text: str) -> str:
    for component, pattern in rows if text else ():
        if found := pattern.search(text):
            return component.format(*map(_as_folder, found.groups()))
    return ""


def _as_folder(name: str) -> str:
    """Return ``conv_bias`` for the class ``ConvBiasImpl``: as the engine names its folders."""
    return _IMPLEMENTATION.sub("", _HUMP.sub("_", name).lower())
