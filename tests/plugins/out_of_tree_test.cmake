# Installs Dragoman, moves the installation, builds examples/plugin, examples/from-parts and examples/op against it with find_package() alone,
# and a program with pkg-config, and lets the installed program check the results. Given with -D: BUILD (the build tree), SOURCE (the source
# tree), WORK (a folder to work in), FLAGS (sanitizers), PLUGINS (names of the bundled ones), NVCC (CUDA's compiler, or empty).
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})

function(run)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH ${ARGN}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect text)
  if(NOT output MATCHES "${text}")
    message(FATAL_ERROR "'${text}' is not in:\n${output}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/prefix)

# The library offers what is ours and hides the libraries that are linked into it: programs bring other versions of those.
find_program(nm nm REQUIRED)
file(GLOB_RECURSE library ${WORK}/prefix/*/libdragoman.so)
run(${nm} --dynamic --defined-only --format=posix ${library})
string(REGEX MATCHALL "[^\n]+" symbols "${output}")
list(FILTER symbols EXCLUDE REGEX "^(_Z[A-Za-z0-9_]*8dragoman|dragoman_version )")
if(symbols)
  message(FATAL_ERROR "the library exports foreign symbols: ${symbols}")
endif()

# Every plugin that this build has: `ssru`, `mpi` where MPI is, `cuda` where nvcc is.
foreach(plugin IN LISTS PLUGINS ITEMS ssru)
  file(GLOB_RECURSE installed ${WORK}/prefix/*/dragoman/plugins/${plugin}.so)
  if(NOT installed)
    message(FATAL_ERROR "the plugin ${plugin} is not installed")
  endif()
endforeach()
file(READ ${SOURCE}/LICENSE licence)
file(READ ${WORK}/prefix/share/doc/dragoman/LICENSE installed_licence)
if(NOT licence STREQUAL installed_licence)
  message(FATAL_ERROR "another licence is installed")
endif()

function(build_example folder into)
  run(${CMAKE_COMMAND} -S ${SOURCE}/examples/${folder} -B ${WORK}/${into} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS} ${ARGN})
  run(${CMAKE_COMMAND} --build ${WORK}/${into})
endfunction()
build_example(plugin example)
build_example(from-parts from-parts)
if(NVCC)
  build_example(op op -DCMAKE_CUDA_COMPILER=${NVCC})
else()
  message(STATUS "no nvcc: the op is built without kernels for CUDA")
  build_example(op op -DCMAKE_CUDA_COMPILER=NOTFOUND)
endif()

