#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>
#include <dragoman/core/log.h>
#include <dragoman/training/corpus.h>

namespace dragoman::training {

/// Pairs of one text that stand together on disk.
struct EncodedBlock {
  SequenceList source;
  SequenceList target;
  /// As EncodedPairs has them; empty where no text has alignments.
  SequenceList links{};
  /// The lines, where epochs differ in how they are cut; else empty.
  LineList source_text;
  LineList target_text;
  /// Those of the alignments, where there are links, too.
  LineList alignment_text{};

  std::size_t size() const noexcept { return source.size(); }
  /// In memory, about.
  std::uint64_t bytes() const noexcept;
};

/// Where a block comes from, and what its file must be.
struct BlockInfo {
  std::size_t text = 0;          ///< of ParallelCorpusConfig
  std::size_t file = 0;          ///< of the text
  std::uint64_t line = 0;        ///< of the first pair in the file, from 1
  std::uint64_t first_pair = 0;  ///< its number among all
  std::uint64_t pairs = 0;
  std::uint64_t source_tokens = 0;
  std::uint64_t target_tokens = 0;
  std::uint64_t bytes = 0;  ///< of the file
  std::uint64_t sum = 0;    ///< core::fingerprint() of it
};

/// The file of a block, little-endian: "DRGBLK1\n", the numbers of pairs, source tokens, target tokens, bytes of source
/// text and of target text (u64), lengths of the sources and the targets and, if there is text, of the lines (u32
/// each), tokens (i32), text. Of a block with links: "DRGBLK2\n", two more numbers (those of links, which are two each,
/// and bytes of alignments), and links and alignments behind the targets wherever these stand.
std::string to_bytes(const EncodedBlock& block);
/// Error{kBadInput} with `where` for bytes that are no block.
EncodedBlock read_block(std::string_view bytes, const std::string& where);

/// What a folder of blocks says of itself: index.json.
struct BlockIndex {
  core::Json identity;      ///< of what they were made: files, tokenizers, options
  std::string fingerprint;  ///< of all lines
  CorpusCounts counts;
  PairLengths lengths;
  std::vector<BlockInfo> blocks;
};

/// Where blocks of this identity stand in a cache, which may hold those of others, and whatever else.
std::filesystem::path folder_of_blocks(const std::filesystem::path& cache, const core::Json& identity);
/// A folder of blocks is replaced as a whole: Error{kInvalidArgument} that names what else is in it. One that is not
/// there holds nothing.
void require_only_blocks(const std::filesystem::path& folder);
/// Removes blocks and their index, finished or not, and the folder if that was all it held.
void remove_blocks(const std::filesystem::path& folder) noexcept;

/// Writes a folder of blocks, which appears when it is complete (core::StagedFolder).
class BlockWriter {
 public:
  explicit BlockWriter(const std::filesystem::path& folder) : staged_(folder, remove_blocks) {}
  /// Completes `info` and keeps it.
  void write(const EncodedBlock& block, BlockInfo info);
  /// Writes the index with all blocks.
  BlockIndex commit(core::Json identity, std::string fingerprint, const CorpusCounts& counts, PairLengths lengths);

 private:
  core::StagedFolder staged_;
  std::vector<BlockInfo> blocks_;
};

/// Blocks that are there. Thread-safe but for rebuilding, which one thread at a time may cause.
class BlockStore {
 public:
  /// Makes a block anew from the text.
  using Rebuild = std::function<EncodedBlock(const BlockInfo&)>;
  BlockStore(std::filesystem::path folder, BlockIndex index, Rebuild rebuild, core::LogSink log)
      : folder_(std::move(folder)), index_(std::move(index)), rebuild_(std::move(rebuild)), log_(std::move(log)) {}

  /// The index of a folder that was made of the same; nothing if there is none, or of something else.
  static std::optional<BlockIndex> find(const std::filesystem::path& folder, const core::Json& identity);

  const std::vector<BlockInfo>& blocks() const noexcept { return index_.blocks; }
  const BlockIndex& index() const noexcept { return index_; }
  /// Reads a block. One whose file is not what was written (cut, changed, gone) is named in a warning and made anew
  /// from the text, and written again, if it can be; Error{kBadInput} if the text is not what it was.
  EncodedBlock load(std::size_t block) const;

 private:
  EncodedBlock restore(std::size_t block, const std::string& why) const;

  std::filesystem::path folder_;
  BlockIndex index_;
  Rebuild rebuild_;
  core::LogSink log_;
};

}  // namespace dragoman::training
