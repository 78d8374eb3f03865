#include "options/length_penalty_options.h"
#include "options/lines/line_job.h"
#include "options/model_options.h"
#include "options/number_option.h"
#include "options/option_group.h"
#include "program/command.h"

#include <filesystem>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/white_space.h>
#include <dragoman/decoding/model_defaults.h>
#include <dragoman/decoding/options.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/pipeline/reranker.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

class Rerank final : public Command {
 public:
  std::string_view name() const override { return "rerank"; }
  std::string_view summary() const override { return "sort n-best lists by the scores of several models"; }
  std::string_view examples() const override {
    return "dragoman translate --model a --n-best 8 --beam-size 8 --format jsonl news.de | dragoman rerank --model b\n"
           "dragoman rerank --model b=0.5 --reverse en-de=0.3 lists.jsonl --format jsonl --output ranked.jsonl\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()("model,m", po::value(&models_)->composing()->value_name("DIR[=WEIGHT]"),
                          "model that scores each translation (may be repeated); default weight: 1")(
        "reverse", po::value(&reverse_)->composing()->value_name("DIR[=WEIGHT]"),
        "model of the opposite direction, which scores the source given the translation (may be repeated)")(
        "list-weight", real_number("--list-weight", list_weight_, kAnyNumber)->default_value("1")->value_name("X"),
        "weight of the score in the list")("input,i", po::value(&input_)->default_value("-")->value_name("FILE"),
                                           "output of `translate --format jsonl --n-best N`; - is standard input")(
        "output,o", po::value(&output_)->default_value("-")->value_name("FILE"), "- is standard output")(
        "format", po::value(&format_)->default_value("text")->value_name("FORMAT"),
        "text: the best translation of each line; jsonl: the sorted lists with the score of each model");
    long_lines_.add_to(options,
                       "for a list with a translation that has more tokens than a model supports: fail; cut (score the "
                       "supported part); or skip (keep the list unchanged, in jsonl with a `rerank_error`). After a "
                       "failure, continue with --resume --long-lines skip");
    job_.add_to(options);
    length_penalty_.add_to(options, "from the folder of the first --model");
    po::options_description machine = option_group("Machine");
    model_options_.add_to(machine);
    options.add(machine);
  }
  std::vector<std::string> positional() const override { return {"input"}; }
  bool prints_lines() const override { return true; }

  void run(const Session& session) override {
    if (format_ != "text" && format_ != "jsonl") throw UsageError("--format must be text or jsonl");
    const std::vector<NamedModel> named = read_models();
    plugins::Host host(model_options_.host());
    pipeline::RerankOptions options{
        .list_weight = list_weight_,
        .scorer = {.length_penalty = find_length_penalty(host), .long_lines = long_lines_.read()}};
    const pipeline::ModelOptions model_options = model_options_.read(host, session.log);
    for (const NamedModel& model : named)
      options.models.push_back(
          {pipeline::Model(model.folder, host, model_options, session.stop), model.weight, model.reverse});
    pipeline::Reranker reranker(options);
    ListReader reader(input_, session.stop);
    std::vector<std::string> folders;
    for (const NamedModel& model : named) folders.push_back(model.folder.string());
    job_.open("rerank", identity(named), folders, output_, session.stop);
    job_.skip_lines_kept(reader);
    const auto compute = [&] {
      const bool more = read_batch(reader);
      reranker.rerank(lines_, where_, session.stop);
      return more;
    };
    job_.run(session, "rerank", reader, compute, [&] {
      for (const pipeline::NBestLine& line : lines_) write(line);
    });
    if (const std::string text = long_lines_.describe("list"); !text.empty())
      core::log(session.log, core::LogLevel::kInfo, text);
    if (unranked_ > 0)
      core::log(session.log, core::LogLevel::kInfo,
                fmt::format("{} lines have no list of whole translations (empty, failed, or translated in parts) and "
                            "stay as they are",
                            unranked_));
  }

 private:
  /// A list was usually searched with the settings of its model's folder.
  decoding::LengthPenalty find_length_penalty(const plugins::Host& host) const {
    if (length_penalty_.given() || models_.empty()) return length_penalty_.chosen();
    const std::filesystem::path first = models_.front().substr(0, models_.front().rfind('='));
    const decoding::Search search = decoding::read_model_defaults(
        plugins::load_config(first, host).decoding, (first / formats::ModelFiles::kConfig).string() + ": decoding");
    return decoding::resolve({&search}).length_penalty;
  }

  /// Reads lists line by line, with the data that a resumed run compares.
  class ListReader {
   public:
    ListReader(const std::string& path, const std::stop_token& stop) : lines_(path, stop) {}
    bool next(std::string& line) {
      if (!lines_.next(line)) return false;
      hash_ = core::fingerprint_of_line(line, hash_);
      return true;
    }
    void skip(std::uint64_t lines) {
      std::string line;
      for (std::uint64_t i = 0; i < lines; ++i)
        core::require(next(line), core::ErrorCode::kBadInput,
                      "{}: has {} lines, but the partial output already has more; is it another input?", name(),
                      lines_read());
    }
    std::uint64_t lines_read() const { return lines_.line_number(); }
    std::uint64_t hash() const noexcept { return hash_; }
    const std::string& name() const noexcept { return lines_.name(); }

   private:
    core::LineReader lines_;
    std::uint64_t hash_ = core::kFingerprintOfNothing;
  };

  struct NamedModel {
    std::filesystem::path folder;
    double weight = 1;
    bool reverse = false;
  };

  std::vector<NamedModel> read_models() const {
    std::vector<NamedModel> models;
    const auto add = [&](const std::vector<std::string>& words, bool reverse) {
      for (const std::string& word : words) {
        const std::size_t mark = word.rfind('=');
        NamedModel model{.folder = word.substr(0, mark), .reverse = reverse};
        if (mark != std::string::npos)
          model.weight = parse_number(reverse ? "--reverse" : "--model", word.substr(mark + 1), kAnyNumber);
        if (model.folder.empty()) throw UsageError("--model and --reverse need the name of a folder");
        models.push_back(std::move(model));
      }
    };
    add(models_, false);
    add(reverse_, true);
    if (models.empty()) throw UsageError("name at least one --model or --reverse to rerank with");
    return models;
  }

  /// Returns everything that determines a line, except for the models' files and the lists.
  core::Json identity(const std::vector<NamedModel>& models) const {
    core::Json weights = core::Json::array();
    for (const NamedModel& model : models)
      weights.push_back(
          fmt::format("{} {} {}", model.reverse ? "reverse" : "model", model.folder.string(), model.weight));
    return {{"format", format_},
            {"list_weight", list_weight_},
            {"weights", std::move(weights)},
            {"length_penalty", length_penalty_.identity()},
            {"machine", model_options_.identity()}};
  }

  /// Reads the next lines, of about kBytes bytes. Returns false at the end.
  bool read_batch(ListReader& reader) {
    constexpr std::size_t kBytes = std::size_t{1} << 20;
    lines_.clear();
    where_.clear();
    std::size_t bytes = 0;
    for (std::string line; bytes < kBytes; bytes += line.size()) {
      if (!reader.next(line)) return false;
      where_.push_back(fmt::format("{}: line {}", reader.name(), reader.lines_read()));
      lines_.push_back(pipeline::read_n_best_line(line, where_.back()));
      if (!lines_.back().can_be_ranked()) ++unranked_;
    }
    return true;
  }

  void write(const pipeline::NBestLine& line) {
    job_.write(line_of(line));
    if (!line.error.empty()) long_lines_.count_skipped();
    if (line.cut) long_lines_.count_cut();
    if (line.cut || !line.error.empty()) job_.note_long_line(long_lines_.policy());
  }

  std::string line_of(const pipeline::NBestLine& line) const {
    if (format_ == "jsonl") return core::one_line(line.record);
    const auto text = line.record.find("text");
    std::string best = text != line.record.end() && text->is_string() ? text->get<std::string>() : std::string();
    core::keep_on_one_line(best);
    return best;
  }

  std::vector<std::string> models_;
  std::vector<std::string> reverse_;
  double list_weight_ = 1;
  LengthPenaltyOptions length_penalty_;
  std::string input_;
  std::string output_;
  std::string format_;
  LongLinesOption long_lines_;
  LineJob job_;
  ModelOptions model_options_;
  std::vector<pipeline::NBestLine> lines_;
  std::vector<std::string> where_;
  std::uint64_t unranked_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_rerank() {
  return std::make_unique<Rerank>();
}

}  // namespace dragoman::cli
