#include "numpy_arrays.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/formats/parameters.h>
#include <dragoman/tensor/context.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/transformer/transformer.h>

namespace example {
namespace {

using namespace dragoman;
using core::ErrorCode;
using std::filesystem::path;

constexpr const char* kExtension = ".npy";
constexpr std::string_view kMagic{"\x93NUMPY", 6};

/// What the header says of the values behind it.
struct ArrayHeader {
  std::size_t width = 4;  ///< bytes of a float
  bool fortran_order = false;
  std::vector<std::int64_t> shape{};
  std::size_t begin = 0;  ///< of the values
};

class HeaderReader {
 public:
  HeaderReader(std::string_view file, std::string name) : file_(file), name_(std::move(name)) {}

  ArrayHeader read() {
    check(file_.starts_with(kMagic) && file_.size() >= 12, "does not begin as NumPy arrays do");
    const auto version = static_cast<unsigned char>(file_[kMagic.size()]);
    check(version >= 1 && version <= 3, "is of an unknown version of the format");
    const std::size_t width = version == 1 ? 2 : 4;
    const std::size_t begin = kMagic.size() + 2 + width;
    std::size_t length = 0;
    for (std::size_t i = width; i > 0; --i)
      length = length << 8U | static_cast<unsigned char>(file_[kMagic.size() + 2 + i - 1]);
    check(length <= file_.size() - begin, "ends within its header");
    text_ = file_.substr(begin, length);
    return {.width = read_width(),
            .fortran_order = value_of("'fortran_order'").starts_with("True"),
            .shape = read_shape(),
            .begin = begin + length};
  }

 private:
  void check(bool holds, std::string_view complaint) const {
    core::require(holds, ErrorCode::kBadInput, "{}: {}; write it with numpy.save", name_, complaint);
  }

  /// What stands behind a key of the header, a literal of a Python dictionary.
  std::string_view value_of(std::string_view key) const {
    const std::size_t found = text_.find(key);
    check(found != std::string_view::npos, fmt::format("has no {} in its header", key));
    const std::string_view rest = text_.substr(found + key.size());
    const std::size_t begin = rest.find_first_not_of(": ");
    check(begin != std::string_view::npos, fmt::format("has no value of {} in its header", key));
    return rest.substr(begin);
  }

  std::size_t read_width() const {
    const std::string_view type = value_of("'descr'");
    if (type.starts_with("'<f4'")) return 4;
    check(type.starts_with("'<f8'"), "is not of little-endian float32 or float64");
    return 8;
  }

  std::vector<std::int64_t> read_shape() const {
    constexpr std::int64_t kLargest = std::int64_t{1} << 40;
    const std::string_view text = value_of("'shape'");
    const std::size_t end = text.find(')');
    check(text.starts_with('(') && end != std::string_view::npos, "has no shape in its header");
    std::vector<std::int64_t> shape;
    bool within = false;
    for (const char c : text.substr(1, end - 1)) {
      const bool digit = c >= '0' && c <= '9';
      check(digit || c == ',' || c == ' ', "has a shape that is none");
      if (digit && !within) shape.push_back(0);
      within = digit;
      if (!digit) continue;
      shape.back() = 10 * shape.back() + (c - '0');
      check(shape.back() <= kLargest, "has a shape that no memory holds");
    }
    return shape;
  }

  std::string_view file_;
  std::string name_;
  std::string_view text_;
};

/// All but the arrays.
formats::ModelContents contents_of(const path& folder) {
  const path file = folder / formats::ModelFiles::kConfig;
  formats::ModelConfig config =
      formats::read_model_config(core::parse_json(core::read_regular_file(file), file.string()), file.string());
  core::require(!config.tokenizers, ErrorCode::kUnsupported,
                "{}: tokenizer: arrays go with a tokenizer.json; convert the tokenizer first", file.string());
  return {.config = {.model_type = config.model_type,
                     .plugin = config.plugin,
                     .sequences = config.sequences,
                     .model = config.model},
          .tokenizers = {.joint = {.content = core::read_regular_file(folder / formats::ModelFiles::kTokenizer)}},
          .card = formats::card_of(folder)};
}

class NumpyArrays final : public formats::ImportedModel {
 public:
  NumpyArrays(const std::filesystem::path& folder, bool transpose)
      : ImportedModel(folder, contents_of(folder)), folder_(folder), transpose_(transpose) {
    for (const auto& file : core::list_folder(folder_))
      if (file.extension() == kExtension) arrays_.insert(file.stem().string());
  }

  void check(const nn::ParameterStore& parameters) const override {
    for (const nn::Parameter& parameter : parameters.all()) open(parameter);
  }