# The plugin of docs/guides/plugins.md, to the letter.
file(READ ${SOURCE}/docs/guides/plugins.md page)
foreach(block "cmake\n# (CMakeLists.txt)" "cpp\n// (mine.cpp)" "yaml\n# (shout.yml)")
  string(REGEX MATCH "```${block}\n([^`]*)```" found "${page}")
  if(NOT found)
    message(FATAL_ERROR "docs/guides/plugins.md has no whole file: ${block}")
  endif()
  file(WRITE ${WORK}/page/${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()
run(${CMAKE_COMMAND} -S ${WORK}/page -B ${WORK}/page/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${WORK}/page/build)

# The build tree is not taken for an installation.
file(WRITE ${WORK}/finder/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(finder LANGUAGES NONE)
find_package(dragoman QUIET NO_SYSTEM_ENVIRONMENT_PATH NO_CMAKE_SYSTEM_PATH)
if(dragoman_FOUND)
  message(FATAL_ERROR \"found \${dragoman_DIR}\")
endif()
")
run(${CMAKE_COMMAND} -S ${WORK}/finder -B ${WORK}/finder/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${BUILD})

# A program that is built by pkg-config.
find_program(pkg_config pkg-config)
if(pkg_config)
  file(GLOB_RECURSE pc ${WORK}/prefix/*/dragoman.pc)
  get_filename_component(pc_folder ${pc} DIRECTORY)
  run(PKG_CONFIG_PATH=${pc_folder} ${pkg_config} --cflags --libs dragoman)
  string(STRIP "${output}" output)
  separate_arguments(arguments UNIX_COMMAND "${output}")
  run(PKG_CONFIG_PATH=${pc_folder} ${pkg_config} --variable=libdir dragoman)
  string(STRIP "${output}" library_folder)
  file(WRITE ${WORK}/quotes.cpp "#include <dragoman/core/quote.h>
#include <cstdio>
int main() { std::puts(dragoman::core::quote(\"here\").c_str()); }
")
  run(${COMPILER} -std=c++20 ${FLAGS} ${WORK}/quotes.cpp -o ${WORK}/quotes ${arguments} -Wl,-rpath,${library_folder})
  run(${WORK}/quotes)
  expect("'here'")
else()
  message(STATUS "no pkg-config: dragoman.pc is not tried")
endif()

set(program ${WORK}/prefix/bin/dragoman)
run(${program} plugins check ${WORK}/from-parts/from-parts.so)
expect("from-parts: all [0-9]+ checks passed")
expect("encoder-decoder +cpu +device")
run(${program} plugins check ${WORK}/example/example.so)
expect("example: all [0-9]+ checks passed")
expect("average-attention +cpu +device")
expect("longest-match +- +text-round-trip")

run(${program} plugins check ${WORK}/page/build/mine.so)
expect("mine: all [0-9]+ checks passed")
file(WRITE ${WORK}/page/greetings.txt "Guten Tag\n\nna?\n")
run(${CMAKE_COMMAND} -E chdir ${WORK}/page ${program} run --quiet --plugin build/mine.so shout.yml)
file(READ ${WORK}/page/loud.txt loud)
if(NOT loud STREQUAL "GUTEN TAG!!\n\nNA?!!\n")
  message(FATAL_ERROR "the stage of docs/guides/plugins.md wrote '${loud}'")
endif()

run(${program} plugins check ${WORK}/op/leaky-relu.so)
expect("leaky-relu: all [0-9]+ checks passed")
run(${program} plugins list --plugin ${WORK}/op/leaky-relu.so)
expect("kernel +leaky-relu.backward +leaky-relu +on reference")
if(NVCC)
  # Its kernels waited for the device.
  run(${program} plugins list --plugin ${WORK}/op/leaky-relu.so --plugin cuda)
  expect("kernel +leaky-relu.backward +leaky-relu +on cuda")
  run(${program} plugins list --plugin cuda --plugin ssru)
  expect("kernel +ssru.scan +ssru +on cuda")
  # Kernels for the GPU are in the file, and CUDA's runtime is nobody else's.
  find_program(readelf readelf REQUIRED)
  file(GLOB_RECURSE with_kernels ${WORK}/prefix/*/plugins/ssru.so ${WORK}/prefix/*/plugins/cuda.so)
  foreach(file IN LISTS with_kernels ITEMS ${WORK}/op/leaky-relu.so)
    run(${readelf} --sections --wide ${file})
    expect("[.]nv_fatbin")
    run(${nm} --dynamic --defined-only --format=posix ${file})
    if(output MATCHES "(^|\n)_*cu[a-z]*[A-Z]")
      message(FATAL_ERROR "${file} exports CUDA's functions:\n${output}")
    endif()
  endforeach()
endif()

file(GLOB_RECURSE installed LIST_DIRECTORIES false ${WORK}/prefix/*.so ${WORK}/prefix/*.so.* ${WORK}/prefix/bin/*)
run(${CMAKE_COMMAND} -P ${SOURCE}/tests/plugins/library_search_path_test.cmake -- ${installed})
run(${program} inspect ${WORK}/example/example.so)
expect("name +example")
expect("fits this program +yes")

# By name, from the place where installed plugins are found.
file(GLOB_RECURSE bundled ${WORK}/prefix/*/ssru.so)
get_filename_component(plugin_folder ${bundled} DIRECTORY)
file(COPY ${WORK}/example/example.so DESTINATION ${plugin_folder})
run(${program} plugins list --plugin example)
expect("model +average-attention +example")
expect("search strategy +min-p +example")
expect("pipeline stage +squeeze +example")
expect("tokenizer +longest-match +example")
expect("installed plugin +ssru +not loaded")

# The plugin's decoder with an option of its own.
file(WRITE ${WORK}/source "Ein Hund.\n")
set(translate ${program} translate --quiet --plugin example --decoder min-p --model ${SOURCE}/examples/multi30k/model
    --input ${WORK}/source)
run(${translate} --decoder-options min_p=0.99)
expect("[a-z]")
execute_process(COMMAND ${translate} --decoder-options min_q=0.99 RESULT_VARIABLE status ERROR_VARIABLE complaint OUTPUT_QUIET)
if(NOT status EQUAL 1 OR NOT complaint MATCHES "decoder_options.*'min_q'.*did you mean 'min_p'")
  message(FATAL_ERROR "a misspelt option of a decoder gave status ${status} and '${complaint}'")
endif()

# The plugin's logits processor, on the command line and in YAML: with so high a penalty no token comes twice.
set(translate ${program} translate --quiet --plugin example --model ${SOURCE}/examples/multi30k/model --input ${WORK}/source)
run(${translate} --logits-processors frequency-penalty.alpha=1000 --minimum-length 15 --maximum-length 15 --format jsonl)
string(JSON length LENGTH "${output}" tokens)
set(seen "")
foreach(i RANGE 1 ${length})
  math(EXPR i "${i} - 1")
  string(JSON token GET "${output}" tokens ${i})
  if(token IN_LIST seen OR length LESS 15)
    message(FATAL_ERROR "a token is said twice, or few are said: '${output}'")
  endif()
  list(APPEND seen "${token}")
endforeach()
set(on_the_command_line "${output}")
file(WRITE ${WORK}/penalty.yml "stages:
  - read: {path: ${WORK}/source}
  - translate:
      model: ${SOURCE}/examples/multi30k/model
      minimum_length: 15
      maximum_length: 15
      details: true
      logits_processors: {frequency-penalty: {alpha: 1000}}
  - write: {path: '-', format: jsonl}
")
run(${program} run --quiet --plugin example ${WORK}/penalty.yml)
if(NOT output STREQUAL on_the_command_line)
  message(FATAL_ERROR "YAML gives '${output}' where the command line gives '${on_the_command_line}'")
endif()
foreach(wrong "frequency-penalty.alfa=1" "frequency-penalty.alpha=-1" "frequency")
  execute_process(COMMAND ${translate} --logits-processors ${wrong} RESULT_VARIABLE status ERROR_VARIABLE complaint OUTPUT_QUIET)
  if(NOT status EQUAL 1 OR NOT complaint MATCHES "alpha|frequency-penalty")
    message(FATAL_ERROR "${wrong} gave status ${status} and '${complaint}'")
  endif()
endforeach()

# The plugin's tokenizer, there and back.
file(WRITE ${WORK}/pieces.txt "<unk>\n<s>\n</s>\n_\na\nc\nt\nthe\ncat\n_cat\n")
file(WRITE ${WORK}/text "the cat  act\nthe dog\n\n")
set(tokenizer --quiet --plugin example --tokenizer ${WORK}/pieces.txt --tokenizer-type longest-match --tokenizer-options space=_)
run(${program} encode ${tokenizer} ${WORK}/text --output ${WORK}/pieces)
file(READ ${WORK}/pieces pieces)
if(NOT pieces STREQUAL "the _cat _ _ a c t\nthe _ <unk> <unk> <unk>\n\n")
  message(FATAL_ERROR "the example's tokenizer gave '${pieces}'")
endif()
run(${program} decode ${tokenizer} ${WORK}/pieces)
if(NOT output STREQUAL "the cat  act\nthe \n\n")
  message(FATAL_ERROR "the example's tokenizer gave back '${output}'")
endif()

file(WRITE ${WORK}/squeeze.yml "stages:\n  - read: {path: ${WORK}/input}\n  - squeeze: {}\n  - write: {path: ${WORK}/output}\n")
file(WRITE ${WORK}/input "  two   words \n")
run(${program} run ${WORK}/squeeze.yml --plugin example)
file(READ ${WORK}/output squeezed)
if(NOT squeezed STREQUAL "two words\n")
  message(FATAL_ERROR "the example's stage gave '${squeezed}'")
endif()
