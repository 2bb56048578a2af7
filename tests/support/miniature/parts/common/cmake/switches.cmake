# What the options mean for the sources. Each switch of minimum size works by itself too.
if(NOT MGE_ENABLE_RTTI)
  string(APPEND CMAKE_CXX_FLAGS " -fno-rtti")
endif()
if(NOT MGE_ENABLE_EXCEPTIONS)
  string(APPEND CMAKE_CXX_FLAGS " -fno-exceptions")
endif()
if(MGE_ARMV8_2_FEATURE_FP16)
  string(APPEND CMAKE_CXX_FLAGS " -march=armv8.2-a+fp16")
endif()
if(MGE_DISABLE_FLOAT16)
  add_compile_definitions(MEGDNN_DISABLE_FLOAT16=1)
endif()
add_compile_definitions(
  SAMPLE_NO_RTTI=$<NOT:$<BOOL:${MGE_ENABLE_RTTI}>>
  SAMPLE_NO_LOGGING=$<NOT:$<BOOL:${MGE_ENABLE_LOGGING}>>
  SAMPLE_NO_EXCEPTIONS=$<NOT:$<BOOL:${MGE_ENABLE_EXCEPTIONS}>>
  MGB_ENABLE_FBS_SERIALIZATION=$<BOOL:${MGB_WITH_FLATBUFFERS}>)

find_package(PythonInterp 3 REQUIRED)
find_package(Threads REQUIRED)
include_directories(
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/dnn/src ${PROJECT_SOURCE_DIR}/third_party/midout/src)
add_subdirectory(third_party/flatbuffers)
