#include "options/host_options.h"
#include "options/input_guard.h"
#include "options/kernel_times_option.h"
#include "options/launch_options.h"
#include "options/lines/resume_options.h"
#include "options/option_group.h"
#include "options/stage_options.h"
#include "options/text_inputs.h"
#include "program/command.h"

#include <filesystem>

#include <fmt/format.h>

#include <dragoman/core/json.h>
#include <dragoman/core/option_error.h>
#include <dragoman/pipeline/pipeline.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

/// Returns OUTPUT.1-of-2, or OUTPUT.1-of-2.gz if the name ends in .gz: the ending decides about compression.
std::string name_of_part(const std::string& output, const collective::Launch& launch) {
  const std::string ending = std::filesystem::path(output).extension().string();
  const std::string compressed = ending == ".gz" || ending == ".zst" ? ending : "";
  return fmt::format("{}.{}-of-{}{}", output.substr(0, output.size() - compressed.size()), launch.rank + 1, launch.size,
                     compressed);
}

class Translate final : public Command {
 public:
  std::string_view name() const override { return "translate"; }
  std::string_view summary() const override { return "translate text, line by line"; }
  std::string_view examples() const override {
    return "dragoman translate --model models/de-en --input news.de --output news.en\n"
           "echo 'Guten Morgen!' | dragoman translate --model models/de-en --beam-size 8\n"
           "dragoman translate --model models/de-en news.de --format jsonl --n-best 4 --output news.jsonl\n"
           "dragoman translate --model models/de-en news.de --output news.en --resume\n"
           "dragoman translate --model models/de-en parts/*.de --output news.en --shard 2/8\n"
           "dragoman translate --model models/de-en --decoder greedy --stream\n"
           "dragoman translate --model models/de-en page.html --markup html --split de --output page.en.html\n"
           "dragoman translate --model models/de-en news.de.pieces --input-pieces --output-pieces\n";
  }

  void add_options(po::options_description& options) override {
    po::options_description files = option_group("Files");
    translate_.add_required("model,m", "model", files);
    read_.add_as("input,i", "path", files);
    write_.add_as("output,o", "path", files);
    read_.add_as("shard", "shard", files);
    read_.add_as("input-format", "format", files);
    read_.add_as("input-key", "key", files);
    read_.add_as("input-column", "column", files);
    read_.add_as("target-prefix-file", "target_prefix_file", files);
    read_.add_as("target-prefix-column", "target_prefix_column", files);
    read_.add_as("source-language-column", "source_language_column", files);
    read_.add_as("target-language-column", "target_language_column", files);
    files.add_options()("format", po::value(&format_)->default_value("text")->value_name("FORMAT"),
                        "text, or jsonl with the scores, tokens and alternatives of each line");
    translate_.add_as("input-pieces", "input_pieces", files);
    translate_.add_as("output-pieces", "output_pieces", files);
    translate_.add_as("markup", "markup", files);
    files.add_options()(
        "split", po::value(&split_)->value_name("LOCALE"),
        "split the text into sentences by the rules of a language (de, en, ...), and translate each one separately");
    write_.add_as("stream", "stream", files);
    write_.add_as("resume", "resume", files);
    write_.add_as("overwrite", "overwrite", files);
    on_error_.add_to(files, "a line that cannot be translated");
    options.add(files);
    translate_.add_to(options);
    kernel_times_.add_to(options);
    po::options_description plugins = option_group("Plugins");
    add_host_options(plugins, host_options_);
    options.add(plugins);
  }
  std::vector<std::string> positional() const override { return {"input"}; }
  std::vector<std::string> written() const override { return {"output", "attention-svg", "attention-npy"}; }
  bool prints_lines() const override { return true; }

  void run(const Session& session) override {
    check_together();
    const std::vector<std::filesystem::path> inputs = expand_inputs();
    take_share_of_job(session.log);
    require_not_an_input(write_.settings()["path"].get<std::string>(), inputs, "output");
    plugins::Host host(host_options_);
    const std::string device = translate_.settings()["device"].get<std::string>();
    // The backend measures times from now on, also for the pipeline, which gets the same device.
    if (kernel_times_.wanted()) host.device(device, {.kernel_times = true});
    const int threads = translate_.settings()["threads"].get<int>();
    pipeline::Pipeline pipeline = make_pipeline(host, threads);
    const pipeline::LineCounts counts = pipeline.run({.threads = threads,
                                                      .fail_on_error = on_error_.fails(),
                                                      .name = "translate",
                                                      .log = session.log,
                                                      .progress = session.progress},
                                                     session.stop);
    if (const std::string text = pipeline::describe(counts); !text.empty()) session.log(core::LogLevel::kInfo, text);
    host.runtime().log_notices(session.log);
    if (kernel_times_.wanted()) KernelTimesOption::log_times(session.log, host, host.device(device));
  }

