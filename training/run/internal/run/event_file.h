#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/core/append_file.h>

namespace dragoman::training {

/// The data that TensorBoard shows for one update.
struct TensorBoardEvent {
  double wall_time = 0;  ///< seconds since 1970
  std::int64_t step = 0;
  std::vector<std::pair<std::string, double>> scalars{};     ///< by tag; stored as 32-bit floats, the type of
                                                             ///< TensorBoard
  std::vector<std::pair<std::string, std::string>> texts{};  ///< by tag, as Markdown in UTF-8
  /// Whether a running TensorBoard must drop its data of this step and of later ones.
  bool restarts = false;
};

/// Returns the Event message of tensorflow/core/util/event.proto with these fields, in the wire format of protocol
/// buffers. Ill-formed UTF-8 is replaced by U+FFFD.
std::string encode_event(const TensorBoardEvent& event);

/// Returns a record of a TFRecord file: the length, its masked CRC-32C (Castagnoli), the bytes, and their masked
/// CRC-32C.
std::string frame_record(std::string_view bytes);

/// Returns the complete records of a file with valid checksums, up to the first other one, and the steps of their
/// events.
struct StoredEvent {
  std::string record;  ///< including its frame
  std::int64_t step = 0;
  bool is_version = false;  ///< the first record of each file, which has the version of the format
};
std::vector<StoredEvent> read_events(std::string_view file);

/// Writes an event file, which other programs may read meanwhile. Error{kIo} if the disk fails.
class EventFile {
 public:
  explicit EventFile(const std::filesystem::path& path);
  void append(const TensorBoardEvent& event);

 private:
  core::AppendFile file_;
};

}  // namespace dragoman::training
