#include "torch/torch_file.h"

#include "archive/zip_archive.h"
#include "error_message.h"
#include "fairseq/checkpoint.h"
#include "meter.h"
#include "test_data.h"
#include "weights/foreign_tensors.h"
#include "weights/weight_plan.h"

#include <cstring>

#include <gmock/gmock.h>

#include <dragoman/core/file.h>
#include <dragoman/formats/mapped_file.h>

namespace dragoman::imports {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

/// golden/make_torch.py made them.
std::filesystem::path golden(const std::string& name) {
  return testing::golden_file("torch") / name;
}

std::vector<float> values_of(const ForeignTensors& tensors, const std::string& name) {
  const ForeignTensor& tensor = tensors.get(name);
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) count *= size;
  std::vector<float> values(static_cast<std::size_t>(count));
  tensor.read(0, {values.data(), 1, count, count, tensor::DType::kF32, tensor::Device::kCpu});
  return values;
}

ForeignTensors tensors_of(const std::string& name, std::string_view below = {}) {
  ForeignTensors tensors(name);
  add_torch(tensors, golden(name), below);
  return tensors;
}

std::string error_of_bytes(std::string_view bytes) {
  return error_of([&] { TorchFile::view(std::as_bytes(std::span(bytes)), "bytes"); });
}

/// That of zip archives (ISO 3309), bit by bit.
std::uint32_t crc32_of(std::string_view bytes) {
  std::uint32_t sum = 0xFFFFFFFF;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xEDB88320 : 0);
  }
  return ~sum;
}

/// A pickle in a file of torch, whose only other file is a storage of four floats.
std::string archive_of(const std::string& pickle) {
  struct File {
    std::string name;
    std::string content;
    std::uint32_t at = 0;
  };
  const auto number = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xFF);
    return text;
  };
  std::vector<File> files{{"a/data.pkl", pickle}, {"a/data/0", std::string(16, '\0')}};
  std::string archive;
  std::string directory;
  for (File& file : files) {
    file.at = static_cast<std::uint32_t>(archive.size());
    archive += "PK\3\4" + std::string(10, '\0') + number(crc32_of(file.content), 4) + number(file.content.size(), 4) +
               number(file.content.size(), 4) + number(file.name.size(), 2) + number(0, 2) + file.name + file.content;
    directory += "PK\1\2" + std::string(12, '\0') + number(crc32_of(file.content), 4) + number(file.content.size(), 4) +
                 number(file.content.size(), 4) + number(file.name.size(), 2) + std::string(12, '\0') +
                 number(file.at, 4) + file.name;
  }
  return archive + directory + "PK\5\6" + std::string(6, '\0') + number(files.size(), 2) + number(directory.size(), 4) +
         number(archive.size(), 4) + number(0, 2);
}

/// A state dict of one tensor of the four floats.
std::string tensor_of(int offset, int rows, int columns, int row_stride, int column_stride) {
  const auto byte = [](int value) { return std::string("K") + static_cast<char>(value); };
  using namespace std::string_literals;
  return "\x80\2}X\1\0\0\0tctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n"s
         "X\1\0\0\0"s
         "0X\3\0\0\0cpuK\4tQ"s +
         byte(offset) + byte(rows) + byte(columns) + "\x86" + byte(row_stride) + byte(column_stride) + "\x86\x89}tRs.";
}

