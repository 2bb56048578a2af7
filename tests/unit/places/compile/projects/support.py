import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import BuildSpec, Toolchain, Variant
from megtrim.core.project import Project
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.compile.projects.link.invocation import LinkEnvironment

TOOLCHAIN = Toolchain(
    kind="host",
    target="aarch64-linux-gnu",
    machine="aarch64",
    version="1",
    c_compiler=("/bin/cc",),
    cxx_compiler=("/bin/c++",),
)
SCOPED = {"bin_reduce.h": "forced\n", "midout.h": "regions\n"}
BUILT = (Variant.PLAIN, Variant.PROFILE, Variant.REDUCED)
OPTIONS = (
    "MGE_WITH_JIT",
    "MGE_WITH_MIDOUT_PROFILE",
    "MGE_WITH_MINIMUM_SIZE",
    "MGE_WITH_CUDA",
    "MGE_ARMV8_2_FEATURE_FP16",
    "MGE_DISABLE_FLOAT16",
    "MGE_INFERENCE_ONLY",
    "MGE_WITH_TEST",
)
_CMAKE = "".join(f'option({name} "help" OFF)\n' for name in OPTIONS)
_OLD = ("midout", "flatbuffers", "Json", "cpuinfo")
_NEW = (*_OLD, "gflags", "cpp_redis", "tacopie")
_V1 = 'file_identifier "mgb1";\n'


def bench(tree: Path, scratch: Path, toolchain: Toolchain = TOOLCHAIN) -> LinkEnvironment:
    return LinkEnvironment(
        toolchain=toolchain,
        processes=ProcessRunner(os.environ),
        tree=tree,
        build=tree / "build",
        scratch=scratch,
        log=tree / "log",
        env={},
    )


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def git(processes: ProcessRunner, root: Path, *arguments: str) -> str:
    settings = ("-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false")
    who = {f"GIT_{role}_{what}": "x@example.org" for role in ("AUTHOR", "COMMITTER") for what in
           ("NAME", "EMAIL")}  # fmt: skip
    command = Command(
        argv=("git", *settings, "-C", str(root), *arguments),
        timeout_s=20,
        env={**who, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"},
    )
    outcome = processes.run(command)
    assert outcome.ok, outcome.stderr
    return outcome.stdout


def repository(processes: ProcessRunner, root: Path, files: Mapping[str, str]) -> Path:
    write(root, files)
    git(processes, root, "init", "-q", "-b", "main")
    git(processes, root, "add", "-A")
    git(processes, root, "commit", "-q", "-m", "begin")
    return root


def snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            facts = path.lstat()
            data: object = ""
            if path.is_symlink():
                data = path.readlink()
            elif path.is_file():
                data = path.read_bytes()
            found[str(path.relative_to(root))] = (facts.st_mode, facts.st_mtime_ns, data)
    return found


def make_spec(
    engine: Project,
    variant: Variant,
    *,
    header: Mapping[str, str] | None = None,
    minimum_size: bool = True,
    toolchain: str = "host",
) -> BuildSpec:
    if header is None:
        header = SCOPED if variant is Variant.REDUCED else {}
    return engine.make_spec(
        variant,
        replace(TOOLCHAIN, kind=toolchain),
        targets=("load_and_run",),
        minimum_size=minimum_size,
        header=header,
    )


def _modules(names: tuple[str, ...]) -> dict[str, str]:
    return {f"third_party/{name}/CMakeLists.txt": "" for name in names}


# Names of files and options, as read at the tags v1.6.0, v1.9.1 and v1.13.4.
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
