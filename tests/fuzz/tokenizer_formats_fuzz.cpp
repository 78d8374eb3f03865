#include "tokenizer_formats_harness.h"

#include <cstddef>
#include <cstdint>

/// The first byte says the kind, as the letters that begin the seeds do.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using dragoman::tokenizer::FileKind;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const FileKind kind = data[0] == 's'   ? FileKind::kSentencePiece
                        : data[0] == 't' ? FileKind::kTiktoken
                        : data[0] == 'g' ? FileKind::kGpt2
                        : data[0] == 'f' ? FileKind::kFastBpe
                        : data[0] == 'y' ? FileKind::kYouTokenToMe
                                         : FileKind::kSubwordNmt;
  dragoman::fuzz::exercise_tokenizer_format(kind, bytes);
  return 0;
}
