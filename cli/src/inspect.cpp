#include "command.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/file.h>
#include <dragoman/core/options.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/host/host.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::cli {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

struct InspectOptions {
  fs::path path;
  bool verify = false;
  bool tensors = false;
};

/// One kind of thing that can be inspected. They are asked in order, and the first that recognises the path prints it.
struct Inspector {
  std::string_view kind;
  bool (*recognises)(const fs::path& path);
  void (*print)(const InspectOptions& options);
};

// Text from a file must not talk to the terminal.
std::string printable(std::string_view text) {
  const std::string escaped = core::Json(text).dump(-1, ' ', false, core::Json::error_handler_t::replace);
  return escaped.substr(1, escaped.size() - 2);
}

void print_row(std::string_view label, std::string_view value) {
  fmt::print("  {:<24}{}\n", label, value);
}

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{} bytes ({:.1f} MB)", bytes, static_cast<double>(bytes) / 1e6);
}

/// The bytes at the beginning of a regular file, fewer if it is shorter, none if it cannot be read.
std::string first_bytes(const fs::path& path, std::size_t count) {
  if (!fs::is_regular_file(path)) return {};
  std::string bytes(count, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

// ---- weights

std::string element_types(const formats::SafetensorsFile& file) {
  std::set<std::string> types;
  for (const auto& stored : file.tensors()) types.insert(stored.type);
  return fmt::format("{}", fmt::join(types, ", "));
}

std::int64_t count_values(const formats::SafetensorsFile& file) {
  std::int64_t count = 0;
  for (const auto& stored : file.tensors()) count += stored.size;
  return count;
}

void print_tensors(const formats::SafetensorsFile& file) {
  fmt::print("\n  {:<8} {:<16} {:>12}  name\n", "type", "shape", "bytes");
  for (const auto& stored : file.tensors())
    fmt::print("  {:<8} {:<16} {:>12}  {}\n", stored.type, formats::describe_shape(stored.shape), stored.bytes,
               printable(stored.name));
}

void print_weights(const fs::path& path, bool tensors) {
  const auto file = formats::SafetensorsFile::open(path);
  print_row("parameters",
            fmt::format("{} in {} tensors, {}", count_values(file), file.tensors().size(), element_types(file)));
  print_row("weights", megabytes(fs::file_size(path)));
  for (const auto& [key, value] : file.metadata()) print_row("metadata", printable(key) + " = " + printable(value));
  if (tensors) print_tensors(file);
}

/// By name, so that a damaged file is reported as such, or by content: a JSON object behind a length below 2^32.
bool is_safetensors(const fs::path& path) {
  if (path.extension() == ".safetensors") return fs::is_regular_file(path);
  const std::string head = first_bytes(path, 9);
  return head.size() == 9 && head.substr(4) == std::string("\0\0\0\0{", 5);
}

void print_safetensors(const InspectOptions& options) {
  print_weights(options.path, options.tensors);
}

// ---- tokenizers

std::string_view name_of(tokenizer::NormalizerStep::Kind kind) {
  using Kind = tokenizer::NormalizerStep::Kind;
  switch (kind) {
    case Kind::kNfc:
      return "NFC";
    case Kind::kNfd:
      return "NFD";
    case Kind::kNfkc:
      return "NFKC";
    case Kind::kNfkd:
      return "NFKD";
    case Kind::kLowercase:
      return "lower case";
    case Kind::kPrepend:
      return "prepend";
    case Kind::kReplace:
      return "replace";
    case Kind::kTrimStart:
      return "trim the start of";
    case Kind::kTrimEnd:
      return "trim the end of";
    case Kind::kSqueeze:
      return "squeeze runs of";
  }
  return "?";
}

std::string describe(const tokenizer::NormalizerStep& step) {
  using Kind = tokenizer::NormalizerStep::Kind;
  std::string text(name_of(step.kind));
  if (step.kind == Kind::kReplace)
    text += fmt::format(" '{}' by '{}'", printable(step.pattern), printable(step.content));
  if (step.kind == Kind::kTrimStart || step.kind == Kind::kTrimEnd || step.kind == Kind::kSqueeze)
    text += fmt::format(" '{}'", printable(step.pattern));
  if (step.kind == Kind::kPrepend) text += fmt::format(" '{}'", printable(step.content));
  return text;
}

std::string normalization(const tokenizer::BpeDefinition& definition) {
  std::vector<std::string> steps;
  for (const auto& step : definition.normalizer) steps.push_back(describe(step));
  return steps.empty() ? "none" : fmt::format("{}", fmt::join(steps, ", "));
}

std::string special_tokens(const tokenizer::Tokenizer& tokenizer) {
  constexpr std::size_t kShown = 10;
  std::vector<std::string> tokens;
  std::size_t count = 0;
  for (std::int32_t id = 0; id < tokenizer.size(); ++id)
    if (tokenizer.is_special(id) && ++count <= kShown)
      tokens.push_back(fmt::format("{} {}", id, printable(tokenizer.piece(id))));
  if (count > kShown) tokens.push_back(fmt::format("and {} more", count - kShown));
  return tokens.empty() ? "none" : fmt::format("{}", fmt::join(tokens, ", "));
}

std::string words(const tokenizer::BpeDefinition& definition) {
  using tokenizer::WordSplit;
  switch (definition.split) {
    case WordSplit::kBefore:
      return definition.split_pattern.empty() ? "the whole line is one"
                                              : fmt::format("begin at '{}'", printable(definition.split_pattern));
    case WordSplit::kBetween:
      return fmt::format("stand between '{}'", printable(definition.split_pattern));
    case WordSplit::kWhiteSpace:
      return "stand between white space";
    case WordSplit::kGpt2:
      return "by the pattern of GPT-2";
    case WordSplit::kCl100k:
      return "by the pattern of cl100k_base";
    case WordSplit::kCl100kVariant:
      return "by the earlier pattern of cl100k_base";
  }
  return "?";
}

void print_bpe(const tokenizer::BpeDefinition& definition) {
  print_row("merges", fmt::format("{}", definition.merges.size()));
  print_row("byte fallback", definition.byte_fallback ? "on" : "off");
  print_row("normalisation", normalization(definition));
  print_row("words", words(definition));
}

void print_tokenizer(const tokenizer::Tokenizer& tokenizer, std::string_view label) {
  const auto* bpe = dynamic_cast<const tokenizer::BpeTokenizer*>(&tokenizer);
  print_row(label, fmt::format("{}, {} pieces", bpe != nullptr ? "BPE" : "of a plugin", tokenizer.size()));
  print_row("special tokens", special_tokens(tokenizer));
  if (bpe != nullptr) print_bpe(bpe->definition());
}

bool is_tokenizer(const fs::path& path) {
  constexpr std::size_t kEnough = 4096;
  std::string head = first_bytes(path, kEnough);
  if (head.size() == kEnough && head.find('\n') != std::string::npos) head.resize(head.rfind('\n') + 1);
  try {
    tokenizer::recognise(path, head);
    return true;
  } catch (const core::Error&) {
    return false;
  }
}

void print_tokenizer_file(const InspectOptions& options) {
  const std::string content = first_bytes(options.path, std::size_t{1} << 16);
  print_row("kind", tokenizer::name_of(tokenizer::recognise(options.path, content)));
  print_tokenizer(*tokenizer::load_tokenizer(options.path), "tokenizer");
}

// ---- folders

void print_json(const core::Json& json, const std::string& prefix) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_object() && !value.empty())
      print_json(value, prefix + key + ".");
    else
      print_row(printable(prefix + key), value.is_string() ? printable(value.get<std::string>()) : value.dump());
  }
}

