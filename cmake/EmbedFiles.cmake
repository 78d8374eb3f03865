# Run as a script: writes OUTPUT, a part of a C++ source with the content of the files that FILES_LIST names, one a line, relative to ROOT:
#   constexpr unsigned char content_0[] = {0x3c, …};
#   constexpr EmbeddedFile kEmbedded[] = {{"index.html", content_0, sizeof content_0, "<hash>"}, …};
cmake_minimum_required(VERSION 3.25)
file(STRINGS ${FILES_LIST} files)
set(arrays "")
set(table "")
set(number 0)
foreach(name IN LISTS files)
  file(READ ${ROOT}/${name} hex HEX)
  file(SHA256 ${ROOT}/${name} hash)
  string(SUBSTRING ${hash} 0 16 hash)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(APPEND arrays "constexpr unsigned char content_${number}[] = {${bytes}};\n")
  string(APPEND table "    {\"${name}\", content_${number}, sizeof content_${number}, \"${hash}\"},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "${arrays}constexpr EmbeddedFile kEmbedded[] = {\n${table}};\n")
