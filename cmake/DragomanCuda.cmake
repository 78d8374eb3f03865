# The plugin `cuda`, where nvcc is: a shared library of its own, so that the program needs neither CUDA nor a driver. It knows no other plugin;
# those that have kernels for CUDA contain them (dragoman_bundled_plugin).
if(NOT DRAGOMAN_HAS_NVCC)
  return()
endif()
get_target_property(backend dragoman_backend_cuda SOURCE_DIR)
dragoman_cuda_objects(cuda device_objects DRAGOMAN_CUDA_USAGE
  SOURCES ${DRAGOMAN_CUDA_DEVICE_SOURCES}
  INCLUDE ${backend}/device ${backend}/hardware
    ${PROJECT_SOURCE_DIR}/models/ops/include ${PROJECT_SOURCE_DIR}/models/tensor/include)

# All but the plugin itself, for programs that test it on a GPU, too.
file(GLOB hardware_sources CONFIGURE_DEPENDS ${backend}/hardware/*.cpp)
list(REMOVE_ITEM hardware_sources ${backend}/hardware/plugin.cpp)
add_library(dragoman_cuda_hardware OBJECT EXCLUDE_FROM_ALL ${hardware_sources})
target_include_directories(dragoman_cuda_hardware
  PUBLIC ${backend}/hardware ${DRAGOMAN_CUDA_ROOT}/include $<TARGET_PROPERTY:dragoman_backend_cuda,INTERFACE_INCLUDE_DIRECTORIES>
  PRIVATE ${backend}/src ${backend}/device)
target_compile_definitions(dragoman_cuda_hardware PUBLIC $<TARGET_PROPERTY:dragoman_backend_cuda,INTERFACE_COMPILE_DEFINITIONS>)
set_target_properties(dragoman_cuda_hardware PROPERTIES POSITION_INDEPENDENT_CODE ON)
add_library(dragoman_cuda_kernels STATIC EXCLUDE_FROM_ALL ${device_objects})
set_target_properties(dragoman_cuda_kernels PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(dragoman_cuda_kernels PUBLIC ${DRAGOMAN_CUDART} ${CMAKE_DL_LIBS} rt Threads::Threads)

dragoman_plugin_module(dragoman_plugin_cuda cuda ${backend}/hardware/plugin.cpp)
target_link_libraries(dragoman_plugin_cuda PRIVATE dragoman_cuda_hardware dragoman_backend_cuda dragoman_cuda_kernels)
set_target_properties(dragoman_plugin_cuda PROPERTIES UNITY_BUILD OFF)
