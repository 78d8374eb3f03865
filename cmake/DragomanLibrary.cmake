# The shared library `dragoman` of all components: what the program, the plugins and other people's programs link to, so that all of them share
# one registry. Its layout in the build tree is that of an installation: bin/dragoman, lib/libdragoman.so, lib/dragoman/plugins/.
get_property(components GLOBAL PROPERTY DRAGOMAN_COMPONENTS)
get_property(include_roots GLOBAL PROPERTY DRAGOMAN_INCLUDE_ROOTS)

set(DRAGOMAN_LIBRARY_FOLDER ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR})
set(DRAGOMAN_PLUGIN_FOLDER ${DRAGOMAN_LIBRARY_FOLDER}/dragoman/plugins)
set(exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)

add_library(dragoman SHARED ${CMAKE_CURRENT_LIST_DIR}/library.cpp)
add_library(dragoman::dragoman ALIAS dragoman)
target_compile_definitions(dragoman PRIVATE DRAGOMAN_VERSION="${PROJECT_VERSION}")

set_target_properties(dragoman PROPERTIES
  LINK_DEPENDS ${exports}
  LIBRARY_OUTPUT_DIRECTORY ${DRAGOMAN_LIBRARY_FOLDER}
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
# Objects rather than archives: the registry and the SDK offer functions that nothing in the library itself calls, and a linker takes from an
# archive only what is called.
foreach(component IN LISTS components)
  target_sources(dragoman PRIVATE $<TARGET_OBJECTS:${component}>)
  get_target_property(libraries ${component} LINK_LIBRARIES)
  list(FILTER libraries EXCLUDE REGEX "^dragoman_")
  target_link_libraries(dragoman PRIVATE ${libraries})
endforeach()
target_link_options(dragoman PRIVATE -Wl,--version-script=${exports} -Wl,--no-undefined)

# What the public headers include.
target_link_libraries(dragoman PUBLIC fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)
target_compile_features(dragoman PUBLIC cxx_std_20)
foreach(root IN LISTS include_roots)
  target_include_directories(dragoman INTERFACE $<BUILD_INTERFACE:${root}>)
endforeach()
target_include_directories(dragoman INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
add_dependencies(dragoman dragoman_sdk_fingerprint)

# A bundled plugin, plugins/<name>/src, put where an installed one would be found by its name.
function(dragoman_plugin name)
  set(target dragoman_plugin_${name})
  file(GLOB sources CONFIGURE_DEPENDS plugins/${name}/src/*.cpp)
  add_library(${target} MODULE ${sources})
  target_link_libraries(${target} PRIVATE dragoman)
  set_target_properties(${target} PROPERTIES
    PREFIX ""
    OUTPUT_NAME ${name}
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${DRAGOMAN_PLUGIN_FOLDER})
  set_property(GLOBAL APPEND PROPERTY DRAGOMAN_PLUGINS ${target})
endfunction()

file(GLOB entry_points CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/plugins plugins/*/src/plugin.cpp)
foreach(entry_point IN LISTS entry_points)
  string(REPLACE /src/plugin.cpp "" name ${entry_point})
  dragoman_plugin(${name})
endforeach()
