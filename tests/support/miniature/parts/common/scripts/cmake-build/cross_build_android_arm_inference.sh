#!/usr/bin/env bash
# Builds for Android, with the interface of the real tree's script and its ways with quotes:
# the words of NDK_ROOT, of EXTRA_CMAKE_ARGS and of paths are split, and read by a second shell.
set -e

root=$(readlink -f "$(dirname "$0")/../..")
source "$root/scripts/cmake-build/utils/utils.sh"

build_type=Release
abi=arm64-v8a
fp16=OFF
no_float16=OFF
remove_old=false
verbose=OFF
dry_run=OFF
target="install/strip"
jobs=$(($(nproc) + 2))

usage() {
    echo "$0 [-d] [-f] [-k] [-r] [-v] [-n] [-a arm64-v8a|armeabi-v7a] [-j JOBS] [-e TARGET] [-l] [-h]"
    echo "NDK_ROOT names the NDK; EXTRA_CMAKE_ARGS holds further arguments of CMake"
    exit 255
}

while getopts "lnvrkhdfa:e:j:" option; do
    case $option in
        d) build_type=Debug ;;
        f) fp16=ON ;;
        k) no_float16=ON ;;
        r) remove_old=true ;;
        v) verbose=ON ;;
        n) dry_run=ON ;;
        j) jobs=$OPTARG ;;
        e) target=$OPTARG ;;
        l)
            list_options
            exit 0
            ;;
        a)
            case $OPTARG in
                "arm64-v8a" | "armeabi-v7a") abi=$OPTARG ;;
                *)
                    echo "no such ABI: $OPTARG"
                    usage
                    ;;
            esac
            ;;
        *) usage ;;
    esac
done

echo "EXTRA_CMAKE_ARGS: ${EXTRA_CMAKE_ARGS}"
if [ -z $NDK_ROOT ]; then
    echo "NDK_ROOT names no NDK"
    exit 255
fi

build_flatc "$root" $remove_old

folder=$root/build_dir/android/$abi/$build_type
if [ $abi = arm64-v8a ]; then
    level=21
    ndk_abi="arm64-v8a"
else
    level=16
    ndk_abi="armeabi-v7a with NEON"
fi
begin_build $remove_old $folder/build $folder/install
# The quotes around NDK_ROOT end the text of the inner shell and begin it anew.
bash -c "cmake -G Ninja \
    -DCMAKE_TOOLCHAIN_FILE="$NDK_ROOT/build/cmake/android.toolchain.cmake" \
    -DANDROID_NDK="$NDK_ROOT" \
    -DCMAKE_BUILD_TYPE=$build_type \
    -DANDROID_ABI=\"$ndk_abi\" \
    -DANDROID_NATIVE_API_LEVEL=$level \
    -DMGE_INFERENCE_ONLY=ON \
    -DMGE_WITH_CUDA=OFF \
    -DMGE_ARMV8_2_FEATURE_FP16=$fp16 \
    -DMGE_DISABLE_FLOAT16=$no_float16 \
    -DCMAKE_INSTALL_PREFIX=$folder/install \
    ${EXTRA_CMAKE_ARGS} \
    $root "
run_ninja "$target" $jobs $verbose $dry_run
