#include "dragoman/training/run_log.h"

#include <cerrno>
#include <cstring>

#include <dragoman/core/file.h>

namespace dragoman::training {
namespace {

std::string first_lines(const std::filesystem::path& path, std::uint64_t lines) {
  std::string kept;
  if (lines == 0) return kept;
  core::LineReader reader(path);
  std::string line;
  while (reader.line_number() < lines && reader.next(line)) kept += line + "\n";
  core::require(reader.line_number() == lines, core::ErrorCode::kBadInput,
                "{}: has {} lines, but the checkpoint was made after {}; restore the file or start anew", path.string(),
                reader.line_number(), lines);
  return kept;
}

}  // namespace

RunLog::RunLog(std::filesystem::path path, std::uint64_t lines) : path_(std::move(path)), lines_(lines) {
  core::write_file(path_, first_lines(path_, lines));
  stream_.open(path_, std::ios::app | std::ios::binary);
  core::require(stream_.is_open(), core::ErrorCode::kIo, "{}: cannot open for writing: {}", path_.string(),
                std::strerror(errno));
}

void RunLog::append(const core::Json& line) {
  stream_ << line.dump(-1, ' ', false, core::Json::error_handler_t::replace) << '\n' << std::flush;
  core::require(stream_.good(), core::ErrorCode::kIo, "{}: cannot write: {}; is the disk full?", path_.string(),
                std::strerror(errno));
  ++lines_;
}

}  // namespace dragoman::training
