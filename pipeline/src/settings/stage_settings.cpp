#include "stage_settings.h"

#include "dragoman/pipeline/stage_options.h"

#include <algorithm>

#include <dragoman/core/json.h>
#include <dragoman/core/parallel.h>
#include <dragoman/core/yaml.h>
#include <dragoman/decoding/option_table.h>
#include <dragoman/tokenizer/tokenizer_spec_table.h>

namespace dragoman::pipeline {
namespace {

using core::OptionTable;

constexpr core::NumberRange<std::uint64_t> kColumns{.least = 1, .most = kMaxColumns};

std::vector<std::pair<std::string_view, RecordFormat>> formats() {
  return {{"text", RecordFormat::kText}, {"jsonl", RecordFormat::kJsonl}, {"tsv", RecordFormat::kTsv}};
}

OptionTable<decoding::LoopLimits> limits_table() {
  using Limits = decoding::LoopLimits;
  return OptionTable<Limits>()
      .group("Machine")
      .number("batch_tokens", &Limits::maximum_encoder_tokens, {.least = 0}, "N",
              "number of source tokens encoded together; 0: suitable for the device (no effect on results)")
      .number("rows", &Limits::maximum_rows, {.least = 0}, "N",
              "number of hypotheses in flight per worker; 0: suitable for the device (no effect on results)");
}

std::vector<std::pair<std::string_view, std::optional<tensor::ComputeChoice>>> compute_choices() {
  std::vector<std::pair<std::string_view, std::optional<tensor::ComputeChoice>>> choices = {
      {tensor::kStoredCompute, std::nullopt}};
  choices.insert(choices.end(), tensor::kComputeChoices.begin(), tensor::kComputeChoices.end());
  return choices;
}

OptionTable<TranslateOptions> ignore_table() {
  return OptionTable<TranslateOptions>().group("Search").flag(
      "ignore_model_defaults", &TranslateOptions::ignore_model_defaults,
      "ignore the search defaults and the shortlist in the model's folder (config.json, decoding)");
}

OptionTable<decoding::ShortlistLimits> shortlist_limits_table() {
  using Limits = decoding::ShortlistLimits;
  return OptionTable<Limits>()
      .group("Search")
      .number("shortlist_first", &Limits::first, {}, "N", "number of most frequent tokens that are on every shortlist")
      .number("shortlist_best", &Limits::best, {}, "N", "number of translations per source token on a shortlist");
}

OptionTable<ShortlistSettings> shortlist_table() {
  return OptionTable<ShortlistSettings>()
      .group("Search")
      .text("shortlist", &ShortlistSettings::path, "FILE",
            "restrict the tokens of each sentence to a lexical shortlist of the command `shortlist`, Marian or "
            "Bergamot; none: also disables the model's own shortlist")
      .include(&ShortlistSettings::limits, shortlist_limits_table());
}

const OptionTable<LanguagePair>& make_language_table() {
  static const auto table =
      OptionTable<LanguagePair>()
          .group("Languages")
          .text("source_language", &LanguagePair::source, "CODE",
                "source language, as a code of the model's language table (`inspect` shows it); a line may override it")
          .text("target_language", &LanguagePair::target, "CODE",
                "target language, as a code of the same table; a line may override it");
  return table;
}

OptionTable<TranslateOptions> search_options_table() {
  using Options = TranslateOptions;
  return OptionTable<Options>()
      .include(&Options::search, decoding::search_table())
      .group("Search")
      .text("unknown_dictionary", &Options::unknown_dictionary, "FILE",
            "with replace_unknown: translations of source words, as lines with WORD, a tab and its translation")
      .include(&Options::shortlist, shortlist_table());
}

std::vector<std::pair<std::string_view, Markup>> markups() {
  return {{"none", Markup::kNone}, {"html", Markup::kHtml}};
}

OptionTable<TranslateOptions> text_options_table() {
  using Options = TranslateOptions;
  return OptionTable<Options>()
      .include(&Options::languages, make_language_table())
      .group("Constraints")
      .text("target_prefix", &Options::target_prefix, "TEXT",
            "text that every translation begins with; a line may override it (jsonl: target_prefix)")
      .texts("suppress", &Options::suppress, "TEXT",
             "never generate the word or words TEXT, as they are tokenised (YAML: a list)")
      .texts("constraints", &Options::constraints, "TEXT",
             "every translation contains the word or words TEXT (YAML: a list); beam search only")
      .flag("ignore_line_options", &Options::ignore_line_options,
            "ignore the keys source_language, target_language, target_prefix, suppress, constraints and decoding of "
            "JSON lines")
      .group("Files")
      .flag("input_pieces", &Options::input_pieces,
            "the input consists of pieces of the source tokenizer, separated by spaces, as `encode` writes them")
      .flag("output_pieces", &Options::output_pieces,
            "write pieces of the target tokenizer, separated by spaces, as `decode` reads them")
      .choice("markup", &Options::markup, markups(), "FORMAT",
              "html: the text is a fragment of HTML or XML, whose tags are kept and whose text is translated")
      .group("Results")
      .flag("details", &Options::details, "also return scores, tokens and alternatives")
      .include(&Options::attention, attention_table());
}

OptionTable<ModelOptions> machine_table() {
  using Options = ModelOptions;
  return OptionTable<Options>()
      .group("Machine")
      .number("threads", &Options::threads, {.most = core::kMaxThreads}, "N",
              fmt::format("workers, at most {}; 0: all cores that the process may use", core::kMaxThreads))
      .choice("latency", &Options::latency, {{"auto", true}, {"off", false}}, "MODE",
              "auto: idle workers share the steps of busy ones; off: one core computes a sentence")
      .include(&Options::limits, limits_table())
      .flag("allow_non_finite", &Options::allow_non_finite, "accept a model with weights that are NaN or infinite");
}

void read_shard(core::OptionReader& options, ReadSettings& settings) {
  if (!options.has("shard")) return;
  const auto shard = options.get("shard", std::string());
  try {
    settings.shard = parse_shard(shard);
  } catch (const core::Error& error) {
    options.check(false, "shard", error.what());
  }
}

/// Parses `prefer` or `prefer.bias=2`.
core::Json logits_processor(const std::string& word) {
  core::Json processors = core::Json::object();
  if (word.find('=') == std::string::npos)
    processors[word] = core::Json::object();
  else
    core::set_option(processors, word, "");
  core::require(processors.begin()->is_object(), core::ErrorCode::kInvalidArgument,
                "must be NAME or NAME.KEY=VALUE, as in {}.KEY=VALUE", processors.begin().key());
  return processors;
}

void read_logits_processors(core::OptionReader& options, TranslateSettings& settings) {
  if (!options.has("logits_processors")) return;
  settings.logits_processors = options.subtree("logits_processors");
  options.check(settings.logits_processors.is_object(), "logits_processors", "must hold names and their options");
  for (const auto& [name, own] : settings.logits_processors.items())
    options.check(own.is_object(), "logits_processors", "must hold an object of options for each name");
}

void read_decoder_options(core::OptionReader& options, TranslateSettings& settings) {
  if (!options.has("decoder_options")) return;
  settings.decoder_options = options.subtree("decoder_options");
  options.check(settings.decoder_options.is_object(), "decoder_options", "must hold keys and values");
}

}  // namespace

const OptionTable<ReadSettings>& read_table() {
  static const auto table =
      OptionTable<ReadSettings>()
          .texts("path", &ReadSettings::paths, "FILE",
                 "text, one record per line (gz and zst too); several files (YAML: a list) are read in order; -, or no "
                 "file, is standard input")
          .custom({},
                  [](core::OptionReader& reader, ReadSettings& settings) {
                    reader.check(!reader.has("path") || !settings.paths.empty(), "path", "is an empty list");
                  })
          .custom({{.name = "shard",
                    .placeholder = "I/N",
                    .help = "read only part I of N parts of consecutive lines, such as 2/8; the outputs of all parts, "
                            "concatenated in order, are the output of the whole; files only",
                    .parse =
                        [](const std::string& word) {
                          parse_shard(word);
                          return core::Json(word);
                        }}},
                  read_shard)
          .choice("format", &ReadSettings::format, formats(), "FORMAT",
                  "text, jsonl (one object per line) or tsv (columns)",
                  {{"pieces", "pieces are read with `input_pieces` of translate"}})
          .text("key", &ReadSettings::key, "KEY", "jsonl: key of the text")
          .number("column", &ReadSettings::column, kColumns, "N", "tsv: column of the text")
          .text("target_prefix_file", &ReadSettings::target_prefix_file, "FILE",
                "file with the target prefix of each input line")
          .number("target_prefix_column", &ReadSettings::target_prefix_column, {.most = kMaxColumns}, "N",
                  "tsv: column of the target prefix; 0: none")
          .number("source_language_column", &ReadSettings::source_language_column, {.most = kMaxColumns}, "N",
                  "tsv: column of the source language; 0: none")
          .number("target_language_column", &ReadSettings::target_language_column, {.most = kMaxColumns}, "N",
                  "tsv: column of the target language; 0: none");
  return table;
}

const OptionTable<WriteSettings>& write_table() {
  static const auto table =
      OptionTable<WriteSettings>()
          .text("path", &WriteSettings::path, "FILE", "the output (.gz and .zst: compressed); - is standard output")
          .choice("format", &WriteSettings::format, formats(), "FORMAT", "text, jsonl (with all fields) or tsv",
                  {{"pieces", "pieces are written with `output_pieces` of translate"}})
          .number("column", &WriteSettings::column, kColumns, "N", "tsv: column that the text replaces")
          .flag("resume", &WriteSettings::resume,
                "continue an interrupted run with the same input, model and options: keep the complete lines of "
                "OUTPUT.partial")
          .flag("overwrite", &WriteSettings::overwrite,
                "start again although an interrupted run has left OUTPUT.partial")
          .flag("stream", &WriteSettings::stream,
                "show each line during its translation, word by word; only for the format text on standard output");
  return table;
}

const OptionTable<SplitSettings>& split_table() {
  static const auto table =
      OptionTable<SplitSettings>()
          .text("locale", &SplitSettings::locale, "LOCALE", "language of the text (de, en, ...)")
          .choice("markup", &SplitSettings::markup, markups(), "FORMAT",
                  "html: find sentences in the text of HTML or XML, for `translate` with the same markup");
  return table;
}

const OptionTable<NormalizeSettings>& normalize_table() {
  static const auto table =
      OptionTable<NormalizeSettings>()
          .choice("form", &NormalizeSettings::form, {{"none", "none"}, {"nfc", "nfc"}, {"nfkc", "nfkc"}}, "FORM",
                  "Unicode normalisation form")
          .flag("lowercase", &NormalizeSettings::lowercase, "convert the text to lower case");
  return table;
}

const OptionTable<EncodeSettings>& encode_table() {
  static const auto table =
      OptionTable<EncodeSettings>()
          .text("tokenizer", &EncodeSettings::tokenizer, "FILE", "tokenizer file in any supported format")
          .choice("format", &EncodeSettings::ids, {{"pieces", false}, {"ids", true}}, "FORMAT", "format of the output")
          .include(&EncodeSettings::spec, tokenizer::tokenizer_spec_table());
  return table;
}

const OptionTable<DecodeSettings>& decode_table() {
  static const auto table =
      OptionTable<DecodeSettings>()
          .text("tokenizer", &DecodeSettings::tokenizer, "FILE", "tokenizer file in any supported format")
          .choice("format", &DecodeSettings::ids, {{"pieces", false}, {"ids", true}}, "FORMAT", "format of the input")
          .include(&DecodeSettings::spec, tokenizer::tokenizer_spec_table());
  return table;
}

const OptionTable<TranslateSettings>& translate_table() {
  using Settings = TranslateSettings;
  static const auto table =
      OptionTable<Settings>()
          .group("Files")
          .text("model", &Settings::model, "DIR", "model folder")
          .include(&Settings::options, search_options_table())
          .include(&Settings::ensemble, ensemble_table())
          .include(&Settings::options, text_options_table())
          .include(&Settings::machine, machine_table())
          .group("Constraints")
          .text("suppress_file", &Settings::suppress_file, "FILE", "file with texts for suppress, one per line")
          .text("glossary", &Settings::glossary, "FILE",
                "file with columns for source terms, required translations and, optionally, exact or any (case of the "
                "source term); beam search only")
          .group("Search")
          .include(&Settings::options, ignore_table())
          .custom({{.name = "decoder_options",
                    .placeholder = "KEY=VALUE",
                    .help = "options of a plugin's decoder (YAML: an object)",
                    .parse = core::parse_assignment,
                    .repeated = true}},
                  read_decoder_options)
          .custom({{.name = "logits_processors",
                    .placeholder = "NAME[.KEY=VALUE]",
                    .help = "plugins' logits processors, with their options (YAML: an object of objects)",
                    .parse = logits_processor,
                    .repeated = true}},
                  read_logits_processors)
          .group("Machine")
          .text("device", &Settings::device, "NAME",
                "cpu, reference (slow, double precision), a device of a plugin, or auto (the best available one); "
                "`doctor` lists them")
          .flag("batch_invariant", &Settings::batch_invariant,
                "make the bits of each sentence independent of other sentences, at a cost; always so on the CPU")
          .text("memory", &Settings::memory, "SIZE", "limit of GPU memory, such as 4GB (default: all of it)")
          .choice("compute", &Settings::compute, compute_choices(), "TYPE", std::string(tensor::kModelComputeHelp));
  return table;
}

const OptionTable<LanguagePair>& language_table() {
  return make_language_table();
}

const std::vector<BuiltInStage>& built_in_stages() {
  static const std::vector<BuiltInStage> stages = {
      {.name = "read",
       .summary = "the source of the records",
       .options = &read_table().options(),
       .input_file_options = {"target_prefix_file"},
       .non_semantic_options = {"path"}},
      {.name = "normalize", .summary = "Unicode normalisation", .options = &normalize_table().options()},
      {.name = "split",
       .summary = "mark sentences, which `translate` then translates separately",
       .options = &split_table().options()},
      {.name = "translate",
       .summary = "translate each record, or each of its sentences",
       .options = &translate_table().options(),
       .input_file_options = {"model", "ensemble", "suppress_file", "glossary", "shortlist", "unknown_dictionary"},
       .non_semantic_options = {"threads", "latency", "batch_tokens", "rows", "attention_svg", "attention_npy"}},
      {.name = "encode",
       .summary = "convert text to pieces or ids",
       .options = &encode_table().options(),
       .input_file_options = {"tokenizer"}},
      {.name = "decode",
       .summary = "convert pieces or ids to text",
       .options = &decode_table().options(),
       .input_file_options = {"tokenizer"}},
      {.name = "write",
       .summary = "the destination of the records",
       .options = &write_table().options(),
       .non_semantic_options = {"path", "resume", "overwrite", "stream"}},
  };
  return stages;
}

const BuiltInStage* find_built_in_stage(std::string_view name) {
  const auto& stages = built_in_stages();
  const auto found = std::ranges::find(stages, name, &BuiltInStage::name);
  return found == stages.end() ? nullptr : &*found;
}

}  // namespace dragoman::pipeline
