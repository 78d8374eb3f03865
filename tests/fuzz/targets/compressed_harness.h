#pragma once

#include "scratch.h"
#include "target.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

#include <dragoman/core/file.h>

namespace dragoman::fuzz {

/// A small file may stand for more than anybody wants to have in memory: reading in parts must still be cheap.
inline constexpr std::size_t kMaxUnpacked = std::size_t{4} << 20;

/// The content as far as kMaxUnpacked, read in blocks of this size.
inline std::string unpack(const std::filesystem::path& path, std::size_t block_size) {
  core::InputFile file(path);
  std::string content;
  std::vector<char> block(block_size);
  while (const std::size_t n = file.read(block)) {
    content.append(block.data(), n);
    if (content.size() > kMaxUnpacked) break;
  }
  return content;
}

/// But for a byte order mark, which says what the text is and is no part of it.
inline void check_lines(const std::filesystem::path& path, std::string_view content) {
  if (content.starts_with("\xEF\xBB\xBF")) content.remove_prefix(3);
  core::LineReader reader(path);
  std::string joined;
  std::string line;
  while (reader.next(line)) joined += line + "\n";
  if (!content.empty() && content.back() != '\n') joined.pop_back();
  promise(joined == content, "the lines make up the file");
}

/// Reads a file that may be compressed in every way that there is.
inline void read_in_every_way(const std::filesystem::path& path) {
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  const std::string content = unpack(path, 65537);
  promise(content.size() > kMaxUnpacked || unpack(path, 1000) == content, "reading does not depend on the block");
  const bool small = accepts([&] { core::read_file(path, kLimit); });
  promise(small == (content.size() <= kLimit), "a limit of size is kept");
  if (content.size() <= kMaxUnpacked) check_lines(path, content);
}

/// Reads the rest as a file. If the first line is "gz" or "zst", the rest is written in that form before it is read.
/// True if it was undamaged.
inline bool exercise_compressed(std::string_view bytes) {
  const std::string form(bytes.substr(0, bytes.find('\n')));
  const std::string_view content = bytes.substr(std::min(form.size() + 1, bytes.size()));
  const bool pack = form == "gz" || form == "zst";
  const std::filesystem::path path = scratch() / (pack ? "packed." + form : std::string("raw"));
  return accepts([&] {
    if (pack) {
      core::OutputFile output(path);
      for (std::size_t i = 0; i < content.size(); i += 100) output.write(content.substr(i, 100));
      output.commit();
      promise(content.size() > kMaxUnpacked || unpack(path, 4096) == content, "what is packed is unpacked");
    } else {
      put_file(path, content);
    }
    read_in_every_way(path);
  });
}

/// Zeros, packed to a thousandth.
inline std::string packed_zeros(std::string_view /*seed*/, std::size_t size) {
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY);
  std::string zeros(size * 1000, '\0');
  std::string packed(size * 2 + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(zeros.data());
  stream.avail_in = static_cast<uInt>(zeros.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return "raw\n" + packed;
}

/// A Zstandard frame may ask for a window of 128 MiB, which its decoder allocates, but does not touch.
inline Target compressed_target() {
  return {
      .name = "compressed",
      .exercise = exercise_compressed,
      .budget = {.milliseconds = 200, .bytes = std::size_t{320} << 20},
      .rounds = 50,
      .growths = {{"packed zeros", "gzip", packed_zeros}},
  };
}

}  // namespace dragoman::fuzz
