#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/file.h>
#include <dragoman/corpus/filters.h>
#include <dragoman/corpus/prepare.h>

namespace dragoman::corpus {

/// Writes pairs to a PairOutput, or nowhere if that is empty. One thread at a time.
class PairWriter {
 public:
  PairWriter(const PairOutput& output, const std::stop_token& stop);
  void write(std::string_view source, std::string_view target);
  std::uint64_t pairs() const noexcept { return pairs_; }
  /// Calls core::OutputFile::complete() for its files.
  void complete();
  /// Appends its files to `files`.
  void add_files(std::vector<core::OutputFile*>& files);

 private:
  PairFormat format_;
  std::optional<core::OutputFile> source_;
  std::optional<core::OutputFile> target_;
  std::string line_;
  std::uint64_t pairs_ = 0;
};

/// A dropped pair and the reason.
struct RejectedPair {
  Reason reason;
  std::string_view file;
  std::uint64_t line;
  std::string_view source;
  std::string_view target;
  std::string_view problem;
};

class RejectionWriter {
 public:
  RejectionWriter(const std::string& path, const std::stop_token& stop);
  void write(const RejectedPair& pair);
  void complete();
  void add_files(std::vector<core::OutputFile*>& files);

 private:
  bool as_json_;
  std::optional<core::OutputFile> file_;
};

}  // namespace dragoman::corpus
