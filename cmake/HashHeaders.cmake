# Run as a script by dragoman_fingerprint_header(): HEADER_LIST, TEMPLATE, OUTPUT and VERSION are given with -D.
file(READ ${HEADER_LIST} headers)

# Keyed by the name under which a header is included, so that the hash is the same wherever the source tree lies.
set(entries)
foreach(header IN LISTS headers)
  string(REGEX REPLACE ".*/include/(dragoman/)" "\\1" name "${header}")
  file(SHA256 ${header} hash)
  list(APPEND entries "${name} ${hash}")
endforeach()
list(SORT entries)
string(REPLACE ";" "\n" entries "${entries}")
string(SHA256 HEADERS_HASH "${entries}")

configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
