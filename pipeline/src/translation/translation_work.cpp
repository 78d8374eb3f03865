#include "translation_work.h"

#include "part_markup.h"
#include "pipeline/glossary.h"
#include "record_translator.h"
#include "stream/result_fields.h"
#include "tagged_source.h"
#include "target_terms.h"
#include "token_segments.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::pipeline {
namespace {

using core::Json;
using decoding::Hypothesis;
using decoding::StoppedBy;

/// Returns the text of a segment of `sentence`, and the positions of its tokens. Tags cover no text.
SourceText source_text_of(std::string_view sentence, const TokenSegment& segment, const formats::SequenceTags& tags) {
  const auto& [begin, end] = segment.text;
  SourceText source{.text = std::string(sentence.substr(begin, end - begin)), .tags = tags.source_prefix.size()};
  for (const core::TextRange& place : segment.places) {
    // Byte pieces of one character cover the whole character, even if a segment ends between them.
    const std::size_t first = std::clamp(place.begin, begin, end);
    source.tokens.push_back({first - begin, std::clamp(place.end, first, end) - begin});
  }
  return source;
}

/// Cuts texts into parts.
class PartCutter {
 public:
  PartCutter(const ModelView& model, const formats::SequenceTags& tags, bool keeps_text, TranslationWork& work)
      : model_(model), tags_(tags), keeps_text_(keeps_text), work_(work) {}

  void cut() {
    const std::string_view text = work_.text();
    if (work_.record.failed() || core::is_blank(text)) return;
    const std::vector<TextRange> sentences = work_.document ? segment_sentences(work_) : work_.record.sentences;
    if (sentences.empty()) return add_sentence({0, text.size()}, "");
    std::size_t done = 0;
    for (const TextRange& range : sentences) {
      add_sentence(range, text_between(text.substr(done, range.begin - done)));
      done = range.end;
    }
    work_.after = text_between(text.substr(done));
    if (model_.target_pieces != nullptr) work_.after.clear();
  }

 private:
  /// The text between sentences. Lines of pieces have a space in its place.
  std::string text_between(std::string_view text) const {
    if (model_.target_pieces == nullptr) return std::string(text);
    core::require(core::is_blank(text), core::ErrorCode::kBadInput,
                  "the text between sentences, {}, cannot be part of a line of pieces", core::quote(text));
    return work_.parts.empty() ? "" : " ";
  }

  std::vector<TokenSegment> segments_of(std::string_view sentence, const nn::SequenceSpec& spec) {
    const std::size_t room = room_for_source(spec, tags_);
    if (model_.source_pieces == nullptr) return token_segments(*model_.source_tokenizer, sentence, room, keeps_text_);
    const std::vector<tokenizer::Piece> pieces = read_pieces(sentence, spec);
    if (is_white_space(pieces)) return {};  // as a blank text
    return piece_segments(*model_.source_tokenizer, pieces, sentence.size(), room);
  }

  bool is_white_space(std::span<const tokenizer::Piece> pieces) const {
    const tokenizer::Tokenizer& tokenizer = *model_.source_tokenizer;
    std::vector<std::int32_t> ids;
    for (const tokenizer::Piece& piece : pieces) {
      if (tokenizer.is_special(piece.id) || piece.id == model_.model->spec().unknown) return false;
      ids.push_back(piece.id);
      // Most lines begin with a word.
      if (ids.size() == 8 && !core::is_blank(tokenizer.decode(ids))) return false;
    }
    return core::is_blank(tokenizer.decode(ids));
  }

  std::vector<tokenizer::Piece> read_pieces(std::string_view line, const nn::SequenceSpec& spec) {
    const tokenizer::PieceLines& lines = *model_.source_pieces;
    std::vector<tokenizer::Piece> pieces = lines.read(line);
    // The end is added to every source, so an end that the line already has is removed.
    if (!pieces.empty() && pieces.back().id == spec.end) pieces.pop_back();
    for (tokenizer::Piece& piece : pieces) {
      if (piece.id >= 0) continue;
      piece.id = lines.unknown() >= 0 ? lines.unknown() : spec.unknown;
      work_.has_unknown_pieces = true;
    }
    return pieces;
  }

