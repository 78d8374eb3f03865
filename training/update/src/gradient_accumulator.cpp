#include "update/gradient_accumulator.h"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include <dragoman/core/error.h>
#include <dragoman/nn/zero_start.h>
#include <dragoman/tensor/host_view.h>

namespace dragoman::training {

GradientAccumulator::GradientAccumulator(const TrainConfig& recipe, const GradientParts& parts, BatchSource& source,
                                         tensor::Context& context)
    : recipe_(&recipe),
      parts_(parts),
      source_(&source),
      context_(&context),
      loss_(uniform_smoothing(recipe, parts.model.spec().target_vocabulary)),
      guides_alignment_(recipe.guided_alignment.weight > 0 && parts.aligned),
      tree_(parts.trained(), context),
      losses_(context.memory(), static_cast<std::size_t>(recipe.accumulate) * sizeof(ops::LossRecord)) {
  loss_.r_drop = recipe.r_drop;
  loss_.guided_alignment = recipe.guided_alignment;
  if (!parts.ranks.alone())
    reducer_ = std::make_unique<GradientReducer>(parts.ranks, parts.trained(), tree_, context, parts.bucket_values,
                                                 parts.links);
}

UpdateGradients GradientAccumulator::compute(const TrainingState& state, bool stop) {
  source_->go_to(state);
  UpdateGradients result{.batches = source_->available(recipe_->accumulate)};
  Tokens tokens = compute_share(state, result.batches);
  keep_zero_start();
  result.stop_wanted = gather(tokens, stop);
  result.tokens = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
  result.losses = {losses(), result.batches};
  return result;
}

GradientAccumulator::Tokens GradientAccumulator::compute_share(const TrainingState& state, std::int64_t batches) {
  std::int64_t target_tokens = 0;
  for (std::int64_t i = 0; i < batches; ++i) target_tokens += source_->target_tokens(i);
  const auto loss_scale = static_cast<double>(std::max<std::int64_t>(state.loss_scale, 1));
  const double scale = loss_scale / static_cast<double>(target_tokens);
  const collective::LeafRange share = collective::share_of(batches, parts_.ranks.rank(), parts_.ranks.size());
  Tokens tokens(static_cast<std::size_t>(batches));
  tree_.begin();
  for (std::int64_t i = share.begin; i + 1 < share.end; ++i) {
    tokens[static_cast<std::size_t>(i)] = compute_batch(state, i, scale, {});
    tree_.keep(i);
  }
  const bool has_leaf = share.count() > 0;
  const std::int64_t last = share.end - 1;
  GradientTree::LastLeaf rest = has_leaf ? tree_.last(last) : GradientTree::LastLeaf{};
  if (reducer_ == nullptr) {
    tokens[static_cast<std::size_t>(last)] = compute_batch(state, last, scale, {});
    tree_.add_to_gradients(rest.added);
    std::ranges::reverse(rest.waiting);
    tree_.add_to_gradients(rest.waiting);
    return tokens;
  }
  try {
    // Adapters' gradients are computed from the complete gradients of the model. Layers that are recomputed in the
    // backward pass write their gradients in separate passes.
    const bool beside = parts_.adapters == nullptr && !autograd::training_mode(*context_).recomputes();
    reducer_->begin(batches, std::move(rest), has_leaf, beside);
    if (has_leaf) tokens[static_cast<std::size_t>(last)] = compute_batch(state, last, scale, reducer_->watch());
    reducer_->finish();
  } catch (const core::Error& error) {
    reducer_->cancel(error.code(), error.what());
    throw;
  } catch (const std::exception& error) {
    reducer_->cancel(core::ErrorCode::kInternal, error.what());
    throw;
  }
  return tokens;
}

void GradientAccumulator::keep_zero_start() {
  nn::Seq2SeqModel& model = parts_.model;
  if (!zero_start_) zero_start_ = parts_.adapters == nullptr && nn::starts_from_zeros(model);
  if (!*zero_start_) return;
  const nn::Parameter& table = *model.embedding_tables().target;
  const std::int64_t start = model.spec().decoder_start;
  tensor::queue_clear(model.parameters().memory(), table.gradient->value.row_range(start, start + 1));
}

std::int64_t GradientAccumulator::compute_batch(const TrainingState& state, std::int64_t batch, double scale,
                                                autograd::Tape::Progress progress) {
  const TrainConfig& recipe = *recipe_;
  nn::Seq2SeqModel& model = parts_.model;
  source_->assign(batch, batch_, model.spec().decoder_start, recipe.row_bucket);
  const DropoutKey key{.seed = recipe.seed,
                       .step = static_cast<std::uint64_t>(state.update * recipe.accumulate + batch)};
  if (recipe.r_drop > 0) batch_.repeat();
  if (recipe.word_dropout.on()) batch_.drop_words(recipe.word_dropout, model.spec(), recipe.seed, key.step);
  model.parameters().begin_gradients();
  queue_gradients(*context_, model, batch_, loss_, scale, key, losses() + batch, std::move(progress));
  model.parameters().finish_gradients();
  if (parts_.adapters != nullptr) parts_.adapters->make_gradients(*context_);
  return ops::count_targets(batch_.target());
}

bool GradientAccumulator::gather(Tokens& tokens, bool stop) const {
  collective::Collective& ranks = parts_.ranks;
  if (ranks.alone()) return stop;
  struct BatchSums {
    ops::LossRecord losses;
    std::int64_t tokens = 0;
  };
  static_assert(std::is_trivially_copyable_v<BatchSums>);
  std::vector<BatchSums> sums(tokens.size());
  const auto share_of = [&](int rank) {
    const auto [begin, end] = collective::share_of(static_cast<std::int64_t>(sums.size()), rank, ranks.size());
    return std::span(sums).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  };
  tensor::DeviceMemory& memory = context_->memory();
  std::vector<ops::LossRecord> records(sums.size());
  // The device has written the records of this process's batches only.
  const std::span<BatchSums> shared = share_of(ranks.rank());
  const auto first = static_cast<std::size_t>(shared.data() - sums.data());
  memory.copy_out(records.data() + first, losses() + first, shared.size() * sizeof(ops::LossRecord));
  for (std::size_t i = 0; i < shared.size(); ++i) shared[i] = {records[first + i], tokens[first + i]};
  // Every process sends its share and one additional byte.
  std::vector<std::vector<std::byte>> rooms;
  for (int r = 0; r < ranks.size(); ++r) rooms.emplace_back(share_of(r).size_bytes() + 1);
  std::vector<std::byte>& own = rooms[static_cast<std::size_t>(ranks.rank())];
  std::ranges::copy(std::as_bytes(shared), own.begin());
  own.back() = std::byte{stop};
  const std::vector<collective::Collective::Bytes> outgoing(rooms.size(), own);
  const std::vector<collective::Collective::Room> incoming(rooms.begin(), rooms.end());
  ranks.exchange(outgoing, incoming);
  for (int r = 0; r < ranks.size(); ++r) {
    const std::vector<std::byte>& room = rooms[static_cast<std::size_t>(r)];
    std::ranges::copy(std::span(room).first(room.size() - 1), std::as_writable_bytes(share_of(r)).begin());
    stop = stop || room.back() != std::byte{0};
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    records[i] = sums[i].losses;
    tokens[i] = sums[i].tokens;
  }
  memory.upload(losses(), records.data(), records.size() * sizeof(ops::LossRecord));
  return stop;
}

std::int64_t GradientAccumulator::updates_per_epoch() const {
  return (source_->batches_of_epoch() + recipe_->accumulate - 1) / recipe_->accumulate;
}

}  // namespace dragoman::training
