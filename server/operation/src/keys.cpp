#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/option_table.h>
#include <dragoman/core/yaml.h>
#include <dragoman/server/keys.h>

namespace dragoman::server {
namespace {

/// An entry of the file.
struct StoredKey {
  Key key{};
  std::string name{};
  std::string sha256{};
  int requests_per_minute = 0;
  std::uint64_t character_limit = 0;
};

const core::OptionTable<StoredKey>& key_table() {
  static const auto table =
      core::OptionTable<StoredKey>()
          .text("name", &StoredKey::name, "NAME", "name of the caller, for logs")
          .text("sha256", &StoredKey::sha256, "HEX", "SHA-256 of the key, in hexadecimal digits")
          .number("requests_per_minute", &StoredKey::requests_per_minute, {.least = 0}, "N", "0: any number")
          .number("character_limit", &StoredKey::character_limit, {.least = 0}, "N", "characters of a request");
  return table;
}

std::string hex_text(const unsigned char* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

std::string sha256_of(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  core::require(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1,
                core::ErrorCode::kInternal, "OpenSSL has no SHA-256");
  return hex_text(digest.data(), size);
}

StoredKey read_entry(const core::Json& entry, const std::string& where) {
  StoredKey stored;
  core::OptionReader reader(entry, where);
  key_table().read(reader, stored);
  reader.finish();
  reader.check(!stored.name.empty(), "name", "is missing");
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  reader.check(stored.sha256.size() == 64 && std::ranges::all_of(stored.sha256, is_hex), "sha256",
               "must be 64 hexadecimal digits in lower case");
  stored.key = {.name = stored.name,
                .requests_per_minute = stored.requests_per_minute,
                .character_limit = stored.character_limit};
  return stored;
}

std::vector<StoredKey> read_entries(const std::string& file) {
  const core::Json tree = core::load_yaml(file);
  core::OptionReader reader(tree, file);
  const core::Json& entries = reader.subtree("keys");
  reader.finish();
  reader.check(entries.is_null() || entries.is_array(), "keys", "must be a list of keys");
  std::vector<StoredKey> keys;
  for (const core::Json& entry : entries) {
    const std::string where = fmt::format("{}: keys[{}]", file, keys.size());
    core::require(entry.is_object(), core::ErrorCode::kBadInput, "{}: must be an object with name and sha256", where);
    keys.push_back(read_entry(entry, where));
  }
  return keys;
}

}  // namespace

Keys Keys::read(const std::filesystem::path& file) {
  Keys keys;
  for (StoredKey& stored : read_entries(file.string())) {
    const bool is_new = keys.by_hash_.emplace(stored.sha256, stored.key).second;
    core::require(is_new, core::ErrorCode::kBadInput, "{}: the key of '{}' is there twice", file.string(), stored.name);
  }
  return keys;
}

const Key* Keys::find(std::string_view key) const {
  constexpr std::size_t kMaxBytes = 1024;  // a longer one is no key, and need not be hashed
  if (key.empty() || key.size() > kMaxBytes) return nullptr;
  const auto found = by_hash_.find(sha256_of(key));
  return found == by_hash_.end() ? nullptr : &found->second;
}

std::string add_key(const std::filesystem::path& file, const Key& key) {
  core::require(!key.name.empty(), core::ErrorCode::kInvalidArgument, "a key needs a name");
  std::string text = "keys:\n";
  const auto add = [&](const StoredKey& stored) {
    core::Json entry = core::Json::object();
    entry["name"] = stored.name;
    entry["sha256"] = stored.sha256;
    if (stored.requests_per_minute != 0) entry["requests_per_minute"] = stored.requests_per_minute;
    if (stored.character_limit != 0) entry["character_limit"] = stored.character_limit;
    std::string lines = core::dump_yaml(entry);
    if (lines.ends_with('\n')) lines.pop_back();
    for (std::size_t at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at + 1))
      lines.insert(at + 1, "    ");
    text += "  - " + lines + "\n";
  };
  if (std::filesystem::exists(file)) {
    for (const StoredKey& stored : read_entries(file.string())) {
      core::require(stored.name != key.name, core::ErrorCode::kInvalidArgument,
                    "{}: has a key of the name '{}'; remove it, or choose another name", file.string(), key.name);
      add(stored);
    }
  }
  std::array<unsigned char, 16> random{};
  core::require(RAND_bytes(random.data(), static_cast<int>(random.size())) == 1, core::ErrorCode::kIo,
                "the system gives no random numbers");
  std::string secret = "dk-" + hex_text(random.data(), random.size());
  add({.key = {},
       .name = key.name,
       .sha256 = sha256_of(secret),
       .requests_per_minute = key.requests_per_minute,
       .character_limit = key.character_limit});
  core::OutputFile out(file);
  out.write(text);
  out.commit();
  return secret;
}

bool same_secret(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace dragoman::server
