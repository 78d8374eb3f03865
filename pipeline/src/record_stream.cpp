#include "record_stream.h"

#include "dragoman/pipeline/line_policy.h"

#include <dragoman/core/utf8.h>

namespace dragoman::pipeline {
namespace {

/// As the text of a hypothesis is made fit for a line: character by character, so what is decided stays so.
void make_fit(std::string& text) {
  core::replace_invalid_utf8(text);
  keep_on_one_line(text);
}

}  // namespace

RecordStream::RecordStream(const TranslationModel& model, const RecordOptions& options, const TranslationWork& work)
    : model_(model), options_(options), work_(work), parts_(work.parts.size()) {}

void RecordStream::on_partial(std::size_t part, const engine::PartialTranslation& partial) {
  if (!options_.on_partial || options_.mbr) return;
  const std::lock_guard lock(mutex_);
  decode(parts_[part], partial);
  if (part == open_) tell();
}

void RecordStream::on_part(std::size_t part) {
  // Where the model has no scores there is no translation: the record will fail.
  if (work_.parts[part].stopped_by == decoding::StoppedBy::kNotFinite) return;
  const std::lock_guard lock(mutex_);
  const std::string& text = work_.parts[part].translation;
  if (options_.on_sentence)
    options_.on_sentence({.line = work_.record.line, .index = part, .count = work_.parts.size(), .translation = text});
  if (!options_.on_partial) return;
  parts_[part] = {.text = text, .preview = text, .done = true};
  if (part != open_) return;
  for (; open_ < parts_.size() && parts_[open_].done; ++open_)
    joined_.append(work_.parts[open_].before).append(parts_[open_].text);
  tell();
}

void RecordStream::decode(Part& part, const engine::PartialTranslation& partial) const {
  if (part.decoder == nullptr) part.decoder = model_.target_tokenizer->make_decoder();
  const bool replaces_unknown = options_.search->options().replace_unknown;
  std::string more;
  for (; part.tokens < partial.decided && !part.held; ++part.tokens) {
    const std::int32_t token = partial.tokens[part.tokens];
    part.held = replaces_unknown && token == model_.model->spec().unknown;
    if (!part.held) part.decoder->decode(token, more);
  }
  make_fit(more);
  part.text += more;
  part.preview = part.text;
  if (partial.decided == partial.tokens.size()) return;
  part.preview = model_.target_tokenizer->decode(partial.tokens);
  make_fit(part.preview);
}

void RecordStream::tell() {
  std::string text = joined_;
  std::string preview = joined_;
  if (open_ < parts_.size() && !parts_[open_].preview.empty()) {
    preview.append(work_.parts[open_].before).append(parts_[open_].preview);
    if (!parts_[open_].text.empty()) text.append(work_.parts[open_].before).append(parts_[open_].text);
  }
  if (text == told_ && preview == told_preview_) return;
  told_ = std::move(text);
  told_preview_ = std::move(preview);
  options_.on_partial({.line = work_.record.line, .text = told_, .preview = told_preview_});
}

}  // namespace dragoman::pipeline
