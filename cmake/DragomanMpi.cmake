# The plugin `mpi`, where an MPI's headers are: a shared library of its own, so that neither the library nor the program needs MPI.
if(DRAGOMAN_SANITIZER OR CMAKE_CROSSCOMPILING)
  return()
endif()
pkg_search_module(DRAGOMAN_MPI QUIET IMPORTED_TARGET ompi-c mpich)
if(NOT DRAGOMAN_MPI_FOUND)
  message(STATUS "No MPI here: the plugin `mpi` is not built (Debian: libopenmpi-dev)")
  return()
endif()

add_library(dragoman_plugin_mpi MODULE ${PROJECT_SOURCE_DIR}/models/collective/mpi/plugin.cpp
  ${PROJECT_SOURCE_DIR}/models/collective/mpi/mpi_collective.cpp)
target_link_libraries(dragoman_plugin_mpi PRIVATE dragoman PkgConfig::DRAGOMAN_MPI)
# The functions of C are all that is used.
target_compile_definitions(dragoman_plugin_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
set_target_properties(dragoman_plugin_mpi PROPERTIES
  PREFIX ""
  OUTPUT_NAME mpi
  CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON
  LIBRARY_OUTPUT_DIRECTORY ${DRAGOMAN_PLUGIN_FOLDER})
set_property(GLOBAL APPEND PROPERTY DRAGOMAN_PLUGINS dragoman_plugin_mpi)
