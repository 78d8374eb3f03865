#include "configuration/text_config.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/numbers.h>

namespace dragoman::training {
namespace {

using core::ErrorCode;
using core::Json;
using core::OptionReader;
using corpus::PairFile;
using corpus::PairFormat;

constexpr core::NumberRange<double> kTextWeight{.least = 0, .most = 1000, .least_included = false};
constexpr core::NumberRange<double> kPhaseWeight{.least = 0, .most = 1000};
constexpr core::NumberRange<double> kTemperature{.least = 0, .most = 1000, .least_included = false};
constexpr core::NumberRange<std::int64_t> kPhaseEnd{.least = 1, .most = std::int64_t{1} << 40};

/// Reads one path or a list of paths.
std::vector<std::string> read_paths(OptionReader& options, std::string_view key) {
  const Json& value = options.subtree(key);
  std::vector<std::string> paths;
  if (value.is_string()) paths.push_back(value.get<std::string>());
  if (value.is_array()) {
    for (const Json& item : value) {
      options.check(item.is_string(), key, "must hold the names of files");
      paths.push_back(item.get<std::string>());
    }
  }
  options.check(!paths.empty(), key, "must be the name of a file, or a list of names");
  return paths;
}

Json paths_to_json(const std::vector<std::string>& names) {
  return names.size() == 1 ? Json(names.front()) : Json(names);
}

/// Reads a list of numbers, one per item of `count`.
std::vector<double> read_weights(OptionReader& options, std::size_t count, const core::NumberRange<double>& range,
                                 std::string_view what) {
  std::vector<double> weights;
  if (!options.has("weights")) return weights;
  const Json& list = options.subtree("weights");
  options.check(list.is_array() && list.size() == count, "weights",
                fmt::format("must be a list of {} numbers, one for each {}", count, what));
  for (const Json& item : list) {
    const bool fits = item.is_number() && range.contains(item.get<double>());
    options.check(fits, "weights", fmt::format("holds {}; each {}", core::one_line(item), range.demand()));
    weights.push_back(item.get<double>());
  }
  return weights;
}

/// Reads the files of both sides and, for training, of their alignments.
ParallelCorpusConfig read_parallel_files(OptionReader& options, bool training) {
  ParallelCorpusConfig pair{.source = read_paths(options, "source"), .target = read_paths(options, "target")};
  if (training && options.has("alignment")) pair.alignment = read_paths(options, "alignment");
  options.check(pair.source.size() == pair.target.size(), "source",
                fmt::format("names {} files, but target names {}; they are read in pairs", pair.source.size(),
                            pair.target.size()));
  options.check(pair.alignment.empty() || pair.alignment.size() == pair.source.size(), "alignment",
                fmt::format("names {} files for {} pairs of them", pair.alignment.size(), pair.source.size()));
  return pair;
}

ParallelCorpusConfig read_two_files(OptionReader& options, bool training) {
  ParallelCorpusConfig pair = read_parallel_files(options, training);
  if (training) pair.weights = read_weights(options, pair.source.size(), kTextWeight, "pair of files");
  options.finish();
  return pair;
}

void read_columns(OptionReader& options, PairFile& file, bool training) {
  constexpr core::NumberRange<std::uint64_t> kColumn{.least = 1, .most = corpus::kMaxColumns};
  for (const auto& [key, column] :
       {std::pair("source_column", &file.source_column), std::pair("target_column", &file.target_column)}) {
    *column = options.get(key, *column);
    options.check(kColumn.contains(*column), key, kColumn.demand());
  }
  if (!training || !options.has("alignment_column")) return;
  file.alignment_column = options.require_key<std::uint64_t>("alignment_column");
  options.check(kColumn.contains(file.alignment_column), "alignment_column", kColumn.demand());
}

std::vector<PairFile> read_files(OptionReader& options, bool training) {
  const int forms = (options.has("source") || options.has("target") ? 1 : 0) + (options.has("tsv") ? 1 : 0) +
                    (options.has("jsonl") ? 1 : 0);
  options.check(forms == 1, "source", "and target, or tsv, or jsonl: a text needs one of the three");
  std::vector<PairFile> files;
  if (options.has("source") || options.has("target")) {
    const ParallelCorpusConfig pair = read_parallel_files(options, training);
    for (std::size_t i = 0; i < pair.source.size(); ++i)
      files.push_back({.format = PairFormat::kText,
                       .source = pair.source[i],
                       .target = pair.target[i],
                       .alignment = pair.alignment.empty() ? "" : pair.alignment[i]});
    return files;
  }
  const bool tsv = options.has("tsv");
  PairFile form{.format = tsv ? PairFormat::kTsv : PairFormat::kJsonl, .source = {}};
  if (tsv) {
    read_columns(options, form, training);
  } else {
    form.source_key = options.get("source_key", form.source_key);
    form.target_key = options.get("target_key", form.target_key);
    if (training) form.alignment_key = options.get("alignment_key", form.alignment_key);
  }
  for (const std::string& path : read_paths(options, tsv ? "tsv" : "jsonl")) {
    form.source = path;
    files.push_back(form);
  }
  return files;
}

CorpusPart read_text(OptionReader options, bool training) {
  CorpusPart text{.files = read_files(options, training)};
  if (training) {
    text.weight = options.get("weight", text.weight);
    options.check(kTextWeight.contains(text.weight), "weight", kTextWeight.demand());
  }
  text.tag = options.get("tag", text.tag);
  options.check(text.tag.find_first_of("\r\n\t") == std::string::npos, "tag", "must be one line without tabs");
  text.source_language = options.get("source_language", text.source_language);
  text.target_language = options.get("target_language", text.target_language);
  options.finish();
  for (const PairFile& file : text.files) {
    try {
      corpus::check(file);
    } catch (const core::Error& error) {
      core::fail(ErrorCode::kBadInput, "{}: {}", options.where(), error.what());
    }
  }
  return text;
}

Json text_to_json(const CorpusPart& text) {
  Json json = Json::object();
  const PairFile& form = text.files.front();
  std::vector<std::string> sources, targets, alignments;
  for (const PairFile& file : text.files) {
    sources.push_back(file.source);
    targets.push_back(file.target);
    alignments.push_back(file.alignment);
  }
  switch (form.format) {
    case PairFormat::kText:
      json = {{"source", paths_to_json(sources)}, {"target", paths_to_json(targets)}};
      if (form.aligned()) json["alignment"] = paths_to_json(alignments);
      break;
    case PairFormat::kTsv:
      json = {{"tsv", paths_to_json(sources)},
              {"source_column", form.source_column},
              {"target_column", form.target_column}};
      if (form.aligned()) json["alignment_column"] = form.alignment_column;
      break;
    case PairFormat::kJsonl:
      json = {{"jsonl", paths_to_json(sources)}, {"source_key", form.source_key}, {"target_key", form.target_key}};
      if (form.aligned()) json["alignment_key"] = form.alignment_key;
      break;
  }
  if (text.weight != 1) json["weight"] = text.weight;
  if (!text.tag.empty()) json["tag"] = text.tag;
  if (!text.source_language.empty()) json["source_language"] = text.source_language;
  if (!text.target_language.empty()) json["target_language"] = text.target_language;
  return json;
}

/// Returns whether the tree contains only the files of both sides, and weights.
bool is_plain(const Json& tree) {
  for (const char* key : {"tsv", "jsonl", "weight", "tag", "source_language", "target_language"})
    if (tree.contains(key)) return false;
  return true;
}

/// Returns how many times standard input is named.
std::size_t pipes_of(const ParallelCorpusConfig& pair) {
  std::size_t pipes = 0;
  for (const CorpusPart& text : parts_of(pair))
    for (const PairFile& file : text.files)
      for (const std::string* path : {&file.source, &file.target, &file.alignment}) pipes += *path == "-" ? 1U : 0U;
  return pipes;
}

}  // namespace

std::vector<CorpusPart> parts_of(const ParallelCorpusConfig& pair) {
  core::require(pair.source.size() == pair.target.size(), ErrorCode::kInvalidArgument,
                "{} source files, but {} target files", pair.source.size(), pair.target.size());
  core::require(pair.weights.empty() || pair.weights.size() == pair.source.size(), ErrorCode::kInvalidArgument,
                "{} source files, but {} weights", pair.source.size(), pair.weights.size());
  core::require(pair.alignment.empty() || pair.alignment.size() == pair.source.size(), ErrorCode::kInvalidArgument,
                "{} source files, but {} files of alignments", pair.source.size(), pair.alignment.size());
  std::vector<CorpusPart> texts = pair.texts;
  for (std::size_t i = 0; i < pair.source.size(); ++i)
    texts.push_back({.files = {{.source = pair.source[i],
                                .target = pair.target[i],
                                .alignment = pair.alignment.empty() ? "" : pair.alignment[i]}},
                     .weight = pair.weights.empty() ? 1 : pair.weights[i]});
  return texts;
}

bool has_alignments(const ParallelCorpusConfig& pair) {
  return std::ranges::any_of(
      parts_of(pair), [](const CorpusPart& text) { return std::ranges::any_of(text.files, &PairFile::aligned); });
}

ParallelCorpusConfig read_texts(OptionReader& parent, std::string_view key, bool training) {
  const Json& tree = parent.subtree(key);
  ParallelCorpusConfig pair;
  if (tree.is_array()) {
    parent.check(!tree.empty(), key, "must name texts");
    for (std::size_t i = 0; i < tree.size(); ++i)
      pair.texts.push_back(
          read_text(OptionReader(tree[i], fmt::format("{}: {}[{}]", parent.where(), key, i)), training));
    return pair;
  }
  OptionReader options = parent.child(key);
  if (tree.is_object() && !is_plain(tree)) {
    pair.texts.push_back(read_text(std::move(options), training));
    return pair;
  }
  return read_two_files(options, training);
}

Json to_json(const ParallelCorpusConfig& pair) {
  if (!pair.texts.empty()) {
    Json list = Json::array();
    for (const CorpusPart& text : parts_of(pair)) list.push_back(text_to_json(text));
    return list;
  }
  Json json = {{"source", paths_to_json(pair.source)}, {"target", paths_to_json(pair.target)}};
  if (!pair.alignment.empty()) json["alignment"] = paths_to_json(pair.alignment);
  if (!pair.weights.empty()) json["weights"] = pair.weights;
  return json;
}

Json use_of_texts(const ParallelCorpusConfig& pair) {
  Json list = Json::array();
  bool says_anything = false;
  for (const CorpusPart& text : pair.texts) {
    Json use{{"weight", text.weight},
             {"tag", text.tag},
             {"source_language", text.source_language},
             {"target_language", text.target_language}};
    says_anything = says_anything || text.weight != 1 || !text.tag.empty() || !text.source_language.empty() ||
                    !text.target_language.empty();
    list.push_back(std::move(use));
  }
  return says_anything ? list : Json();
}

std::vector<PhaseConfig> read_phases(OptionReader& data, std::size_t texts) {
  std::vector<PhaseConfig> phases;
  if (!data.has("phases")) return phases;
  const Json& list = data.subtree("phases");
  data.check(list.is_array(), "phases", "must be a list of {until_epoch: N, weights: [X, ...]}");
  for (std::size_t i = 0; i < list.size(); ++i) {
    OptionReader options(list[i], fmt::format("{}: phases[{}]", data.where(), i));
    PhaseConfig phase;
    for (const auto& [key, end] :
         {std::pair("until_epoch", &phase.until_epoch), std::pair("until_update", &phase.until_update)}) {
      if (!options.has(key)) continue;
      *end = options.require_key<std::int64_t>(key);
      options.check(kPhaseEnd.contains(*end), key, kPhaseEnd.demand());
    }
    options.check(phase.until_epoch == 0 || phase.until_update == 0, "until_epoch",
                  "and until_update: a phase has one end");
    const bool last = i + 1 == list.size();
    options.check(last == (phase.until_epoch + phase.until_update == 0), "until_epoch",
                  last ? "is of no use in the last phase, which lasts until training ends"
                       : "or until_update is missing: only the last phase has no end");
    phase.weights = read_weights(options, texts, kPhaseWeight, "text of data.train");
    options.check(phase.weights.empty() || std::ranges::any_of(phase.weights, [](double w) { return w > 0; }),
                  "weights", "are all 0; a phase needs a text");
    if (options.has("temperature")) {
      phase.temperature = options.require_key<double>("temperature");
      options.check(kTemperature.contains(phase.temperature), "temperature", kTemperature.demand());
      options.check(phase.weights.empty(), "temperature", "goes in place of weights");
    }
    options.finish();
    phases.push_back(std::move(phase));
  }
  return phases;
}

Json to_json(const std::vector<PhaseConfig>& phases) {
  Json list = Json::array();
  for (const PhaseConfig& phase : phases) {
    Json json = Json::object();
    if (phase.until_epoch > 0) json["until_epoch"] = phase.until_epoch;
    if (phase.until_update > 0) json["until_update"] = phase.until_update;
    if (!phase.weights.empty()) json["weights"] = phase.weights;
    if (phase.temperature > 0) json["temperature"] = phase.temperature;
    list.push_back(std::move(json));
  }
  return list;
}

SubwordSampling read_subword_sampling(OptionReader& data) {
  SubwordSampling sampling;
  if (!data.has("subword_regularization")) return sampling;
  OptionReader options = data.child("subword_regularization");
  sampling.on = true;
  sampling.alpha = options.get("alpha", sampling.alpha);
  constexpr core::NumberRange<double> kAlpha{.least = 0, .most = 1000};
  options.check(kAlpha.contains(sampling.alpha), "alpha", kAlpha.demand());
  sampling.n_best = static_cast<std::int32_t>(options.get<std::int64_t>("n_best", sampling.n_best));
  constexpr core::NumberRange<std::int64_t> kBest{.least = 0, .most = 1024};
  options.check(kBest.contains(options.get<std::int64_t>("n_best", 0)), "n_best", kBest.demand());
  options.finish();
  return sampling;
}

Json to_json(const SubwordSampling& sampling) {
  return {{"alpha", sampling.alpha}, {"n_best", sampling.n_best}};
}

void check_texts(const DataConfig& data, const std::string& where) {
  const std::vector<CorpusPart> texts = parts_of(data.train);
  const bool weighted = std::ranges::any_of(texts, [](const CorpusPart& text) { return text.weight != 1; });
  core::require(data.temperature == 1 || !weighted, ErrorCode::kBadInput,
                "{}: data.temperature and weights of data.train both say how texts are mixed; leave one out", where);
  core::require(data.bpe_dropout == 0 || !data.subword_sampling.on, ErrorCode::kBadInput,
                "{}: data.bpe_dropout is for tokenizers with merges, data.subword_regularization for unigram ones; "
                "leave one out",
                where);
  core::require(pipes_of(data.train) + pipes_of(data.validation) <= 1, ErrorCode::kBadInput,
                "{}: standard input can be read once only, but data names it more often", where);
  core::require(data.cache.empty() || data.memory > 0, ErrorCode::kBadInput,
                "{}: data.cache is where pairs above data.memory stand; set that, too", where);
  core::require(data.cache.empty() || pipes_of(data.train) == 0, ErrorCode::kBadInput,
                "{}: data.cache cannot tell one standard input from another; name a file in data.train, or leave "
                "data.cache out",
                where);
  std::int64_t epoch = 0;
  std::int64_t update = 0;
  for (const PhaseConfig& phase : data.phases) {
    const bool rises = (phase.until_epoch == 0 || phase.until_epoch > epoch) &&
                       (phase.until_update == 0 || phase.until_update > update);
    core::require(rises, ErrorCode::kBadInput, "{}: data.phases: a phase ends before the one in front of it", where);
    epoch = std::max(epoch, phase.until_epoch);
    update = std::max(update, phase.until_update);
  }
}

std::size_t phase_of(const std::vector<PhaseConfig>& phases, std::int64_t epoch, std::int64_t update) {
  std::size_t i = 0;
  while (i + 1 < phases.size() &&
         (phases[i].until_epoch > 0 ? epoch >= phases[i].until_epoch : update >= phases[i].until_update))
    ++i;
  return i;
}

}  // namespace dragoman::training
