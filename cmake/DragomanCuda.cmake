# The plugin `cuda`, where nvcc is: a shared library of its own, so that the program needs neither CUDA nor a driver.
#
# nvcc is called by hand: its version may be newer than those that this CMake knows, and all that it compiles are kernels, whose register counts
# are kept beside their objects (NAME.usage) for a test.
find_program(DRAGOMAN_NVCC nvcc HINTS /usr/local/cuda/bin DOC "CUDA's compiler; without it the plugin `cuda` is not built")
if(NOT DRAGOMAN_NVCC OR DRAGOMAN_SANITIZER OR CMAKE_CROSSCOMPILING)
  return()
endif()
get_filename_component(nvcc_file ${DRAGOMAN_NVCC} REALPATH)
get_filename_component(cuda_root ${nvcc_file}/../.. ABSOLUTE)
find_library(DRAGOMAN_CUDART cudart_static HINTS ${cuda_root}/lib64 ${cuda_root}/targets/x86_64-linux/lib)
if(NOT DRAGOMAN_CUDART)
  return()
endif()

# Real code for the two generations that most have, and PTX for later ones.
set(DRAGOMAN_CUDA_CODE "-gencode=arch=compute_80,code=sm_80;-gencode=arch=compute_90,code=[sm_90,compute_90]" CACHE STRING
  "nvcc's options for the GPUs that are compiled for")
set(backend ${PROJECT_SOURCE_DIR}/models/backend/cuda)
file(GLOB device_headers CONFIGURE_DEPENDS ${backend}/device/*.h ${backend}/hardware/*.h ${PROJECT_SOURCE_DIR}/plugins/*/cuda/*.h)
set(device_objects "")
set(DRAGOMAN_CUDA_USAGE "")
foreach(source IN LISTS DRAGOMAN_CUDA_DEVICE_SOURCES)
  get_filename_component(name ${source} NAME_WE)
  set(object ${PROJECT_BINARY_DIR}/models/backend/cuda/${name}.cu.o)
  add_custom_command(OUTPUT ${object}
    COMMAND sh -c "\"$@\" 2>\"$0\" || { cat \"$0\" >&2; exit 1; }" ${object}.usage
      ${DRAGOMAN_NVCC} -std=c++20 -O3 -Xptxas -v ${DRAGOMAN_CUDA_CODE} -Xcompiler -fPIC,-fvisibility=hidden
      -I${backend}/device -I${backend}/hardware -I${PROJECT_SOURCE_DIR}/models/ops/include -I${PROJECT_SOURCE_DIR}/models/tensor/include
      -c ${source} -o ${object}
    DEPENDS ${source} ${device_headers} ${PROJECT_SOURCE_DIR}/models/ops/include/dragoman/ops/values.h
      ${PROJECT_SOURCE_DIR}/models/tensor/include/dragoman/tensor/random_key.h
    COMMENT "Compiling ${name}.cu for the GPU" VERBATIM)
  list(APPEND device_objects ${object})
  list(APPEND DRAGOMAN_CUDA_USAGE ${object}.usage)
endforeach()

# All but the plugin itself, for programs that test it on a GPU, too.
file(GLOB hardware_sources CONFIGURE_DEPENDS ${backend}/hardware/*.cpp)
list(REMOVE_ITEM hardware_sources ${backend}/hardware/plugin.cpp)
add_library(dragoman_cuda_hardware OBJECT EXCLUDE_FROM_ALL ${hardware_sources})
target_include_directories(dragoman_cuda_hardware
  PUBLIC ${backend}/hardware ${cuda_root}/include $<TARGET_PROPERTY:dragoman_backend_cuda,INTERFACE_INCLUDE_DIRECTORIES>
  PRIVATE ${backend}/src ${backend}/device)
target_compile_definitions(dragoman_cuda_hardware PUBLIC $<TARGET_PROPERTY:dragoman_backend_cuda,INTERFACE_COMPILE_DEFINITIONS>)
set_target_properties(dragoman_cuda_hardware PROPERTIES POSITION_INDEPENDENT_CODE ON)
add_library(dragoman_cuda_kernels STATIC EXCLUDE_FROM_ALL ${device_objects})
set_target_properties(dragoman_cuda_kernels PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(dragoman_cuda_kernels PUBLIC ${DRAGOMAN_CUDART} ${CMAKE_DL_LIBS} rt Threads::Threads)

add_library(dragoman_plugin_cuda MODULE ${backend}/hardware/plugin.cpp)
target_link_libraries(dragoman_plugin_cuda PRIVATE dragoman dragoman_cuda_hardware dragoman_backend_cuda dragoman_cuda_kernels)
set_target_properties(dragoman_plugin_cuda PROPERTIES
  PREFIX ""
  OUTPUT_NAME cuda
  UNITY_BUILD OFF
  CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON
  LIBRARY_OUTPUT_DIRECTORY ${DRAGOMAN_PLUGIN_FOLDER})
