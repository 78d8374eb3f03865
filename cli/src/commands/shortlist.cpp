#include "options/host_options.h"
#include "options/input_guard.h"
#include "options/lines/pair_input.h"
#include "options/number_option.h"
#include "options/option_group.h"
#include "program/command.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/pipeline/lexicon_builder.h>
#include <dragoman/plugins/load_model.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;
using core::ErrorCode;

class Shortlist final : public Command {
 public:
  std::string_view name() const override { return "shortlist"; }
  std::string_view summary() const override {
    return "create a lexical shortlist, for translate --shortlist, from pairs and their alignments";
  }
  std::string_view examples() const override {
    return "dragoman align --model models/de-en train.de train.en --layer 1 --units pieces --output train.align\n"
           "dragoman shortlist --model models/de-en train.de train.en --alignments train.align --units pieces --output "
           "lex.s2t.gz\n"
           "dragoman translate --model models/de-en --shortlist lex.s2t.gz test.de\n"
           "dragoman shortlist --model models/de-en train.de train.en --alignments train.align --units pieces --into "
           "models/de-en\n";
  }

  void add_options(po::options_description& options) override {
    options.add_options()("model,m", po::value(&model_)->required()->value_name("DIR"),
                          "required: folder of the model that will use it");
    input_.add_to(options);
    options.add_options()("alignments,a", po::value(&alignments_)->required()->value_name("FILE"),
                          "required: one line of links per pair, such as 0-0 1-2, from align, fast_align or eflomal")(
        "units", po::value(&units_)->default_value("words")->value_name("UNITS"),
        "unit of the links: words (split at whitespace), or pieces of the model's tokenizer")(
        "best", whole_number("--best", best_, 0)->default_value("100")->value_name("N"),
        "number of most probable translations per piece; 0: all")(
        "output,o", po::value(&output_)->default_value("-")->value_name("FILE"),
        "lines with target piece, source piece and probability (.gz and .zst: compressed); - is standard output")(
        "into",
        po::value(&into_)->value_name("DIR")->notifier([](const std::string& name) { require_named("--into", name); }),
        "instead of --output: add the shortlist to a copy of the model's folder, or to the folder itself, which then "
        "translates with it")("first", whole_number("--first", first_, 0)->default_value("100")->value_name("N"),
                              "with --into: number of most frequent pieces that are on every list");
    po::options_description plugins = option_group("Plugins");
    add_host_options(plugins, host_options_);
    options.add(plugins);
  }
  std::vector<std::string> positional() const override { return {"source", "target"}; }

  void run(const Session& session) override {
    input_.check();
    if (units_ != "words" && units_ != "pieces") throw UsageError("--units must be words or pieces");
    const std::vector<std::filesystem::path> inputs = input_.files();
    if (alignments_ == "-" && std::ranges::find(inputs, "-") != inputs.end())
      throw UsageError("pairs and --alignments cannot both be standard input");
    if (!into_.empty() && output_ != "-") throw UsageError("--output and --into name two places; leave one out");
    if (into_.empty() && first_ != kUsualFirst)
      throw UsageError("--first belongs to --into; pass --shortlist-first to translate with a shortlist file");
    if (!into_.empty()) formats::require_replaceable(into_);
    plugins::Host host(host_options_);
    const formats::FolderState state(model_);
    const plugins::LoadedModel model = plugins::load_model(model_, host);
    pipeline::LexiconBuilder builder(
        *model.source_tokenizer, *model.target_tokenizer,
        units_ == "words" ? pipeline::AlignmentUnit::kWords : pipeline::AlignmentUnit::kPieces);
    if (!into_.empty()) {
      count(builder, session);
      state.require_unchanged();
      return write_into_folder(builder, model, host, session);
    }
    core::OutputFile out(output_, {.partial = core::PartialPolicy::kTemporary, .stop = session.stop});
    count(builder, session);
    const std::size_t pairs = builder.write(out, best_);
    require_any(pairs);
    out.commit();
    session.log(core::LogLevel::kInfo, fmt::format("{} pairs of pieces", pairs));
  }

 private:
  /// With an empty list, a translation could choose from frequent pieces only.
  void require_any(std::size_t pairs) const {
    core::require(pairs > 0, ErrorCode::kBadInput,
                  "{}: no link in it says how any piece is translated; nothing was written", alignments_);
  }

  void write_into_folder(const pipeline::LexiconBuilder& builder, const plugins::LoadedModel& model,
                         plugins::Host& host, const Session& session) const {
    const decoding::ShortlistLimits limits{.first = first_,
                                           .best = best_ == 0 ? std::numeric_limits<std::int32_t>::max() : best_};
    const decoding::Shortlist shortlist = builder.shortlist(
        pipeline::shortlist_vocabularies(model.model->spec(), *model.source_tokenizer, *model.target_tokenizer),
        limits);
    require_any(shortlist.size());
    formats::write_shortlist(model_, into_, shortlist.to_binary(), plugins::tokenizer_opener(host));
    session.log(core::LogLevel::kInfo, fmt::format("{} pairs of pieces; written: {}", shortlist.size(), into_));
  }

  void count(pipeline::LexiconBuilder& builder, const Session& session) const {
    LinePairReader reader = input_.open(session.stop);
    core::LineReader alignments(alignments_, session.stop);
    std::string line;
    for (bool more = true; more;) {
      std::vector<pipeline::LinePair> pairs;
      more = reader.read(pairs, LinePairReader::kUsualBytes);
      for (pipeline::LinePair& pair : pairs) {
        if (session.stop.stop_requested()) core::fail(ErrorCode::kInterrupted, "interrupted; nothing was written");
        if (!alignments.next(line))
          core::fail(ErrorCode::kBadInput, "{} ends after {} lines but the pairs go on; they must be parallel",
                     alignments.name(), alignments.line_number());
        pipeline::clean_line(pair.source);
        pipeline::clean_line(pair.target);
        try {
          builder.add(pair.source, pair.target, line);
        } catch (const core::Error& error) {
          core::fail(error.code(), "{}: line {}: {}", alignments.name(), alignments.line_number(), error.what());
        }
      }
      core::report(session.progress,
                   {.stage = "shortlist", .done = reader.lines_read(), .total = 0, .unit = "lines", .figures = {}});
    }
    if (alignments.next(line))
      core::fail(ErrorCode::kBadInput, "{} goes on behind the {} pairs; they must be parallel", alignments.name(),
                 reader.lines_read());
  }

  std::string model_;
  PairInput input_;
  std::string alignments_;
  std::string units_;
  static constexpr std::int32_t kUsualFirst = 100;
  std::int32_t best_ = 100;
  std::int32_t first_ = kUsualFirst;
  std::string into_;
  std::string output_;
  plugins::HostOptions host_options_;
};

}  // namespace

std::unique_ptr<Command> make_shortlist() {
  return std::make_unique<Shortlist>();
}

}  // namespace dragoman::cli
