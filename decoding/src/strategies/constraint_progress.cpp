#include "constraint_progress.h"

#include <algorithm>

namespace dragoman::decoding {

WordBoundaries::~WordBoundaries() = default;

ConstraintProgress::ConstraintProgress(const Sentence& sentence, std::span<const std::int32_t> tokens)
    : sentence_(&sentence),
      tokens_(tokens),
      closed_(sentence.constraints.size(), false),
      ending_(sentence.constraints.size(), nullptr) {
  for (const Constraint& constraint : sentence.constraints) {
    const auto shortest = std::ranges::min_element(constraint.forms, {}, [](const Form& f) { return f.tokens.size(); });
    shortest_.push_back(static_cast<std::int32_t>(shortest->tokens.size()));
    total_ += shortest_.back();
  }
  for (std::size_t end = 1; end <= tokens.size(); ++end)
    for (std::size_t c = 0; c < closed_.size(); ++c) {
      if (closed_[c]) continue;
      const Form* form = ending_form({tokens.first(end)}, sentence.constraints[c]);
      if (end == tokens.size())
        ending_[c] = form;
      else
        closed_[c] = form != nullptr && !joined(form->tokens, tokens.subspan(end, 1));
    }
  remaining_ = count_remaining({tokens}, [this](std::size_t c) { return !met(c); });
}

std::int32_t ConstraintProgress::remaining_after(std::int32_t token) const {
  const Text text{tokens_, token};
  return count_remaining(text, [&](std::size_t c) {
    if (closed_[c]) return false;
    if (ending_[c] != nullptr && !joined(ending_[c]->tokens, std::span(&token, 1))) return false;
    return ending_form(text, sentence_->constraints[c]) == nullptr;
  });
}

/// At most one constraint is partly met; the others are still needed as a whole.
template <class IsOpen>
std::int32_t ConstraintProgress::count_remaining(const Text& text, const IsOpen& open) const {
  std::int32_t sum = 0;
  std::int32_t saved = 0;
  for (std::size_t c = 0; c < shortest_.size(); ++c) {
    if (!open(c)) continue;
    sum += shortest_[c];
    for (const Form& form : sentence_->constraints[c].forms)
      saved = std::max(saved, shortest_[c] - static_cast<std::int32_t>(form.tokens.size() - begun(text, form)));
  }
  return sum - saved;
}

void ConstraintProgress::append_next(std::vector<std::int32_t>& tokens) const {
  for (std::size_t c = 0; c < closed_.size(); ++c) {
    if (met(c)) continue;
    for (const Form& form : sentence_->constraints[c].forms) {
      const std::size_t count = begun({tokens_}, form);
      if (count > 0) tokens.push_back(form.tokens[count]);
      if (!form.first_only || tokens_.empty()) tokens.push_back(form.tokens.front());
    }
  }
}

bool ConstraintProgress::joined(std::span<const std::int32_t> before, std::span<const std::int32_t> after) const {
  return sentence_->boundaries != nullptr && sentence_->boundaries->joined(before, after);
}

/// Whether the text ends with the first `count` tokens of the form, at a valid position.
bool ConstraintProgress::ends_with(const Text& text, const Form& form, std::size_t count) const {
  if (text.size() < count) return false;
  const std::size_t begin = text.size() - count;
  if (form.first_only && begin > 0) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (text[begin + i] != form.tokens[i]) return false;
  if (begin == 0) return true;
  const std::int32_t before = text[begin - 1];
  return !joined(std::span(&before, 1), form.tokens);
}

/// Returns the largest proper prefix of the form that the text ends with.
std::size_t ConstraintProgress::begun(const Text& text, const Form& form) const {
  std::size_t count = form.tokens.size() - 1;
  while (count > 0 && !ends_with(text, form, count)) --count;
  return count;
}

const Constraint::Form* ConstraintProgress::ending_form(const Text& text, const Constraint& constraint) const {
  const auto found = std::ranges::find_if(constraint.forms,
                                          [&](const Form& form) { return ends_with(text, form, form.tokens.size()); });
  return found == constraint.forms.end() ? nullptr : &*found;
}

}  // namespace dragoman::decoding
