#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/error.h>

namespace dragoman::core {

/// Thrown by OptionReader::finish(): an object has a key that was not read. The message guesses among the keys that
/// were read; code that knows the other keys of the configuration can guess better.
class UnknownKey final : public Error {
 public:
  /// `where` and `key` are as in OptionReader, and `known` are the keys that were read.
  UnknownKey(std::string where, std::string key, std::vector<std::string> known);
  ~UnknownKey() override;

  const std::string& where() const noexcept { return where_; }
  const std::string& key() const noexcept { return key_; }
  const std::vector<std::string>& known() const noexcept { return known_; }

 private:
  std::string where_;
  std::string key_;
  std::vector<std::string> known_;
};

/// The message of an unknown key: where it is and what may have been meant. `scope` and `known` are as in
/// did_you_mean().
std::string describe_unknown_key(const UnknownKey& error, std::string_view scope,
                                 const std::vector<std::string>& known);

/// The error again, with a message that takes all keys of the configuration into account: `all` are their paths, and
/// `root` is how OptionReader::where() names the whole.
[[noreturn]] void rethrow_with_all_keys(const UnknownKey& error, std::string_view root, std::vector<std::string> all);

}  // namespace dragoman::core
