# CUDA's compiler, where it is: DRAGOMAN_HAS_NVCC, DRAGOMAN_CUDA_ROOT (of the toolkit), DRAGOMAN_CUDART (the runtime, which is linked statically:
# it loads the driver when it is first called, so a plugin that contains it is loaded where there is none, too).
#
# nvcc is called by hand: its version may be newer than those that this CMake knows.
find_program(DRAGOMAN_NVCC nvcc HINTS /usr/local/cuda/bin DOC "CUDA's compiler; without it plugins are built without kernels for CUDA")
set(DRAGOMAN_HAS_NVCC OFF)
if(NOT DRAGOMAN_NVCC OR DRAGOMAN_SANITIZER OR CMAKE_CROSSCOMPILING)
  return()
endif()
get_filename_component(nvcc_file ${DRAGOMAN_NVCC} REALPATH)
get_filename_component(DRAGOMAN_CUDA_ROOT ${nvcc_file}/../.. ABSOLUTE)
find_library(DRAGOMAN_CUDART cudart_static HINTS ${DRAGOMAN_CUDA_ROOT}/lib64 ${DRAGOMAN_CUDA_ROOT}/targets/x86_64-linux/lib)
if(NOT DRAGOMAN_CUDART)
  return()
endif()
set(DRAGOMAN_HAS_NVCC ON)

# Real code for the two generations that most have, and PTX for later ones.
set(DRAGOMAN_CUDA_ARCHITECTURES "80;90" CACHE STRING
  "Compute capabilities that kernels are compiled for, without the dot; later GPUs than the last compile its PTX when a program starts")
set(DRAGOMAN_CUDA_CODE "" CACHE STRING "nvcc's options for the GPUs that are compiled for, in place of DRAGOMAN_CUDA_ARCHITECTURES")
set(cuda_code ${DRAGOMAN_CUDA_CODE})
if(NOT cuda_code)
  set(last_architecture 0)
  foreach(architecture IN LISTS DRAGOMAN_CUDA_ARCHITECTURES)
    # Tensor cores multiply bf16 from 8.0 on, and a device that is older is not offered.
    if(NOT architecture MATCHES "^[0-9]+$" OR architecture LESS 80 OR NOT architecture GREATER last_architecture)
      message(FATAL_ERROR "DRAGOMAN_CUDA_ARCHITECTURES is \"${DRAGOMAN_CUDA_ARCHITECTURES}\"; list numbers from 80 on in rising order, as \"80;90\"")
    endif()
    set(last_architecture ${architecture})
    list(APPEND cuda_code -gencode=arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  list(APPEND cuda_code -gencode=arch=compute_${last_architecture},code=compute_${last_architecture})
endif()
set(DRAGOMAN_CUDA_CODE_OPTIONS ${cuda_code})

# dragoman_cuda_objects(plugin objects usage SOURCES file.cu... INCLUDE folder...): compiles the kernels of a plugin. `objects` becomes the list
# of object files, each with the lines of its instructions, for profilers and compute-sanitizer; `usage` becomes that of what ptxas said of each kernel (its registers), for a test.
function(dragoman_cuda_objects plugin objects usage)
  cmake_parse_arguments(ARG "" "" "SOURCES;INCLUDE" ${ARGN})
  list(TRANSFORM ARG_INCLUDE PREPEND -I)
  set(all_objects "")
  set(all_usage "")
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(name ${source} NAME_WE)
    set(object ${PROJECT_BINARY_DIR}/cuda/${plugin}/${name}.cu.o)
    add_custom_command(OUTPUT ${object}
      COMMAND sh -c "\"$@\" 2>\"$0\" || { cat \"$0\" >&2; exit 1; }" ${object}.usage
        ${DRAGOMAN_NVCC} -std=c++20 -O3 -lineinfo -Xptxas -v ${DRAGOMAN_CUDA_CODE_OPTIONS} -Xcompiler -fPIC,-fvisibility=hidden
        ${ARG_INCLUDE} -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source}
      DEPFILE ${object}.d
      COMMENT "Compiling ${name}.cu for the GPU" VERBATIM)
    list(APPEND all_objects ${object})
    list(APPEND all_usage ${object}.usage)
  endforeach()
  set(${objects} ${all_objects} PARENT_SCOPE)
  set(${usage} ${all_usage} PARENT_SCOPE)
endfunction()
