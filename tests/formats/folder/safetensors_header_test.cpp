#include "targets/safetensors_harness.h"
#include "test_data.h"
#include "test_names.h"

#include <cstring>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/formats/safetensors.h>

namespace dragoman::formats {
namespace {

using dragoman::testing::golden_file;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string with_length(std::uint64_t length, std::string_view rest) {
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file.append(rest);
}

std::string make_file(std::string_view header, std::size_t data_bytes) {
  return with_length(header.size(), std::string(header) + std::string(data_bytes, 'x'));
}

SafetensorsFile parse(const std::string& bytes) {
  return SafetensorsFile::view({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "test");
}

std::string error_of(const std::string& bytes) {
  try {
    parse(bytes);
    return "no error";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kBadInput);
    return error.what();
  }
}

struct Fault {
  const char* header;
  std::size_t data_bytes;
  const char* message;
};

std::string test_name(const Fault& fault) {
  return fmt::format("{} {}", fault.message, std::string_view(fault.header).substr(0, 60));
}

class MalformedHeader : public ::testing::TestWithParam<Fault> {};

TEST_P(MalformedHeader, IsRefusedWithPlaceAndReason) {
  const std::string error = error_of(make_file(GetParam().header, GetParam().data_bytes));
  EXPECT_THAT(error, StartsWith("test: byte "));
  EXPECT_THAT(error, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Syntax, MalformedHeader,
    ::testing::Values(
        Fault{"", 0, "not valid JSON"}, Fault{"[]", 0, "the header is a list, not an object"},
        Fault{"7", 0, "the header is a number"}, Fault{"{", 0, "byte 9: not valid JSON: syntax error"},
        Fault{"{} {}", 0, "byte 11: not valid JSON"}, Fault{R"({"a":7})", 0, "'a' is a number, not an object"},
        Fault{"{\"a\xff\":7}", 0, "byte 11: not valid JSON"}, Fault{R"({"a":{}})", 0, "the tensor 'a' has no dtype"},
        Fault{R"({"__metadata__":{"a":1}})", 0, "'__metadata__' has a number in 'a'"},
        Fault{R"({"__metadata__":{"a":"b","a":"c"}})", 0, "the metadata key 'a' is given twice"},
        Fault{R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1, "'a' gives 'dtype' twice"},
        Fault{R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":[]}})", 1, "'a' has a list in 'x'"},
        Fault{R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1, "'a' has a list in 'shape'"},
        Fault{R"({"a":{"dtype":"U8","shape":[1],"data_offsets":{"x":1}}})", 1, "an object where a value belongs"}),
    dragoman::testing::kParameterName);

INSTANTIATE_TEST_SUITE_P(
    Values, MalformedHeader,
    ::testing::Values(
        Fault{R"({"a":{"dtype":"U9","shape":[1],"data_offsets":[0,1]}})", 1, "unknown dtype 'U9'"},
        Fault{R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1, "'a' has a negative number in 'shape'"},
        Fault{R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1, "not a whole number"},
        Fault{R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1e9]}})", 1, "not a whole number"},
        Fault{R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551616]}})", 1, "below 2^64"},
        Fault{R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, "the data_offsets [0]"},
        Fault{R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", 1, "the data_offsets [0, 1, 2]"},
        Fault{R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[1,0]}})", 1, "the data_offsets [1, 0]"},
        Fault{R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 1, "within the 1 bytes of data"},
        Fault{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "has 4 bytes of data"},
        Fault{R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1, "has 1 bytes of data"},
        Fault{R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0, "has 0 bytes of data"},
        Fault{R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0, "has 0 bytes of data"},
        Fault{R"({"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,1]}})", 1,
              "[18446744073709551615] elements"},
        Fault{R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2, "'a' leaves a hole"},
        Fault{R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 2, "1 bytes at the end belong to no tensor"},
        Fault{
            R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
            3, "'b' overlaps another"},
        Fault{
            R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
            2, "the tensor 'a' is listed twice"}),
    dragoman::testing::kParameterName);

