# Installs Dragoman, moves the installation, builds examples/plugin and examples/from-parts against it with find_package() alone, and lets
# the installed program check the results. Given with -D: BUILD (the build tree), SOURCE (the source tree), WORK (a folder to work in), FLAGS (sanitizers).
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

function(build_example folder into)
  run(${CMAKE_COMMAND} -S ${SOURCE}/examples/${folder} -B ${WORK}/${into} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS})
  run(${CMAKE_COMMAND} --build ${WORK}/${into})
endfunction()
build_example(plugin example)
build_example(from-parts from-parts)

set(program ${WORK}/prefix/bin/dragoman)
run(${program} plugins check ${WORK}/from-parts/from-parts.so)
expect("from-parts: all [0-9]+ checks passed")
expect("encoder-decoder +cpu +device")
run(${program} plugins check ${WORK}/example/example.so)
expect("example: all [0-9]+ checks passed")
expect("average-attention +cpu +device")
expect("longest-match +- +text-round-trip")

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
