# Stand-in for the Android NDK's toolchain file: takes the same variables, but makes programs for
# Linux with Debian's clang and glibc. Only for tests of megtrim.
#
# Inputs: ANDROID_ABI, ANDROID_PLATFORM or ANDROID_NATIVE_API_LEVEL, ANDROID_STL
cmake_minimum_required(VERSION 3.15...4.0)

# CMake's own Android files would look for a real NDK.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_VERSION 1)
set(ANDROID TRUE)

# The file is read more than once in a run; flags are added once.
if(ANDROID_NDK_TOOLCHAIN_INCLUDED)
  return()
endif()
set(ANDROID_NDK_TOOLCHAIN_INCLUDED TRUE)

get_filename_component(standin_root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
if(ANDROID_NDK)
  get_filename_component(ANDROID_NDK "${ANDROID_NDK}" ABSOLUTE)
  if(NOT ANDROID_NDK STREQUAL standin_root)
    message(WARNING "ANDROID_NDK is ${ANDROID_NDK}, and this file lies in ${standin_root}")
  endif()
else()
  set(ANDROID_NDK "${standin_root}")
endif()

file(STRINGS "${ANDROID_NDK}/source.properties" standin_revision REGEX "^Pkg.Revision = ")
string(REGEX REPLACE "^Pkg.Revision = " "" ANDROID_NDK_REVISION "${standin_revision}")

if(NOT ANDROID_ABI)
  set(ANDROID_ABI armeabi-v7a)
elseif(ANDROID_ABI STREQUAL "armeabi-v7a with NEON")
  set(ANDROID_ABI armeabi-v7a)
  set(ANDROID_ARM_NEON TRUE)
endif()
if(ANDROID_ABI STREQUAL "arm64-v8a")
  set(ANDROID_ARCH_NAME arm64)
  set(CMAKE_SYSTEM_PROCESSOR aarch64)
  set(standin_target aarch64-linux-gnu)
  set(standin_lowest 21)
elseif(ANDROID_ABI STREQUAL "armeabi-v7a")
  set(ANDROID_ARCH_NAME arm)
  set(CMAKE_SYSTEM_PROCESSOR armv7-a)
  set(standin_target arm-linux-gnueabihf)
  set(standin_lowest 16)
else()
  message(FATAL_ERROR "Invalid Android ABI: ${ANDROID_ABI}.")
endif()

# As a real one does: a level below what the architecture has is raised without an error.
if(NOT ANDROID_PLATFORM AND ANDROID_NATIVE_API_LEVEL)
  set(ANDROID_PLATFORM "${ANDROID_NATIVE_API_LEVEL}")
endif()
string(REGEX REPLACE "^android-" "" ANDROID_PLATFORM_LEVEL "${ANDROID_PLATFORM}")
if(ANDROID_PLATFORM_LEVEL STREQUAL "" OR ANDROID_PLATFORM_LEVEL LESS standin_lowest)
  set(ANDROID_PLATFORM_LEVEL ${standin_lowest})
endif()
set(ANDROID_PLATFORM "android-${ANDROID_PLATFORM_LEVEL}")
set(ANDROID_NATIVE_API_LEVEL ${ANDROID_PLATFORM_LEVEL})

if(NOT ANDROID_STL)
  set(ANDROID_STL c++_static)
endif()
if(ANDROID_STL STREQUAL "c++_static")
  set(standin_executable -static)
elseif(NOT ANDROID_STL STREQUAL "c++_shared")
  message(FATAL_ERROR "Invalid STL: ${ANDROID_STL}.")
endif()

set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES
    ANDROID_ABI ANDROID_ARM_NEON ANDROID_NDK ANDROID_PLATFORM ANDROID_STL)

set(ANDROID_TOOLCHAIN clang)
set(ANDROID_TOOLCHAIN_ROOT "${ANDROID_NDK}/toolchains/llvm/prebuilt/linux-x86_64")
set(CMAKE_C_COMPILER "${ANDROID_TOOLCHAIN_ROOT}/bin/clang")
set(CMAKE_CXX_COMPILER "${ANDROID_TOOLCHAIN_ROOT}/bin/clang++")
set(CMAKE_C_COMPILER_TARGET ${standin_target})
set(CMAKE_CXX_COMPILER_TARGET ${standin_target})
set(CMAKE_AR "${ANDROID_TOOLCHAIN_ROOT}/bin/llvm-ar" CACHE FILEPATH "Archiver")
set(CMAKE_RANLIB "${ANDROID_TOOLCHAIN_ROOT}/bin/llvm-ranlib" CACHE FILEPATH "Ranlib")
set(CMAKE_STRIP "${ANDROID_TOOLCHAIN_ROOT}/bin/llvm-strip" CACHE FILEPATH "Strip")

# Empty cache entries that keep what a user gives, and the NDK's own flags before them: like a
# real one, this leaves no room for CMAKE_<LANG>_FLAGS_INIT.
set(standin_compile
    "-g -DANDROID -ffunction-sections -fdata-sections -funwind-tables -Wformat -Werror=format-security")
set(standin_link
    "-fuse-ld=lld -Wl,--build-id -Wl,--fatal-warnings -Wl,--no-undefined -Qunused-arguments")
foreach(language C CXX ASM)
  set(CMAKE_${language}_FLAGS "" CACHE STRING "Flags of every build type")
  set(CMAKE_${language}_FLAGS "${standin_compile} ${CMAKE_${language}_FLAGS}")
endforeach()
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS "" CACHE STRING "Flags of the linker")
endforeach()
set(CMAKE_EXE_LINKER_FLAGS
    "${standin_link} -Wl,--gc-sections ${standin_executable} ${CMAKE_EXE_LINKER_FLAGS}")
set(CMAKE_SHARED_LINKER_FLAGS "${standin_link} ${CMAKE_SHARED_LINKER_FLAGS}")
set(CMAKE_MODULE_LINKER_FLAGS "${standin_link} ${CMAKE_MODULE_LINKER_FLAGS}")
