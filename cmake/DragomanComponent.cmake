# dragoman_component(name [COLD|SETUP] [HEADERS name] [FOLDERS folder...] [DEPENDS component...] [ROOMS component...] [PUBLIC_LINK target...] [PRIVATE_LINK target...])
#
# One folder, one static library `dragoman_<name>` of all that is in `<folder>/src` and the folders in it, one include root `<folder>/include`, whose headers are public and installed. Headers that
# nobody else sees live beside the sources. The components are later joined in one shared library.
#
# FOLDERS: its sources and private headers are in these folders, without a `src/` around them, and are spelled with their folder.
#
# COLD: nothing in it is called often enough for -O3, which takes longer to compile than -O2, to show.
# SETUP: what runs once per command, folder or configuration. -O1 takes two thirds of the time of -O2 there.
# HEADERS: the precompiled headers, where those of its optimisation do not fit (DragomanPrecompiled.cmake).
#
# A component may consist of rooms, components of their own. They see more of one another than others do: `<folder>/internal` is a second
# include root, which is not installed, and whoever names a room in ROOMS sees it too, as tests do that name `<name>_internal`.
set_property(GLOBAL PROPERTY DRAGOMAN_COMPONENTS "")
set_property(GLOBAL PROPERTY DRAGOMAN_INCLUDE_ROOTS "")
include(DragomanPrecompiled)
# A package that one component looks for is linked by the shared library, too.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

function(dragoman_component name)
  cmake_parse_arguments(ARG "COLD;SETUP" "HEADERS" "FOLDERS;DEPENDS;ROOMS;PUBLIC_LINK;PRIVATE_LINK" ${ARGN})
  set(target dragoman_${name})
  set(scope INTERFACE)
  set(private_root src)
  if(ARG_FOLDERS)
    set(private_root ${CMAKE_CURRENT_SOURCE_DIR})
    list(TRANSFORM ARG_FOLDERS APPEND /*.cpp OUTPUT_VARIABLE patterns)
  else()
    set(patterns src/*.cpp src/*/*.cpp)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    target_include_directories(${target} PRIVATE ${private_root})
    set(level O3)
    if(ARG_SETUP)
      set(level O1)
    elseif(ARG_COLD)
      set(level O2)
    endif()
    dragoman_optimise(${target} -${level})
    if(NOT ARG_HEADERS)
      set(ARG_HEADERS ${level})
    endif()
    dragoman_precompile(${target} ${ARG_HEADERS})
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
