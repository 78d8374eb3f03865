# <dragoman/plugins/fingerprint.h>, which is generated: it holds a hash over the headers of the SDK (SdkHeaders.cmake).

# dragoman_fingerprint_header(target): the target and whoever links it see the generated header. dragoman_write_fingerprint() has to be called
# when all components are known, since the SDK includes headers of most of them.
function(dragoman_fingerprint_header target)
  set(root ${CMAKE_CURRENT_BINARY_DIR}/include)
  add_dependencies(${target} dragoman_fingerprint)
  target_include_directories(${target} PUBLIC ${root})
  set_property(GLOBAL APPEND PROPERTY DRAGOMAN_INCLUDE_ROOTS ${root})
endfunction()

# dragoman_fingerprint_command(roots_file root): writes <root>/dragoman/plugins/fingerprint.h from the headers in the include roots that the
# file lists. It runs in each build in which one of these headers changed, and leaves the file alone if the hash is the same, so nothing is
# compiled in vain.
function(dragoman_fingerprint_command roots_file root)
  get_filename_component(scripts ${CMAKE_CURRENT_FUNCTION_LIST_DIR} ABSOLUTE)
  get_target_property(sdk dragoman_sdk SOURCE_DIR)
  set(output ${root}/dragoman/plugins/fingerprint.h)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DROOTS_FILE=${roots_file} -DTEMPLATE=${sdk}/src/fingerprint.h.in -DOUTPUT=${output} -DDEPFILE=${root}/fingerprint.d
            -DVERSION=${PROJECT_VERSION} -P ${scripts}/HashHeaders.cmake
    DEPENDS ${roots_file} ${sdk}/src/fingerprint.h.in ${scripts}/HashHeaders.cmake ${scripts}/SdkHeaders.cmake ${ARGN}
    DEPFILE ${root}/fingerprint.d
    COMMENT "Fingerprint of the SDK headers"
    VERBATIM)
endfunction()

# The header of this build, and DRAGOMAN_INCLUDE_ROOTS_FILE: the include roots of the library.
function(dragoman_write_fingerprint)
  get_property(roots GLOBAL PROPERTY DRAGOMAN_INCLUDE_ROOTS)
  get_target_property(folder dragoman_sdk BINARY_DIR)
  set(roots_file ${folder}/include_roots.txt)
  string(REPLACE ";" "\n" lines "${roots}")
  file(CONFIGURE OUTPUT ${roots_file} CONTENT "${lines}\n" @ONLY)
  dragoman_fingerprint_command(${roots_file} ${folder}/include)
  add_custom_target(dragoman_fingerprint DEPENDS ${folder}/include/dragoman/plugins/fingerprint.h)
  set(DRAGOMAN_INCLUDE_ROOTS_FILE ${roots_file} PARENT_SCOPE)
endfunction()
