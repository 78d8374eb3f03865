# The Debian packages that `cpack -G DEB` creates in the build tree, one of each installed component; scripts/release runs it.
# dpkg-shlibdeps finds the packages that a file needs, so the packages fit the system that they are built on.
if(CMAKE_CROSSCOMPILING OR DRAGOMAN_SANITIZER)
  return()
endif()

# The library's package has the soname in its name, as Debian's policy (8.1) requires. Plugins have one place for all versions, so a new minor
# version takes the place of the former one.
set(library_package libdragoman${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(same_library "${library_package} (= ${PROJECT_VERSION})")
set(DRAGOMAN_MAINTAINER "Dragoman maintainers <maintainers@dragoman.invalid>" CACHE STRING "Maintainer of the Debian packages: NAME <ADDRESS>")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dragoman)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each component's description has its own first line
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian/prepare.cmake)
set(CPACK_DRAGOMAN_SOURCE ${PROJECT_SOURCE_DIR})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${DRAGOMAN_MAINTAINER})
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${DRAGOMAN_LIBRARY_FOLDER})

# dragoman_package(<component> <name> <section> <synopsis> <text> [depends...])
macro(dragoman_package component name section synopsis text)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${synopsis}\n${text}")
  set(depends ${ARGN})
  list(JOIN depends ", " CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS)
endmacro()

set(CPACK_COMPONENTS_ALL)
dragoman_package(program dragoman science "neural machine translation"
  "Dragoman learns vocabularies, trains Transformers, translates, scores and\naligns text, serves translations over HTTP, and opens the models of other\ntoolkits. This package contains the program." ${same_library})
dragoman_package(library ${library_package} libs "neural machine translation, library"
  "Dragoman learns vocabularies, trains Transformers, translates, scores and\naligns text. This package contains the shared library and the plugin for\nmodels with SSRU decoders.")
# Loaded by its name when a pattern of a tokenizer.json needs it.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS libonig5)
foreach(relation PROVIDES CONFLICTS REPLACES)
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_${relation} libdragoman)
endforeach()
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/debian/triggers ${PROJECT_BINARY_DIR}/cmake/debian/shlibs)
file(WRITE ${PROJECT_BINARY_DIR}/cmake/debian/shlibs
  "libdragoman ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} ${library_package} (>= ${PROJECT_VERSION})\n")
dragoman_package(development libdragoman-dev libdevel "neural machine translation, development files"
  "Dragoman learns vocabularies, trains Transformers, translates, scores and\naligns text. This package contains the headers of the library and the files\nfor CMake and pkg-config." ${same_library} libfmt-dev nlohmann-json3-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
dragoman_package(documentation dragoman-doc doc "neural machine translation, documentation"
  "Dragoman learns vocabularies, trains Transformers, translates, scores and\naligns text. This package contains its manual as Markdown.")
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_SHLIBDEPS OFF)
if(TARGET dragoman_plugin_mpi)
  dragoman_package(mpi dragoman-mpi science "neural machine translation, training in several processes"
    "Dragoman learns vocabularies, trains Transformers, translates, scores and\naligns text. This package contains the plugin that trains one model in\nseveral processes with MPI." ${same_library})
endif()
if(TARGET dragoman_plugin_cuda)
  dragoman_package(cuda dragoman-cuda contrib/science "neural machine translation, plugin for NVIDIA GPUs"
    "Dragoman learns vocabularies, trains Transformers, translates, scores and\naligns text. This package contains the plugin for GPUs of NVIDIA. It needs\nNVIDIA's driver." ${same_library})
  set(CPACK_DEBIAN_CUDA_PACKAGE_SUGGESTS "libcuda1")
endif()
include(CPack)
