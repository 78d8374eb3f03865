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
              "source tokens encoded together; 0: what suits the device (no effect on results)")
      .number("rows", &Limits::maximum_rows, {.least = 0}, "N",
              "hypotheses in flight per worker; 0: what suits the device (no effect on results)");
}

OptionTable<ModelOptions> compute_table() {
  std::vector<std::pair<std::string_view, std::optional<tensor::ComputeChoice>>> choices = {
      {tensor::kStoredCompute, std::nullopt}};
  choices.insert(choices.end(), tensor::kComputeChoices.begin(), tensor::kComputeChoices.end());
  return OptionTable<ModelOptions>().group("Machine").choice(
      "compute", &ModelOptions::compute, std::move(choices), "TYPE",
      fmt::format("{}; {}: what the model's folder says", tensor::kComputeHelp, tensor::kStoredCompute));
}

OptionTable<TranslateOptions> ignore_table() {
  return OptionTable<TranslateOptions>().group("Search").flag(
      "ignore_model_defaults", &TranslateOptions::ignore_model_defaults,
      "options that are not given are the program's, whatever the model's folder says (config.json, decoding)");
}

/// Reads a text or a list of texts.
std::vector<std::string> read_texts(core::OptionReader& options, const char* key) {
  const core::Json& value = options.subtree(key);
  if (value.is_null()) return {};
  std::vector<std::string> texts;
  const auto add = [&](const core::Json& text) {
    options.check(text.is_string(), key, "must be a text or a list of texts");
    texts.push_back(text.get<std::string>());
  };
  if (value.is_array())
    for (const core::Json& text : value) add(text);
  else
    add(value);
  return texts;
}

OptionTable<decoding::ShortlistLimits> shortlist_limits_table() {
  using Limits = decoding::ShortlistLimits;
  return OptionTable<Limits>()
      .group("Search")
      .number("shortlist_first", &Limits::first, {}, "N", "the most frequent tokens, which are always on a shortlist")
      .number("shortlist_best", &Limits::best, {}, "N", "translations of each source token that a shortlist gives");
}

OptionTable<ShortlistSettings> shortlist_table() {
  return OptionTable<ShortlistSettings>()
      .group("Search")
      .text("shortlist", &ShortlistSettings::path, "FILE",
            "choose each sentence's tokens from its lexical shortlist: of the command `shortlist`, Marian or Bergamot; "
            "none: not from the model's own either")
      .include(&ShortlistSettings::limits, shortlist_limits_table());
}

const OptionTable<LanguagePair>& make_language_table() {
  static const auto table =
      OptionTable<LanguagePair>()
          .group("Languages")
          .text("source_language", &LanguagePair::source, "CODE",
                "of the source, by a code of the model's table (`inspect` shows it); a line may have its own")
          .text("target_language", &LanguagePair::target, "CODE", "of the translation");
  return table;
}

OptionTable<TranslateOptions> search_options_table() {
  using Options = TranslateOptions;
  return OptionTable<Options>()
      .include(&Options::search, decoding::search_table())
      .group("Search")
      .text("unknown_dictionary", &Options::unknown_dictionary, "FILE",
            "with replace_unknown: what stands for a source word, lines of WORD, a tab and its translation")
      .include(&Options::shortlist, shortlist_table());
}

