#include "options/input_guard.h"
#include "options/number_option.h"
#include "options/option_group.h"
#include "options/text_inputs.h"
#include "options/tokenizer/tokenizer_options.h"
#include "program/command.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/corpus/prepare.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;
using corpus::PairFormat;

constexpr RealRange kAnyShare{.least = 0, .most = 1};
constexpr const char* kUnits[] = {"words", "characters", "pieces"};

class Prepare final : public Command {
 public:
  std::string_view name() const override { return "prepare"; }
  std::string_view summary() const override {
    return "clean and split a parallel corpus, and report statistics and the number of rejected pairs";
  }
  std::string_view examples() const override {
    return "dragoman prepare raw.de.gz raw.en.gz --output train.de.gz train.en.gz --rejected rejected.tsv\n"
           "dragoman prepare raw.de raw.en --output train.de train.en --validation 2000 --validation-output val.de "
           "val.en\n"
           "dragoman prepare --tsv crawl.tsv.zst --source-column 3 --target-column 4 --output-format tsv --output "
           "clean.tsv.zst --json\n";
  }

  void add_options(po::options_description& options) override {
    add_files(options);
    add_filters(options);
    add_split(options);
    po::options_description machine = option_group("Machine");
    machine.add_options()("threads", thread_count(prepare_.threads),
                          "0: all cores that the process may use; the output does not depend on it");
    options.add(machine);
  }
  std::vector<std::string> positional() const override { return {"source", "target"}; }

  std::vector<std::string> written() const override {
    return {"output", "rejected", "validation-output", "test-output"};
  }

  void run(const Session& session) override {
    read_inputs();
    read_outputs();
    read_filters(session.log);
    const corpus::PrepareSummary summary = corpus::prepare(prepare_, session.progress, session.stop);
    const std::string text = json_ ? core::one_line(corpus::to_json(summary, prepare_.filters.unit)) + "\n"
                                   : corpus::describe(summary, prepare_.filters.unit);
    core::OutputFile out("-");
    out.write(text);
    out.commit();
  }

 private:
  static po::typed_value<std::vector<std::string>>* files(std::vector<std::string>& names) {
    return po::value(&names)->multitoken()->value_name("FILE...");
  }

  void add_files(po::options_description& options) {
    po::options_description group = option_group("Files");
    const corpus::PairFile usual;
    group.add_options()("source", files(sources_), "source lines; gz and zst are recognised, - is standard input")(
        "target", files(targets_), "target lines, with the same number of files and lines")(
        "tsv", files(tsv_), "files with one pair per line, in two columns, instead of source and target")(
        "jsonl", files(jsonl_), "files with one JSON object per line, instead of source and target")(
        "source-column",
        whole_number<std::uint64_t>("--source-column", columns_.source_column, 1, corpus::kMaxColumns)
            ->default_value("1")
            ->value_name("N"),
        "tsv: column number, from 1")(
        "target-column",
        whole_number<std::uint64_t>("--target-column", columns_.target_column, 1, corpus::kMaxColumns)
            ->default_value("2")
            ->value_name("N"),
        "tsv: column number, from 1")(
        "source-key", po::value(&columns_.source_key)->default_value(usual.source_key)->value_name("KEY"),
        "jsonl: key; `a.b` is the key b of the object at a")(
        "target-key", po::value(&columns_.target_key)->default_value(usual.target_key)->value_name("KEY"),
        "jsonl: key")("output,o", files(outputs_),
                      "the kept pairs: source and target files, or one file with --output-format tsv or jsonl; .gz and "
                      ".zst files are compressed. Without this option, pairs are only counted")(
        "output-format", po::value(&output_format_)->value_name("FORMAT"),
        "text (two files), tsv or jsonl (default: tsv or jsonl by the name of a single file, otherwise text)")(
        "rejected", po::value(&prepare_.rejected)->value_name("FILE"),
        "the rejected pairs: columns reason, file, line, source, target; or JSON objects if the name ends in .jsonl, "
        ".jsonl.gz or .jsonl.zst")("json", po::bool_switch(&json_), "print the statistics as one JSON object");
    options.add(group);
  }

