#pragma once

#include <string_view>

namespace dragoman::cli {

/// Takes the places of standard streams that the caller has closed, so that no file of ours gets their numbers and
/// receives what was meant for them. Reading or writing what was closed fails as before; messages vanish. Puts a stream
/// of our own in the place of `stdout`, which knows why a write failed. To be called before anything is opened or
/// printed; print with fmt::print or stdio, not through std::cout.
void hold_standard_streams();

/// Writes to standard error as far as that is possible: nobody may be there to read what the program says of itself,
/// and no work is lost for that. Returns false if the text did not get through.
bool write_to_standard_error(std::string_view text);

/// Hands what was printed on standard output to the operating system. Throws core::Error, kClosedPipe if its reader has
/// gone away, if any of it, now or before, was not taken.
void finish_standard_output();

}  // namespace dragoman::cli
