#include "torch/torch_writer.h"

#include <fmt/format.h>

namespace dragoman::imports {
namespace {

// Opcodes with their names in Python's pickletools.
constexpr std::string_view kProto2{"\x80\x02", 2};
constexpr std::string_view kEmptyDict = "}";
constexpr std::string_view kMark = "(";
constexpr std::string_view kSetItems = "u";
constexpr std::string_view kNewTrue = "\x88";
constexpr std::string_view kNewFalse = "\x89";
constexpr std::string_view kTuple = "t";
constexpr std::string_view kBuild = "b";
constexpr std::string_view kStop = ".";
constexpr std::string_view kNewNamespace = "cargparse\nNamespace\n)\x81";
constexpr std::string_view kRebuildTensor = "ctorch._utils\n_rebuild_tensor_v2\n";
constexpr std::string_view kFloatStorage = "ctorch\nFloatStorage\n";
constexpr std::string_view kPersistentId = "Q";
constexpr std::string_view kEmptyOrderedDict = "ccollections\nOrderedDict\n)R";
constexpr std::string_view kReduce = "R";

}  // namespace

TorchWriter::TorchWriter(const std::filesystem::path& path, const core::Json& settings) : archive_(path) {
  pickle_.append(kProto2).append(kEmptyDict).append(kMark);
  put_text("args");
  pickle_.append(kNewNamespace).append(kEmptyDict).append(kMark);
  for (const auto& [key, value] : settings.items()) {
    put_text(key);
    if (value.is_boolean())
      pickle_ += value.get<bool>() ? kNewTrue : kNewFalse;
    else if (value.is_string())
      put_text(value.get_ref<const std::string&>());
    else
      put_number(value.get<std::int32_t>());
  }
  pickle_.append(kSetItems).append(kBuild);
  put_text("model");
  pickle_.append(kEmptyDict).append(kMark);
}

void TorchWriter::put_text(std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  pickle_ += 'X';
  pickle_.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
}

void TorchWriter::put_number(std::int32_t number) {
  pickle_ += 'J';
  pickle_.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void TorchWriter::add(std::string_view name, std::span<const std::int64_t> shape, std::span<const float> values) {
  const std::string key = std::to_string(storages_++);
  archive_.add("archive/data/" + key, {{reinterpret_cast<const char*>(values.data()), values.size_bytes()}});
  put_text(name);
  pickle_.append(kRebuildTensor).append(kMark).append(kMark);
  put_text("storage");
  pickle_ += kFloatStorage;
  put_text(key);
  put_text("cpu");
  put_number(static_cast<std::int32_t>(values.size()));
  pickle_.append(kTuple).append(kPersistentId);
  put_number(0);
  pickle_ += kMark;
  for (const std::int64_t size : shape) put_number(static_cast<std::int32_t>(size));
  pickle_.append(kTuple).append(kMark);
  for (std::size_t i = 0; i < shape.size(); ++i)
    put_number(i + 1 < shape.size() ? static_cast<std::int32_t>(shape.back()) : 1);
  pickle_.append(kTuple).append(kNewFalse).append(kEmptyOrderedDict).append(kTuple).append(kReduce);
}

void TorchWriter::finish() {
  pickle_.append(kSetItems).append(kSetItems).append(kStop);
  archive_.add("archive/data.pkl", {pickle_});
  archive_.finish();
}

}  // namespace dragoman::imports
