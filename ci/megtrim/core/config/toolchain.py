"""What megtrim.yaml says of the compiler that builds the engine."""

from typing import Annotated, Literal

from pydantic import StrictBool

from megtrim.core.config.kinds import ToolchainKind
from megtrim.core.config.value_types import ConfigSection, ImageName, NdkRelease, Whole


class ToolchainConfig(ConfigSection):
    """The compiler that builds the engine."""

    kind: ToolchainKind = "auto"
    """auto: clang-linux-arm64 if the machine has it, otherwise zig, otherwise host; without qemu,
    it builds for this machine. ndk: for Android, with the NDK that ANDROID_NDK_ROOT names. If it is
    left out, engines of the kinds cmake and ncnn are built by host, for this machine."""
    prefer: Literal["zig"] | None = None
    """auto: use zig, or otherwise host, but not clang-linux-arm64, so that all machines with zig
    make the same program."""
    ndk: NdkRelease | None = None
    """ndk: the release that is required, such as r21e. Default: any."""
    abi: Literal["arm64-v8a", "armeabi-v7a"] | None = None
    """ndk: Android's name of the architecture. Default: arm64-v8a."""
    api: Annotated[int, Whole(16, 99)] | None = None
    """ndk: API level of the oldest phone. Default: the lowest that the ABI has."""
    fp16: StrictBool = False
    """ndk, arm64-v8a: use the half-precision instructions of Armv8.2; not on older phones."""
    pages: Literal["4 KiB", "16 KiB"] | None = None
    """ndk: largest memory pages of the phones that load the program. Default: 16 KiB for arm64-v8a,
    which Google Play requires of apps for Android 15, and 4 KiB for armeabi-v7a."""
    stl: Literal["c++_static", "c++_shared"] | None = None
    """ndk: the C++ runtime, either in each file (c++_static) or as libc++_shared.so for the whole
    app (c++_shared). Default: the one that the engine's build asks for, otherwise c++_static."""
    clang: Annotated[int, Whole(13, 99)] | None = None
    """clang-linux-arm64, clang-linux-armhf: the release of clang and lld, such as 16. Default: 14,
    otherwise 15, 16 or 13; for trim.level: blocks, 22."""
    image: ImageName | None = None
    """Docker image to build in, best by digest. Default: this machine."""
    jobs: Annotated[int, Whole(1, 1024)] | None = None
    """Number of compilers that run at the same time. Default: one per core."""
