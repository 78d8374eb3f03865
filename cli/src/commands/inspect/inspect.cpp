#include "inspector.h"
#include "options/number_option.h"
#include "options/text_inputs.h"
#include "program/command.h"
#include "tokenizer.h"

#include <array>
#include <filesystem>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::cli {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

constexpr std::array kInspectors{
    Inspector{"model folder", &formats::is_model_folder, &describe_model_folder, true},
    Inspector{"checkpoint", &is_checkpoint, &describe_checkpoint, true},
    Inspector{"training run", &is_training_run, &describe_training_run},
    Inspector{"plugin", &is_plugin, &describe_plugin},
    Inspector{"shared library", &is_shared_library, &describe_shared_library},
    Inspector{"safetensors file", &is_safetensors, &describe_weights},
    Inspector{"tokenizer", &is_tokenizer, &describe_tokenizer_file},
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
  std::string_view examples() const override {
    return "dragoman inspect models/de-en --verify\n"
           "dragoman inspect run\n"
           "dragoman inspect tokenizer.json --corpus new.txt --json\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()                                                                  //
        ("path", po::value(&path_)->required()->value_name("PATH"), "the file or folder")  //
        ("tensors", po::bool_switch(&options_.tensors), "list every tensor")               //
        ("verify", po::bool_switch(&options_.verify),
         "check SHA256SUMS; reads every byte of a model folder or checkpoint")  //
        ("corpus", po::value(&corpus_)->multitoken()->value_name("FILE..."),
         "of a tokenizer: text, to say what it makes of it")     //
        ("json", po::bool_switch(&json_), "as one JSON object")  //
        ("threads", thread_count(threads_),
         "with --corpus: 0: as many as the process may use; the output does not depend on it");
  }
  std::vector<std::string> positional() const override { return {"path"}; }

  void run(const Session& session) override {
    const Inspector& inspector = find_inspector(path_);
    check_options(inspector);
    Report report;
    report.add_value("path", path_);
    report.add_value("kind", inspector.kind);
    report.append(inspector.describe(path_, options_));
    if (!corpus_.empty()) report.add_part("corpus", measure(session));
    if (json_)
      fmt::print("{}\n", report.object().dump(2, ' ', false, core::Json::error_handler_t::replace));
    else
      report.print(fmt::format("{}: {}", path_, inspector.kind));
  }

 private:
  void check_options(const Inspector& inspector) const {
    const bool tokenizer = inspector.describe == &describe_tokenizer_file;
    core::require(!tokenizer || !is_record(path_), core::ErrorCode::kBadInput,
                  "{}: is a part of a model, checkpoint or training run; inspect the folder that it stands in", path_);
    if (options_.verify && !inspector.has_checksums)
      throw UsageError(fmt::format("--verify: only model folders and checkpoints have SHA256SUMS, and {} is a {}",
                                   path_, inspector.kind));
    if (!corpus_.empty() && !tokenizer)
      throw UsageError(fmt::format("--corpus: only for tokenizers, and {} is a {}", path_, inspector.kind));
  }

  Report measure(const Session& session) const {
    const auto tokenizer = tokenizer::load_tokenizer(path_);
    return describe_corpus(*tokenizer, tokenizer::measure_corpus(*tokenizer, expand_files(corpus_), threads_,
                                                                 session.progress, session.stop));
  }

  std::string path_;
  InspectOptions options_;
  std::vector<std::string> corpus_;
  bool json_ = false;
  int threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_inspect() {
  return std::make_unique<Inspect>();
}

}  // namespace dragoman::cli
