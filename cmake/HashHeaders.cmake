# Run as a script by dragoman_write_fingerprint(): writes the generated header OUTPUT from TEMPLATE, and a DEPFILE that names the headers that
# were hashed. ROOTS_FILE lists the include roots, one a line. All are given with -D, and VERSION.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/SdkHeaders.cmake)
file(STRINGS ${ROOTS_FILE} roots)
dragoman_sdk_headers(names paths ${roots})
dragoman_hash_headers(HEADERS_HASH NAMES ${names} PATHS ${paths})
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)

string(REPLACE " " "\\ " dependencies "${paths}")
string(REPLACE ";" " \\\n  " dependencies "${dependencies}")
string(REPLACE " " "\\ " target "${OUTPUT}")
file(WRITE ${DEPFILE} "${target}: ${dependencies}\n")
