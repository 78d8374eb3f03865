#include "compressed_members.h"

#include "descriptor.h"
#include "dragoman/core/error.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <zlib.h>
#include <zstd.h>

namespace dragoman::core {
namespace {

constexpr int kGzipWindow = 15 + 16;  // requests a gzip header and checksum from zlib

std::string gzip_member(std::string_view text) {
  z_stream stream{};
  require(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK,
          ErrorCode::kInternal, "zlib cannot compress: {}", stream.msg == nullptr ? "out of memory" : stream.msg);
  const std::unique_ptr<z_stream, decltype(&deflateEnd)> ended(&stream, &deflateEnd);
  std::string member;
  std::string block(kFileBlock, '\0');
  // zlib counts in 32 bits, so a long text is passed in parts.
  for (bool last = false; !last;) {
    const std::string_view part = text.substr(0, kFileBlock);
    text.remove_prefix(part.size());
    last = text.empty();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream.avail_in = static_cast<uInt>(part.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(block.data());
      stream.avail_out = static_cast<uInt>(block.size());
      deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
      member.append(block, 0, block.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  return member;
}

std::string zstd_frame(std::string_view text) {
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(frame.data(), frame.size(), text.data(), text.size(), ZSTD_CLEVEL_DEFAULT);
  require(ZSTD_isError(size) == 0, ErrorCode::kInternal, "zstd cannot compress: {}", ZSTD_getErrorName(size));
  frame.resize(size);
  return frame;
}

/// Receives the text of the members in order, and remembers the last point after which the file could be continued.
class MemberCounter {
 public:
  explicit MemberCounter(std::uint64_t most) : most_(most) {}
  void add(std::string_view text) {
    lines_ += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
    if (!text.empty()) line_open_ = text.back() != '\n';
  }
  void end_member(std::uint64_t bytes) {
    if (!line_open_ && lines_ <= most_) kept_ = {lines_, bytes};
  }
  CompleteLines kept() const { return kept_; }

 private:
  std::uint64_t most_;
  std::uint64_t lines_ = 0;
  bool line_open_ = false;
  CompleteLines kept_;
};

CompleteLines complete_gzip(int fd, const std::string& name, std::uint64_t most) {
  z_stream stream{};
  require(inflateInit2(&stream, kGzipWindow) == Z_OK, ErrorCode::kInternal, "zlib cannot decompress");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> ended(&stream, &inflateEnd);
  std::vector<char> in(kFileBlock);
  std::vector<char> out(kFileBlock);
  MemberCounter counter(most);
  std::uint64_t read = 0;
  for (;;) {
    if (stream.avail_in == 0) {
      const std::size_t n = read_some(fd, in.data(), in.size(), name);
      if (n == 0) return counter.kept();
      read += n;
      stream.next_in = reinterpret_cast<Bytef*>(in.data());
      stream.avail_in = static_cast<uInt>(n);
    }
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) return counter.kept();
    counter.add({out.data(), out.size() - stream.avail_out});
    if (status != Z_STREAM_END) continue;
    counter.end_member(read - stream.avail_in);
    inflateReset(&stream);
  }
}

CompleteLines complete_zstd(int fd, const std::string& name, std::uint64_t most) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(), &ZSTD_freeDStream);
  require(stream != nullptr, ErrorCode::kInternal, "zstd cannot decompress");
  std::vector<char> in(kFileBlock);
  std::vector<char> out(kFileBlock);
  MemberCounter counter(most);
  std::uint64_t read = 0;
  for (ZSTD_inBuffer input{in.data(), 0, 0};;) {
    if (input.pos == input.size) {
      const std::size_t n = read_some(fd, in.data(), in.size(), name);
      if (n == 0) return counter.kept();
      read += n;
      input = {in.data(), n, 0};
    }
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const std::size_t status = ZSTD_decompressStream(stream.get(), &output, &input);
    if (ZSTD_isError(status) != 0) return counter.kept();
    counter.add({out.data(), output.pos});
    if (status == 0) counter.end_member(read - (input.size - input.pos));
  }
}

CompleteLines complete_plain(int fd, const std::string& name, std::uint64_t most) {
  CompleteLines count;
  std::vector<char> block(kFileBlock);
  for (std::uint64_t offset = 0; const std::size_t n = read_some(fd, block.data(), block.size(), name); offset += n) {
    const std::string_view text(block.data(), n);
    for (std::size_t end = text.find('\n'); end != std::string_view::npos && count.lines < most;
         end = text.find('\n', end + 1)) {
      ++count.lines;
      count.bytes = offset + end + 1;
    }
  }
  return count;
}

}  // namespace

Compression compression_of(const std::filesystem::path& name) {
  if (name.extension() == ".gz") return Compression::kGzip;
  if (name.extension() == ".zst") return Compression::kZstd;
  return Compression::kNone;
}

std::string compress_member(Compression compression, std::string_view text) {
  if (compression == Compression::kNone) return std::string(text);
  return compression == Compression::kGzip ? gzip_member(text) : zstd_frame(text);
}

CompleteLines complete_lines(Compression compression, int fd, const std::string& name, std::uint64_t most) {
  if (compression == Compression::kGzip) return complete_gzip(fd, name, most);
  if (compression == Compression::kZstd) return complete_zstd(fd, name, most);
  return complete_plain(fd, name, most);
}

}  // namespace dragoman::core
