"""An AAR: the Android library that an app's Gradle build takes the engine from. Pure.

A zip, whose bytes follow from the files and from the version of zlib that compressed them. The
layout is PKWARE's APPNOTE.TXT 6.3, 4.3.
"""

import re
import struct
import zlib
from collections.abc import Mapping, Sequence

from megtrim.core.build_spec import HEADERS, LICENCES, PACKAGE, Toolchain
from megtrim.core.checks.check import ToolchainIdentity
from megtrim.libs.elf.needed_libraries import find_cxx_runtime
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import dump
from megtrim.libs.util.value import Value

_LOCAL = b"PK\3\4"
_CENTRAL = b"PK\1\2"
_END = b"PK\5\6"
_UNIX = 3
_MODE = 0o100644
_VERSION_NEEDED = 20
_UTF_8 = 1 << 11
_DEFLATED = 8
_DATE = 1 << 5 | 1
"""1980-01-01, the first."""
_RAW = -zlib.MAX_WBITS
_CLASSES = "classes.jar"
_LICENCES = f"{LICENCES}.txt"
_TOP = "prefab"
_MODULE = f"{_TOP}/modules/shared"
_NAMESPACE = "megtrim.trimmed"
_NDK = "ndk"
_TARGETS = {"aarch64-linux-android": "arm64-v8a", "armv7a-linux-androideabi": "armeabi-v7a"}
_TARGET = re.compile(rf"(?P<machine>{'|'.join(_TARGETS)})(?P<api>[1-9][0-9]{{0,3}})")
_VERSION = re.compile(r"NDK r(?P<major>[1-9][0-9]{0,2})(?![0-9])")
_SUFFIX = ".so"
_MANIFEST = """\
<?xml version="1.0" encoding="utf-8"?>
<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="{namespace}">
    <uses-sdk android:minSdkVersion="{api}" />
</manifest>
"""


class AndroidTarget(Value):
    abi: str
    api: int
    ndk: int


class AndroidLibrary(Value):
    target: AndroidTarget
    file: str
    stl: str
    """Prefab's name of the C++ runtime that an app shares with it."""


class AarPart(Value):
    engine: str
    library: AndroidLibrary
    data: bytes
    others: Mapping[str, bytes]


def make_part(
    target: AndroidTarget, file: str, data: bytes, public: Mapping[str, bytes], *, engine: str
) -> AarPart | None:
    """``public``: what :func:`~.public_files.list_public_files` lists. None: no app can link it."""
    runtime = find_cxx_runtime(data, source=file)
    if runtime.exported:
        return None  # Prefab lets no app link a shared library whose own runtime can be seen.
    stl = "c++_shared" if runtime.is_shared else "none"
    return AarPart(
        engine=engine,
        library=AndroidLibrary(target=target, file=file, stl=stl),
        data=data,
        others=_arrange(public),
    )


def _arrange(public: Mapping[str, bytes]) -> dict[str, bytes]:
    """Licences make one file: each would be compressed by itself, and most have the same text."""
    headers = {path for path in public if path.startswith(f"{HEADERS}/")}
    licences = b"\n".join(
        b"==> %s <==\n%s" % (path.encode(), public[path])
        for path in sorted(public.keys() - headers)
    )
    return {f"{_MODULE}/{path}": public[path] for path in headers} | {_LICENCES: licences}


def make_aar(parts: Sequence[AarPart]) -> bytes:
    """Raises InputError for parts that do not go together."""
    _expect_joinable(parts)
    files = _list_files(parts)
    return _lay_out(files, {path: _deflate(data) for path, data in files.items()})


def is_made_of(data: bytes, part: AarPart) -> bool:
    """Whether it is the AAR of this part, whichever zlib compressed it.

    Nothing that ``data`` says of itself is believed: its streams are laid out again.
    """
    files = _list_files([part])
    streams: dict[str, bytes] = {}
    start = 0
    for path in sorted(files):
        start += _measure_header(path)
        inflater = zlib.decompressobj(_RAW)
        rest = data[start:]
        try:
            content = inflater.decompress(rest, len(files[path]) + 1)
        except zlib.error:
            return False
        if content != files[path] or not inflater.eof:
            return False
        streams[path] = rest[: len(rest) - len(inflater.unused_data)]
        start += len(streams[path])
    return _lay_out(files, streams) == data


