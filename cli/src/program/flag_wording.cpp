#include "program/flag_wording.h"

#include <algorithm>

#include <dragoman/core/option_error.h>

namespace dragoman::cli {
namespace {

/// Returns the flag of a key; empty if the command has no such option.
std::string flag_of(std::string name, const boost::program_options::options_description& options) {
  std::ranges::replace(name, '_', '-');
  return options.find_nothrow(name, false) == nullptr ? std::string() : "--" + name;
}

}  // namespace

std::string word_for_command_line(std::string_view message,
                                  const boost::program_options::options_description& options) {
  constexpr char kQuote = '`';
  std::string worded;
  std::size_t done = 0;
  for (std::size_t open = message.find(kQuote); open != std::string_view::npos;) {
    const std::size_t close = message.find(kQuote, open + 1);
    if (close == std::string_view::npos) break;
    const std::string flag = flag_of(std::string(message.substr(open + 1, close - open - 1)), options);
    if (flag.empty()) {
      // The closing quote may open the next key.
      worded += message.substr(done, close - done);
      done = open = close;
      continue;
    }
    worded.append(message.substr(done, open - done)).append(flag);
    done = close + 1;
    open = message.find(kQuote, done);
  }
  return worded.append(message.substr(done));
}

std::string word_for_command_line(std::string_view message, std::string_view key,
                                  const boost::program_options::options_description& options) {
  std::string worded = word_for_command_line(message, options);
  if (key.empty() || !message.starts_with(key) || message.find_first_of(": ", key.size()) != key.size()) return worded;
  if (const std::string flag = flag_of(std::string(key), options); !flag.empty()) worded.replace(0, key.size(), flag);
  return worded;
}

std::string word_for_command_line(const core::Error& error,
                                  const boost::program_options::options_description& options) {
  return word_for_command_line(error.what(), core::option_of(error), options);
}

}  // namespace dragoman::cli
