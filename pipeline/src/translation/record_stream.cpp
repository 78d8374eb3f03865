#include "record_stream.h"

#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::pipeline {
namespace {

/// Makes text fit for a line as the text of a hypothesis: character by character, so that decided text is final.
void make_fit(std::string& text) {
  core::replace_invalid_utf8(text);
  core::keep_on_one_line(text);
}

}  // namespace

RecordStream::RecordStream(const ModelView& model, const RecordOptions& options, const TranslationWork& work)
    : model_(model), options_(options), work_(work), parts_(work.parts.size()) {}

void RecordStream::on_partial(std::size_t part, const engine::PartialTranslation& partial) {
  if (!options_.on_partial || options_.mbr) return;
  const std::lock_guard lock(mutex_);
  decode(parts_[part], partial);
  if (part == open_) tell(&partial);
}

void RecordStream::on_part(std::size_t part) {
  // Without finite scores there is no translation: the record will fail.
  if (work_.parts[part].stopped_by == decoding::StoppedBy::kNotFinite) return;
  const std::lock_guard lock(mutex_);
  const std::string& text = work_.parts[part].translation;
  if (options_.on_sentence)
    options_.on_sentence({.line = work_.record.line, .index = part, .count = work_.parts.size(), .translation = text});
  if (!options_.on_partial) return;
  parts_[part].text = text;
  parts_[part].done = true;
  if (part == open_) tell(nullptr);
}

void RecordStream::decode(Part& part, const engine::PartialTranslation& partial) const {
  if (model_.target_pieces != nullptr) return decode_pieces(part, partial);
  if (part.decoder == nullptr) part.decoder = model_.target_tokenizer->make_decoder();
  const bool replaces_unknown = options_.plan->options().replace_unknown;
  std::string more;
  for (; part.tokens < partial.decided && !part.held; ++part.tokens) {
    const std::int32_t token = partial.tokens[part.tokens];
    part.held = replaces_unknown && token == model_.model->spec().unknown;
    if (!part.held) part.decoder->decode(token, more);
  }
  make_fit(more);
  part.text += more;
}

void RecordStream::decode_pieces(Part& part, const engine::PartialTranslation& partial) const {
  std::string more = model_.target_pieces->write(partial.tokens.first(partial.decided).subspan(part.tokens));
  part.tokens = partial.decided;
  make_fit(more);
  if (!part.text.empty() && !more.empty()) part.text += ' ';
  part.text += more;
}

void RecordStream::append_known() {
  for (; open_ < parts_.size(); ++open_, told_of_open_ = 0) {
    Part& part = parts_[open_];
    if (told_of_open_ == 0 && (part.done || !part.text.empty())) known_ += work_.parts[open_].before;
    if (part.text.size() > told_of_open_) known_.append(part.text, told_of_open_);
    told_of_open_ = part.text.size();
    if (!part.done) return;
    part = {};
  }
}

std::string RecordStream::tail_of_open(const engine::PartialTranslation& partial) const {
  const Part& part = parts_[open_];
  std::string all = model_.target_pieces != nullptr ? model_.target_pieces->write(partial.tokens)
                                                    : model_.target_tokenizer->decode(partial.tokens);
  make_fit(all);
  if (all.size() <= part.text.size() || !all.starts_with(part.text)) return {};
  return (part.text.empty() ? work_.parts[open_].before : std::string()) + all.substr(part.text.size());
}

void RecordStream::tell(const engine::PartialTranslation* partial) {
  const std::size_t told = known_.size();
  append_known();
  const bool has_tail = partial != nullptr && partial->decided < partial->tokens.size();
  if (known_.size() == told && !has_tail) return;
  options_.on_partial(
      {.line = work_.record.line, .text = known_, .more = std::string_view(known_).substr(told), .tail = [&] {
         return has_tail ? tail_of_open(*partial) : std::string();
       }});
}

}  // namespace dragoman::pipeline
