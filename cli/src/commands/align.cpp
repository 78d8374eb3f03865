#include "options/lines/line_job.h"
#include "options/lines/pair_input.h"
#include "options/lines/resume_options.h"
#include "options/model_options.h"
#include "options/option_group.h"
#include "options/stage_options.h"
#include "program/command.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/pipeline/aligner.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;
using core::ErrorCode;

class Align final : public Command {
 public:
  std::string_view name() const override { return "align"; }
  std::string_view summary() const override {
    return "align the words of given translations by the attention of a model";
  }
  std::string_view examples() const override {
    return "dragoman align --model models/de-en test.de test.en --output test.align\n"
           "dragoman align --model models/de-en test.de test.en --layer -2 --step input --format jsonl\n"
           "dragoman align --model models/de-en --reverse-model models/en-de test.de test.en\n"
           "dragoman align --model models/de-en --input-format tsv pairs.tsv --units pieces\n";
  }

  void add_options(po::options_description& options) override {
    po::options_description files = option_group("Files");
    files.add_options()("model,m", po::value(&model_)->required()->value_name("DIR"), "required: model folder")(
        "reverse-model", po::value(&reverse_model_)->value_name("DIR"),
        "model folder of the opposite direction, to combine the links of both directions");
    input_.add_to(files);
    files.add_options()("output,o", po::value(&output_)->default_value("-")->value_name("FILE"),
                        "alignments; - is standard output")(
        "format", po::value(&format_)->default_value("pharaoh")->value_name("FORMAT"),
        "pharaoh: links such as 0-0 1-2; jsonl: also words and weights");
    on_error_.add_to(files, "a pair with more tokens than the model supports");
    job_.add_to(files);
    options.add(files);
    alignment_.add_to(options);
    po::options_description machine = option_group("Machine");
    model_options_.add_to(machine);
    options.add(machine);
  }
  std::vector<std::string> positional() const override { return {"source", "target"}; }
  bool prints_lines() const override { return true; }

  void run(const Session& session) override {
    input_.check();
    if (format_ != "pharaoh" && format_ != "jsonl") throw UsageError("--format must be pharaoh or jsonl");
    on_error_.check();
    const pipeline::AlignmentSettings settings = read_settings();
    plugins::Host host(model_options_.host());
    const pipeline::ModelOptions model_options = model_options_.read(host, session.log);
    const pipeline::Model model(model_, host, model_options, session.stop);
    pipeline::AlignerOptions options{.alignment = settings};
    if (!reverse_model_.empty()) options.reverse_model.emplace(reverse_model_, host, model_options, session.stop);
    pipeline::Aligner aligner(model, options);
    LinePairReader reader = input_.open(session.stop);
    std::vector<std::string> models = {model_};
    if (!reverse_model_.empty()) models.push_back(reverse_model_);
    job_.open("align",
              {{"format", format_},
               {"input", input_.identity()},
               {"alignment", alignment_.settings()},
               {"machine", model_options_.identity()}},
              models, output_, session.stop);
    job_.skip_lines_kept(reader);
    pipeline::LineCounts counts;
    std::vector<pipeline::PairAlignment> alignments;
    const auto compute = [&] {
      std::vector<pipeline::LinePair> pairs;
      const bool more = reader.read(pairs, LinePairReader::kFewBytes);
      alignments = aligner.align(std::move(pairs), session.stop);
      return more;
    };
    job_.run(session, "align", reader, compute, [&] {
      for (const pipeline::PairAlignment& alignment : alignments) write(alignment, counts);
    });
    counts.with_invalid_utf8 = reader.counts().with_invalid_utf8;
    if (const std::string text = pipeline::describe(counts); !text.empty()) session.log(core::LogLevel::kInfo, text);
  }

 private:
  pipeline::AlignmentSettings read_settings() const {
    core::OptionReader options(alignment_.said(), "align");
    pipeline::AlignmentSettings settings;
    pipeline::alignment_table().read(options, settings);
    try {
      pipeline::check(settings, options);
    } catch (const core::Error& error) {
      throw UsageError(error, "align");
    }
    return settings;
  }

  void write(const pipeline::PairAlignment& alignment, pipeline::LineCounts& counts) {
    ++counts.lines;
    if (!alignment.error.empty()) {
      if (on_error_.fails()) core::fail(ErrorCode::kBadInput, "{}", alignment.error);
      ++counts.failed;
    }
    const std::string line =
        format_ == "jsonl" ? core::one_line(pipeline::to_json(alignment)) : corpus::to_pharaoh(alignment.links);
    job_.write(line);
  }

  std::string model_;
  std::string reverse_model_;
  PairInput input_;
  std::string output_;
  std::string format_;
  OnErrorOption on_error_;
  LineJob job_;
  StageOptions alignment_{pipeline::alignment_table().options()};
  ModelOptions model_options_;
};

}  // namespace

std::unique_ptr<Command> make_align() {
  return std::make_unique<Align>();
}

}  // namespace dragoman::cli