TEST(SafetensorsHeader, AcceptsWhatTheReferenceImplementationAccepts) {
  EXPECT_EQ(parse(make_file("{}", 0)).tensors().size(), 0U);
  EXPECT_EQ(parse(make_file(R"({"__metadata__":null})", 0)).metadata().size(), 0U);
  EXPECT_EQ(parse(make_file(" {\"a\":{\"data_offsets\":[0,1],\"dtype\":\"U8\",\"shape\":[]}} \n", 1)).find("a")->size,
            1);
  EXPECT_EQ(parse(make_file(R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})", 1)).find("a")->size, 2);
}

TEST(SafetensorsHeader, NamesTheByteAtFault) {
  EXPECT_THAT(error_of(""), HasSubstr("test: byte 0: the file ends within the header's length"));
  EXPECT_THAT(error_of(with_length(100, "{}")), HasSubstr("byte 10: the file ends within its header of 100 bytes"));
  EXPECT_THAT(error_of(make_file(std::string("{\0}", 3), 0)), HasSubstr("byte 9: a NUL byte"));
  EXPECT_THAT(error_of(make_file(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1)),
              StartsWith("test: byte 38:"));
}

TEST(SafetensorsHeader, RefusesHugeLengthsWithoutAllocating) {
  for (const std::uint64_t length :
       {std::uint64_t{100'000'001}, ~std::uint64_t{0}, ~std::uint64_t{0} - 7, std::uint64_t{1} << 63})
    EXPECT_THAT(error_of(with_length(length, "{}")), HasSubstr("above the limit of 100000000"));
}

TEST(SafetensorsHeader, DeepNestingDoesNotExhaustTheStack) {
  EXPECT_THAT(error_of(make_file(std::string(1 << 20, '['), 0)), HasSubstr("byte "));
  std::string nested;
  for (int i = 0; i < 1 << 18; ++i) nested += R"({"a":)";
  EXPECT_THAT(error_of(make_file(nested, 0)), HasSubstr("byte "));
}

TEST(SafetensorsHeader, HostileNamesAreShownEscapedAndShort) {
  const std::string error = error_of(make_file(R"({"\u001b[2J)" + std::string(100000, 'a') + R"(":{}})", 0));
  EXPECT_THAT(error, HasSubstr("\\x1b[2Ja"));
  EXPECT_LT(error.size(), 300U);
}

TEST(SafetensorsHeader, AFileCutAtAnyByteIsRefused) {
  const std::string whole = core::read_file(golden_file("sample.safetensors"));
  ASSERT_EQ(error_of(whole), "no error");
  for (std::size_t n = 0; n < whole.size(); ++n)
    ASSERT_THAT(error_of(whole.substr(0, n)), HasSubstr("test: byte ")) << n;
}

/// Whatever is accepted must have all its tensors inside the file, one behind the other.
void expect_sound(const SafetensorsFile& file, const std::string& bytes) {
  std::uint64_t end = 0;
  for (const StoredTensor& stored : file.tensors()) {
    if (end != 0) {
      ASSERT_EQ(stored.offset, end);
    }
    end = stored.offset + stored.bytes;
    ASSERT_LE(end, bytes.size());
    ASSERT_EQ(file.read(stored).size(), stored.bytes);
    ASSERT_EQ(file.find(stored.name), &stored);
  }
}

TEST(SafetensorsHeader, MutatedFilesAreRefusedOrSound) {
  const std::string original = core::read_file(golden_file("sample.safetensors"));
  constexpr std::string_view kInteresting = "{}[]\",:0123456789-.eE\\ \n\0\xff__metadata__";
  std::mt19937 random(7);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = original;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int change = 0; change < changes; ++change) {
      const std::size_t at = random() % 352;
      const char byte = kInteresting[random() % kInteresting.size()];
      switch (random() % 4) {
        case 0:
          bytes[at] = byte;
          break;
        case 1:
          bytes.insert(at, 1, byte);
          break;
        case 2:
          bytes.erase(at, 1 + random() % 8);
          break;
        default:
          bytes.insert(at, original.substr(random() % 352, random() % 64));
      }
    }
    // Half of the mutants get a header length that fits, so that the parser sees them.
    const std::uint64_t length = bytes.size() > 74 ? bytes.size() - 74 : 0;
    if (round % 2 == 0 && bytes.size() >= 8) std::memcpy(bytes.data(), &length, 8);
    try {
      expect_sound(parse(bytes), bytes);
      ++accepted;
      ASSERT_TRUE(fuzz::exercise_safetensors(std::as_bytes(std::span(bytes))));
    } catch (const core::Error& error) {
      ASSERT_THAT(error.what(), StartsWith("test: byte ")) << round;
    }
  }
  EXPECT_GT(accepted, 0) << "no mutant reached the checks behind the parser";
}

}  // namespace
}  // namespace dragoman::formats
