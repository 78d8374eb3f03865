#pragma once

#include <string_view>

namespace dragoman::cli {

/// Occupies the numbers of standard streams that the caller has closed, so that no other file gets their numbers and
/// receives their data. Reading or writing a closed stream fails as before; messages are lost. Replaces `stdout` by a
/// stream that stores the cause of a failed write. Call it before anything is opened or printed. Print with fmt::print
/// or stdio, not with std::cout.
void hold_standard_streams();

/// Writes to standard error if possible. Nobody may read it, and work must not be lost for that reason. Returns false
/// if the text was not written.
bool write_to_standard_error(std::string_view text);

/// Returns whether the caller may print the error that ends the program: true for the first call of any thread.
bool claim_last_word() noexcept;

/// Passes the output on standard output to the operating system. Throws core::Error if any of it, now or before, was
/// not written; kClosedPipe if its reader has gone.
void finish_standard_output();

}  // namespace dragoman::cli
