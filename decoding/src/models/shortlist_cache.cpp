#include "shortlist_cache.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace dragoman::decoding {
namespace {

std::int64_t whole_panels(std::int64_t columns, std::int64_t panel) {
  return (columns + panel - 1) / panel * panel;
}

std::span<const std::int32_t> list_of(const StepRequest& request, const ops::ShortlistRange& range) {
  return request.shortlist.subspan(static_cast<std::size_t>(range.begin),
                                   static_cast<std::size_t>(range.end - range.begin));
}

/// Returns whether `tokens` is a valid list. Invalid lists are also refused when requests are checked.
bool is_list(std::span<const std::int32_t> tokens, std::int64_t vocabulary) {
  return tokens.front() >= 0 && tokens.back() < vocabulary &&
         std::ranges::adjacent_find(tokens, std::greater_equal()) == tokens.end();
}

}  // namespace

bool ShortlistCache::prepare(tensor::Context& context, const ops::Projection& projection, std::int64_t generation,
                             const StepRequest& request) {
  if (request.shortlist_of_row.size() != request.rows.size() || projection.weight.packed == nullptr) return false;
  if (std::ranges::any_of(request.shortlist_of_row, [&](const ops::ShortlistRange& range) {
        return range.begin < 0 || range.begin >= range.end ||
               static_cast<std::size_t>(range.end) > request.shortlist.size();
      }))
    return false;
  if (generation != projection_generation_) begin(context, projection, generation);
  if (most_columns_ == 0) return false;
  drop_unused();
  shortlist_columns_.resize(request.shortlist.size());
  bool all_held = true;
  for (std::size_t r = 0; r < request.rows.size() && all_held; ++r) {
    const ops::ShortlistRange& range = request.shortlist_of_row[r];
    const std::int32_t slot = request.rows[r].slot;
    if (r > 0 && range == request.shortlist_of_row[r - 1] && slot == request.rows[r - 1].slot) continue;
    all_held = hold(slot, list_of(request, range));
    if (all_held)
      std::ranges::copy(slots_[static_cast<std::size_t>(slot)].shortlist_columns,
                        shortlist_columns_.begin() + range.begin);
  }
  gather(context, projection);
  return all_held;
}

void ShortlistCache::begin(tensor::Context& context, const ops::Projection& projection, std::int64_t generation) {
  projection_generation_ = generation;
  const std::int64_t vocabulary = projection.vocabulary();
  most_columns_ = columns_ = used_columns_ = 0;
  column_of_.assign(static_cast<std::size_t>(vocabulary), -1);
  token_in_.clear();
  sentences_.clear();
  missing_.clear();
  for (Slot& slot : slots_) slot.tokens.clear();
  outputs_.reset();
  outputs_generation_ = tensor::next_generation();
  if (auto* make = context.kernels().find(ops::kMakeShortlistOutputs); make != nullptr)
    outputs_ = make(context, *projection.weight.packed, 1);
  if (outputs_ != nullptr) most_columns_ = vocabulary / 2 / outputs_->panel() * outputs_->panel();
}

void ShortlistCache::admit(std::int32_t slot) {
  slots_.resize(std::max(slots_.size(), static_cast<std::size_t>(slot) + 1));
}

void ShortlistCache::release(std::int32_t slot) {
  if (slot < 0 || static_cast<std::size_t>(slot) >= slots_.size()) return;
  for (const std::int32_t token : std::exchange(slots_[static_cast<std::size_t>(slot)].tokens, {}))
    if (--sentences_[static_cast<std::size_t>(column_of_[static_cast<std::size_t>(token)])] == 0) --used_columns_;
}

