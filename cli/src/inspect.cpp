#include "command.h"
#include "inspect_tokenizer.h"
#include "number_option.h"
#include "printing.h"
#include "text_inputs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/options.h>
#include <dragoman/core/quote.h>
#include <dragoman/formats/checksums.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/host/plugin_note.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::cli {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

struct InspectOptions {
  fs::path path;
  bool verify = false;
  bool tensors = false;
  bool json = false;
  std::vector<std::string> corpus = {};  ///< of a tokenizer
  int threads = 0;
};

/// One kind of thing that can be inspected. They are asked in order, and the first that recognises the path prints it.
struct Inspector {
  std::string_view kind;
  bool (*recognises)(const fs::path& path);
  void (*print)(const InspectOptions& options);
};

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{} bytes ({:.1f} MB)", bytes, static_cast<double>(bytes) / 1e6);
}

/// The bytes at the beginning of a regular file, fewer if it is shorter; none of anything else.
std::string first_bytes(const fs::path& path, std::size_t count) {
  return fs::is_regular_file(path) ? core::read_beginning(path, count) : std::string();
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
  constexpr std::size_t kLongestName = 200;
  constexpr std::size_t kLongestShape = 60;
  fmt::print("\n  {:<8} {:<16} {:>12}  name\n", "type", "shape", "bytes");
  for (const auto& stored : file.tensors())
    fmt::print("  {:<8} {:<16} {:>12}  {}\n", stored.type,
               core::printable(formats::describe_shape(stored.shape), kLongestShape), stored.bytes,
               core::printable(stored.name, kLongestName));
}

void print_weights(const fs::path& path, bool tensors) {
  const auto file = formats::SafetensorsFile::open(path);
  print_row("parameters",
            fmt::format("{} in {} tensors, {}", count_values(file), file.tensors().size(), element_types(file)));
  print_row("weights", megabytes(fs::file_size(path)));
  for (const auto& [key, value] : file.metadata()) print_row("metadata", key + " = " + value);
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
  print_row("kind", kind_of_tokenizer(options.path));
  print_tokenizer(*tokenizer::load_tokenizer(options.path), "tokenizer");
}

/// What a tokenizer is and, if there is a corpus, what it makes of it.
void report_tokenizer(const InspectOptions& options, const Session& session) {
  const auto tokenizer = tokenizer::load_tokenizer(options.path);
  core::Json report = describe_tokenizer(*tokenizer, kind_of_tokenizer(options.path));
  if (!options.corpus.empty()) {
    const auto statistics = tokenizer::measure_corpus(*tokenizer, expand_files(options.corpus), options.threads,
                                                      session.progress, session.stop);
    if (!options.json) return print_corpus_report(*tokenizer, statistics);
    report["corpus"] = corpus_report(*tokenizer, statistics);
  }
  if (options.json) fmt::print("{}\n", report.dump(2));
}

// ---- folders

void print_json(const core::Json& json, const std::string& prefix) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_object() && !value.empty())
      print_json(value, prefix + key + ".");
    else
      print_row(prefix + key, value.is_string() ? value.get<std::string>() : value.dump());
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
  print_row("type", config.model_type);
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
  if (options.verify)
    print_row("checksums", fmt::format("correct: {}", fmt::join(formats::verify_checksums(options.path), ", ")));
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

/// A file that is called weights is to be refused as weights.
bool is_shared_library(const fs::path& path) {
  return path.extension() != ".safetensors" && plugins::is_elf(first_bytes(path, 4));
}

bool is_plugin(const fs::path& path) {
  return is_shared_library(path) && plugins::read_plugin_note(path).has_value();
}

/// From the note in the file: loading it would run its code.
void print_plugin(const InspectOptions& options) {
  const plugins::PluginNote note = plugins::read_plugin_note(options.path).value();
  const std::string difference = note.sdk_difference();
  print_row("name", note.name);
  print_row("licence", note.licence);
  print_row("built for", "dragoman " + note.toolkit_version);
  print_row("fits this program", difference.empty() ? "yes" : "no: " + difference);
  print_row("what it registers", "is shown by `dragoman plugins check`, which runs its code");
}

void print_shared_library(const InspectOptions&) {
  print_row("plugin", "none of Dragoman's, or one of an older SDK");
}

constexpr std::array kInspectors{
    Inspector{"model folder", &formats::is_model_folder, &print_model},
    Inspector{"checkpoint", &is_checkpoint, &print_checkpoint},
    Inspector{"training run", &is_training_run, &print_training_run},
    Inspector{"plugin", &is_plugin, &print_plugin},
    Inspector{"shared library", &is_shared_library, &print_shared_library},
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

/// A part of a run, a model or a checkpoint that says what the whole is. A JSON object of names and values looks like
/// the vocabulary of GPT-2.
bool is_record(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string name = path.filename().string();
  return (name == "run.json" && is_training_run(folder)) || (name == "state.json" && is_checkpoint(folder)) ||
         (name == "config.json" && formats::is_model_folder(folder));
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
        ("verify", po::bool_switch(&options_.verify),
         "check SHA256SUMS; reads every byte of a model folder or checkpoint")  //
        ("corpus", po::value(&options_.corpus)->multitoken()->value_name("FILE..."),
         "of a tokenizer: text, to say what it makes of it")                             //
        ("json", po::bool_switch(&options_.json), "of a tokenizer: as one JSON object")  //
        ("threads", thread_count(options_.threads),
         "with --corpus: 0: as many as the process may use; the output does not depend on it");
  }
  std::vector<std::string> positional() const override { return {"path"}; }

  void run(const Session& session) override {
    options_.path = path_;
    const Inspector& inspector = find_inspector(options_.path);
    core::require(inspector.print != &print_tokenizer_file || !is_record(path_), core::ErrorCode::kBadInput,
                  "{}: is a part of a model, checkpoint or training run; inspect the folder that it stands in", path_);
    if (options_.verify && inspector.print != &print_model && inspector.print != &print_checkpoint)
      throw UsageError(fmt::format("--verify: only model folders and checkpoints have SHA256SUMS, and {} is a {}",
                                   path_, inspector.kind));
    if ((options_.json || !options_.corpus.empty()) && inspector.print != &print_tokenizer_file)
      throw UsageError(fmt::format("--corpus and --json: only for tokenizers, and {} is a {}", path_, inspector.kind));
    if (!options_.json) {
      fmt::print("{}: {}\n", path_, inspector.kind);
      inspector.print(options_);
    }
    if (options_.json || !options_.corpus.empty()) report_tokenizer(options_, session);
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
