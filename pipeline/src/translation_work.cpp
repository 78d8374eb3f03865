#include "translation_work.h"

#include "dragoman/pipeline/glossary.h"
#include "dragoman/pipeline/line_policy.h"
#include "result_fields.h"
#include "tagged_source.h"
#include "target_terms.h"
#include "token_segments.h"
#include "unknown_replacement.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::pipeline {
namespace {

using core::Json;
using decoding::Hypothesis;
using decoding::StoppedBy;

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

void add_sentence(const TranslationModel& model, const formats::SequenceTags& tags, TranslationWork& work,
                  std::string_view sentence, std::string before) {
  const nn::SequenceSpec spec = model.spec();
  const std::size_t limit = room_for_source(spec, tags);
  auto segments = token_segments(*model.source_tokenizer, sentence, limit);
  work.split_for_length = work.split_for_length || segments.size() > 1;
  for (std::vector<std::int32_t>& segment : segments) {
    work.parts.push_back({std::exchange(before, std::string(1, ' ')), tagged_source(std::move(segment), spec, tags)});
  }
}

void cut_into_parts(const TranslationModel& model, const formats::SequenceTags& tags, TranslationWork& work) {
  const std::string_view text = work.record.text;
  if (work.record.failed() || is_blank(text)) return;
  if (work.record.sentences.empty()) return add_sentence(model, tags, work, text, "");
  std::size_t done = 0;
  for (const TextRange& range : work.record.sentences) {
    add_sentence(model, tags, work, text.substr(range.begin, range.end - range.begin),
                 std::string(text.substr(done, range.begin - done)));
    done = range.end;
  }
  work.after = text.substr(done);
}

/// Constraints of one part: those of equal targets are one.
class PartConstraints {
 public:
  PartConstraints(const TranslationModel& model, TranslationPart& part) : model_(model), part_(part) {}

  /// Any of the targets.
  void add(const std::vector<std::string>& targets) {
    const std::string name = fmt::format("{}", fmt::join(targets, " | "));
    if (std::ranges::find(part_.terms, name) != part_.terms.end()) return;
    decoding::Constraint constraint;
    for (const std::string& target : targets) {
      TermTokens tokens = term_tokens(model_, target);
      if (tokens.first != tokens.inside) constraint.forms.push_back({std::move(tokens.first), true});
      constraint.forms.push_back({std::move(tokens.inside), false});
    }
    part_.constraints.push_back(std::move(constraint));
    part_.terms.push_back(name);
  }

 private:
  const TranslationModel& model_;
  TranslationPart& part_;
};

void add_constraints(const TranslationModel& model, const RecordOptions& options, const LineDemands& demands,
                     TranslationWork& work) {
  const bool one_part = work.parts.size() == 1;
  for (TranslationPart& part : work.parts) {
    PartConstraints constraints(model, part);
    if (options.constraints)
      for (const std::string& text : *options.constraints) constraints.add({text});
    const bool any_terms = options.glossary != nullptr || !demands.constraints.empty();
    std::string source;
    if (any_terms) source = one_part ? work.record.text : model.source_tokenizer->decode(part.source);
    for (const LineConstraint& constraint : demands.constraints) {
      core::require(one_part || constraint.source, core::ErrorCode::kBadInput,
                    "{}: the line is translated in {} parts; say by {{\"source\": ..., \"target\": ...}} which of them "
                    "must hold {}",
                    kConstraintsField, work.parts.size(), core::quote(constraint.targets.front()));
      if (!constraint.source || !Glossary({{*constraint.source, {}}}).find(source).empty())
        constraints.add(constraint.targets);
    }
    if (options.glossary != nullptr)
      for (const std::size_t entry : options.glossary->find(source))
        constraints.add(options.glossary->entries()[entry].targets);
    core::require(part.constraints.empty() || meets_constraints(*options.search), core::ErrorCode::kBadInput,
                  "only a beam search of at least 2 hypotheses in one group meets constraints such as {}",
                  core::quote(part.terms.empty() ? std::string() : part.terms.front()));
  }
}

void add_demands(const TranslationModel& model, const formats::SequenceTags& tags, const RecordOptions& options,
                 const LineDemands& demands, TranslationWork& work) {
  if (work.parts.empty()) return;
  const auto behind_tags = [&](const std::string& text) {
    std::vector<std::int32_t> prefix = tags.target_prefix;
    const std::vector<std::int32_t> own = prefix_tokens(model, text);
    prefix.insert(prefix.end(), own.begin(), own.end());
    return prefix;
  };
  const std::vector<std::int32_t> usual = behind_tags(demands.target_prefix);
  for (TranslationPart& part : work.parts) part.target_prefix = usual;
  if (demands.first_target_prefix) work.parts.front().target_prefix = behind_tags(*demands.first_target_prefix);
  add_constraints(model, options, demands, work);
}

std::string decode_hypothesis(const TranslationModel& model, const RecordOptions& options, const TranslationPart& part,
                              const Hypothesis& hypothesis) {
  std::string text =
      options.search->options().replace_unknown
          ? decode_replacing_unknown(*model.target_tokenizer, hypothesis, model.model->spec().unknown,
                                     *model.source_tokenizer, part.source, options.unknown_dictionary.get())
          : model.target_tokenizer->decode(hypothesis.tokens);
  core::replace_invalid_utf8(text);
  keep_on_one_line(text);
  return text;
}

Json details_of(const TranslationModel& model, const RecordOptions& options, const TranslationPart& part,
                const Hypothesis& hypothesis) {
  Json pieces = Json::array();
  for (const std::int32_t token : hypothesis.tokens) pieces.push_back(model.target_tokenizer->piece(token));
  Json details{{"translation", decode_hypothesis(model, options, part, hypothesis)},
               {"score", hypothesis.score},
               {"log_probability", hypothesis.log_probability},
               {"tokens", std::move(pieces)},
               {"token_log_probabilities", hypothesis.token_log_probabilities},
               {"stopped_by", hypothesis.stopped_by == decoding::StoppedBy::kEnd ? "end" : "length"}};
  if (!hypothesis.alignment.empty()) details["alignment"] = hypothesis.alignment;
  return details;
}

Json details_of(const TranslationModel& model, const RecordOptions& options, const TranslationPart& part,
                std::size_t number) {
  Json details = details_of(model, options, part, part.hypotheses[number]);
  if (!part.utilities.empty()) details["expected_utility"] = part.utilities[number];
  return details;
}

Json details_of(const TranslationModel& model, const RecordOptions& options, const TranslationPart& part) {
  Json details = details_of(model, options, part, std::size_t{0});
  if (!part.lacking.empty()) details["unmet_constraints"] = part.lacking;
  if (part.attention) details["attention"] = to_json(*part.attention);
  if (part.hypotheses.size() == 1) return details;
  Json& alternatives = details["n_best"] = Json::array();
  for (std::size_t i = 0; i < part.hypotheses.size(); ++i) alternatives.push_back(details_of(model, options, part, i));
  return details;
}

/// Leaves the best of the candidates.
void choose_by_expected_utility(const TranslationModel& model, const RecordOptions& options,
                                std::vector<Hypothesis>& hypotheses, TranslationPart& part) {
  std::vector<std::string> texts;
  std::vector<double> log_probabilities;
  for (const Hypothesis& hypothesis : hypotheses) {
    texts.push_back(decode_hypothesis(model, options, part, hypothesis));
    log_probabilities.push_back(hypothesis.log_probability);
  }
  std::vector<Hypothesis> chosen;
  for (const RankedCandidate& candidate : rank_by_expected_utility(texts, log_probabilities, *options.mbr)) {
    chosen.push_back(std::move(hypotheses[candidate.index]));
    part.utilities.push_back(candidate.expected_utility);
  }
  hypotheses = std::move(chosen);
}

/// One part: its details join the record's fields. Several: they become a list.
void add_details(const TranslationModel& model, const RecordOptions& options, TranslationWork& work,
                 const std::string& source) {
  set_result(work.record, "source", source);
  if (work.parts.size() == 1) {
    const Json details = details_of(model, options, work.parts.front());
    for (const auto& [key, value] : details.items()) set_result(work.record, key, value);
    return;
  }
  Json segments = Json::array();
  for (const TranslationPart& part : work.parts) segments.push_back(details_of(model, options, part));
  set_result(work.record, "segments", std::move(segments));
}

void write_attention(const RecordOptions& options, const TranslationWork& work) {
  if (options.attention->svg.empty() && options.attention->npy.empty()) return;
  std::size_t number = 0;
  for (const TranslationPart& part : work.parts) {
    ++number;
    if (!part.attention) continue;
    const std::string line = std::to_string(work.record.line);
    write_attention(*part.attention, *options.attention,
                    work.parts.size() == 1 ? line : fmt::format("{}-{}", line, number));
  }
}

}  // namespace

