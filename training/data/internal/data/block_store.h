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

/// Pairs of one text that are stored together on disk.
struct EncodedBlock {
  SequenceList source;
  SequenceList target;
  /// As in EncodedPairs. Empty if no text has alignments.
  SequenceList links{};
  /// The lines, if segmentations differ between epochs; otherwise empty.
  LineList source_text;
  LineList target_text;
  /// The lines of the alignments, if there are links as well.
  LineList alignment_text{};

  std::size_t size() const noexcept { return source.size(); }
  /// Returns the approximate size in memory.
  std::uint64_t bytes() const noexcept;
};

/// The origin of a block, and the properties of its file.
struct BlockInfo {
  std::size_t text = 0;          ///< in ParallelCorpusConfig
  std::size_t file = 0;          ///< in the text
  std::uint64_t line = 0;        ///< of the first pair in the file, from 1
  std::uint64_t first_pair = 0;  ///< its number in the corpus
  std::uint64_t pairs = 0;
  std::uint64_t source_tokens = 0;
  std::uint64_t target_tokens = 0;
  std::uint64_t bytes = 0;  ///< of the file of the block
  std::uint64_t sum = 0;    ///< core::fingerprint() of that file
};

/// Returns the file of a block, little-endian: "DRGBLK1\n"; the numbers of pairs, source tokens, target tokens, bytes
/// of source text and of target text (u64 each); the lengths of the sources, of the targets and, if there is text, of
/// the lines (u32 each); tokens (i32); text. A block with links begins with "DRGBLK2\n" and has two more numbers (the
/// number of link values, two per link, and the bytes of alignments); links and alignments follow the targets in each
/// list.
std::string to_bytes(const EncodedBlock& block);
/// Error{kBadInput} with `where` for bytes that are no block.
EncodedBlock read_block(std::string_view bytes, const std::string& where);

/// The description of a folder of blocks: index.json.
struct BlockIndex {
  core::Json identity;      ///< the files, tokenizers and options of the blocks
  std::string fingerprint;  ///< over all lines
  CorpusCounts counts;
  PairLengths lengths;
  std::vector<BlockInfo> blocks;
};

/// Returns the folder of the blocks with this identity in a cache, which may contain others, and other files.
std::filesystem::path folder_of_blocks(const std::filesystem::path& cache, const core::Json& identity);
/// A folder of blocks is replaced as a whole: Error{kInvalidArgument} naming other contents of the folder. A missing
/// folder is empty.
void require_only_blocks(const std::filesystem::path& folder);
/// Removes blocks and their index, complete or not, and the folder if it is empty then.
void remove_blocks(const std::filesystem::path& folder) noexcept;

/// Writes a folder of blocks, which appears when it is complete (core::StagedFolder).
class BlockWriter {
 public:
  explicit BlockWriter(const std::filesystem::path& folder) : staged_(folder, remove_blocks) {}
  /// Completes `info` and stores it.
  void write(const EncodedBlock& block, BlockInfo info);
  /// Writes the index of all blocks.
  BlockIndex commit(core::Json identity, std::string fingerprint, const CorpusCounts& counts, PairLengths lengths);

 private:
  core::StagedFolder staged_;
  std::vector<BlockInfo> blocks_;
};

/// Existing blocks. Thread-safe, except that only one thread at a time may cause a rebuild.
class BlockStore {
 public:
  /// Rebuilds a block from the text.
  using Rebuild = std::function<EncodedBlock(const BlockInfo&)>;
  BlockStore(std::filesystem::path folder, BlockIndex index, Rebuild rebuild, core::LogSink log)
      : folder_(std::move(folder)), index_(std::move(index)), rebuild_(std::move(rebuild)), log_(std::move(log)) {}

  /// Returns the index of a folder with this identity; nullopt if there is none, or one with another identity.
  static std::optional<BlockIndex> find(const std::filesystem::path& folder, const core::Json& identity);

  const std::vector<BlockInfo>& blocks() const noexcept { return index_.blocks; }
  const BlockIndex& index() const noexcept { return index_; }
  /// Reads a block. If its file is not as it was written (truncated, changed, missing), a warning names it, and the
  /// block is rebuilt from the text and, if possible, written again. Error{kBadInput} if the text has changed.
  EncodedBlock load(std::size_t block) const;

 private:
  EncodedBlock restore(std::size_t block, const std::string& why) const;

  std::filesystem::path folder_;
  BlockIndex index_;
  Rebuild rebuild_;
  core::LogSink log_;
};

}  // namespace dragoman::training
