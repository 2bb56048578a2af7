# What both generations begin with: flags, and which machine it is for.
include(CheckCXXCompilerFlag)
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# The engine takes the launcher that it finds, whatever it was told.
find_program(CCACHE_BIN ccache)
if(CCACHE_BIN)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_BIN})
endif()

if(MGE_WITH_CUDA)
  message(FATAL_ERROR "there is no CUDA here: MGE_WITH_CUDA must be OFF")
endif()

if(CMAKE_TOOLCHAIN_FILE)
  set(FLATBUFFERS_FLATC_EXECUTABLE "${PROJECT_SOURCE_DIR}/build_dir/host_flatc/install/bin/flatc")
  if(ANDROID_TOOLCHAIN_ROOT)
    if(ANDROID_ARCH_NAME STREQUAL "arm64")
      set(MGE_ARCH aarch64)
    elseif(ANDROID_ARCH_NAME STREQUAL "arm")
      set(MGE_ARCH armv7)
    else()
      message(FATAL_ERROR "DO NOT SUPPORT ANDROID ARCH NOW")
    endif()
  elseif(ARM_CROSS_BUILD_ARCH)
    set(MGE_ARCH ${ARM_CROSS_BUILD_ARCH})
  else()
    message(FATAL_ERROR "Unknown cross-compiling settings.")
  endif()
else()
  set(MGE_ARCH ${CMAKE_SYSTEM_PROCESSOR})
endif()
message(STATUS "CONFIG MGE_ARCH TO ${MGE_ARCH}")

string(
  APPEND
  CMAKE_CXX_FLAGS
  " -Wall -Wextra -Wno-unused-parameter -Wno-unused-function -Wno-unused-variable"
  # The same sums on every target: no multiplication and addition in one step.
  " -ffp-contract=off -ffunction-sections -fdata-sections")
string(APPEND CMAKE_EXE_LINKER_FLAGS " -Wl,--gc-sections")
string(APPEND CMAKE_SHARED_LINKER_FLAGS " -Wl,--gc-sections")
foreach(type RELEASE RELWITHDEBINFO)
  set(CMAKE_C_FLAGS_${type} "-g -O1 -DNDEBUG")
  set(CMAKE_CXX_FLAGS_${type} "-g -O1 -DNDEBUG")
endforeach()
