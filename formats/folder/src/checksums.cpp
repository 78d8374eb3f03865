#include "dragoman/formats/checksums.h"

#include "dragoman/formats/model_folder.h"

#include <algorithm>
#include <array>
#include <climits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <system_error>

#include <openssl/evp.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/regular_file.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::formats {
namespace {

using core::ErrorCode;
using core::quote;
using std::filesystem::path;

constexpr const char* kSumsName = ModelFiles::kSums;
constexpr std::size_t kDigits = 64;

std::string hexadecimal(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

class Sha256 {
 public:
  Sha256() { require(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1); }
  void update(std::string_view bytes) { require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1); }
  std::string finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> result{};
    unsigned size = 0;
    require(EVP_DigestFinal_ex(context_.get(), result.data(), &size) == 1);
    return hexadecimal(std::span(result).first(size));
  }

 private:
  static void require(bool done) { core::require(done, ErrorCode::kInternal, "libcrypto cannot compute SHA-256"); }
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

bool is_partial(const std::string& name) {
  return name.ends_with(core::kPartialSuffix);
}

/// Returns the sorted names of the files that the sums must cover.
std::set<std::string> files_in(const path& folder) {
  std::set<std::string> names;
  for (const std::filesystem::path& entry : core::list_folder(folder)) {
    const std::string name = entry.filename().string();
    std::error_code ignored;
    if (std::filesystem::is_regular_file(entry, ignored) && name != kSumsName && !is_partial(name)) names.insert(name);
  }
  return names;
}

bool is_digest(std::string_view text) {
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Returns whether the name can belong to a file of the folder and does not lead out of it.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= NAME_MAX && name.find('\0') == std::string_view::npos && name != "." &&
         name != ".." && name.find('/') == std::string_view::npos;
}

/// Returns name and digest from every line: 64 digits, a space, a space or an asterisk (sha256sum's binary mode), the
/// name.
std::map<std::string, std::string> read_sums(const path& file) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 20;
  std::map<std::string, std::string> sums;
  std::uint64_t line_number = 0;
  std::error_code ignored;
  core::require(std::filesystem::status(file, ignored).type() != std::filesystem::file_type::not_found,
                ErrorCode::kBadInput, "{}: is missing", file.string());
  const std::string text = core::read_regular_file(file, kLargest);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++line_number;
    const bool shaped =
        line.size() > kDigits + 2 && line[kDigits] == ' ' && (line[kDigits + 1] == ' ' || line[kDigits + 1] == '*');
    core::require(
        shaped && is_digest(line.substr(0, kDigits)) && is_plain_name(line.substr(kDigits + 2)), ErrorCode::kBadInput,
        "{}: line {}: expected 64 hexadecimal digits, two spaces and the name of a file of the folder, not {}",
        file.string(), line_number, quote(line));
    sums[std::string(line.substr(kDigits + 2))] = line.substr(0, kDigits);
  }
  return sums;
}

std::string difference(const path& folder, const std::string& name, const std::string& expected) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(folder / name, ignored)) return fmt::format("{} is missing", quote(name));
  const std::string actual = sha256_of_file(folder / name);
  return actual == expected ? "" : fmt::format("{} has the sum {} instead of {}", quote(name), actual, expected);
}

/// The faults of a folder, for a message: a few of them, and the number of the others.
class FaultList {
 public:
  void add(const std::string& fault) {
    if (count_++ < kNamed) named_ += (named_.empty() ? "" : "; ") + fault;
  }
  bool empty() const noexcept { return count_ == 0; }
  std::string text() const {
    return count_ <= kNamed ? named_ : fmt::format("{}; and {} more", named_, count_ - kNamed);
  }

 private:
  static constexpr std::size_t kNamed = 4;

  std::string named_;
  std::size_t count_ = 0;
};

}  // namespace

std::string sha256_of(std::string_view bytes) {
  Sha256 digest;
  digest.update(bytes);
  return digest.finish();
}

std::string sha256_of_file(const path& file) {
  // Read neither through core::InputFile, which would decompress, nor mapped: truncating the file in the meantime would
  // terminate the program.
  core::RegularFile opened(file);
  Sha256 digest;
  std::vector<char> block(std::size_t{1} << 20);
  for (std::size_t n = block.size(); n == block.size();) {
    core::check_stop("computing checksums");
    n = opened.read(block);
    digest.update({block.data(), n});
  }
  return digest.finish();
}

void write_checksums(const path& folder) {
  std::string text;
  for (const std::string& name : files_in(folder)) text += fmt::format("{}  {}\n", sha256_of_file(folder / name), name);
  core::write_file(folder / kSumsName, text);
}

std::vector<std::string> verify_checksums(const path& folder, UnlistedFiles unlisted) {
  const std::map<std::string, std::string> sums = read_sums(folder / kSumsName);
  std::vector<std::string> verified;
  FaultList faults;
  for (const auto& [name, expected] : sums) {
    const std::string fault = difference(folder, name, expected);
    if (!fault.empty()) faults.add(fault);
    verified.push_back(name);
  }
  if (unlisted == UnlistedFiles::kRefuse)
    for (const std::string& name : files_in(folder))
      if (!sums.contains(name)) faults.add(quote(name) + " is not listed");
  core::require(faults.empty(), ErrorCode::kBadInput,
                "{}: {}; the folder is damaged or was changed, fetch or restore it", (folder / kSumsName).string(),
                faults.text());
  return verified;
}

void verify_checksums_if_there(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (std::filesystem::exists(folder / ModelFiles::kSums, ignored)) verify_checksums(folder, UnlistedFiles::kAllow);
}

}  // namespace dragoman::formats
