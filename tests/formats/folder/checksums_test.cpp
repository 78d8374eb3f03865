#include "dragoman/formats/checksums.h"

#include "folder_test_support.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::formats {
namespace {

using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

// FIPS 180-4, the examples of NIST's "SHA-256" page: one block, two blocks, and the empty message.
TEST(Sha256, GivesThePublishedExamples) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> examples{
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}};
  for (const auto& [text, digest] : examples) {
    core::write_file(folder / "f", text);
    EXPECT_EQ(sha256_of_file(folder / "f"), digest);
    EXPECT_EQ(sha256_of(text), digest);
  }
}

class Checksums : public ::testing::Test {
 protected:
  Checksums() {
    core::write_file(folder_ / "b", "abc");
    core::write_file(folder_ / "a", "");
    core::write_file(folder_ / "c.partial", "left behind");
    write_checksums(folder_.path());
  }
  TemporaryFolder folder_;
};

// As printed by `sha256sum a b`.
TEST_F(Checksums, AreWrittenAsSha256sumPrintsThem) {
  EXPECT_EQ(core::read_file(folder_ / "SHA256SUMS"),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n"
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n");
  EXPECT_THAT(verify_checksums(folder_.path()), ElementsAre("a", "b"));
}

TEST_F(Checksums, MayAllowFilesThatAreNotListed) {
  core::write_file(folder_ / "new", "");
  EXPECT_THAT(verify_checksums(folder_.path(), UnlistedFiles::kAllow), ElementsAre("a", "b"));
  core::write_file(folder_ / "b", "abd");
  EXPECT_THAT(error_of([&] { verify_checksums(folder_.path(), UnlistedFiles::kAllow); }), HasSubstr("'b' has the sum"));
}

TEST_F(Checksums, AreMissedByName) {
  std::filesystem::remove(folder_ / "SHA256SUMS");
  EXPECT_THAT(error_of([&] { verify_checksums(folder_.path()); }), HasSubstr("SHA256SUMS: is missing"));
}

TEST_F(Checksums, EveryFaultIsNamed) {
  core::write_file(folder_ / "b", "abd");
  std::filesystem::remove(folder_ / "a");
  core::write_file(folder_ / "new", "");
  EXPECT_THAT(error_of([&] { verify_checksums(folder_.path()); }),
              AllOf(HasSubstr("SHA256SUMS: 'a' is missing; 'b' has the sum "
                              "a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9 "
                              "instead of ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
                    HasSubstr("'new' is not listed")));
}

TEST_F(Checksums, AMessageNamesSomeOfManyFaults) {
  std::string sums;
  for (int i = 0; i < 1000; ++i) sums += fmt::format("{}  file_{}\n", std::string(64, '0'), i);
  core::write_file(folder_ / "SHA256SUMS", sums);
  const std::string error = error_of([&] { verify_checksums(folder_.path()); });
  EXPECT_THAT(error, HasSubstr("'file_0' is missing; "));
  EXPECT_THAT(error, HasSubstr("; and 998 more; the folder is damaged"));  // with the two files that are not listed
  EXPECT_LT(error.size(), 500U);
}

TEST_F(Checksums, AreRefusedAboveAMebibyte) {
  constexpr std::size_t kLargest = std::size_t{1} << 20;
  core::write_file(folder_ / "SHA256SUMS", std::string(kLargest, 'x'));
  EXPECT_THAT(error_of([&] { verify_checksums(folder_.path()); }), HasSubstr("line 1: expected 64 hexadecimal digits"));
  core::write_file(folder_ / "SHA256SUMS", std::string(kLargest + 1, 'x'));
  EXPECT_THAT(error_of([&] { verify_checksums(folder_.path()); }), HasSubstr("larger than the 1048576 bytes"));
}

TEST_F(Checksums, ReadTheBinaryModeOfSha256sum) {
  core::write_file(folder_ / "SHA256SUMS",
                   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 *a\n"
                   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad *b");
  EXPECT_THAT(verify_checksums(folder_.path()), ElementsAre("a", "b"));
}

TEST_F(Checksums, MalformedLinesAndPathsThatLeaveTheFolderAreRefused) {
  const std::string digest(64, '0');
  for (const std::string& line : {std::string("nonsense"), digest, digest + "  ", digest + "  ../f",
                                  digest + "  /etc/passwd", digest + "  ..", digest + "  " + std::string(300, 'a'),
                                  digest + "  a" + std::string(1, '\0'), std::string(64, 'g') + "  a", digest + "a"}) {
    core::write_file(folder_ / "SHA256SUMS",
                     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n" + line + "\n");
    EXPECT_THAT(error_of([&] { verify_checksums(folder_.path()); }),
                HasSubstr("SHA256SUMS: line 2: expected 64 hexadecimal digits"))
        << line;
  }
}

}  // namespace
}  // namespace dragoman::formats