OptionTable<TranslateOptions> text_options_table() {
  using Options = TranslateOptions;
  return OptionTable<Options>()
      .include(&Options::languages, make_language_table())
      .group("Constraints")
      .text("target_prefix", &Options::target_prefix, "TEXT",
            "what every translation begins with; a line may have its own (jsonl: target_prefix)")
      .custom({{.name = "suppress",
                .placeholder = "TEXT",
                .help = "never use the word, or the words, TEXT as it is tokenised (YAML: a list)",
                .parse = [](const std::string& word) { return core::Json::array({word}); },
                .repeated = true}},
              [](core::OptionReader& reader, Options& options) { options.suppress = read_texts(reader, "suppress"); })
      .custom(
          {{.name = "constraints",
            .placeholder = "TEXT",
            .help = "every translation holds the word, or the words, TEXT (YAML: a list); beam search",
            .parse = [](const std::string& word) { return core::Json::array({word}); },
            .repeated = true}},
          [](core::OptionReader& reader, Options& options) { options.constraints = read_texts(reader, "constraints"); })
      .flag(
          "ignore_line_options", &Options::ignore_line_options,
          "leave the keys source_language, target_language, target_prefix, suppress, constraints and decoding of JSON "
          "lines alone")
      .group("Files")
      .flag("input_pieces", &Options::input_pieces,
            "texts are pieces of the model's source tokenizer with spaces between them, as `encode` writes them")
      .flag("output_pieces", &Options::output_pieces,
            "translations are pieces of the target tokenizer with spaces between them, as `decode` reads them")
      .group("Results")
      .flag("details", &Options::details, "scores, tokens and alternatives beside the text")
      .include(&Options::attention, attention_table());
}

OptionTable<ModelOptions> machine_table() {
  using Options = ModelOptions;
  return OptionTable<Options>()
      .group("Machine")
      .number("threads", &Options::threads, {.most = core::kMaxThreads}, "N",
              fmt::format("workers, at most {}; 0: as many as the process may use", core::kMaxThreads))
      .choice("latency", &Options::latency, {{"auto", true}, {"off", false}}, "MODE",
              "auto: workers that have no sentence share the steps of those that have; off: a sentence is one core's")
      .include(&Options::limits, limits_table())
      .flag("allow_non_finite", &Options::allow_non_finite,
            "use a model although it holds weights that are NaN or infinite");
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
          .custom({{.name = "path",
                    .placeholder = "FILE",
                    .help = "text, one record a line (gz and zst too); of several (YAML: a list) one behind the other; "
                            "-, or none, is standard input",
                    .parse = [](const std::string& word) { return core::Json::array({word}); },
                    .repeated = true}},
                  [](core::OptionReader& reader, ReadSettings& settings) {
                    settings.paths = read_texts(reader, "path");
                    reader.check(!reader.has("path") || !settings.paths.empty(), "path", "is an empty list");
                  })
          .custom({{.name = "shard",
                    .placeholder = "I/N",
                    .help = "only the Ith of N parts of consecutive lines, as in 2/8: the outputs of all, joined in "
                            "order, are that of the whole; files only",
                    .parse =
                        [](const std::string& word) {
                          parse_shard(word);
                          return core::Json(word);
                        }}},
                  read_shard)
          .choice("format", &ReadSettings::format, formats(), "FORMAT",
                  "text, jsonl (an object a line) or tsv (columns)",
                  {{"pieces", "pieces are read with `input_pieces` of translate"}})
          .text("key", &ReadSettings::key, "KEY", "of jsonl: what holds the text")
          .number("column", &ReadSettings::column, kColumns, "N", "of tsv: what holds the text")
          .text("target_prefix_file", &ReadSettings::target_prefix_file, "FILE",
                "what translations begin with, a line for each of the input")
          .number("target_prefix_column", &ReadSettings::target_prefix_column, {.most = kMaxColumns}, "N",
                  "of tsv: what holds the beginning of the translation; 0: none")
          .number("source_language_column", &ReadSettings::source_language_column, {.most = kMaxColumns}, "N",
                  "of tsv: what holds the language of the source; 0: none")
          .number("target_language_column", &ReadSettings::target_language_column, {.most = kMaxColumns}, "N",
                  "of tsv: what holds the language of the translation; 0: none");
  return table;
}

const OptionTable<WriteSettings>& write_table() {
  static const auto table =
      OptionTable<WriteSettings>()
          .text("path", &WriteSettings::path, "FILE",
                "what is written (.gz and .zst: compressed); - is standard output")
          .choice("format", &WriteSettings::format, formats(), "FORMAT", "text, jsonl (all that is known) or tsv",
                  {{"pieces", "pieces are written with `output_pieces` of translate"}})
          .number("column", &WriteSettings::column, kColumns, "N", "of tsv: what the text replaces")
          .flag("resume", &WriteSettings::resume,
                "continue an interrupted run of the same input, model and options: keep the complete lines of "
                "OUTPUT.partial")
          .flag("overwrite", &WriteSettings::overwrite, "begin anew, though an interrupted run left OUTPUT.partial")
          .flag("stream", &WriteSettings::stream,
                "to standard output, as text: show each line while it is translated, word by word as it is decided");
  return table;
}

