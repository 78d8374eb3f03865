# `cmake --install` gives a tree that may be moved anywhere: the program and the plugins find the library by their own place.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/dragoman)
file(RELATIVE_PATH library_from_program /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})

install(TARGETS dragoman EXPORT dragomanTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set_target_properties(dragoman_program PROPERTIES INSTALL_RPATH $ORIGIN/${library_from_program})
install(TARGETS dragoman_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

get_property(plugins GLOBAL PROPERTY DRAGOMAN_PLUGINS)
set_target_properties(${plugins} PROPERTIES INSTALL_RPATH $ORIGIN/../..)
# The build tree has the layout of an installation and the same search path: one that is to be replaced when it is installed ends in ":" in
# the build tree, which makes the system's loader look for libraries in whatever folder the program is run in.
set_target_properties(dragoman dragoman_program ${plugins} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS ${plugins} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/dragoman/plugins)

# All that is installed, for those who build no tests.
add_custom_target(dragoman_installed DEPENDS dragoman dragoman_program ${plugins})

get_property(include_roots GLOBAL PROPERTY DRAGOMAN_INCLUDE_ROOTS)
foreach(root IN LISTS include_roots)
  install(DIRECTORY ${root}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
endforeach()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/dragomanConfig.cmake.in ${PROJECT_BINARY_DIR}/dragomanConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dragomanConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dragomanConfig.cmake ${PROJECT_BINARY_DIR}/dragomanConfigVersion.cmake
  DESTINATION ${package_folder})
install(EXPORT dragomanTargets NAMESPACE dragoman:: DESTINATION ${package_folder})
