# `cmake --install` gives a tree that may be moved anywhere: the program and the plugins find the library by their own place.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/dragoman)
file(RELATIVE_PATH library_from_program /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})

install(TARGETS dragoman EXPORT dragomanTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
set_target_properties(dragoman_program PROPERTIES INSTALL_RPATH $ORIGIN/${library_from_program})
install(TARGETS dragoman_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)

get_property(plugins GLOBAL PROPERTY DRAGOMAN_PLUGINS)
set_target_properties(${plugins} PROPERTIES INSTALL_RPATH $ORIGIN/../..)
# The build tree has the layout of an installation and the same search path: one that is to be replaced when it is installed ends in ":" in
# the build tree, which makes the system's loader look for libraries in whatever folder the program is run in.
set_target_properties(dragoman dragoman_program ${plugins} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
foreach(plugin IN LISTS plugins)
  # nvcc takes minutes for the plugin `cuda`, so it is installed where it was built, and no part of `dragoman_installed`.
  set(optional "")
  set(component library)
  if(plugin STREQUAL "dragoman_plugin_cuda")
    set(optional OPTIONAL)
    set(component cuda)
  elseif(plugin STREQUAL "dragoman_plugin_mpi")
    set(component mpi)
  endif()
  install(TARGETS ${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/dragoman/plugins COMPONENT ${component} ${optional})
endforeach()

# All that is installed but for the plugin `cuda`, for those who build no tests.
set(light_plugins ${plugins})
list(REMOVE_ITEM light_plugins dragoman_plugin_cuda)
add_custom_target(dragoman_installed DEPENDS dragoman dragoman_program ${light_plugins})

get_property(include_roots GLOBAL PROPERTY DRAGOMAN_INCLUDE_ROOTS)
foreach(root IN LISTS include_roots)
  install(DIRECTORY ${root}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN *.h)
endforeach()

# Not in the root of the build tree, where find_package() would find the package of a tree that is not installed.
set(package_files ${PROJECT_BINARY_DIR}/cmake/dragoman)
file(REMOVE ${PROJECT_BINARY_DIR}/dragomanConfig.cmake ${PROJECT_BINARY_DIR}/dragomanConfigVersion.cmake)  # of older builds
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/dragomanConfig.cmake.in ${package_files}/dragomanConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${package_files}/dragomanConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${package_files}/dragomanConfig.cmake ${package_files}/dragomanConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)
install(EXPORT dragomanTargets NAMESPACE dragoman:: DESTINATION ${package_folder} COMPONENT development)

# For builds without CMake: `pkg-config --cflags --libs dragoman`.
file(RELATIVE_PATH prefix_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig ${prefix_from_pkgconfig})
configure_file(${CMAKE_CURRENT_LIST_DIR}/dragoman.pc.in ${PROJECT_BINARY_DIR}/cmake/dragoman.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/dragoman.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/dragoman COMPONENT licence)

# The pages as Markdown, which a package contains but an installation does not.
set(pages ${CMAKE_INSTALL_DATADIR}/doc/dragoman-doc)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md
  DESTINATION ${pages} COMPONENT documentation EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${pages} COMPONENT documentation EXCLUDE_FROM_ALL
  FILES_MATCHING PATTERN *.md PATTERN *.svg PATTERN _static EXCLUDE)