TEST(TorchFile, ReadsEveryTypeShapeAndStride) {
  for (const char* file : {"state.pt", "protocol4.pt"}) {
    const ForeignTensors tensors = tensors_of(file);
    EXPECT_THAT(values_of(tensors, "grid"), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)) << file;
    EXPECT_THAT(values_of(tensors, "turned"), ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11)) << file;
    EXPECT_THAT(tensors.get("turned").shape, ElementsAre(4, 3));
    EXPECT_THAT(values_of(tensors, "row"), ElementsAre(4, 5, 6, 7));
    EXPECT_THAT(values_of(tensors, "one"), ElementsAre(2.5F));
    EXPECT_THAT(tensors.get("one").shape, ElementsAre());
    EXPECT_THAT(values_of(tensors, "none"), ElementsAre());
    EXPECT_THAT(values_of(tensors, "parameter"), ElementsAre(1, 1));
    EXPECT_THAT(values_of(tensors, "long"), ElementsAre(-2, -1, 0, 1, 2));
    EXPECT_THAT(values_of(tensors, "bool"), ElementsAre(1, 0));
    for (std::size_t i = 0; i < 12; ++i) {
      EXPECT_EQ(values_of(tensors, "half")[i], static_cast<float>(i) / 8);
      EXPECT_EQ(values_of(tensors, "bfloat16")[i], static_cast<float>(i) * 3);
      EXPECT_EQ(values_of(tensors, "double")[i], static_cast<float>(static_cast<double>(i) / 3));
    }
  }
}

TEST(TorchFile, ReadsFromTheMiddleOfATensor) {
  const ForeignTensors tensors = tensors_of("state.pt");
  std::vector<float> values(4);
  tensors.get("turned").read(5, {values.data(), 1, 4, 4, tensor::DType::kF32, tensor::Device::kCpu});
  EXPECT_THAT(values, ElementsAre(9, 2, 6, 10));
}

TEST(TorchFile, ReadsWhatStandsBesideTheTensorsAsData) {
  const TorchFile file = TorchFile::open(golden("checkpoint.pt"));
  const PickleValue& arguments = *file.root().at("args");
  EXPECT_EQ(*arguments.at("arch")->as<std::string>(), "transformer");
  const auto& layers = arguments.at("layers")->as<PickledList>()->items;
  EXPECT_EQ(*layers[0]->as<std::int64_t>(), 1);
  EXPECT_EQ(*layers[1]->as<double>(), 2.5);
  EXPECT_EQ(*layers[2]->as<std::int64_t>(), -5);
  EXPECT_EQ(*layers[3]->as<std::int64_t>(), std::int64_t{1} << 40);
  EXPECT_NE(arguments.at("nothing")->as<std::monostate>(), nullptr);
  EXPECT_EQ(arguments.at("something"), nullptr);
  EXPECT_EQ(values_of(tensors_of("checkpoint.pt", "model"), "grid").size(), 12);
  EXPECT_THAT(error_of([] { tensors_of("checkpoint.pt"); }), HasSubstr("'model', which is no tensor"));
  EXPECT_THAT(error_of([] { tensors_of("checkpoint.pt", "ema"); }), HasSubstr("no state dict"));
}

TEST(TorchFile, RefusesByNameWhatWouldRun) {
  EXPECT_THAT(error_of([] { TorchFile::open(golden("hostile.pt")); }),
              ::testing::AnyOf(HasSubstr("'posix.system'"), HasSubstr("'os.system'")));
  EXPECT_FALSE(std::filesystem::exists("ran"));
  EXPECT_THAT(error_of_bytes(archive_of("\x80\2cbuiltins\neval\n.")), HasSubstr("'builtins.eval'"));
}

TEST(TorchFile, SaysHowToSaveTheOldFormAnew) {
  EXPECT_THAT(error_of([] { TorchFile::open(golden("old.pt")); }), HasSubstr("torch.save(torch.load('old.pt'"));
}

/// What several files shared could be charged to none of them: 1,000 names of one megabyte are a gigabyte.
std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xFF);
  return text;
}