 private:
  /// Users of this command see no stages, so errors about its options begin with their keys.
  pipeline::Pipeline make_pipeline(plugins::Host& host, int threads) const {
    constexpr std::string_view kOptionsOfStage = "): ";
    try {
      return pipeline::make_pipeline(configuration(), "translate", host, threads);
    } catch (const core::Error& error) {
      const std::string_view message = error.what();
      const std::size_t end = message.find(kOptionsOfStage);
      if (!message.starts_with("translate: stage ") || end == message.npos) throw;
      core::fail_again(error, message.substr(end + kOptionsOfStage.size()));
    }
  }

  void check_together() const {
    const core::Json& search = translate_.settings();
    if (search["decoder"] == "beam" && translate_.said().contains("beam_size") &&
        search["beam_size"] < search["n_best"])
      throw UsageError(fmt::format("--n-best {} needs a --beam-size of at least that", search["n_best"].get<int>()));
    if (format_ != "text" && format_ != "jsonl")
      throw UsageError("--format must be text or jsonl; --output-pieces writes pieces");
    if (format_ == "text" && (search["n_best"] > 1 || search["alignment"] == true))
      throw UsageError("--n-best and --alignment need --format jsonl: text has one line per input line");
    const bool shown = !attention_folder("svg").empty() || !attention_folder("npy").empty();
    if (format_ == "text" && search.value("attention", "none") != "none" && !shown)
      throw UsageError("--attention needs --format jsonl, --attention-svg or --attention-npy");
    if (write_.settings()["stream"] == true && (format_ != "text" || write_.settings()["path"] != "-"))
      throw UsageError("--stream shows text on standard output; leave out --output and --format");
    on_error_.check();
    ResumeOptions::require_one(write_.settings()["resume"] == true, write_.settings()["overwrite"] == true);
  }

  /// If a job has several processes, each translates a part to a separate file.
  void take_share_of_job(const core::LogSink& log) {
    if (read_.said().contains("shard")) return;
    const collective::Launch launch = launch_of("auto", log);
    if (launch.size == 1) return;
    core::Json& output = write_.settings()["path"];
    if (output == "-")
      throw UsageError(
          fmt::format("{} processes translate together, so each writes a file of its own: name one by "
                      "--output, to which .1-of-{} and so on are added",
                      launch.size, launch.size));
    read_.settings()["shard"] = fmt::format("{}/{}", launch.rank + 1, launch.size);
    output = name_of_part(output.get<std::string>(), launch);
  }

  /// Returns files for patterns.
  std::vector<std::filesystem::path> expand_inputs() {
    core::Json& paths = read_.settings()["path"];
    auto files = expand_files(paths.is_null() ? std::vector<std::string>{"-"} : paths.get<std::vector<std::string>>());
    paths = core::Json::array();
    for (const auto& file : files) paths.push_back(file.string());
    return files;
  }

  std::string attention_folder(const std::string& kind) const {
    return translate_.settings().value("attention_" + kind, "");
  }

  core::Json configuration() const {
    core::Json translate = translate_.said();
    translate["details"] = format_ == "jsonl";
    core::Json write = write_.settings();
    write["format"] = format_;
    core::Json stages = core::Json::array();
    stages.push_back({{"read", read_.settings()}});
    if (!split_.empty())
      stages.push_back({{"split", {{"locale", split_}, {"markup", translate_.settings()["markup"]}}}});
    stages.push_back({{"translate", std::move(translate)}});
    stages.push_back({{"write", std::move(write)}});
    return {{"stages", std::move(stages)}};
  }

  StageOptions read_{"read"};
  StageOptions translate_{"translate", {"model", "details", "input_pieces", "output_pieces", "markup"}};
  StageOptions write_{"write"};
  std::string format_;
  std::string split_;
  OnErrorOption on_error_;
  KernelTimesOption kernel_times_;
  plugins::HostOptions host_options_;
};

}  // namespace

std::unique_ptr<Command> make_translate() {
  return std::make_unique<Translate>();
}

}  // namespace dragoman::cli
