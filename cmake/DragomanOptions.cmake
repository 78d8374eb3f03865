include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

option(DRAGOMAN_BUILD_TESTS "Build the tests" ON)
option(DRAGOMAN_BUILD_BENCHMARKS "Build the benchmarks (needs Google Benchmark)" OFF)
option(DRAGOMAN_BUILD_FUZZERS "Build the fuzz targets with libFuzzer (needs clang)" OFF)
option(DRAGOMAN_BUILD_PYTHON "Build the Python package (needs nanobind; `pip install .` sets it)" OFF)
option(DRAGOMAN_WARNINGS_AS_ERRORS "Treat compiler warnings as errors" ON)
set(DRAGOMAN_SANITIZER "" CACHE STRING "Sanitizers, as -fsanitize= takes them: address,undefined or thread")

find_program(DRAGOMAN_CCACHE ccache)
if(DRAGOMAN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What is compiled in one clone of the tree serves every other, wherever it lies. Precompiled headers need the last variable.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
    ${DRAGOMAN_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(DRAGOMAN_WARNINGS_AS_ERRORS)
  add_compile_options(-Werror)
endif()

# CMAKE_UNITY_BUILD, which the presets set, compiles up to CMAKE_UNITY_BUILD_BATCH_SIZE sources of a component as one: most of a source's time goes into headers that
# its neighbours include, too. So names within a component are told apart even where they are local to a file.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A class that only one file knows is taken for one of a header.
  add_compile_options(-Wno-subobject-linkage)
endif()

# Results must not depend on which multiply the compiler chose to fuse: contraction is spelled out where it is wanted.
add_compile_options(-ffp-contract=off)

# What is released has the same bytes wherever the tree lies. Debuggers need the folders.
add_compile_options($<$<CONFIG:Release>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-march=x86-64-v2)
endif()

# Highway compiles a kernel once for each of three SIMD levels: AVX-512, AVX2 and the baseline. SSE4 would add little to SSSE3, AVX3_DL is AVX3
# with instructions that we do not use, and vectors of unknown length (SVE) cannot be members or array elements, as our kernels have them.
set(DRAGOMAN_WITHOUT_SIMD "HWY_SSE4|HWY_AVX3_DL|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128")
if(DRAGOMAN_SANITIZER)
  # The three come from one source: two are enough to find what reads beyond its end, and take two thirds of the time.
  string(APPEND DRAGOMAN_WITHOUT_SIMD "|HWY_AVX3")
endif()

if(DRAGOMAN_SANITIZER)
  # At -O1 files compile in 60 to 80 percent of the processor time that they take at -O2; but there, and with checks in between, GCC takes
  # variables for uninitialised that are not.
  add_compile_options(-fsanitize=${DRAGOMAN_SANITIZER} -fno-omit-frame-pointer -O1 -g1)
  # Of values that the instrumentation itself adds.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  add_link_options(-fsanitize=${DRAGOMAN_SANITIZER})
  if(DRAGOMAN_SANITIZER MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(DRAGOMAN_SANITIZER MATCHES "thread")
    # GCC warns that TSan does not model fences; the ones in third-party headers are not ours to change.
    add_compile_options(-Wno-tsan)
  endif()
endif()

if(DRAGOMAN_BUILD_FUZZERS)
  # The libraries must report their coverage, or the fuzzer is blind.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