TEST(ZipArchive, RefusesDeflatedFilesThatWouldBecomeTooLong) {
  const auto error_of_size = [](std::uint64_t size) {
    const auto number = little_endian;
    const std::string content(5000, 'x');
    const std::string method = std::string(4, '\0') + number(8, 2) + std::string(4, '\0');
    const std::string sizes = number(0, 4) + number(content.size(), 4) + number(size, 4);
    const std::string file = "PK\3\4" + method + sizes + number(1, 2) + number(0, 2) + "a" + content;
    const std::string directory = "PK\1\2" + number(0, 2) + method + sizes + number(1, 2) + std::string(16, '\0') + "a";
    const std::string archive = file + directory + "PK\5\6" + number(0, 4) + number(1, 2) + number(1, 2) +
                                number(directory.size(), 4) + number(file.size(), 4) + number(0, 2);
    return error_of([&] { ZipArchive(std::as_bytes(std::span(archive)), "long.zip", ZipArchive::Packed::kTaken); });
  };
  EXPECT_EQ(error_of_size(5000 * 1032), "no error");
  EXPECT_THAT(error_of_size(5001 * 1032), HasSubstr("a deflated file cannot become so long"));
}

TEST(ZipArchive, RefusesFilesThatShareBytes) {
  const auto number = little_endian;
  const auto archive_with = [&](int entries) {
    const std::string content(5000, 'x');
    const std::string sizes = number(crc32_of(content), 4) + number(content.size(), 4) + number(content.size(), 4);
    const std::string file = "PK\3\4" + std::string(10, '\0') + sizes + number(1, 2) + number(0, 2) + "a" + content;
    std::string directory;
    for (int i = 0; i < entries; ++i)
      directory +=
          "PK\1\2" + std::string(12, '\0') + sizes + number(1, 2) + std::string(16, '\0') + static_cast<char>('a' + i);
    return file + directory + "PK\5\6" + number(0, 4) + number(static_cast<std::uint64_t>(entries), 2) +
           number(static_cast<std::uint64_t>(entries), 2) + number(directory.size(), 4) + number(file.size(), 4) +
           number(0, 2);
  };
  const auto open = [](const std::string& bytes) { ZipArchive(std::as_bytes(std::span(bytes)), "shared.zip"); };
  EXPECT_EQ(error_of([&] { open(archive_with(1)); }), "no error");
  for (const int entries : {2, 20})
    EXPECT_THAT(error_of([&] { open(archive_with(entries)); }), HasSubstr("the files of the archive share bytes"));
}

/// Weights that stand once count once, and what is read from them counts as often as it is read.
TEST(WeightBudget, RefusesModelsWhosePartsShareTheirWeights) {
  ForeignTensors tensors("shared");
  tensors.add("w", {.file = "shared", .shape = {1024, 1024}, .read = [](auto, const auto&) {}});
  const auto plan_of = [](int parts) {
    WeightPlan plan;
    for (int i = 0; i < parts; ++i)
      plan.push_back({.parameter = std::to_string(i), .rows = 1024, .cols = 1024, .parts = {{.name = "w"}}});
    return plan;
  };
  const auto none = [](std::string_view) { return false; };
  EXPECT_EQ(error_of([&] { check_plan(plan_of(4), tensors, none); }), "no error") << "tied tables";
  EXPECT_THAT(error_of([&] { check_plan(plan_of(1000), tensors, none); }),
              HasSubstr("shared: its 4194304 bytes of weights would become 4194304000 bytes"));
  EXPECT_THAT(error_of([] { require_proportion("f", UINT64_MAX / 2, UINT64_MAX); }), "no error");
}

TEST(TorchFile, RefusesTensorsThatLeaveTheirStorage) {
  const auto error_of_tensor = [](const std::string& pickle) {
    const std::string bytes = archive_of(pickle);
    return error_of([&] {
      const TorchFile file = TorchFile::view(std::as_bytes(std::span(bytes)), "bytes");
      file.check(**file.root().at("t")->as<std::shared_ptr<const PickledTensor>>(), "t");
    });
  };
  EXPECT_EQ(error_of_tensor(tensor_of(0, 2, 2, 2, 1)), "no error");
  EXPECT_THAT(error_of_tensor(tensor_of(1, 2, 2, 2, 1)), HasSubstr("leaves its storage, which has 4 elements"));
  EXPECT_THAT(error_of_tensor(tensor_of(0, 2, 2, 3, 1)), HasSubstr("leaves its storage"));
  // As large as one likes without a byte more in the file.
  EXPECT_THAT(error_of_tensor(tensor_of(0, 100, 100, 0, 0)), HasSubstr("leaves its storage"));
}

