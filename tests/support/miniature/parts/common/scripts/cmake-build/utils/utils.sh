#!/usr/bin/env bash
# What build scripts share.
set -e

# list_options: the options that the build files declare.
list_options() {
    (cd "$root" && grep "option(" lite/CMakeLists.txt CMakeLists.txt)
}

# begin_build REMOVE BUILD INSTALL: makes both folders, anew where that is asked, and goes there.
begin_build() {
    if [ $1 = true ]; then
        rm -rf $2 $3
    fi
    mkdir -p $2 $3
    cd "$(readlink -f $2)"
}

# build_flatc ROOT REMOVE: for this machine, by its own compiler.
build_flatc() {
    local folder=$1/build_dir/host_flatc
    begin_build $2 $folder/build $folder/install
    cmake -G Ninja \
        -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX=$folder/install \
        -DFLATBUFFERS_BUILD_TESTS=OFF \
        -DFLATBUFFERS_BUILD_FLATHASH=OFF \
        -DFLATBUFFERS_BUILD_FLATLIB=OFF \
        -DFLATBUFFERS_LIBCXX_WITH_CLANG=OFF \
        $1/third_party/flatbuffers
    ninja all
    ninja install/strip
}

# run_ninja TARGET JOBS VERBOSE DRY_RUN: in the folder of the build.
run_ninja() {
    local command="ninja $1 -j $2"
    if [ $4 = ON ]; then
        command="$command -d explain -n"
    elif [ $3 = ON ]; then
        command="$command -d explain -v"
    fi
    echo "build ninja target command: $command"
    bash -c "$command"
}
