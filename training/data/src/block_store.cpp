#include "data/block_store.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/fingerprint.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>

namespace dragoman::training {
namespace {

namespace fs = std::filesystem;
using core::ErrorCode;
using core::Json;

static_assert(std::endian::native == std::endian::little, "blocks are written as they stand in memory");

constexpr std::string_view kBlockMagic = "DRGBLK1\n";
constexpr std::string_view kLinkedBlockMagic = "DRGBLK2\n";
constexpr int kIndexVersion = 2;
constexpr std::string_view kIndexName = "index.json";
constexpr std::string_view kBlockPrefix = "block-";
constexpr std::string_view kBlockSuffix = ".bin";
constexpr std::uint64_t kLargestIndex = std::uint64_t{1} << 30;
/// More than any text has; sums of such values do not overflow.
constexpr std::uint64_t kMaxOfBlock = std::uint64_t{1} << 40;

std::string block_name(std::size_t i) {
  return fmt::format("{}{:06}{}", kBlockPrefix, i, kBlockSuffix);
}

/// Returns whether a name belongs to a block or to the index, complete or not.
bool is_name_of_blocks(std::string_view name) {
  if (name.ends_with(core::kPartialSuffix)) name.remove_suffix(core::kPartialSuffix.size());
  if (name == kIndexName) return true;
  if (!name.starts_with(kBlockPrefix) || !name.ends_with(kBlockSuffix)) return false;
  name.remove_prefix(kBlockPrefix.size());
  name.remove_suffix(kBlockSuffix.size());
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_of_blocks(const fs::path& entry) {
  std::error_code ignored;
  return fs::symlink_status(entry, ignored).type() == fs::file_type::regular &&
         is_name_of_blocks(entry.filename().string());
}

template <class Number>
void append_number(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Takes bytes from the front. Error if there are too few.
class BytesReader {
 public:
  BytesReader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(&where) {}
  std::string_view take(std::uint64_t count) {
    core::require(count <= bytes_.size(), ErrorCode::kBadInput, "{}: is cut short", *where_);
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  template <class Number>
  std::vector<Number> numbers(std::uint64_t count) {
    core::require(count <= bytes_.size() / sizeof(Number), ErrorCode::kBadInput, "{}: is cut short", *where_);
    std::vector<Number> values(count);
    const std::string_view taken = take(count * sizeof(Number));
    if (count > 0) std::memcpy(values.data(), taken.data(), taken.size());
    return values;
  }
  bool at_end() const noexcept { return bytes_.empty(); }

 private:
  std::string_view bytes_;
  const std::string* where_;
};

void require_sum(const std::vector<std::uint32_t>& lengths, std::uint64_t sum, const std::string& where) {
  std::uint64_t all = 0;
  for (const std::uint32_t length : lengths) all += length;
  core::require(all == sum, ErrorCode::kBadInput, "{}: lengths add up to {}, but there are {}", where, all, sum);
}

SequenceList read_sequences(const std::vector<std::uint32_t>& lengths, BytesReader& reader, std::uint64_t total) {
  SequenceList list;
  const std::vector<std::int32_t> tokens = reader.numbers<std::int32_t>(total);
  std::size_t begin = 0;
  for (const std::uint32_t length : lengths) {
    list.append(std::span(tokens).subspan(begin, length));
    begin += length;
  }
  return list;
}

LineList read_lines(const std::vector<std::uint32_t>& lengths, std::string_view text) {
  LineList list;
  std::size_t begin = 0;
  for (const std::uint32_t length : lengths) {
    list.append(text.substr(begin, length));
    begin += length;
  }
  return list;
}

Json to_json(const BlockInfo& info) {
  return {{"text", info.text},
          {"file", info.file},
          {"line", info.line},
          {"pairs", info.pairs},
          {"source_tokens", info.source_tokens},
          {"target_tokens", info.target_tokens},
          {"bytes", info.bytes},
          {"sum", hexadecimal(info.sum)}};
}

Json to_json(const LengthCounts& lengths) {
  Json list = Json::array();
  for (const auto& [length, count] : lengths) list.push_back({length, count});
  return list;
}

/// Reads the lengths of `pairs` sequences.
LengthCounts read_lengths(core::OptionReader& reader, const char* key, std::uint64_t pairs) {
  constexpr const char* kDemand = "must be a list of [length, count] of all pairs";
  LengthCounts lengths;
  std::uint64_t all = 0;
  const Json& list = reader.subtree(key);
  reader.check(list.is_array(), key, kDemand);
  for (const Json& item : list) {
    reader.check(item.is_array() && item.size() == 2 && item[0].is_number_unsigned() && item[1].is_number_unsigned(),
                 key, kDemand);
    const auto length = item[0].get<std::uint64_t>();
    const auto count = item[1].get<std::uint64_t>();
    reader.check(length <= std::numeric_limits<std::int32_t>::max() && count <= pairs - all, key, kDemand);
    lengths[static_cast<std::int32_t>(length)] += count;
    all += count;
  }
  reader.check(all == pairs, key, kDemand);
  return lengths;
}

BlockInfo read_info(const Json& json, const std::string& where) {
  core::OptionReader reader(json, where);
  BlockInfo info;
  const auto number = [&](const char* key) {
    const auto value = reader.require_key<std::uint64_t>(key);
    reader.check(value <= kMaxOfBlock, key, "is too large");
    return value;
  };
  info.text = number("text");
  info.file = number("file");
  info.line = number("line");
  info.pairs = number("pairs");
  info.source_tokens = number("source_tokens");
  info.target_tokens = number("target_tokens");
  info.bytes = number("bytes");
  const auto sum = reader.require_key<std::string>("sum");
  reader.check(sum.size() == 16 && sum.find_first_not_of("0123456789abcdef") == std::string::npos, "sum",
               "must be 16 hexadecimal digits");
  info.sum = std::stoull(sum, nullptr, 16);
  reader.finish();
  return info;
}

BlockIndex read_index(const Json& json, const std::string& where) {
  core::OptionReader reader(json, where);
  reader.check(reader.require_key<std::int64_t>("format_version") == kIndexVersion, "format_version",
               "is of another program");
  BlockIndex index{.identity = reader.subtree("identity"),
                   .fingerprint = reader.require_key<std::string>("fingerprint"),
                   .counts = {},
                   .lengths = {},
                   .blocks = {}};
  core::OptionReader counts = reader.child("counts");
  index.counts.lines = counts.require_key<std::uint64_t>("lines");
  index.counts.empty = counts.require_key<std::uint64_t>("empty");
  index.counts.too_long = counts.require_key<std::uint64_t>("too_long");
  index.counts.invalid_text = counts.require_key<std::uint64_t>("invalid_text");
  counts.finish();
  const Json& blocks = reader.subtree("blocks");
  reader.check(blocks.is_array() && !blocks.empty(), "blocks", "must be a list");
  std::uint64_t pairs = 0;
  for (const Json& block : blocks) {
    BlockInfo info = read_info(block, where + ": blocks");
    info.first_pair = pairs;
    pairs += info.pairs;
    index.blocks.push_back(info);
  }
  core::OptionReader lengths = reader.child("lengths");
  index.lengths.source = read_lengths(lengths, "source", pairs);
  index.lengths.target = read_lengths(lengths, "target", pairs);
  lengths.finish();
  reader.finish();
  return index;
}

}  // namespace

std::uint64_t EncodedBlock::bytes() const noexcept {
  constexpr std::uint64_t kOffsets = 4 * sizeof(std::uint64_t);
  return (source.total() + target.total() + links.total()) * sizeof(std::int32_t) + source_text.total() +
         target_text.total() + alignment_text.total() + (size() + links.size() / 2) * kOffsets;
}

namespace {

std::vector<const SequenceList*> sequences_of(const EncodedBlock& block) {
  if (block.links.size() == 0) return {&block.source, &block.target};
  return {&block.source, &block.target, &block.links};
}
std::vector<const LineList*> lines_of_block(const EncodedBlock& block) {
  if (block.links.size() == 0) return {&block.source_text, &block.target_text};
  return {&block.source_text, &block.target_text, &block.alignment_text};
}

/// Checks links, because batches do not.
void require_links(const EncodedBlock& block, const std::string& where) {
  for (std::size_t i = 0; i < block.links.size(); ++i) {
    const auto links = block.links[i];
    bool fits = links.size() % 2 == 0;
    for (std::size_t k = 0; fits && k < links.size(); k += 2) {
      fits = links[k] >= 0 && links[k] < block.target.length(i) && links[k + 1] >= 0 &&
             links[k + 1] < block.source.length(i);
      if (k > 0) fits = fits && std::pair(links[k - 2], links[k - 1]) < std::pair(links[k], links[k + 1]);
    }
    core::require(fits, ErrorCode::kBadInput, "{}: pair {} has links that are none", where, i + 1);
  }
}

}  // namespace

std::string to_bytes(const EncodedBlock& block) {
  const auto sequences = sequences_of(block);
  const auto lines = lines_of_block(block);
  std::string bytes(block.links.size() > 0 ? kLinkedBlockMagic : kBlockMagic);
  append_number(bytes, std::uint64_t{block.size()});
  for (const SequenceList* side : sequences) append_number(bytes, side->total());
  for (const LineList* side : lines) append_number(bytes, side->total());
  for (const SequenceList* side : sequences)
    for (std::size_t i = 0; i < side->size(); ++i) append_number(bytes, static_cast<std::uint32_t>((*side)[i].size()));
  for (const LineList* side : lines)
    for (std::size_t i = 0; i < side->size(); ++i) append_number(bytes, static_cast<std::uint32_t>((*side)[i].size()));
  for (const SequenceList* side : sequences)
    for (std::size_t i = 0; i < side->size(); ++i) {
      const auto sequence = (*side)[i];
      bytes.append(reinterpret_cast<const char*>(sequence.data()), sequence.size_bytes());
    }
  for (const LineList* side : lines)
    for (std::size_t i = 0; i < side->size(); ++i) bytes.append((*side)[i]);
  return bytes;
}

EncodedBlock read_block(std::string_view bytes, const std::string& where) {
  BytesReader reader(bytes, where);
  const std::string_view magic = reader.take(kBlockMagic.size());
  const bool linked = magic == kLinkedBlockMagic;
  core::require(linked || magic == kBlockMagic, ErrorCode::kBadInput, "{}: is no block of pairs", where);
  const std::size_t sides = linked ? 3 : 2;
  const std::uint64_t pairs = reader.numbers<std::uint64_t>(1).front();
  core::require(!linked || pairs > 0, ErrorCode::kBadInput, "{}: has links, and no pairs", where);
  const std::vector<std::uint64_t> tokens = reader.numbers<std::uint64_t>(sides);
  const std::vector<std::uint64_t> text_bytes = reader.numbers<std::uint64_t>(sides);
  std::vector<std::vector<std::uint32_t>> lengths, line_lengths(sides);
  for (std::size_t side = 0; side < sides; ++side) {
    lengths.push_back(reader.numbers<std::uint32_t>(pairs));
    require_sum(lengths.back(), tokens[side], where);
  }
  const bool has_text = std::ranges::any_of(text_bytes, [](std::uint64_t count) { return count > 0; });
  for (std::size_t side = 0; has_text && side < sides; ++side) {
    line_lengths[side] = reader.numbers<std::uint32_t>(pairs);
    require_sum(line_lengths[side], text_bytes[side], where);
  }
  EncodedBlock block;
  block.source = read_sequences(lengths[0], reader, tokens[0]);
  block.target = read_sequences(lengths[1], reader, tokens[1]);
  if (linked) block.links = read_sequences(lengths[2], reader, tokens[2]);
  block.source_text = read_lines(line_lengths[0], reader.take(text_bytes[0]));
  block.target_text = read_lines(line_lengths[1], reader.take(text_bytes[1]));
  if (linked) block.alignment_text = read_lines(line_lengths[2], reader.take(text_bytes[2]));
  core::require(reader.at_end(), ErrorCode::kBadInput, "{}: has more bytes than it should have", where);
  require_links(block, where);
  return block;
}

fs::path folder_of_blocks(const fs::path& cache, const Json& identity) {
  return cache / hexadecimal(core::fingerprint(core::one_line(identity)));
}

void require_only_blocks(const fs::path& folder) {
  for (const fs::path& entry : core::list_folder(folder))
    core::require(
        is_of_blocks(entry), ErrorCode::kInvalidArgument,
        "{}: stands where blocks of the training data are to be written, and is none of them; move it away, or "
        "name another folder as data.cache",
        entry.string());
}

void remove_blocks(const fs::path& folder) noexcept {
  try {
    std::error_code ignored;
    for (const fs::path& entry : core::list_folder(folder))
      if (is_of_blocks(entry)) fs::remove(entry, ignored);
    fs::remove(folder, ignored);  // refused by the system unless it is empty
  } catch (const std::exception&) {
    // Files that cannot be removed now remain; destructors call this.
  }
}

void BlockWriter::write(const EncodedBlock& block, BlockInfo info) {
  const std::string bytes = to_bytes(block);
  info.first_pair = blocks_.empty() ? 0 : blocks_.back().first_pair + blocks_.back().pairs;
  info.pairs = block.size();
  info.source_tokens = block.source.total();
  info.target_tokens = block.target.total();
  info.bytes = bytes.size();
  info.sum = core::fingerprint(bytes);
  core::write_file(staged_.folder() / block_name(blocks_.size()), bytes);
  blocks_.push_back(info);
}

BlockIndex BlockWriter::commit(Json identity, std::string fingerprint, const CorpusCounts& counts,
                               PairLengths lengths) {
  Json blocks = Json::array();
  for (const BlockInfo& info : blocks_) blocks.push_back(to_json(info));
  const Json index{{"format_version", kIndexVersion},
                   {"identity", identity},
                   {"fingerprint", fingerprint},
                   {"counts",
                    {{"lines", counts.lines},
                     {"empty", counts.empty},
                     {"too_long", counts.too_long},
                     {"invalid_text", counts.invalid_text}}},
                   {"lengths", {{"source", to_json(lengths.source)}, {"target", to_json(lengths.target)}}},
                   {"blocks", std::move(blocks)}};
  core::write_file(staged_.folder() / kIndexName, core::one_line(index) + "\n");
  staged_.commit();
  return {.identity = std::move(identity),
          .fingerprint = std::move(fingerprint),
          .counts = counts,
          .lengths = std::move(lengths),
          .blocks = std::move(blocks_)};
}

std::optional<BlockIndex> BlockStore::find(const fs::path& folder, const Json& identity) {
  const fs::path file = folder / kIndexName;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  try {
    BlockIndex index =
        read_index(core::parse_json(core::read_regular_file(file, kLargestIndex), file.string()), file.string());
    if (index.identity == identity) return index;
  } catch (const core::Error& error) {
    if (error.code() != ErrorCode::kBadInput) throw;
  }
  return std::nullopt;
}

namespace {

bool holds_what_it_should(const EncodedBlock& block, const BlockInfo& info) {
  return block.size() == info.pairs && block.source.total() == info.source_tokens &&
         block.target.total() == info.target_tokens;
}

}  // namespace

EncodedBlock BlockStore::load(std::size_t block) const {
  const BlockInfo& info = index_.blocks[block];
  const fs::path file = folder_ / block_name(block);
  std::string problem;
  try {
    const std::string bytes = core::read_regular_file(file, kMaxOfBlock);
    if (bytes.size() != info.bytes)
      problem = fmt::format("has {} bytes, but {} were written", bytes.size(), info.bytes);
    else if (core::fingerprint(bytes) != info.sum)
      problem = "was changed since it was written";
    else if (EncodedBlock read = read_block(bytes, file.string()); holds_what_it_should(read, info))
      return read;
    else
      problem = "has other pairs than its index says";
  } catch (const core::Error& error) {
    if (error.code() != ErrorCode::kIo) throw;
    problem = "cannot be read";
  }
  return restore(block, problem);
}

EncodedBlock BlockStore::restore(std::size_t block, const std::string& why) const {
  const BlockInfo& info = index_.blocks[block];
  const fs::path file = folder_ / block_name(block);
  core::log(log_, core::LogLevel::kWarning, fmt::format("{}: {}; it is made anew from the text", file.string(), why));
  EncodedBlock made = rebuild_(info);
  const std::string bytes = to_bytes(made);
  core::require(bytes.size() == info.bytes && core::fingerprint(bytes) == info.sum, ErrorCode::kBadInput,
                "{}: {}, and the text that it was made of has changed; restore the text, or remove the folder {} and "
                "train anew",
                file.string(), why, folder_.string());
  try {
    core::write_file(file, bytes);
  } catch (const core::Error& error) {
    // Nothing is lost: the disk is full, or another process of the job writes the same file.
    core::log(log_, core::LogLevel::kWarning, fmt::format("{}; the block is used all the same", error.what()));
  }
  return made;
}

}  // namespace dragoman::training