void print_model_tokenizers(const formats::ModelFolder& folder) {
  if (folder.has_joint_tokenizer()) return print_tokenizer(*folder.source_tokenizer(), "tokenizer");
  print_tokenizer(*folder.source_tokenizer(), "source tokenizer");
  print_tokenizer(*folder.target_tokenizer(), "target tokenizer");
}

void print_model(const InspectOptions& options) {
  const auto folder = formats::ModelFolder::open(options.path);
  const formats::ModelConfig& config = folder.config();
  print_row("type", printable(config.model_type));
  if (!config.plugin.empty()) print_row("plugin", config.plugin);
  if (options.verify)
    print_row("checksums", fmt::format("correct: {}", fmt::join(formats::verify_checksums(options.path), ", ")));
  print_model_tokenizers(folder);
  print_json(nn::to_json(config.sequences), "");
  print_json(config.model, "");
  print_weights(folder.weights_path(), options.tensors);
}

bool is_checkpoint(const fs::path& path) {
  return fs::is_regular_file(path / "state.json") && fs::is_regular_file(path / "model.safetensors");
}

void print_checkpoint(const InspectOptions& options) {
  print_json(core::load_json(options.path / "state.json"), "");
  print_weights(options.path / "model.safetensors", options.tensors);
}

bool is_training_run(const fs::path& path) {
  return fs::is_regular_file(path / "run.json");
}

