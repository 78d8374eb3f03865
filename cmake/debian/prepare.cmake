# Completes the folders of the components before cpack packs them: copyright, changelog, compressed manual page, no search paths of libraries.
# SOURCE_DATE_EPOCH is the time of the changelog.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(documents ${root}/share/doc/${package})
  file(MAKE_DIRECTORY ${documents})

  file(COPY_FILE ${CPACK_DRAGOMAN_SOURCE}/cmake/debian/copyright ${documents}/copyright)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE ${documents}/changelog "dragoman (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Release ${CPACK_PACKAGE_VERSION}. CHANGELOG.md in the package dragoman-doc lists the changes.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")
  file(GLOB pages ${root}/share/man/man*/*.[1-9])
  # -n leaves out the time, which would make each package another.
  execute_process(COMMAND gzip -9n -f ${documents}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)

  # The system's loader knows the folder of the library; Debian's policy allows no other search path.
  file(GLOB_RECURSE files LIST_DIRECTORIES false ${root}/bin/* ${root}/lib/*.so ${root}/lib/*.so.*)
  foreach(file IN LISTS files)
    if(NOT IS_SYMLINK ${file})
      file(RPATH_REMOVE FILE ${file})
    endif()
  endforeach()
endforeach()