  void add_sentence(const TextRange& range, std::string before) {
    const std::string_view sentence = std::string_view(work_.text()).substr(range.begin, range.end - range.begin);
    const nn::SequenceSpec spec = model_.spec();
    std::vector<TokenSegment> segments = segments_of(sentence, spec);
    work_.split_for_length = work_.split_for_length || segments.size() > 1;
    for (TokenSegment& segment : segments) {
      TranslationPart part{.before = std::exchange(before, std::string(1, ' ')),
                           .source = tagged_source(std::move(segment.ids), spec, tags_),
                           .text = {range.begin + segment.text.begin, range.begin + segment.text.end}};
      if (work_.document) part.has_tags = has_tags_within(work_, part.text);
      if (keeps_text_) part.source_text = source_text_of(sentence, segment, tags_);
      work_.parts.push_back(std::move(part));
    }
  }

  const ModelView& model_;
  const formats::SequenceTags& tags_;
  bool keeps_text_;
  TranslationWork& work_;
};

/// The constraints of one part. Constraints with equal targets are merged.
class PartConstraints {
 public:
  PartConstraints(const ModelView& model, TranslationPart& part) : model_(model), part_(part) {}

  /// Adds a constraint that any of the targets meets.
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
  const ModelView& model_;
  TranslationPart& part_;
};

void add_constraints(const ModelView& model, const RecordOptions& options, const LineDemands& demands,
                     TranslationWork& work) {
  const bool one_part = work.parts.size() == 1;
  for (TranslationPart& part : work.parts) {
    PartConstraints constraints(model, part);
    if (options.constraints)
      for (const std::string& text : *options.constraints) constraints.add({text});
    const bool any_terms = options.glossary != nullptr || !demands.constraints.empty();
    std::string source;
    if (any_terms)
      source = one_part ? work.text() : work.text().substr(part.text.begin, part.text.end - part.text.begin);
    if (any_terms && model.source_pieces != nullptr) source = model.source_pieces->decode(source);
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
    core::require(part.constraints.empty() || meets_constraints(*options.plan), core::ErrorCode::kBadInput,
                  "only a beam search of at least 2 hypotheses in one group meets constraints such as {}",
                  core::quote(part.terms.empty() ? std::string() : part.terms.front()));
  }
}

void add_demands(const ModelView& model, const formats::SequenceTags& tags, const RecordOptions& options,
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

/// Replaces characters that a line cannot contain.
std::string fit_for_line(std::string text) {
  core::replace_invalid_utf8(text);
  core::keep_on_one_line(text);
  return text;
}

std::string decode_hypothesis(const ModelView& model, const RecordOptions& options, const TranslationPart& part,
                              const Hypothesis& hypothesis) {
  return fit_for_line(options.plan->options().replace_unknown
                          ? decode_replacing_unknown(*model.target_tokenizer, hypothesis, model.model->spec().unknown,
                                                     *model.source_tokenizer, part.source_text,
                                                     options.unknown_dictionary.get())
                          : model.target_tokenizer->decode(hypothesis.tokens));
}

/// Returns the hypothesis as the output contains it: text or pieces.
std::string written_hypothesis(const ModelView& model, const RecordOptions& options, const TranslationPart& part,
                               const Hypothesis& hypothesis) {
  if (model.target_pieces == nullptr) return decode_hypothesis(model, options, part, hypothesis);
  return fit_for_line(model.target_pieces->write(hypothesis.tokens));
}

/// Translation `number` of a part as a value.
Translation translation_of(const ModelView& model, const RecordOptions& options, const TranslationPart& part,
                           std::size_t number) {
  const Hypothesis& hypothesis = part.hypotheses[number];
  Translation translation{.text = written_hypothesis(model, options, part, hypothesis),
                          .score = hypothesis.score,
                          .log_probability = hypothesis.log_probability,
                          .token_scores = hypothesis.token_log_probabilities,
                          .alignment = hypothesis.alignment,
                          .cut = hypothesis.stopped_by != StoppedBy::kEnd};
  for (const std::int32_t token : hypothesis.tokens)
    translation.tokens.emplace_back(model.target_tokenizer->piece(token));
  if (!part.utilities.empty()) translation.expected_utility = part.utilities[number];
  for (const std::int32_t constraint : hypothesis.unmet)
    translation.unmet_constraints.push_back(part.terms[static_cast<std::size_t>(constraint)]);
  return translation;
}

std::vector<Translation> translations_of(const ModelView& model, const RecordOptions& options,
                                         const TranslationPart& part) {
  std::vector<Translation> translations;
  for (std::size_t i = 0; i < part.hypotheses.size(); ++i)
    translations.push_back(translation_of(model, options, part, i));
  return translations;
}

Json details_of(const Translation& translation) {
  Json details{{"translation", translation.text},
               {"score", translation.score},
               {"log_probability", translation.log_probability},
               {"tokens", translation.tokens},
               {"token_log_probabilities", translation.token_scores},
               {"stopped_by", translation.cut ? "length" : "end"}};
  if (!translation.alignment.empty()) details["alignment"] = translation.alignment;
  if (translation.expected_utility) details["expected_utility"] = *translation.expected_utility;
  return details;
}

Json details_of(const ModelView& model, const RecordOptions& options, const TranslationPart& part) {
  const std::vector<Translation> translations = translations_of(model, options, part);
  Json details = details_of(translations.front());
  if (!part.lacking.empty()) details["unmet_constraints"] = part.lacking;
  if (part.attention) details["attention"] = to_json(*part.attention);
  if (translations.size() == 1) return details;
  Json& alternatives = details["n_best"] = Json::array();
  for (const Translation& translation : translations) alternatives.push_back(details_of(translation));
  return details;
}

/// All translations of the whole text; see Translation::parts for a text in several parts.
std::vector<Translation> translations_of(const ModelView& model, const RecordOptions& options,
                                         const TranslationWork& work) {
  if (work.parts.size() == 1 && !work.document) {
    std::vector<Translation> translations = translations_of(model, options, work.parts.front());
    for (Translation& translation : translations)
      translation.text = work.parts.front().before + translation.text + work.after;
    return translations;
  }
  Translation whole{.text = work.record.text};
  for (const TranslationPart& part : work.parts) {
    const Translation& best = whole.parts.emplace_back(translations_of(model, options, part)).front();
    whole.score += best.score;
    whole.log_probability += best.log_probability;
    whole.tokens.insert(whole.tokens.end(), best.tokens.begin(), best.tokens.end());
    whole.token_scores.insert(whole.token_scores.end(), best.token_scores.begin(), best.token_scores.end());
    whole.cut = whole.cut || best.cut;
    whole.unmet_constraints.insert(whole.unmet_constraints.end(), best.unmet_constraints.begin(),
                                   best.unmet_constraints.end());
  }
  return {std::move(whole)};
}

/// Replaces the candidates by the best ones.
void choose_by_expected_utility(const ModelView& model, const RecordOptions& options,
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

/// Adds details to the record's fields. Several parts become a list.
void add_details(const ModelView& model, const RecordOptions& options, TranslationWork& work,
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

TranslationWork prepare_translation(const ModelView& model, const RecordOptions& options, const LineDemands& demands,
                                    Record record) {
  TranslationWork work;
  work.record = std::move(record);
  if (work.record.failed()) return work;
  try {
    require_text_for(options.plan->options(), model.source_pieces != nullptr, model.target_pieces != nullptr);
    require_possible_markup(*options.markup, model.source_pieces != nullptr, model.target_pieces != nullptr,
                            *options.attention);
    // If the model has no table of languages, the languages of a line are ignored.
    const formats::SequenceTags tags =
        model.tags(model.languages != nullptr ? demands.languages : options.languages.value_or(LanguagePair{}));
    if (*options.markup == Markup::kHtml) read_markup(work);
    PartCutter(model, tags, options.plan->options().replace_unknown || work.document, work).cut();
    add_demands(model, tags, options, demands, work);
  } catch (const core::Error& error) {
    work.record.mark_failed(error.what());
    work.parts.clear();
  }
  return work;
}

void finish_part(const ModelView& model, const RecordOptions& options, engine::TranslationResult result,
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
  part.translation = written_hypothesis(model, options, part, best);
  if (part.has_tags) part.links = links_of(model, part, best.tokens, result.inner.attention);
  if (*options.details || options.on_translations) {
    part.hypotheses = std::move(hypotheses);
  } else {
    part.source = {};
    part.source_text = {};
  }
}

std::size_t finish_translation(const ModelView& model, const RecordOptions& options, TranslationWork& work) {
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
  work.record.text = joined(work);
  if (!*options.details)
    for (TranslationPart& part : work.parts) part.translation = {};
  write_attention(options, work);
  work.record.sentences.clear();
  if (options.on_translations) options.on_translations(translations_of(model, options, work));
  if (*options.details) add_details(model, options, work, source);
  return cut;
}

}  // namespace dragoman::pipeline