void print_training_run(const InspectOptions& options) {
  std::vector<std::string> parts;
  for (const auto& entry : fs::directory_iterator(options.path))
    if (is_checkpoint(entry.path()) || formats::is_model_folder(entry.path()))
      parts.push_back(entry.path().filename().string());
  std::ranges::sort(parts);
  for (const std::string& part : parts)
    print_row(formats::is_model_folder(options.path / part) ? "model" : "checkpoint", part);
  print_json(core::load_json(options.path / "run.json"), "");
}

// ---- plugins

bool is_shared_library(const fs::path& path) {
  return first_bytes(path, 4) == "\177ELF";
}

template <class Entry>
void print_registered(const plugins::Catalogue<Entry>& catalogue, const std::string& provider) {
  for (const auto& registered : catalogue.all())
    if (registered.provider == provider) print_row(catalogue.kind(), registered.entry.name);
}

/// Naming the file is the consent to run its code.
void print_plugin(const InspectOptions& options) {
  plugins::Host host;
  const plugins::LoadedPlugin& plugin = host.loader().load(fs::absolute(options.path));
  print_row("name", printable(plugin.name));
  print_row("licence", printable(plugin.licence));
  print_row("built for", "dragoman " + printable(plugin.toolkit_version));
  print_registered(host.registry().models(), plugin.name);
  print_registered(host.registry().search_strategies(), plugin.name);
  print_registered(host.registry().logits_processors(), plugin.name);
  print_registered(host.registry().tokenizers(), plugin.name);
  print_registered(host.registry().stages(), plugin.name);
  for (const auto& kernel : host.registry().kernels())
    if (kernel.provider == plugin.name) print_row("kernel", kernel.op);
}

constexpr std::array kInspectors{
    Inspector{"model folder", &formats::is_model_folder, &print_model},
    Inspector{"checkpoint", &is_checkpoint, &print_checkpoint},
    Inspector{"training run", &is_training_run, &print_training_run},
    Inspector{"plugin", &is_shared_library, &print_plugin},
    Inspector{"safetensors file", &is_safetensors, &print_safetensors},
    Inspector{"tokenizer", &is_tokenizer, &print_tokenizer_file},
};

const Inspector& find_inspector(const fs::path& path) {
  core::require(fs::exists(path), core::ErrorCode::kIo, "{}: there is no such file or folder", path.string());
  std::string kinds;
  for (const Inspector& inspector : kInspectors) {
    if (inspector.recognises(path)) return inspector;
    kinds += (kinds.empty() ? "" : ", ") + std::string(inspector.kind);
  }
  core::fail(core::ErrorCode::kBadInput, "{}: is none of what can be inspected: {}", path.string(), kinds);
}

class Inspect final : public Command {
 public:
  std::string_view name() const override { return "inspect"; }
  std::string_view summary() const override {
    return "say what a model, weight file, tokenizer, checkpoint, training run or plugin is";
  }

  void add_options(po::options_description& options) override {
    options.add_options()                                                                  //
        ("path", po::value(&path_)->required()->value_name("PATH"), "the file or folder")  //
        ("tensors", po::bool_switch(&options_.tensors), "list every tensor")               //
        ("verify", po::bool_switch(&options_.verify), "check SHA256SUMS; reads every byte of a model folder");
  }
  std::vector<std::string> positional() const override { return {"path"}; }

  void run(const Session&) override {
    options_.path = path_;
    const Inspector& inspector = find_inspector(options_.path);
    if (options_.verify && !formats::is_model_folder(options_.path))
      throw UsageError(
          fmt::format("--verify: only model folders have SHA256SUMS, and {} is a {}", path_, inspector.kind));
    fmt::print("{}: {}\n", path_, inspector.kind);
    inspector.print(options_);
  }

 private:
  std::string path_;
  InspectOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_inspect() {
  return std::make_unique<Inspect>();
}

}  // namespace dragoman::cli
