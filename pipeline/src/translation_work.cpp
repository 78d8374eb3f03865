#include "translation_work.h"

#include "dragoman/pipeline/line_policy.h"
#include "result_fields.h"
#include "token_segments.h"
#include "unknown_replacement.h"

#include <utility>

#include <fmt/format.h>

#include <dragoman/core/json.h>
#include <dragoman/core/utf8.h>

namespace dragoman::pipeline {
namespace {

using core::Json;
using decoding::Hypothesis;
using decoding::StoppedBy;

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

void add_sentence(const TranslationModel& model, TranslationWork& work, std::string_view sentence, std::string before) {
  const auto limit = static_cast<std::size_t>(model.model->spec().maximum_source_length - 1);
  auto segments = token_segments(*model.source_tokenizer, sentence, limit);
  work.split_for_length = work.split_for_length || segments.size() > 1;
  for (std::vector<std::int32_t>& segment : segments) {
    segment.push_back(model.model->spec().end);
    work.parts.push_back({std::exchange(before, std::string(1, ' ')), std::move(segment)});
  }
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

Json details_of(const TranslationModel& model, const RecordOptions& options, const TranslationPart& part) {
  Json details = details_of(model, options, part, part.hypotheses.front());
  if (part.attention) details["attention"] = to_json(*part.attention);
  if (part.hypotheses.size() == 1) return details;
  Json& alternatives = details["n_best"] = Json::array();
  for (const Hypothesis& hypothesis : part.hypotheses)
    alternatives.push_back(details_of(model, options, part, hypothesis));
  return details;
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
  if (options.attention.svg.empty() && options.attention.npy.empty()) return;
  std::size_t number = 0;
  for (const TranslationPart& part : work.parts) {
    ++number;
    if (!part.attention) continue;
    const std::string line = std::to_string(work.record.line);
    write_attention(*part.attention, options.attention,
                    work.parts.size() == 1 ? line : fmt::format("{}-{}", line, number));
  }
}

}  // namespace

TranslationWork prepare_translation(const TranslationModel& model, Record record) {
  TranslationWork work;
  work.record = std::move(record);
  const std::string_view text = work.record.text;
  if (!work.record.failed() && !is_blank(text)) {
    if (work.record.sentences.empty()) {
      add_sentence(model, work, text, "");
    } else {
      std::size_t done = 0;
      for (const TextRange& range : work.record.sentences) {
        add_sentence(model, work, text.substr(range.begin, range.end - range.begin),
                     std::string(text.substr(done, range.begin - done)));
        done = range.end;
      }
      work.after = text.substr(done);
    }
  }
  return work;
}

void finish_part(const TranslationModel& model, const RecordOptions& options, engine::TranslationResult result,
                 TranslationPart& part) {
  std::vector<Hypothesis>& hypotheses = result.hypotheses;
  const Hypothesis& best = hypotheses.front();
  if (options.attention.kind && !result.inner.attention.values.empty())
    part.attention =
        label_attention(model, options.attention, std::move(result.inner.attention), part.source, best.tokens);
  part.stopped_by = best.stopped_by;
  part.translation = decode_hypothesis(model, options, part, best);
  if (options.details)
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
    if (!options.details) part.translation = {};
  }
  write_attention(options, work);
  work.record.text += work.after;
  work.record.sentences.clear();
  if (options.details) add_details(model, options, work, source);
  return cut;
}

}  // namespace dragoman::pipeline
