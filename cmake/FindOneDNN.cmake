# Finds oneDNN and defines DNNL::dnnl, and OneDNN_CPU_THREADING: the threads that it was built with (OMP, TBB, THREADPOOL or SEQ).
# Its own package file is not used: where the distribution built it with an OpenCL runtime (Debian does), that file insists on the OpenCL
# headers, which nothing of ours includes.
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(OneDNN_LIBRARY dnnl)
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)

if(OneDNN_INCLUDE_DIR AND EXISTS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h)
  file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h version_lines REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH)")
  string(REGEX MATCHALL "[0-9]+" version_numbers "${version_lines}")
  list(JOIN version_numbers "." OneDNN_VERSION)
  file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_config.h threading REGEX "^#define DNNL_CPU_THREADING_RUNTIME ")
  string(REGEX REPLACE ".*DNNL_RUNTIME_" "" OneDNN_CPU_THREADING "${threading}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR VERSION_VAR OneDNN_VERSION)

if(OneDNN_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES
    IMPORTED_LOCATION ${OneDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${OneDNN_INCLUDE_DIR})
endif()