TranslationWork prepare_translation(const TranslationModel& model, const RecordOptions& options,
                                    const LineDemands& demands, Record record) {
  TranslationWork work;
  work.record = std::move(record);
  if (work.record.failed()) return work;
  try {
    // Lines for models without a table may say of languages what they like.
    const formats::SequenceTags tags =
        model.tags(model.languages != nullptr ? demands.languages : options.languages.value_or(LanguagePair{}));
    cut_into_parts(model, tags, work);
    add_demands(model, tags, options, demands, work);
  } catch (const core::Error& error) {
    work.record.mark_failed(error.what());
    work.parts.clear();
  }
  return work;
}

void finish_part(const TranslationModel& model, const RecordOptions& options, engine::TranslationResult result,
                 TranslationPart& part) {
  std::vector<Hypothesis>& hypotheses = result.hypotheses;
  if (options.mbr && hypotheses.front().stopped_by != StoppedBy::kNotFinite)
    choose_by_expected_utility(model, options, hypotheses, part);
  const Hypothesis& best = hypotheses.front();
  if (options.attention->kind && !result.inner.attention.values.empty())
    part.attention =
        label_attention(model, *options.attention, std::move(result.inner.attention), part.source, best.tokens);
  part.stopped_by = best.stopped_by;
  for (const std::int32_t constraint : best.unmet)
    part.lacking.push_back(part.terms[static_cast<std::size_t>(constraint)]);
  part.translation = decode_hypothesis(model, options, part, best);
  if (*options.details)
    part.hypotheses = std::move(hypotheses);
  else
    part.source = {};
}

std::size_t finish_translation(const TranslationModel& model, const RecordOptions& options, TranslationWork& work) {
  if (work.record.failed()) return 0;
  std::size_t cut = 0;
  for (const TranslationPart& part : work.parts) {
    if (part.stopped_by == StoppedBy::kNotFinite) {
      work.record.mark_failed("the model's scores are not finite numbers (NaN or infinite)");
      return 0;
    }
    cut += part.stopped_by == StoppedBy::kLength ? 1 : 0;
  }
  const std::string source = std::exchange(work.record.text, {});
  for (TranslationPart& part : work.parts) {
    work.record.text.append(part.before).append(part.translation);
    if (!*options.details) part.translation = {};
  }
  write_attention(options, work);
  work.record.text += work.after;
  work.record.sentences.clear();
  if (*options.details) add_details(model, options, work, source);
  return cut;
}

}  // namespace dragoman::pipeline
