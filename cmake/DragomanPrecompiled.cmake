# The headers of the standard library and of fmt in compiled form, which saves a quarter of the processor time of a build.
#
#   dragoman_precompiled_headers(NAME [PROGRAM] [LEVEL -Ox] [HEADERS header...] [LINK library...])
#                                       compiles them for one set of options: an optimisation, and what the libraries ask for
#   dragoman_precompile(target NAME)    has a target use them
#
# They know the definitions of the folder in which they are made, so that is the root, or `tests`. A build without unity, as the preset `debug`
# has, does without them; there a header is missed that a source forgot to include. ccache takes such builds if it may overlook what
# DragomanOptions.cmake names.
set(DRAGOMAN_COMMON_HEADERS
  <algorithm> <array> <atomic> <bit> <chrono> <cmath> <cstdint> <cstring> <deque> <exception> <filesystem> <fstream> <functional> <future>
  <limits> <map> <memory> <mutex> <numeric> <optional> <random> <ranges> <set> <span> <sstream> <stop_token> <string> <string_view> <thread>
  <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)

# GCC guesses these from the flow of values. It is silent about code of system headers, unless they are precompiled.
set(DRAGOMAN_UNSURE_WARNINGS -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-restrict)

set(DRAGOMAN_PRECOMPILED OFF)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(DRAGOMAN_PRECOMPILED ON)
endif()

function(dragoman_optimise target level)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
endfunction()

function(dragoman_precompiled_headers name)
  cmake_parse_arguments(ARG "PROGRAM" "LEVEL" "HEADERS;LINK" ${ARGN})
  if(NOT DRAGOMAN_PRECOMPILED)
    return()
  endif()
  set(target dragoman_headers_${name})
  set(source ${PROJECT_BINARY_DIR}/precompiled/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
  if(ARG_PROGRAM)  # the code of a program is position independent in another way than that of a library
    add_executable(${target} ${source})
  else()
    add_library(${target} OBJECT ${source})
  endif()
  if(ARG_LEVEL)
    dragoman_optimise(${target} ${ARG_LEVEL})
  endif()
  target_link_libraries(${target} PRIVATE fmt::fmt ${ARG_LINK})
  target_compile_options(${target} PRIVATE -fpch-preprocess)
  target_precompile_headers(${target} PRIVATE ${DRAGOMAN_COMMON_HEADERS} ${ARG_HEADERS})
endfunction()

function(dragoman_precompile target name)
  if(NOT DRAGOMAN_PRECOMPILED)
    return()
  endif()
  target_compile_options(${target} PRIVATE -fpch-preprocess ${DRAGOMAN_UNSURE_WARNINGS})
  target_precompile_headers(${target} REUSE_FROM dragoman_headers_${name})
endfunction()

dragoman_precompiled_headers(O1 LEVEL -O1)
dragoman_precompiled_headers(O2 LEVEL -O2)
dragoman_precompiled_headers(O3 LEVEL -O3)
