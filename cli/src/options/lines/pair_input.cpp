#include "options/lines/pair_input.h"

#include "options/number_option.h"
#include "options/text_inputs.h"
#include "program/command.h"

#include <fmt/format.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

}  // namespace

void PairInput::add_to(po::options_description& options) {
  const PairFields usual;
  options.add_options()("source", po::value(&source_)->value_name("FILE"),
                        "source lines, or pairs (tsv, jsonl; by default those that are piped); gz and zst too; - is "
                        "standard input")("target", po::value(&target_)->value_name("FILE"),
                                          "target lines, one per source line")(
      "input-format", po::value(&format_)->default_value("text")->value_name("FORMAT"),
      "text: two files; tsv or jsonl: one file with one pair per line")(
      "source-column",
      whole_number<std::uint64_t>("--source-column", fields_.source_column, 1, pipeline::kMaxColumns)
          ->default_value(std::to_string(usual.source_column))
          ->value_name("N"),
      "tsv: column number, from 1")(
      "target-column",
      whole_number<std::uint64_t>("--target-column", fields_.target_column, 1, pipeline::kMaxColumns)
          ->default_value(std::to_string(usual.target_column))
          ->value_name("N"),
      "tsv: column number, from 1")(
      "source-key", po::value(&fields_.source_key)->default_value(usual.source_key)->value_name("KEY"), "jsonl: key")(
      "target-key", po::value(&fields_.target_key)->default_value(usual.target_key)->value_name("KEY"), "jsonl: key");
}

void PairInput::check() {
  if (format_ != "text" && format_ != "tsv" && format_ != "jsonl")
    throw UsageError("--input-format must be text, tsv or jsonl");
  if (format_ == "text" && source_.empty())
    throw UsageError("name a file of source lines and one of target lines, or set --input-format for pairs");
  if (format_ == "text" && target_.empty()) throw UsageError("give a file of target lines, or set --input-format");
  if (format_ != "text" && !target_.empty())
    throw UsageError(fmt::format("--input-format {} is of one file, which holds both sides", format_));
  if (source_.empty() && standard_input_is_piped()) source_ = "-";
  if (source_.empty()) throw UsageError(fmt::format("name a file of {} lines, or pipe them to the command", format_));
  if (source_ == "-" && target_ == "-") throw UsageError("--source and --target cannot both be standard input");
}

LinePairReader PairInput::open(const std::stop_token& stop) const {
  if (format_ == "text") return {source_, target_, stop};
  PairFields fields = fields_;
  fields.format = format_ == "tsv" ? pipeline::RecordFormat::kTsv : pipeline::RecordFormat::kJsonl;
  return {source_, std::move(fields), stop};
}

core::Json PairInput::identity() const {
  if (format_ == "tsv") return {format_, fields_.source_column, fields_.target_column};
  if (format_ == "jsonl") return {format_, fields_.source_key, fields_.target_key};
  return core::Json::array({format_});
}

std::vector<std::filesystem::path> PairInput::files() const {
  std::vector<std::filesystem::path> files{source_};
  if (!target_.empty()) files.emplace_back(target_);
  return files;
}

}  // namespace dragoman::cli
