#include "formats_test_support.h"
#include "targets/tokenizer_formats_harness.h"
#include "test_data.h"

#include <gtest/gtest.h>

#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {
namespace {

std::vector<std::pair<FileKind, std::string>> seeds() {
  std::vector<std::pair<FileKind, std::string>> all;
  const auto folder = testing::source_folder() / "tests" / "fuzz" / "corpus" / "tokenizer_formats";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string content = core::read_file(file.path());
    const FileKind kind = content[0] == 's'   ? FileKind::kSentencePiece
                          : content[0] == 't' ? FileKind::kTiktoken
                          : content[0] == 'g' ? FileKind::kGpt2
                          : content[0] == 'f' ? FileKind::kFastBpe
                          : content[0] == 'y' ? FileKind::kYouTokenToMe
                                              : FileKind::kSubwordNmt;
    all.emplace_back(kind, content.substr(1));
  }
  return all;
}

/// Changes of the kinds that a fuzzer makes: bytes, cuts, copies, and numbers.
std::string mutate(std::string bytes, std::mt19937& random) {
  for (std::size_t n = 1 + random() % 3; n > 0 && !bytes.empty(); --n) {
    const std::size_t at = random() % bytes.size();
    const std::size_t length = std::min<std::size_t>(1 + random() % 20, bytes.size() - at);
    switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<char>(random() % 256);
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(random() % bytes.size(), bytes.substr(at, length));
        break;
      case 3:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      default:
        bytes[at] = "\n\x12\x15\x18\xFF 0=ab</w>"[random() % 13];
    }
  }
  return bytes;
}

TEST(TokenizerFormats, EveryPrefixIsATokenizerOrAnError) {
  ASSERT_GE(seeds().size(), 8U);
  for (const auto& [kind, bytes] : seeds()) {
    EXPECT_TRUE(fuzz::exercise_tokenizer_format(kind, bytes)) << name_of(kind);
    const std::size_t step = bytes.size() > 1000 ? 7 : 1;
    for (std::size_t size = 0; size < bytes.size(); size += step)
      fuzz::exercise_tokenizer_format(kind, std::string_view(bytes).substr(0, size));
  }
}

TEST(TokenizerFormats, ChangedFilesAreTokenizersOrErrors) {
  int still_tokenizers = 0;
  for (const auto& [kind, bytes] : seeds()) {
    std::mt19937 random(17);
    const int rounds = bytes.size() > 1000 ? 300 : 2000;
    for (int i = 0; i < rounds; ++i)
      still_tokenizers += fuzz::exercise_tokenizer_format(kind, mutate(bytes, random)) ? 1 : 0;
  }
  EXPECT_GT(still_tokenizers, 500) << "the changes are too coarse to get past the first checks";
}

TEST(TokenizerFormats, AnyBytesAreRecognisedOrRefused) {
  const testing::TemporaryFolder folder;
  std::mt19937 random(5);
  for (const auto& [kind, bytes] : seeds()) {
    EXPECT_EQ(recognise(folder / "file", kind == FileKind::kGpt2 ? bytes.substr(0, bytes.find('\0')) : bytes), kind);
    for (int i = 0; i < 300; ++i) {
      const std::string changed = mutate(bytes, random);
      testing::error_of([&] { recognise(folder / "file", changed); });
    }
  }
  for (const char* bytes : {"", "\n", "{", "{\"", "\n\n\n\n", "a", "a b c d\n", "not a tokenizer"})
    EXPECT_NE(testing::error_of([&] {
                core::write_file(folder / "file", bytes);
                load_tokenizer(folder / "file");
              }),
              "no error")
        << bytes;
}

}  // namespace
}  // namespace dragoman::tokenizer
