"""A stand-in for the Android NDK: its layout and names around Debian's clang, our own text.

What it makes is Linux, not Android: programs are linked with Debian's glibc, statically unless
``ANDROID_STL`` is ``c++_shared``, so that qemu-user and a virtual phone run them as they are.
The folder holds links to Debian's programs and no path of its own, so equal arguments give
equal folders, and one that was copied into an image works there.
"""

from pathlib import Path

_REVISION = "21.4.7075529"
"""What a real r21e says of itself."""
_LLVM = "14"
_HOST_TAG = "linux-x86_64"
_TOOLS = (
    "clang",
    "clang++",
    "ld.lld",
    "llvm-ar",
    "llvm-nm",
    "llvm-objcopy",
    "llvm-ranlib",
    "llvm-readelf",
    "llvm-strip",
)
_TOOLCHAIN_FILE = Path(__file__).parent / "standin.toolchain.cmake"


def make_standin_ndk(folder: Path) -> Path:
    _write(
        folder / "source.properties",
        f"Pkg.Desc = Android NDK stand-in (tests of megtrim; Debian clang {_LLVM}, glibc)\n"
        f"Pkg.Revision = {_REVISION}\n",
    )
    _write(folder / "meta/platforms.json", '{"min": 16, "max": 30, "aliases": {}}\n')
    _write(
        folder / "build/cmake/android.toolchain.cmake", _TOOLCHAIN_FILE.read_text(encoding="utf-8")
    )
    prebuilt = folder / "toolchains/llvm/prebuilt" / _HOST_TAG
    programs = prebuilt / "bin"
    programs.mkdir(parents=True)
    (prebuilt / "sysroot").symlink_to("/usr/aarch64-linux-gnu")
    for name in _TOOLS:
        (programs / name).symlink_to(f"/usr/bin/{name}-{_LLVM}")
    return folder


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
