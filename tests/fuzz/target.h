#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::fuzz {

/// What reading an input may cost: a constant part and one for each byte, so that whatever grows faster than its input
/// is found. Times are those of a release build.
struct Budget {
  double milliseconds = 50;
  double microseconds_per_byte = 1;
  std::size_t bytes = std::size_t{16} << 20;
  std::size_t bytes_per_byte = 64;
};

/// A way in which files of one format become large that changes of any text do not find: sizes and offsets are right,
/// names are different, and references are of the kind that the format has.
struct FormatGrowth {
  std::string_view name;
  std::string_view seed;  ///< a file of the target's corpus
  std::string (*make)(std::string_view seed, std::size_t size);
  std::string_view refusal = {};  ///< is in the message if the reader refuses what has grown; nothing if it accepts it
};

/// A reader under test. Each has a header targets/NAME_harness.h with a function NAME_target(), which the libFuzzer
/// program and the ordinary tests both use.
struct Target {
  std::string_view name;
  /// Reads the bytes and uses what was read. Returns true if they were well-formed, and false if they were refused. Any
  /// exception that leaves it is a fault; accepts() keeps a core::Error inside.
  bool (*exercise)(std::string_view bytes);
  Budget budget{};
  /// Random changes of each seed in the ordinary tests.
  int rounds = 300;
  /// Beside those of any text: see growth.h.
  std::vector<FormatGrowth> growths{};
  /// Why everything that has grown is refused, whatever its kind; nothing if some of it is accepted.
  std::string_view refuses_growth{};
};

/// A promise that was broken.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws a Fault that names the promise unless `holds`.
inline void promise(bool holds, const char* what) {
  if (!holds) throw Fault(what);
}

/// A message reaches terminals and logs as it is: throws a Fault if it is empty, too long or not printable. It quotes
/// names and texts of a file with 120 bytes each, of which no message has more than a few.
inline void check_message(std::string_view message) {
  constexpr std::size_t kLongest = 1500;
  promise(!message.empty(), "an error has a message");
  promise(core::printable(message, core::Error::kLongestMessage) == message, "a message is printable and not too long");
  if (message.size() > kLongest) throw Fault("a message is short: " + std::string(message.substr(0, 400)));
}

/// The message of the last file that accepts() found to be refused.
inline std::string& last_refusal() {
  static std::string message;
  return message;
}

/// Runs `read`. False if it threw a core::Error, whose message is checked.
template <class Read>
bool accepts(Read&& read) {
  try {
    read();
    return true;
  } catch (const core::Error& error) {
    check_message(error.what());
    last_refusal() = error.what();
    return false;
  }
}

}  // namespace dragoman::fuzz
