# Installs Dragoman, builds the program of docs/guides/embedding.md and examples/embedded against the installation with
# find_package() alone, and compares what they do with the command line. Given with -D: BUILD (the build tree), SOURCE
# (the source tree), WORK (a folder to work in), GENERATOR, COMPILER, FLAGS (sanitizers).
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})

function(run)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH ${ARGN} WORKING_DIRECTORY ${WORK}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE complaint)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${status}:\n${output}${complaint}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_same_file first second)
  file(SHA256 ${WORK}/${first} a)
  file(SHA256 ${WORK}/${second} b)
  if(NOT a STREQUAL b)
    message(FATAL_ERROR "${first} and ${second} differ")
  endif()
endfunction()

file(MAKE_DIRECTORY ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
set(program ${WORK}/prefix/bin/dragoman)

# What the program of the page reads, under the names that it uses.
set(german "ein Hund und eine Katze\ndie Katze sitzt auf der Matte\nder Hund sitzt auf dem Baum\n")
set(english "a dog and a cat\nthe cat sits on the mat\nthe dog sits on the log\n")
foreach(i RANGE 1 5)
  string(APPEND german "${german}")
  string(APPEND english "${english}")
endforeach()
file(WRITE ${WORK}/train.de "${german}")
file(WRITE ${WORK}/train.en "${english}")
file(MAKE_DIRECTORY ${WORK}/models)
file(CREATE_LINK ${SOURCE}/examples/multi30k/model ${WORK}/models/de-en SYMBOLIC)
set(config "output: run
model: {d_model: 16, heads: 2, feed_forward: 24, encoder_layers: 1, decoder_layers: 1}
data:
  train: {source: train.de, target: train.en}
  tokenizer: tokenizer.json
training: {updates: 5, batch_tokens: 1000}
")
file(WRITE ${WORK}/train.yml "${config}")

# The program of the page, to the letter.
file(READ ${SOURCE}/docs/guides/embedding.md page)
string(REGEX MATCH "```cpp\n(#include <dragoman/dragoman.h>\n[^`]*)```" found "${page}")
if(NOT found)
  message(FATAL_ERROR "docs/guides/embedding.md does not begin with a whole program")
endif()
file(WRITE ${WORK}/ten/program.cpp "${CMAKE_MATCH_1}")
file(WRITE ${WORK}/ten/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(ten LANGUAGES CXX)
find_package(dragoman REQUIRED)
add_executable(program program.cpp)
target_link_libraries(program PRIVATE dragoman::dragoman)
")
function(build folder into)
  run(${CMAKE_COMMAND} -S ${folder} -B ${WORK}/${into} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS})
  run(${CMAKE_COMMAND} --build ${WORK}/${into})
endfunction()
build(${WORK}/ten ten-build)

run(${WORK}/ten-build/program)
set(printed "${output}")
run(${program} learn-bpe --quiet --input train.de train.en --vocab-size 8000 --output by-command.json)
expect_same_file(tokenizer.json by-command.json)
file(WRITE ${WORK}/line "Guten Morgen!\n")
run(${program} translate --quiet --compute stored --model models/de-en --beam-size 5 --n-best 3 --format jsonl --input line)
string(JSON text GET "${output}" text)
string(JSON score GET "${output}" n_best 0 score)
string(SUBSTRING "${score}" 0 7 score)  # as many digits as are the same in any way of rounding
string(FIND "${printed}" "${text} ${score}" at)
if(NOT at EQUAL 0)
  message(FATAL_ERROR "the program printed '${printed}' where the command line gives '${text} ${score}...'")
endif()
run(${program} train --quiet train.yml --set output=by-command)
expect_same_file(run/last/model.safetensors by-command/last/model.safetensors)

# What the one header includes: at most 20 headers of Dragoman, and no JSON library.
run(${COMPILER} -std=c++20 -I${WORK}/prefix/include -M ${WORK}/ten/program.cpp)
string(REGEX MATCHALL "[^ \n]*/prefix/include/dragoman/[^ \n]+" ours "${output}")
list(REMOVE_DUPLICATES ours)
list(LENGTH ours count)
if(count GREATER 20 OR count LESS 2)
  message(FATAL_ERROR "dragoman.h includes ${count} headers of Dragoman: ${ours}")
endif()
if(output MATCHES "nlohmann|boost/|unicode/|highway")
  message(FATAL_ERROR "dragoman.h includes a library that programs need not have: ${output}")
endif()

# The examples.
build(${SOURCE}/examples/embedded embedded)
file(STRINGS ${WORK}/train.de lines)
run(${program} translate --quiet --model models/de-en --input train.de --beam-size 5)
set(by_command "${output}")
execute_process(COMMAND ${WORK}/embedded/translate models/de-en WORKING_DIRECTORY ${WORK} INPUT_FILE ${WORK}/train.de
  OUTPUT_VARIABLE output RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT output STREQUAL by_command)
  message(FATAL_ERROR "the example translate ended with ${status}: '${output}'")
endif()
run(${WORK}/embedded/train train.de train.en trained)
if(NOT EXISTS ${WORK}/trained/last/model.safetensors)
  message(FATAL_ERROR "the example train left no model: ${output}")
endif()
