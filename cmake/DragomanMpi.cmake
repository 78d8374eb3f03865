# The plugin `mpi`, where an MPI's headers are: a shared library of its own, so that neither the library nor the program needs MPI.
if(DRAGOMAN_SANITIZER OR CMAKE_CROSSCOMPILING)
  return()
endif()
pkg_search_module(DRAGOMAN_MPI QUIET IMPORTED_TARGET ompi-c mpich)
if(NOT DRAGOMAN_MPI_FOUND)
  message(STATUS "No MPI here: the plugin `mpi` is not built (Debian: libopenmpi-dev)")
  return()
endif()

set(mpi ${PROJECT_SOURCE_DIR}/plugins/mpi)
dragoman_plugin_module(dragoman_plugin_mpi mpi ${mpi}/plugin.cpp ${mpi}/mpi_collective.cpp)
target_link_libraries(dragoman_plugin_mpi PRIVATE PkgConfig::DRAGOMAN_MPI)
# The functions of C are all that is used.
target_compile_definitions(dragoman_plugin_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
