#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dragoman::training {

/// What TensorBoard shows of one update.
struct TensorBoardEvent {
  double wall_time = 0;  ///< seconds since 1970
  std::int64_t step = 0;
  std::vector<std::pair<std::string, double>> scalars{};     ///< by tag; kept as 32-bit floats, as TensorBoard has them
  std::vector<std::pair<std::string, std::string>> texts{};  ///< by tag, as Markdown in UTF-8
  /// Tells a TensorBoard that watches to forget what it knows of this step and of later ones.
  bool restarts = false;
};

/// The Event message of tensorflow/core/util/event.proto with these fields, in the wire format of protocol buffers.
/// Ill-formed UTF-8 becomes U+FFFD.
std::string encode_event(const TensorBoardEvent& event);

/// A record of a TFRecord file: the length, a masked CRC-32C (Castagnoli) of it, the bytes, and a masked CRC-32C of
/// those.
std::string frame_record(std::string_view bytes);

/// The records of a file that are whole and have the right sums, up to the first that is not, with the steps of their
/// events.
struct StoredEvent {
  std::string record;  ///< as it is framed
  std::int64_t step = 0;
  bool is_version = false;  ///< the first one of each file, which says how it is written
};
std::vector<StoredEvent> read_events(std::string_view file);

/// Writes an event file, which others may read meanwhile. Error{kIo} if the disk does not take it.
class EventFile {
 public:
  explicit EventFile(std::filesystem::path path);
  void append(const TensorBoardEvent& event);

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  void write(std::string_view bytes);

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace dragoman::training