  void add_filters(po::options_description& options) {
    po::options_description group = option_group("Filters");
    corpus::FilterOptions& filter = prepare_.filters;
    group.add_options()("normalize", po::value(&normalize_)->default_value("none")->value_name("FORM"),
                        "Unicode normalisation before all other steps: none, nfc or nfkc")(
        "squeeze-spaces", po::bool_switch(&prepare_.squeeze_spaces),
        "replace runs of whitespace by one space, and remove whitespace at both ends")(
        "unit", po::value(&unit_)->default_value("words")->value_name("UNIT"),
        "unit of lengths: words (characters in scripts without spaces), characters, or pieces of --tokenizer")(
        "tokenizer", files(tokenizers_),
        "for --unit pieces: one tokenizer for both sides, or one each for source and target")(
        "min-length",
        whole_number("--min-length", filter.minimum_length, std::uint64_t{0})->default_value("1")->value_name("N"),
        "minimum length of each side")(
        "max-length",
        whole_number("--max-length", filter.maximum_length, std::uint64_t{1})->default_value("250")->value_name("N"),
        "maximum length of each side")("max-ratio",
                                       real_number("--max-ratio", filter.maximum_ratio, {.least = 0, .most = 1e9})
                                           ->default_value("9")
                                           ->value_name("X"),
                                       "maximum ratio of the longer side to the shorter one; 0: no limit")(
        "max-word-length",
        whole_number("--max-word-length", filter.maximum_word_length, std::uint64_t{0})
            ->default_value("40")
            ->value_name("N"),
        "maximum number of characters in a word; 0: no limit")(
        "min-letters",
        real_number("--min-letters", filter.minimum_letters, kAnyShare)->default_value("0.5")->value_name("X"),
        "minimum share of letters among non-space characters; 0: off")(
        "min-script",
        real_number("--min-script", filter.minimum_script, kAnyShare)->default_value("0.5")->value_name("X"),
        "minimum share of letters in the script of the side; 0: off")(
        "source-script", po::value(&source_script_)->value_name("NAME"),
        "script of the source, such as Latin or Latn (default: the most frequent one in the first 10000 lines)")(
        "target-script", po::value(&target_script_)->value_name("NAME"), "script of the target")(
        "min-numbers",
        real_number("--min-numbers", filter.minimum_numbers, kAnyShare)->default_value("0")->value_name("X"),
        "minimum similarity of the numbers on both sides, from 0 (none in common) to 1 (equal); 0: off")(
        "keep-identical", po::bool_switch(&keep_identical_), "keep pairs whose source equals the target")(
        "keep-control", po::bool_switch(&keep_controls_), "keep pairs with control characters")(
        "drop-urls", po::bool_switch(&filter.drop_urls), "drop pairs with web or e-mail addresses")(
        "drop-markup", po::bool_switch(&filter.drop_markup), "drop pairs with HTML tags or character references")(
        "duplicates", po::value(&duplicates_)->default_value("pair")->value_name("WHAT"),
        "keep only the first of several pairs with an equal pair, source, target or either (source or target); none: "
        "keep all");
    options.add(group);
  }

  void add_split(po::options_description& options) {
    po::options_description group = option_group("Split");
    group.add_options()(
        "validation",
        whole_number("--validation", prepare_.validation, std::uint64_t{0}, kMaxOfSplit)
            ->default_value("0")
            ->value_name("N"),
        "number of pairs for --validation-output, drawn with --seed; pairs with equal sources stay together")(
        "validation-output", files(validation_outputs_), "files for these pairs, as --output")(
        "test",
        whole_number("--test", prepare_.test, std::uint64_t{0}, kMaxOfSplit)->default_value("0")->value_name("N"),
        "number of pairs for --test-output, as for --validation")("test-output", files(test_outputs_),
                                                                  "files for these pairs, as --output")(
        "seed", whole_number("--seed", prepare_.seed, std::uint64_t{0})->default_value("1")->value_name("N"),
        "seed of the draw");
    options.add(group);
  }

