# dragoman_component(name [COLD] [DEPENDS component...] [ROOMS component...] [PUBLIC_LINK target...] [PRIVATE_LINK target...])
#
# One folder, one static library `dragoman_<name>` of all that is in `<folder>/src` and the folders in it, one include root `<folder>/include`, whose headers are public and installed. Headers that
# nobody else sees live beside the sources. The components are later joined in one shared library.
#
# COLD: nothing in it is called often enough for -O3, which takes longer to compile than -O2, to show.
#
# A component may consist of rooms, components of their own. They see more of one another than others do: `<folder>/internal` is a second
# include root, which is not installed, and whoever names a room in ROOMS sees it too, as tests do that name `<name>_internal`.
set_property(GLOBAL PROPERTY DRAGOMAN_COMPONENTS "")
set_property(GLOBAL PROPERTY DRAGOMAN_INCLUDE_ROOTS "")
# A package that one component looks for is linked by the shared library, too.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

function(dragoman_compile_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
endfunction()

function(dragoman_component name)
  cmake_parse_arguments(ARG "COLD" "" "DEPENDS;ROOMS;PUBLIC_LINK;PRIVATE_LINK" ${ARGN})
  set(target dragoman_${name})
  set(scope INTERFACE)
  file(GLOB sources CONFIGURE_DEPENDS src/*.cpp src/*/*.cpp)
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    target_include_directories(${target} PRIVATE src)
    if(ARG_COLD)
      dragoman_compile_cold(${target})
    endif()
    foreach(library IN LISTS ARG_PRIVATE_LINK)
      target_link_libraries(${target} PRIVATE ${library})
    endforeach()
    set_property(GLOBAL APPEND PROPERTY DRAGOMAN_COMPONENTS ${target})
  else()
    add_library(${target} INTERFACE)
  endif()
  if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(${target} ${scope} ${CMAKE_CURRENT_SOURCE_DIR}/include)
    set_property(GLOBAL APPEND PROPERTY DRAGOMAN_INCLUDE_ROOTS ${CMAKE_CURRENT_SOURCE_DIR}/include)
  endif()
  foreach(dependency IN LISTS ARG_DEPENDS ARG_ROOMS)
    target_link_libraries(${target} ${scope} dragoman_${dependency})
  endforeach()
  foreach(library IN LISTS ARG_PUBLIC_LINK)
    target_link_libraries(${target} ${scope} ${library})
  endforeach()
  dragoman_internal_headers(${target} ${ARG_ROOMS})
endfunction()

# The target `<target>_internal`: the internal headers of a component and of the rooms that it names, for the component itself and for whoever
# links it.
function(dragoman_internal_headers target)
  set(internal ${target}_internal)
  add_library(${internal} INTERFACE)
  target_link_libraries(${internal} INTERFACE ${target})
  foreach(room IN LISTS ARGN)
    target_link_libraries(${internal} INTERFACE dragoman_${room}_internal)
  endforeach()
  if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/internal)
    target_include_directories(${internal} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/internal)
  endif()
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:${internal},INTERFACE_INCLUDE_DIRECTORIES>)
  endif()
endfunction()