const OptionTable<SplitSettings>& split_table() {
  static const auto table = OptionTable<SplitSettings>().text("locale", &SplitSettings::locale, "LOCALE",
                                                              "the language of the text (de, en, ...)");
  return table;
}

const OptionTable<NormalizeSettings>& normalize_table() {
  static const auto table = OptionTable<NormalizeSettings>()
                                .choice("form", &NormalizeSettings::form,
                                        {{"none", "none"}, {"nfc", "nfc"}, {"nfkc", "nfkc"}}, "FORM", "of Unicode")
                                .flag("lowercase", &NormalizeSettings::lowercase, "lower-case the text");
  return table;
}

const OptionTable<EncodeSettings>& encode_table() {
  static const auto table =
      OptionTable<EncodeSettings>()
          .text("tokenizer", &EncodeSettings::tokenizer, "FILE", "of any kind that is read")
          .choice("format", &EncodeSettings::ids, {{"pieces", false}, {"ids", true}}, "FORMAT", "what is written")
          .include(&EncodeSettings::spec, tokenizer::tokenizer_spec_table());
  return table;
}

const OptionTable<DecodeSettings>& decode_table() {
  static const auto table =
      OptionTable<DecodeSettings>()
          .text("tokenizer", &DecodeSettings::tokenizer, "FILE", "of any kind that is read")
          .choice("format", &DecodeSettings::ids, {{"pieces", false}, {"ids", true}}, "FORMAT", "what is read")
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
          .text("suppress_file", &Settings::suppress_file, "FILE", "texts as those of suppress, one a line")
          .text("glossary", &Settings::glossary, "FILE",
                "columns of source terms and what they must become (and exact or any, for case); beam search")
          .group("Search")
          .include(&Settings::options, ignore_table())
          .custom({{.name = "decoder_options",
                    .placeholder = "KEY=VALUE",
                    .help = "options that a plugin's decoder has of its own (YAML: an object)",
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
                "cpu, reference (slow, double precision), a plugin's, or auto: the best that is here; `doctor` lists "
                "them")
          .flag("batch_invariant", &Settings::batch_invariant,
                "compute each sentence so that its bits depend on no other, at a cost; the CPU always does")
          .text("memory", &Settings::memory, "SIZE",
                "take at most so much of a GPU's memory, as 4GB (default: what there is)")
          .include(&Settings::machine, compute_table());
  return table;
}

const OptionTable<LanguagePair>& language_table() {
  return make_language_table();
}

const std::vector<BuiltInStage>& built_in_stages() {
  static const std::vector<BuiltInStage> stages = {
      {.name = "read",
       .summary = "where the records come from",
       .options = &read_table().options(),
       .input_file_options = {"target_prefix_file"},
       .non_semantic_options = {"path"}},
      {.name = "normalize", .summary = "Unicode normalisation", .options = &normalize_table().options()},
      {.name = "split",
       .summary = "mark sentences, which translate then takes one by one",
       .options = &split_table().options()},
      {.name = "translate",
       .summary = "translate each record, or each of its sentences",
       .options = &translate_table().options(),
       .input_file_options = {"model", "ensemble", "suppress_file", "glossary", "shortlist", "unknown_dictionary"},
       .non_semantic_options = {"threads", "latency", "batch_tokens", "rows", "attention_svg", "attention_npy"}},
      {.name = "encode",
       .summary = "text becomes its pieces or ids",
       .options = &encode_table().options(),
       .input_file_options = {"tokenizer"}},
      {.name = "decode",
       .summary = "pieces or ids become text",
       .options = &decode_table().options(),
       .input_file_options = {"tokenizer"}},
      {.name = "write",
       .summary = "where the records go",
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