/// Returns false if there is no room for the list.
bool ShortlistCache::hold(std::int32_t slot_number, std::span<const std::int32_t> tokens) {
  const auto index = static_cast<std::size_t>(slot_number);
  if (slot_number < 0 || index >= slots_.size()) return false;  // the check of requests rejects it
  Slot& slot = slots_[index];
  if (std::ranges::equal(slot.tokens, tokens)) return true;
  if (!is_list(tokens, static_cast<std::int64_t>(column_of_.size()))) return false;
  release(slot_number);
  if (!make_room(tokens)) return false;
  // Tokens with a column come first, so that no other token takes the place of one of them.
  for (const std::int32_t token : tokens)
    if (const std::int32_t column = column_of_[static_cast<std::size_t>(token)]; column >= 0) use(column);
  slot.shortlist_columns.clear();
  for (const std::int32_t token : tokens) {
    if (column_of_[static_cast<std::size_t>(token)] < 0) place(token);
    slot.shortlist_columns.push_back(
        {column_of_[static_cast<std::size_t>(token)], static_cast<std::int32_t>(slot.shortlist_columns.size())});
  }
  std::ranges::sort(slot.shortlist_columns, {}, &ops::ShortlistColumn::column);
  slot.tokens.assign(tokens.begin(), tokens.end());
  return true;
}

/// Ensures that there are enough unused columns for the tokens; false if that takes too many columns.
bool ShortlistCache::make_room(std::span<const std::int32_t> tokens) {
  std::int64_t wanted = 0;
  for (const std::int32_t token : tokens) {
    const std::int32_t column = column_of_[static_cast<std::size_t>(token)];
    if (column < 0 || sentences_[static_cast<std::size_t>(column)] == 0) ++wanted;
  }
  const std::int64_t columns = std::max(columns_, whole_panels(used_columns_ + wanted, outputs_->panel()));
  if (columns > most_columns_) return false;
  columns_ = columns;
  token_in_.resize(static_cast<std::size_t>(columns), -1);
  sentences_.resize(static_cast<std::size_t>(columns), 0);
  return true;
}

void ShortlistCache::use(std::int32_t column) {
  if (sentences_[static_cast<std::size_t>(column)]++ == 0) ++used_columns_;
}

/// Assigns the token to the next unused column.
void ShortlistCache::place(std::int32_t token) {
  do hand_ = (hand_ + 1) % token_in_.size();
  while (sentences_[hand_] > 0);
  if (token_in_[hand_] >= 0) column_of_[static_cast<std::size_t>(token_in_[hand_])] = -1;
  token_in_[hand_] = token;
  const auto column = static_cast<std::int32_t>(hand_);
  column_of_[static_cast<std::size_t>(token)] = column;
  missing_.push_back({token, column});
  use(column);
}

/// Gathers the used columns again if long sentences have left more unused columns than used ones.
void ShortlistCache::drop_unused() {
  const std::int64_t panel = outputs_->panel();
  if (columns_ <= 2 * whole_panels(used_columns_, panel) + panel) return;
  std::ranges::fill(column_of_, -1);
  token_in_.clear();
  sentences_.clear();
  missing_.clear();
  columns_ = used_columns_ = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::vector<std::int32_t> tokens = std::exchange(slots_[i].tokens, {});
    if (!tokens.empty()) hold(static_cast<std::int32_t>(i), tokens);
  }
}

void ShortlistCache::gather(tensor::Context& context, const ops::Projection& projection) {
  if (columns_ > outputs_->columns()) {
    const std::int64_t room = std::clamp(2 * outputs_->columns(), columns_, most_columns_);
    outputs_ = context.kernels().get(ops::kMakeShortlistOutputs)(context, *projection.weight.packed, room);
    outputs_generation_ = tensor::next_generation();
    missing_.clear();
    for (std::size_t column = 0; column < token_in_.size(); ++column)
      if (token_in_[column] >= 0) missing_.push_back({token_in_[column], static_cast<std::int32_t>(column)});
  }
  // A column may have been reassigned to another token meanwhile.
  std::erase_if(missing_, [&](const ops::ShortlistSource& at) {
    return token_in_[static_cast<std::size_t>(at.column)] != at.token;
  });
  if (missing_.empty()) return;
  context.step([&] {
    context.kernels().get(ops::kGatherOutputs)(
        context, {.weight = projection.weight.packed,
                  .bias = projection.bias.value,
                  .outputs = outputs_.get(),
                  .columns = context.upload(std::span<const ops::ShortlistSource>(missing_))});
  });
  missing_.clear();
}

}  // namespace dragoman::decoding