def _list_files(parts: Sequence[AarPart]) -> dict[str, bytes]:
    inner = {"META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\n"}
    files = {_CLASSES: _lay_out(inner, {})}
    for part in parts:
        files |= part.others
        files[f"{_folder_of(part.library)}/{part.library.file}"] = part.data
    texts = render_descriptions([part.library for part in parts])
    return files | {path: text.encode() for path, text in texts.items()}


def _expect_joinable(parts: Sequence[AarPart]) -> None:
    first = parts[0]
    abis = [part.library.target.abi for part in parts]
    for each, abi in zip(parts, abis, strict=True):
        if abis.count(abi) > 1:
            msg = f"{abi} occurs twice, but an AAR contains one library for each ABI"
            raise InputError(msg, hint="name one release of each ABI")
        if (each.engine, each.others.keys()) != (first.engine, first.others.keys()):
            msg = f"the releases for {abis[0]} and {abi} are from two engines"
            raise InputError(msg, hint="release all of them from one commit of the engine")
        if each.library.file != first.library.file:
            msg = f"found {first.library.file} and {each.library.file}, expected one library"
            raise InputError(msg, hint="name the same shared library in `artifacts` of all")


def _deflate(data: bytes) -> bytes:
    return zlib.compress(data, level=zlib.Z_BEST_COMPRESSION, wbits=_RAW)


def _measure_header(path: str) -> int:
    return 30 + len(path.encode())


def _lay_out(files: Mapping[str, bytes], streams: Mapping[str, bytes]) -> bytes:
    """Return a zip of them; what has no stream is stored."""
    local = bytearray()
    central = bytearray()
    for path in sorted(files):
        name = path.encode()
        data = files[path]
        start = len(local)
        stream = streams.get(path, data)
        method = _DEFLATED if path in streams else 0
        sizes = zlib.crc32(data), len(stream), len(data), len(name), 0
        about = struct.pack("<5H3I2H", _VERSION_NEEDED, _UTF_8, method, 0, _DATE, *sizes)
        made_by = struct.pack("<2B", _VERSION_NEEDED, _UNIX)
        local += _LOCAL + about + name + stream
        attributes = struct.pack("<3H2I", 0, 0, 0, _MODE << 16, start)
        central += _CENTRAL + made_by + about + attributes + name
    end = struct.pack("<4H2IH", 0, 0, len(files), len(files), len(central), len(local), 0)
    return bytes(local + central) + _END + end


def parse_target(toolchain: ToolchainIdentity | Toolchain) -> AndroidTarget | None:
    target = _TARGET.fullmatch(toolchain.target)
    version = _VERSION.match(toolchain.version)
    if toolchain.kind != _NDK or target is None or version is None:
        return None
    return AndroidTarget(
        abi=_TARGETS[target["machine"]], api=int(target["api"]), ndk=int(version["major"])
    )


def render_descriptions(libraries: Sequence[AndroidLibrary]) -> dict[str, str]:
    api = max(library.target.api for library in libraries)
    name = libraries[0].file.removesuffix(_SUFFIX)
    texts = {
        "AndroidManifest.xml": _MANIFEST.format(namespace=_NAMESPACE, api=api),
        "R.txt": "",
        # A version may be left out, and an engine's commit is none.
        f"{_TOP}/prefab.json": dump({"schema_version": 2, "name": PACKAGE, "dependencies": []}),
        f"{_MODULE}/module.json": dump({"export_libraries": [], "library_name": name}),
    }
    for library in libraries:
        abi = {
            "abi": library.target.abi,
            "api": library.target.api,
            "ndk": library.target.ndk,
            "stl": library.stl,
            "static": False,
        }
        texts[f"{_folder_of(library)}/abi.json"] = dump(abi)
    return texts


def _folder_of(library: AndroidLibrary) -> str:
    return f"{_MODULE}/libs/android.{library.target.abi}"
