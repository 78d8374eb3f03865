#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include <dragoman/core/hash_tables.h>

namespace dragoman::server {

/// The rights of a caller with a key.
struct Key {
  std::string name{};               ///< for logs; not secret
  int requests_per_minute = 0;      ///< 0: any number
  std::size_t character_limit = 0;  ///< per request; 0: the limit of the server
};

/// The keys of a file. Immutable.
///
///     keys:
///       - name: alice
///         sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
///         requests_per_minute: 120
///         character_limit: 5000
///
/// The file has SHA-256 hashes only, so a copy of it lets nobody in. A slow hash, as passwords need, would add nothing:
/// a key has 128 random bits, which cannot be guessed at any speed.
class Keys {
 public:
  Keys() = default;
  /// Throws Error{kIo or kBadInput} that names the file and the place.
  static Keys read(const std::filesystem::path& file);

  /// Returns nullptr if there is no such key.
  const Key* find(std::string_view key) const;
  std::size_t size() const noexcept { return by_hash_.size(); }

 private:
  core::TextMap<Key> by_hash_;
};

/// Makes a key, adds its hash to the file, which need not exist, and returns the key. The key is stored nowhere else: a
/// user who loses it needs another one. Throws Error{kInvalidArgument} if the name is taken or empty.
std::string add_key(const std::filesystem::path& file, const Key& key);

/// Returns whether two secrets are equal, in a time that depends on their lengths only.
bool same_secret(std::string_view a, std::string_view b) noexcept;

}  // namespace dragoman::server