TEST(TorchFile, RefusesWhatIsCutOrChangedOrReadsIt) {
  const formats::MappedFile mapped(golden("state.pt"));
  const std::string whole(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(error_of_bytes(whole.substr(0, size)), "no error") << size;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(~changed[at]);
    EXPECT_THAT(error_of_bytes(changed), ::testing::Not(HasSubstr("internal"))) << at;
  }
}

TEST(TorchFile, RefusesNamesThatWouldFillMemory) {
  const std::string name = "fairseq." + std::string(2000, 'x');
  EXPECT_THAT(error_of_bytes(archive_of("\x80\2c" + name + "\nx\n.")), HasSubstr("a name is longer than any"));
  // From two texts, which are kept and joined again and again.
  const std::string text = "X\xD8\x07" + std::string(2, '\0') + name;
  EXPECT_THAT(error_of_bytes(archive_of("\x80\4" + text + "X\1" + std::string(3, '\0') + "y\x93.")),
              HasSubstr("a name is longer than any"));
}

TEST(TorchFile, CountsSettingsAsOftenAsTheyAreReferredTo) {
  const auto text = [](const std::string& value) {
    const std::size_t size = value.size();
    return std::string("X") + static_cast<char>(size & 0xFF) + static_cast<char>(size >> 8) + std::string(2, '\0') +
           value;
  };
  const std::string value("h\0", 2), key("}(h\0Nu", 6);
  const auto checkpoint = [&](const std::string& reference, int references) {
    std::string list = "](" + text(std::string(30000, 'a')) + std::string("q\0", 2);
    for (int i = 0; i < references; ++i) list += reference;
    return archive_of("\x80\2}(" + text("args") + "}(" + text("names") + list + "eu" + text("model") + "}u.");
  };
  dragoman::testing::TemporaryFolder folder;
  for (const std::string& reference : {value, key}) {
    const auto error = [&](int references) {
      core::write_file(folder / "checkpoint.pt", checkpoint(reference, references));
      const fuzz::AllocationMeter meter;
      std::string message = error_of([&] { open_fairseq_checkpoint(folder / "checkpoint.pt"); });
      EXPECT_LT(meter.peak(), std::size_t{16} << 20);
      return message;
    };
    EXPECT_THAT(error(10000), HasSubstr("its settings are more than any model's"));
    EXPECT_THAT(error(3), ::testing::Not(HasSubstr("its settings are more")));
  }
}

TEST(TorchFile, NamesThePlaceAndTheReason) {
  EXPECT_THAT(error_of_bytes("no archive, but long enough to have been one"), HasSubstr("no directory of a zip"));
  EXPECT_THAT(error_of_bytes(archive_of("\x80\2(")), HasSubstr("byte 3 of the pickle: it ends too early"));
  EXPECT_THAT(error_of_bytes(archive_of("\x80\2R.")), HasSubstr("byte 2 of the pickle: takes a value where none is"));
  EXPECT_THAT(error_of_bytes(archive_of("\x80\2h\5.")), HasSubstr("recalls what it never remembered"));
  EXPECT_THAT(error_of_bytes(archive_of("\x80\2I1\n.")), HasSubstr("the opcode 0x49 is none that"));
  std::string compressed = archive_of("\x80\2}.");
  compressed[compressed.find("PK\1\2") + 10] = 8;
  EXPECT_THAT(error_of_bytes(compressed), HasSubstr("is compressed or encrypted"));
}

}  // namespace
}  // namespace dragoman::imports
