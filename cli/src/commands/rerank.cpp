#include "options/input_guard.h"
#include "options/length_penalty_options.h"
#include "options/model_options.h"
#include "options/number_option.h"
#include "options/option_group.h"
#include "program/command.h"

#include <filesystem>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/pipeline/line_policy.h>
#include <dragoman/pipeline/reranker.h>
#include <dragoman/pipeline/translator.h>

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
                          "a model that scores each translation (may be repeated); its weight is 1")(
        "reverse", po::value(&reverse_)->composing()->value_name("DIR[=WEIGHT]"),
        "a model of the other direction, which scores the source given the translation (may be repeated)")(
        "list-weight", real_number("--list-weight", list_weight_, kAnyNumber)->default_value("1")->value_name("X"),
        "weight of the score that the list has")(
        "input,i", po::value(&input_)->default_value("-")->value_name("FILE"),
        "what `translate --format jsonl --n-best N` wrote; - is standard input")(
        "output,o", po::value(&output_)->default_value("-")->value_name("FILE"), "- is standard output")(
        "format", po::value(&format_)->default_value("text")->value_name("FORMAT"),
        "text: the best translation of each line; jsonl: the lists, sorted, with each model's score");
    length_penalty_.add_to(options, "that of the first --model's folder");
    po::options_description machine = option_group("Machine");
    model_options_.add_to(machine);
    options.add(machine);
  }
  std::vector<std::string> positional() const override { return {"input"}; }
  bool prints_lines() const override { return true; }

  void run(const Session& session) override {
    if (format_ != "text" && format_ != "jsonl") throw UsageError("--format must be text or jsonl");
    pipeline::RerankOptions options{.models = read_models(), .list_weight = list_weight_};
    std::vector<std::filesystem::path> inputs = {input_};
    for (const pipeline::RerankModel& model : options.models) inputs.push_back(model.folder);
    require_not_an_input(output_, inputs);
    plugins::Host host(model_options_.host());
    options.scorer = {.length_penalty = find_length_penalty(),
                      .threads = model_options_.threads(),
                      .device = model_options_.device(host, session.log),
                      .compute = model_options_.compute(),
                      .allow_non_finite = model_options_.allow_non_finite()};
    pipeline::Reranker reranker(host, options);
    core::LineReader reader(input_, session.stop);
    core::OutputFile out(output_, {.stop = session.stop});
    for (bool more = true; more;) {
      more = read_batch(reader);
      reranker.rerank(lines_, where_, session.stop);
      for (const pipeline::NBestLine& line : lines_) write(line, out);
      out.flush();
      core::report(session.progress,
                   {.stage = "rerank", .done = reader.line_number(), .total = 0, .unit = "lines", .figures = {}});
    }
    out.commit();
    if (unranked_ > 0)
      core::log(session.log, core::LogLevel::kInfo,
                fmt::format("{} lines have no list of whole translations (empty, failed, or translated in parts) and "
                            "stay as they are",
                            unranked_));
  }

 private:
  /// What a list was searched with is, as a rule, what its model's folder says.
  decoding::LengthPenalty find_length_penalty() const {
    if (length_penalty_.given() || models_.empty()) return length_penalty_.chosen();
    const std::string& first = models_.front();
    return pipeline::usual_translate_options(first.substr(0, first.rfind('='))).decoding.length_penalty;
  }

  std::vector<pipeline::RerankModel> read_models() const {
    std::vector<pipeline::RerankModel> models;
    const auto add = [&](const std::vector<std::string>& words, bool reverse) {
      for (const std::string& word : words) {
        const std::size_t mark = word.rfind('=');
        pipeline::RerankModel model{.folder = word.substr(0, mark), .reverse = reverse};
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

  /// The next lines, of about so many bytes; false at the end.
  bool read_batch(core::LineReader& reader) {
    constexpr std::size_t kBytes = std::size_t{1} << 20;
    lines_.clear();
    where_.clear();
    std::size_t bytes = 0;
    for (std::string line; bytes < kBytes; bytes += line.size()) {
      if (!reader.next(line)) return false;
      where_.push_back(fmt::format("{}: line {}", reader.name(), reader.line_number()));
      lines_.push_back(pipeline::read_n_best_line(line, where_.back()));
      if (!lines_.back().can_be_ranked()) ++unranked_;
    }
    return true;
  }

  void write(const pipeline::NBestLine& line, core::OutputFile& out) const {
    if (format_ == "jsonl") return out.write(core::one_line(line.record) + "\n");
    const auto text = line.record.find("text");
    std::string best = text != line.record.end() && text->is_string() ? text->get<std::string>() : std::string();
    pipeline::keep_on_one_line(best);
    out.write(best + "\n");
  }

  std::vector<std::string> models_;
  std::vector<std::string> reverse_;
  double list_weight_ = 1;
  LengthPenaltyOptions length_penalty_;
  std::string input_;
  std::string output_;
  std::string format_;
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