  void read_inputs() {
    if (!sources_.empty() || !targets_.empty()) {
      const auto source = expand_files(sources_);
      const auto target = expand_files(targets_);
      if (source.size() != target.size())
        throw UsageError(fmt::format("{} files of sources, but {} of targets; they are read in pairs", source.size(),
                                     target.size()));
      for (std::size_t i = 0; i < source.size(); ++i)
        prepare_.inputs.push_back({.format = PairFormat::kText, .source = source[i], .target = target[i]});
    }
    add_inputs(tsv_, PairFormat::kTsv);
    add_inputs(jsonl_, PairFormat::kJsonl);
    if (prepare_.inputs.empty())
      throw UsageError("prepare needs SOURCE and TARGET, --tsv or --jsonl; pass `--tsv -` for pairs on standard input");
    std::size_t pipes = 0;
    for (const corpus::PairFile& file : prepare_.inputs)
      for (const std::string& name : {file.source, file.target}) {
        pipes += name == "-" ? 1 : 0;
        if (!name.empty()) input_files_.emplace_back(name);
      }
    if (pipes > 1) throw UsageError("standard input can be read once only");
    if (columns_.source_column == columns_.target_column || columns_.source_key == columns_.target_key)
      throw UsageError("source and target need a column and a key of their own");
  }

  void add_inputs(const std::vector<std::string>& names, PairFormat format) {
    for (const auto& path : expand_files(names)) {
      corpus::PairFile file = columns_;
      file.format = format;
      file.source = path.string();
      prepare_.inputs.push_back(std::move(file));
    }
  }

  void read_outputs() {
    if (!output_format_.empty() && output_format_ != "text" && output_format_ != "tsv" && output_format_ != "jsonl")
      throw UsageError("--output-format must be text, tsv or jsonl");
    prepare_.train = read_output("--output", outputs_);
    prepare_.validation_output = read_output("--validation-output", validation_outputs_);
    prepare_.test_output = read_output("--test-output", test_outputs_);
    if ((prepare_.validation > 0) == prepare_.validation_output.empty())
      throw UsageError("--validation and --validation-output go together");
    if ((prepare_.test > 0) == prepare_.test_output.empty()) throw UsageError("--test and --test-output go together");
    std::vector<std::filesystem::path> written;
    for (const std::string& name : outputs_) require_new("output", name, written);
    for (const std::string& name : validation_outputs_) require_new("validation-output", name, written);
    for (const std::string& name : test_outputs_) require_new("test-output", name, written);
    if (!prepare_.rejected.empty()) require_new("rejected", prepare_.rejected, written);
  }

  void require_new(const std::string& option, const std::string& name,
                   std::vector<std::filesystem::path>& written) const {
    if (name == "-") throw UsageError("standard output is for the statistics; name files for the pairs");
    require_not_an_input(name, input_files_, option);
    for (const auto& other : written)
      if (core::same_file(name, other)) throw UsageError(fmt::format("{} is named as an output twice", name));
    written.emplace_back(name);
  }

  corpus::PairOutput read_output(std::string_view option, const std::vector<std::string>& names) const {
    if (names.empty()) return {};
    const bool both = output_format_ == "text" || (output_format_.empty() && names.size() == 2);
    if (both && names.size() != 2)
      throw UsageError(fmt::format("{}: text needs two files, of sources and of targets", option));
    if (!both && names.size() != 1) throw UsageError(fmt::format("{}: one file holds both sides", option));
    corpus::PairOutput output{.source = names[0]};
    if (both) {
      output.target = names[1];
      return output;
    }
    output.format = output_format_ == "jsonl" ? PairFormat::kJsonl : PairFormat::kTsv;
    if (output_format_.empty()) output.format = format_of_name(option, names[0]);
    return output;
  }

