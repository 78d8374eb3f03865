#include "dragoman/nn/seq2seq_model.h"

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/nn/pooled_state.h>

namespace dragoman::nn {

SequenceSpec read_sequence_spec(const core::Json& json, const std::string& where) {
  core::OptionReader options(json, where);
  SequenceSpec spec;
  spec.source_vocabulary = options.require_key<std::int64_t>("source_vocabulary");
  spec.target_vocabulary = options.require_key<std::int64_t>("target_vocabulary");
  spec.begin = options.get("begin", spec.begin);
  spec.end = options.get("end", spec.end);
  spec.unknown = options.get("unknown", spec.unknown);
  spec.decoder_start = options.get("decoder_start", spec.decoder_start);
  spec.maximum_source_length = options.get("maximum_source_length", spec.maximum_source_length);
  spec.maximum_target_length = options.get("maximum_target_length", spec.maximum_target_length);
  options.finish();
  constexpr std::int64_t kLargest = std::int64_t{1} << 24;
  options.check(spec.source_vocabulary > 0 && spec.source_vocabulary <= kLargest, "source_vocabulary",
                "must lie in 1 .. 2^24");
  options.check(spec.target_vocabulary > 0 && spec.target_vocabulary <= kLargest, "target_vocabulary",
                "must lie in 1 .. 2^24");
  for (const auto& [name, id] : {std::pair{"begin", spec.begin},
                                 {"end", spec.end},
                                 {"unknown", spec.unknown},
                                 {"decoder_start", spec.decoder_start}})
    options.check(id >= 0 && id < spec.target_vocabulary, name, "is not an id of the target vocabulary");
  options.check(spec.end < spec.source_vocabulary && spec.unknown < spec.source_vocabulary, "end",
                "and unknown must be ids of the source vocabulary, too");
  options.check(spec.maximum_source_length >= 2 && spec.maximum_source_length <= 65536, "maximum_source_length",
                "must lie in 2 .. 65536");
  options.check(spec.maximum_target_length >= 2 && spec.maximum_target_length <= 65536, "maximum_target_length",
                "must lie in 2 .. 65536");
  return spec;
}

core::Json to_json(const SequenceSpec& spec) {
  return {{"source_vocabulary", spec.source_vocabulary},
          {"target_vocabulary", spec.target_vocabulary},
          {"begin", spec.begin},
          {"end", spec.end},
          {"unknown", spec.unknown},
          {"decoder_start", spec.decoder_start},
          {"maximum_source_length", spec.maximum_source_length},
          {"maximum_target_length", spec.maximum_target_length}};
}

Seq2SeqModel::~Seq2SeqModel() = default;

Sequences Seq2SeqModel::prepare_source(Context& context, const RaggedTokens& source) const {
  tensor::check_ragged(source, spec_.source_vocabulary);
  for (std::int64_t b = 0; b < source.batch(); ++b)
    core::require(source.length(b) > 0 && source.length(b) <= spec_.maximum_source_length,
                  core::ErrorCode::kInvalidArgument, "source {} of the batch has {} tokens; the model takes 1 to {}", b,
                  source.length(b), spec_.maximum_source_length);
  return upload(context, source);
}

Sequences Seq2SeqModel::begin_target(Context& context, const RaggedTokens& next, DecoderState& state) const {
  tensor::check_ragged(next, spec_.target_vocabulary);
  state.begin_step(context, next);
  for (const std::int32_t position : state.positions().host)
    core::require(position < spec_.maximum_target_length, core::ErrorCode::kInvalidArgument,
                  "a target reaches position {}; the model takes {}", position, spec_.maximum_target_length);
  return {next, context.indices(next.tokens), state.row_offsets(), state.positions()};
}

Sequences Seq2SeqModel::prepare_target(Context& context, const RaggedTokens& next, DecoderState& state) const {
  const Sequences target = begin_target(context, next, state);
  state.complete_step(context);
  return target;
}

Sequences Seq2SeqModel::prepare_target(Context& context, const RaggedTokens& next, PooledState& state,
                                       const ops::NextChoices& chosen) const {
  const Sequences target = begin_target(context, next, state);
  if (!chosen.choices.empty()) ops::choose_next(context, chosen, spec_.end, target.tokens, state.parents());
  state.complete_step(context);
  return target;
}

Sequences upload(Context& context, const RaggedTokens& batch) {
  auto* positions =
      static_cast<std::int32_t*>(context.host_arena().allocate(batch.tokens.size() * sizeof(std::int32_t)));
  for (std::int64_t b = 0; b < batch.batch(); ++b)
    for (std::int32_t i = 0; i < batch.length(b); ++i) positions[batch.offsets[b] + i] = i;
  return {batch, context.indices(batch.tokens), context.indices(batch.offsets),
          context.indices({positions, batch.tokens.size()})};
}

}  // namespace dragoman::nn
