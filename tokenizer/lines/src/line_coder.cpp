#include "dragoman/tokenizer/line_coder.h"

#include "lines/line_decoder.h"
#include "lines/line_encoder.h"
#include "reading/thread_arena.h"

#include <fmt/format.h>

namespace dragoman::tokenizer {

struct LineCoder::Impl {
  Impl(const Tokenizer& tokenizer, LineFormat format)
      : options{.format = format}, encoding(tokenizer, options), decoder(tokenizer, format) {}

  LineCodingOptions options;
  LineEncoding encoding;
  OnePerThread<LineEncoder> encoders;
  LineDecoder decoder;
};

LineCoder::LineCoder(const Tokenizer& tokenizer, LineFormat format)
    : impl_(std::make_unique<Impl>(tokenizer, format)) {}
LineCoder::~LineCoder() = default;
LineCoder::LineCoder(LineCoder&&) noexcept = default;
LineCoder& LineCoder::operator=(LineCoder&&) noexcept = default;

std::string LineCoder::encode(std::string_view text) const {
  std::string line;
  impl_->encoders.with([&] { return LineEncoder(impl_->encoding); },
                       [&](LineEncoder& encoder) { encoder.append(text, 0, line); });
  line.pop_back();
  return line;
}

std::string LineCoder::decode(std::string_view line) const {
  return impl_->decoder.decode(line, [](std::size_t begin) { return fmt::format("byte {}", begin + 1); });
}

}  // namespace dragoman::tokenizer
