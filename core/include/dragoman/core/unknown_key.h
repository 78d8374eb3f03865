#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/option_error.h>

namespace dragoman::core {

/// The error that OptionReader::finish() throws for a key that was not read. Its message suggests one of the keys that
/// were read. Code that knows the other keys of the configuration can suggest better ones.
class UnknownKey final : public OptionError {
 public:
  /// `where` and `key` are as in OptionReader, and `known` are the keys that were read.
  UnknownKey(std::string where, const std::string& key, std::vector<std::string> known);
  ~UnknownKey() override;

  const std::string& where() const noexcept { return where_; }
  /// Returns the unknown key, as option() does.
  std::string key() const { return std::string(option()); }
  const std::vector<std::string>& known() const noexcept { return known_; }

 private:
  std::string where_;
  std::vector<std::string> known_;
};

/// Returns the message for an unknown key: its place, and the suggested name. `scope` and `known` are as in
/// did_you_mean().
std::string describe_unknown_key(const UnknownKey& error, std::string_view scope,
                                 const std::vector<std::string>& known);

/// Rethrows the error with a message that considers all keys of the configuration. `all` are their paths, and `root` is
/// the name of the whole configuration in OptionReader::where().
[[noreturn]] void rethrow_with_all_keys(const UnknownKey& error, std::string_view root, std::vector<std::string> all);

}  // namespace dragoman::core
