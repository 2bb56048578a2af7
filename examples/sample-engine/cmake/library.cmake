# The engine without its program, for applications that bring their own: an archive and a shared
# object of the same sources, compiled like load_and_run.
set(library_sources ${sources})
list(FILTER library_sources EXCLUDE REGEX "src/load_and_run/(main|options|outputs|session).cpp")

add_library(sample_engine_objects OBJECT EXCLUDE_FROM_ALL ${library_sources}
                                                           src/library/model.cpp
                                                           src/library/model_c.cpp)
set_target_properties(
  sample_engine_objects PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
foreach(what INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS)
  set_property(
    TARGET sample_engine_objects PROPERTY ${what} $<TARGET_PROPERTY:load_and_run,${what}>)
endforeach()

# Operators register themselves, so a program must link the whole archive.
add_library(sample_engine_static STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:sample_engine_objects>)
add_library(sample_engine_shared SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:sample_engine_objects>)
set_target_properties(sample_engine_static sample_engine_shared PROPERTIES OUTPUT_NAME sample_engine)
set_property(
  TARGET sample_engine_shared
  PROPERTY LINK_OPTIONS $<TARGET_PROPERTY:load_and_run,LINK_OPTIONS> -Wl,--no-undefined)
target_link_libraries(sample_engine_shared PRIVATE Threads::Threads)
foreach(library sample_engine_static sample_engine_shared)
  target_include_directories(${library} PUBLIC src/public)
endforeach()
