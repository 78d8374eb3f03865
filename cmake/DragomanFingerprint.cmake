# dragoman_fingerprint_header(target): generates <dragoman/plugins/fingerprint.h> with a hash over every public header of the source tree and
# gives it to the target and to whoever links it. It is made anew at each build in which a header changed; the file is only written if the
# hash is another, so nothing is compiled in vain.
function(dragoman_fingerprint_header target)
  get_filename_component(source_root ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/.. ABSOLUTE)
  set(patterns)
  foreach(folder IN ITEMS core tokenizer evaluation models decoding pipeline plugins)
    list(APPEND patterns ${source_root}/${folder}/*.h)
  endforeach()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${patterns})
  list(FILTER headers INCLUDE REGEX "/include/dragoman/")

  set(root ${CMAKE_CURRENT_BINARY_DIR}/include)
  set(output ${root}/dragoman/plugins/fingerprint.h)
  set(template ${source_root}/plugins/sdk/src/fingerprint.h.in)
  set(script ${source_root}/cmake/HashHeaders.cmake)
  set(list_file ${CMAKE_CURRENT_BINARY_DIR}/public_headers.txt)
  file(GENERATE OUTPUT ${list_file} CONTENT "${headers}")
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DHEADER_LIST=${list_file} -DTEMPLATE=${template} -DOUTPUT=${output} -DVERSION=${PROJECT_VERSION} -P
            ${script}
    DEPENDS ${headers} ${template} ${script} ${list_file}
    COMMENT "Fingerprint of the SDK headers"
    VERBATIM)
  add_custom_target(${target}_fingerprint DEPENDS ${output})
  add_dependencies(${target} ${target}_fingerprint)
  target_include_directories(${target} PUBLIC ${root})
  set_property(GLOBAL APPEND PROPERTY DRAGOMAN_INCLUDE_ROOTS ${root})
endfunction()