  static PairFormat format_of_name(std::string_view option, std::string name) {
    for (const std::string_view packed : {".gz", ".zst"})
      if (name.ends_with(packed)) name.resize(name.size() - packed.size());
    if (name.ends_with(".tsv")) return PairFormat::kTsv;
    if (name.ends_with(".jsonl")) return PairFormat::kJsonl;
    throw UsageError(fmt::format("{}: name two files, or one in .tsv or .jsonl, or give --output-format", option));
  }

  void read_filters(const core::LogSink& log) {
    corpus::FilterOptions& filter = prepare_.filters;
    const auto unit = std::ranges::find(kUnits, unit_);
    if (unit == std::end(kUnits)) throw UsageError("--unit must be words, characters or pieces");
    filter.unit = static_cast<corpus::LengthUnit>(unit - kUnits);
    if ((filter.unit == corpus::LengthUnit::kPieces) == tokenizers_.empty() || tokenizers_.size() > 2)
      throw UsageError("--unit pieces goes with --tokenizer, of which there are one or two");
    if (!tokenizers_.empty()) {
      prepare_.source_pieces = piece_counter(tokenizers_.front(), log);
      prepare_.target_pieces =
          tokenizers_.size() == 1 ? prepare_.source_pieces : piece_counter(tokenizers_.back(), log);
    }
    if (filter.minimum_length > filter.maximum_length) throw UsageError("--min-length is more than --max-length");
    if (filter.maximum_ratio > 0 && filter.maximum_ratio < 1)
      throw UsageError("--max-ratio must be 1 or more, or 0 for any");
    filter.drop_identical = !keep_identical_;
    filter.drop_controls = !keep_controls_;
    prepare_.source_script = script("--source-script", source_script_);
    prepare_.target_script = script("--target-script", target_script_);
    prepare_.normalization = normalization();
    prepare_.duplicates = duplicates();
  }

  static corpus::PieceCounter piece_counter(const std::string& path, const core::LogSink& log) {
    const std::shared_ptr<const tokenizer::Tokenizer> tokenizer = tokenizer::open_tokenizer_file(path, {.log = log});
    return [tokenizer](std::string_view text) { return tokenizer->encode(text).size(); };
  }

  static corpus::Script script(std::string_view option, const std::string& name) {
    if (name.empty()) return 0;
    const corpus::Script found = corpus::find_script(name);
    if (found == 0) throw UsageError(fmt::format("{} {}: no script of Unicode has that name", option, name));
    return found;
  }

  corpus::Normalization normalization() const {
    if (normalize_ == "none") return corpus::Normalization::kNone;
    if (normalize_ == "nfc") return corpus::Normalization::kNfc;
    if (normalize_ == "nfkc") return corpus::Normalization::kNfkc;
    throw UsageError("--normalize must be none, nfc or nfkc");
  }

  corpus::DuplicateOptions duplicates() const {
    if (duplicates_ == "none") return {.pairs = false};
    if (duplicates_ == "pair") return {};
    if (duplicates_ == "source") return {.pairs = false, .source = true};
    if (duplicates_ == "target") return {.pairs = false, .target = true};
    if (duplicates_ == "either") return {.pairs = false, .source = true, .target = true};
    throw UsageError("--duplicates must be pair, source, target, either or none");
  }

  /// The pairs are in memory until all pairs have been read.
  static constexpr std::uint64_t kMaxOfSplit = 10000000;

  corpus::PrepareOptions prepare_;
  corpus::PairFile columns_;
  std::vector<std::string> sources_, targets_, tsv_, jsonl_, outputs_, validation_outputs_, test_outputs_, tokenizers_;
  std::vector<std::filesystem::path> input_files_;
  std::string output_format_, normalize_, unit_, source_script_, target_script_, duplicates_;
  bool keep_identical_ = false;
  bool keep_controls_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_prepare() {
  return std::make_unique<Prepare>();
}

}  // namespace dragoman::cli
