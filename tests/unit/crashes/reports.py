"""Reports of crashes, as phones, kernels and debuggers write them; written for these tests."""

from collections.abc import Sequence

LIBRARY = "/data/app/~~Xy==/com.example.app-Zz==/lib/arm64/libengine.so"
MAPS = (
    f"    0000007b'00001000-0000007b'00001fff r-x      1000      1000  {LIBRARY}",
    "7b00002000-7b00003000 rw-p 00002000 fd:01 1311                   /data/local/tmp/app",
)


def tombstone(
    frames: Sequence[tuple[int, str]],
    *,
    build_id: str = "",
    signal: int = 5,
    pc: int = 0,
    caller: int = 0,
    maps: Sequence[str] = (),
    offset: int = 0,
    logcat: bool = False,
) -> bytes:
    """Return a tombstone with a second thread behind; ``logcat``: as lines of the log."""
    pc = pc or frames[0][0]
    name = {4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 11: "SIGSEGV"}[signal]
    tail = f" (offset 0x{offset:x})" if offset else ""
    tail += f" (BuildId: {build_id})" if build_id else ""
    lines = [
        "*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***",
        "Build fingerprint: 'example/phone/phone:11/AAAA.200000.001/1:user/release-keys'",
        "ABI: 'arm64'",
        "pid: 4711, tid: 4720, name: worker  >>> com.example.app <<<",
        f"signal {signal} ({name}), code 1 (TRAP_BRKPT), fault addr 0x{pc:x}",
        "    x0  0000000000000001  x1  0000007b00000000  x2  0000000000000000",
        f"    lr  {caller:016x}  sp  0000007b12345670  pc  {pc:016x}  pst 0000000060001000",
        "",
        "backtrace:",
        *(f"      #{n:02} pc {at:016x}  {file}{tail}" for n, (at, file) in enumerate(frames)),
        "",
        *(["memory map (3 entries):"] if maps else []),
        *maps,
        "--- --- --- --- --- --- --- --- --- --- --- --- --- --- --- ---",
        "pid: 4711, tid: 4711, name: main  >>> com.example.app <<<",
        "backtrace:",
        "      #00 pc 0000000000000bad  /apex/com.android.runtime/lib64/bionic/libc.so",
    ]
    if logcat:
        lines = [f"11-24 03:04:05.678  4800  4800 F DEBUG   : {line}" for line in lines]
    return "\n".join([*lines, ""]).encode()
