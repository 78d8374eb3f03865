# The shared library `dragoman` of all components: what the program, the plugins and other people's programs link to, so that all of them share
# one registry. Its layout in the build tree is that of an installation: bin/dragoman, lib/libdragoman.so, lib/dragoman/plugins/.
include(DragomanFingerprint)
include(DragomanNvcc)

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
dragoman_write_fingerprint()
add_dependencies(dragoman dragoman_fingerprint)

# dragoman_plugin_module(target name source...): a plugin, put where an installed one would be found by its name. Symbols of static libraries
# stay in it: another plugin, or the program that loads it, may have others of the same name.
function(dragoman_plugin_module target name)
  add_library(${target} MODULE ${ARGN})
  target_link_libraries(${target} PRIVATE dragoman)
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL)
  set_target_properties(${target} PROPERTIES
    PREFIX ""
    OUTPUT_NAME ${name}
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${DRAGOMAN_PLUGIN_FOLDER})
  set_property(GLOBAL APPEND PROPERTY DRAGOMAN_PLUGINS ${target})
endfunction()

# A bundled plugin: <folder>/src, and kernels for CUDA in <folder>/cuda, where nvcc is. `hardware/` in there is what nvcc alone compiles; tests
# compile the kernels with an emulation in its place. DRAGOMAN_WITH_CUDA says that they are part of the plugin. The property CUDA_USAGE of
# the target names what ptxas said of each.
function(dragoman_bundled_plugin folder)
  get_filename_component(name ${folder} NAME)
  set(target dragoman_plugin_${name})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/src/*.cpp)
  dragoman_plugin_module(${target} ${name} ${sources})
  file(GLOB kernels CONFIGURE_DEPENDS ${folder}/cuda/*.cu)
  if(DRAGOMAN_HAS_NVCC AND kernels)
    file(GLOB launches CONFIGURE_DEPENDS ${folder}/cuda/*.cpp)
    dragoman_cuda_objects(${name} objects usage SOURCES ${kernels} INCLUDE ${folder}/cuda ${folder}/cuda/hardware)
    target_sources(${target} PRIVATE ${launches} ${objects})
    target_include_directories(${target} PRIVATE ${folder}/cuda ${folder}/src)
    target_compile_definitions(${target} PRIVATE DRAGOMAN_WITH_CUDA)
    target_link_libraries(${target} PRIVATE ${DRAGOMAN_CUDART} ${CMAKE_DL_LIBS} rt Threads::Threads)
    set_target_properties(${target} PROPERTIES CUDA_USAGE "${usage}")
  endif()
endfunction()

set(DRAGOMAN_BUNDLED_PLUGINS ${PROJECT_SOURCE_DIR}/plugins)
file(GLOB entry_points CONFIGURE_DEPENDS ${DRAGOMAN_BUNDLED_PLUGINS}/*/src/plugin.cpp)
foreach(entry_point IN LISTS entry_points)
  string(REPLACE /src/plugin.cpp "" folder ${entry_point})
  dragoman_bundled_plugin(${folder})
endforeach()
