#include "dragoman/decoding/shortlist.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/numbers.h>
#include <dragoman/core/quote.h>

namespace dragoman::decoding {
namespace {

using core::ErrorCode;

/// No ASCII or UTF-8 text begins with this value.
constexpr std::uint64_t kMagic = 0xF11A48D5013417F5;
constexpr std::size_t kHeaderBytes = 48;
constexpr std::uint64_t kMaxBinaryBytes = std::uint64_t{1} << 30;
constexpr std::string_view kNoWord = "NULL";

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// Computes the checksum of all whole 64-bit values after the checksum field.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 16; at + 8 <= bytes.size(); at += 8)
    sum ^= little_endian(bytes, at, 8) + 0x9e3779b9 + (sum << 6) + (sum >> 2);
  return sum;
}

bool is_field_end(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Returns the three fields of a line, or nullopt if it does not have three.
std::optional<std::array<std::string_view, 3>> fields_of(std::string_view line) {
  std::array<std::string_view, 3> fields;
  std::size_t count = 0;
  for (std::size_t i = 0; i < line.size();) {
    while (i < line.size() && is_field_end(line[i])) ++i;
    const std::size_t begin = i;
    while (i < line.size() && !is_field_end(line[i])) ++i;
    if (i == begin) break;
    if (count == fields.size()) return std::nullopt;
    fields[count++] = line.substr(begin, i - begin);
  }
  if (count != fields.size()) return std::nullopt;
  return fields;
}

class TextShortlist {
 public:
  TextShortlist(const std::filesystem::path& path, const ShortlistVocabularies& vocabularies)
      : vocabularies_(vocabularies), lines_(path) {}

  Shortlist read(const ShortlistLimits& limits) {
    for (std::string line; lines_.next(line);) add(line);
    core::require(!entries_.empty(), ErrorCode::kBadInput,
                  "{}: none of its {} lines is of pieces that the model has; was it made with another tokenizer?",
                  lines_.name(), lines_.line_number());
    return {vocabularies_, std::move(entries_), frequent(limits.first), limits.best};
  }

 private:
  void add(std::string_view line) {
    const auto fields = fields_of(line);
    if (!fields && std::ranges::all_of(line, is_field_end)) return;
    if (!fields) fail("has not three fields: target piece, source piece, probability");
    const auto& [target, source, number] = *fields;
    const auto probability = core::spelled_number<double>(number);
    if (!probability || !std::isfinite(*probability) || *probability < 0)
      core::fail(ErrorCode::kBadInput, "{}: line {}: {} is no probability", lines_.name(), lines_.line_number(),
                 core::Quoted{number});
    if (target == kNoWord) return;
    const auto target_id = vocabularies_.target_id(target);
    if (!target_id) return;
    const auto value = static_cast<float>(std::min(*probability, 1e30));
    if (source == kNoWord)
      frequencies_.emplace_back(value, *target_id);
    else if (const auto source_id = vocabularies_.source_id(source))
      entries_.push_back({*source_id, *target_id, value});
  }

  std::vector<std::int32_t> frequent(std::int32_t count) {
    std::vector<std::int32_t> tokens;
    if (frequencies_.empty()) {
      tokens.resize(static_cast<std::size_t>(std::min(count, vocabularies_.target_size)));
      std::iota(tokens.begin(), tokens.end(), 0);
      return tokens;
    }
    std::ranges::stable_sort(frequencies_, [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [frequency, token] : frequencies_)
      if (tokens.size() < static_cast<std::size_t>(count)) tokens.push_back(token);
    return tokens;
  }

  [[noreturn]] void fail(const char* problem) const {
    core::fail(ErrorCode::kBadInput, "{}: line {} {}", lines_.name(), lines_.line_number(), problem);
  }

  const ShortlistVocabularies& vocabularies_;
  core::LineReader lines_;
  std::vector<Shortlist::Entry> entries_;
  std::vector<std::pair<float, std::int32_t>> frequencies_;
};

}  // namespace

bool Shortlist::is_binary(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  const std::string beginning = core::read_beginning(path, 8);
  return beginning.size() == 8 && little_endian(beginning, 0, 8) == kMagic;
}

/// Layout: magic, checksum, first, best, number of offsets and number of targets with 64 bits each; the offsets with 64
/// bits; the targets with 32 bits; all little-endian. Source token s has the targets from offset s up to offset s + 1.
Shortlist read_binary_shortlist(std::string_view bytes, const std::filesystem::path& path,
                                const ShortlistVocabularies& vocabularies) {
  const auto require = [&](bool condition, const char* problem) {
    if (!condition) core::fail(ErrorCode::kBadInput, "{}: a binary shortlist {}", path.string(), problem);
  };
  require(bytes.size() >= kHeaderBytes && little_endian(bytes, 0, 8) == kMagic, "without its header");
  const std::uint64_t first = little_endian(bytes, 16, 8);
  const std::uint64_t offsets = little_endian(bytes, 32, 8);
  const std::uint64_t targets = little_endian(bytes, 40, 8);
  const std::uint64_t room = bytes.size() - kHeaderBytes;
  require(offsets <= room / 8 && targets <= room / 4 && offsets * 8 + targets * 4 == room,
          "whose header tells of another size; is it complete?");
  require(checksum(bytes) == little_endian(bytes, 8, 8), "whose checksum is another: it is damaged");
  require(offsets >= 1 && offsets <= static_cast<std::uint64_t>(vocabularies.source_size) + 1,
          "of more source tokens than the model has; it belongs to another model");
  Shortlist shortlist(vocabularies);
  shortlist.targets_.reserve(targets);
  for (std::uint64_t source = 0; source + 1 < offsets; ++source) {
    const std::uint64_t begin = little_endian(bytes, kHeaderBytes + source * 8, 8);
    const std::uint64_t end = little_endian(bytes, kHeaderBytes + source * 8 + 8, 8);
    require(begin == shortlist.targets_.size() && begin <= end && end <= targets, "whose offsets do not rise");
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t target = little_endian(bytes, kHeaderBytes + offsets * 8 + i * 4, 4);
      require(target < static_cast<std::uint64_t>(vocabularies.target_size),
              "with target tokens that the model does not have; it belongs to another model");
      shortlist.targets_.push_back(static_cast<std::int32_t>(target));
    }
    shortlist.offsets_[source + 1] = shortlist.targets_.size();
  }
  // The file may end with the last source token that has targets.
  for (std::uint64_t source = offsets; source < shortlist.offsets_.size(); ++source)
    shortlist.offsets_[source] = shortlist.targets_.size();
  std::vector<std::int32_t> frequent(
      static_cast<std::size_t>(std::min(first, static_cast<std::uint64_t>(vocabularies.target_size))));
  std::iota(frequent.begin(), frequent.end(), 0);
  shortlist.set_always(vocabularies, frequent);
  return shortlist;
}

std::string Shortlist::to_binary() const {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::int32_t> targets;
  std::uint64_t longest = 0;
  for (std::int32_t source = 0; source < source_vocabulary(); ++source) {
    const auto place = static_cast<std::size_t>(source);
    std::set<std::int32_t> list(targets_.begin() + static_cast<std::ptrdiff_t>(offsets_[place]),
                                targets_.begin() + static_cast<std::ptrdiff_t>(offsets_[place + 1]));
    if (source == end_) list.insert(always_.begin(), always_.end());
    targets.insert(targets.end(), list.begin(), list.end());
    offsets.push_back(targets.size());
    longest = std::max<std::uint64_t>(longest, list.size());
  }
  std::string rest;
  const auto append = [&rest](std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) rest += static_cast<char>(value >> 8 * i & 0xFF);
  };
  for (const std::uint64_t field :
       {std::uint64_t{0}, longest, std::uint64_t{offsets.size()}, std::uint64_t{targets.size()}})
    append(field, 8);
  for (const std::uint64_t offset : offsets) append(offset, 8);
  for (const std::int32_t target : targets) append(static_cast<std::uint64_t>(target), 4);
  const std::string body = std::exchange(rest, {});
  append(kMagic, 8);
  append(checksum(std::string(16, '\0') + body), 8);
  return rest + body;
}

Shortlist Shortlist::read(const std::filesystem::path& path, const ShortlistVocabularies& vocabularies,
                          const ShortlistLimits& limits) {
  if (is_binary(path)) return read_binary_shortlist(core::read_file(path, kMaxBinaryBytes), path, vocabularies);
  return TextShortlist(path, vocabularies).read(limits);
}

}  // namespace dragoman::decoding