  void read(const nn::Parameter& parameter, const tensor::Tensor& out) override {
    const auto [content, header] = open(parameter);
    read_.insert(parameter.name);
    const bool turned = is_turned(parameter);
    for (std::int64_t row = 0; row < out.rows; ++row)
      for (std::int64_t col = 0; col < out.cols; ++col) {
        const bool column_major = header.fortran_order != turned;
        const auto at = static_cast<std::size_t>(column_major ? col * out.rows + row : row * out.cols + col);
        tensor::set_element(out, row, col, value(content.data() + header.begin + at * header.width, header.width));
      }
  }

  void finish() override {
    std::vector<std::string> left;
    std::ranges::set_difference(arrays_, read_, std::back_inserter(left));
    core::require(left.empty(), ErrorCode::kBadInput,
                  "{}: {} arrays are of no parameter, {} is the first; the configuration is another model's",
                  folder_.string(), left.size(), left.empty() ? "" : core::quote(left.front() + kExtension));
  }

 private:
  struct Array {
    std::string content;
    ArrayHeader header;
  };

  bool is_turned(const nn::Parameter& parameter) const {
    return transpose_ && parameter.is_weight && !parameter.is_table;
  }

  /// The array of a parameter, which is there whole and has its shape.
  Array open(const nn::Parameter& parameter) const {
    const std::filesystem::path file = folder_ / (parameter.name + kExtension);
    core::require(arrays_.contains(parameter.name), ErrorCode::kBadInput,
                  "{}: is missing, and the configuration says that there is such a parameter", file.string());
    Array array{core::read_regular_file(file), {}};
    array.header = HeaderReader(array.content, file.string()).read();
    std::vector<std::int64_t> shape = formats::stored_shape(parameter);
    if (is_turned(parameter)) std::swap(shape.front(), shape.back());
    core::require(array.header.shape == shape, ErrorCode::kBadInput,
                  "{}: is of the shape {}, the configuration says {}", file.string(),
                  formats::describe_shape(array.header.shape), formats::describe_shape(shape));
    const std::size_t bytes =
        array.header.begin + static_cast<std::size_t>(parameter.rows * parameter.cols) * array.header.width;
    core::require(array.content.size() == bytes, ErrorCode::kBadInput,
                  "{}: has {} bytes where its header says {}; copy it again", file.string(), array.content.size(),
                  bytes);
    return array;
  }

  static double value(const char* bytes, std::size_t width) {
    if (width == sizeof(float)) {
      float number = 0;
      std::memcpy(&number, bytes, sizeof number);
      return number;
    }
    double number = 0;
    std::memcpy(&number, bytes, sizeof number);
    return number;
  }

  std::filesystem::path folder_;
  bool transpose_;
  std::set<std::string> arrays_;  ///< the names of all arrays
  std::set<std::string> read_;    ///< the names of the arrays that were read
};

void write_array(const path& file, const nn::Parameter& parameter) {
  const tensor::Tensor& values = parameter.value;
  const std::string shape =
      parameter.rank == 1 ? fmt::format("({},)", values.cols) : fmt::format("({}, {})", values.rows, values.cols);
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", shape);
  header.resize((header.size() + 10 + 64) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::string content(kMagic);
  content += {'\1', '\0', static_cast<char>(header.size()), '\0'};
  content += header;
  content.append(static_cast<const char*>(values.data), static_cast<std::size_t>(values.size()) * sizeof(float));
  core::write_file(file, content);
}

}  // namespace

std::unique_ptr<formats::OpenedModel> open_numpy_arrays(const path& folder, core::OptionReader& options) {
  return std::make_unique<NumpyArrays>(folder, options.get("transpose", false));
}

bool is_folder_of_numpy_arrays(const path& folder) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(folder / formats::ModelFiles::kConfig, error) ||
      formats::is_model_folder(folder))
    return false;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == kExtension) return true;
  return false;
}

path write_numpy_arrays_example(const path& folder) {
  const nn::SequenceSpec spec{.source_vocabulary = 10, .target_vocabulary = 10};
  const auto model = transformer::make_transformer(
      spec, {{"d_model", 4}, {"heads", 2}, {"feed_forward", 4}, {"encoder_layers", 1}, {"decoder_layers", 1}});
  nn::ParameterStore& store = model->parameters();
  store.allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
  store.initialise(1);
  for (const nn::Parameter& parameter : store.all()) write_array(folder / (parameter.name + kExtension), parameter);
  const formats::ModelConfig config{
      .model_type = "transformer", .plugin = {}, .sequences = model->spec(), .model = model->config()};
  core::write_file(folder / formats::ModelFiles::kConfig, formats::to_json(config).dump(2) + "\n");
  core::write_file(folder / formats::ModelFiles::kTokenizer,
                   tokenizer::example_of(tokenizer::FileKind::kTokenizerJson).content);
  return folder;
}

}  // namespace example
