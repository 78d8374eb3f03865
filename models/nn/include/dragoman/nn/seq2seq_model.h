#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dragoman/core/json_fwd.h>
#include <dragoman/nn/alignment.h>
#include <dragoman/nn/decoder_state.h>
#include <dragoman/nn/parameters.h>
#include <dragoman/nn/sequences.h>
#include <dragoman/ops/choose_next.h>
#include <dragoman/ops/types.h>

namespace dragoman::nn {

class PooledState;

/// The properties of a model's token sequences. They are stored in config.json, not in the tokenizer.
struct SequenceSpec {
  std::int64_t source_vocabulary = 0;
  std::int64_t target_vocabulary = 0;
  std::int32_t begin = 1;
  std::int32_t end = 2;
  std::int32_t unknown = 0;
  /// The first decoder input. Many published models use `end`.
  std::int32_t decoder_start = 1;
  /// In tokens, including the closing `end` of the source. The pipeline splits longer input; it is never truncated
  /// silently.
  std::int32_t maximum_source_length = 512;
  std::int32_t maximum_target_length = 512;
};

/// Reads the specification from config.json. `where` names the place in messages. Error{kBadInput} for missing, unknown
/// or invalid keys.
SequenceSpec read_sequence_spec(const core::Json& json, const std::string& where);
core::Json to_json(const SequenceSpec& spec);

/// The result of an encoder, in step memory of the context that encoded.
struct Encoding {
  Variable states;               ///< [T_source, d]
  ops::Offsets offsets;          ///< the offsets of the batch; owned by the caller
  std::vector<Variable> layers;  ///< if requested: the embedded input, then the output of every layer
};

/// The result of a decoder, in step memory of the context that decoded.
struct Decoding {
  Variable states;  ///< [T, d]; input of output()
  std::vector<Variable> layers;
};

/// The embedding tables of a model, whose row i belongs to piece i of the source or of the decoder input. Both are the
/// same parameter if the sides share a table. Null if the model does not provide one.
struct EmbeddingTables {
  const Parameter* source = nullptr;
  const Parameter* target = nullptr;
};

/// The interface of every sequence-to-sequence model, which model plugins implement. Subclasses register parameters and
/// state entries in their constructor, and implement the run_* functions with ops and layers. They name no device,
/// dtype or thread, and the same code serves teacher forcing and stepping. After loading or initialising, const calls
/// on different contexts may run concurrently.
///
///     Decoding teacher_forcing(Context& context, const Seq2SeqModel& model, const RaggedTokens& source,
///                              const RaggedTokens& target) {
///       const Encoding encoding = model.encode(context, source);
///       const std::vector<KeyValue> memories = model.memories(context, encoding);
///       WholeState state(memories, encoding.offsets);                   // whole_state.h
///       return model.decode(context, target, state);
///     }
///
/// Results are in step memory of the context, and the model must outlive them.
class Seq2SeqModel {
 public:
  explicit Seq2SeqModel(SequenceSpec spec) : spec_(spec) {}
  Seq2SeqModel(const Seq2SeqModel&) = delete;
  Seq2SeqModel& operator=(const Seq2SeqModel&) = delete;
  virtual ~Seq2SeqModel();

  /// Checks and uploads B ragged sources, each with its closing end token. It is part of the preparation of a step.
  /// Error{kInvalidArgument} for tokens outside the vocabulary, and for empty or over-long sources.
  Sequences prepare_source(Context& context, const RaggedTokens& source) const;
  /// Runs the encoder on prepared sources. With `all_layers`, also returns the outputs of all layers.
  Encoding encode(Context& context, const Sequences& source, bool all_layers = false) const {
    return run_encoder(context, source, all_layers);
  }
  /// Prepares and encodes, for steps that are not recorded.
  Encoding encode(Context& context, const RaggedTokens& source, bool all_layers = false) const {
    return encode(context, prepare_source(context, source), all_layers);
  }
  /// Returns keys and values for every MemoryId of the layout, [T_source, width]. Computed once per sentence.
  virtual std::vector<KeyValue> memories(Context& context, const Encoding& encoding) const = 0;
  /// Checks and uploads the tokens that decode() appends, and makes room for them in the state.
  Sequences prepare_target(Context& context, const RaggedTokens& next, DecoderState& state) const;
  /// Prepares a step that begins before the host has read the candidates of the last one. For the rows that `chosen`
  /// names (one token each), the device chooses tokens and parents. The host passes any valid values for them in `next`
  /// and `state`.
  Sequences prepare_target(Context& context, const RaggedTokens& next, PooledState& state,
                           const ops::NextChoices& chosen) const;
  /// Appends next.sequence(r), at least one token, to row r of the state. The result has one row for each new token.
  /// Teacher forcing is one call with whole targets on a WholeState. On a PooledState, a step is one token and a forced
  /// prefix is several.
  Decoding decode(Context& context, const Sequences& next, DecoderState& state, bool all_layers = false) const {
    return run_decoder(context, next, state, all_layers);
  }
  /// Prepares and decodes, for steps that are not recorded.
  Decoding decode(Context& context, const RaggedTokens& next, DecoderState& state, bool all_layers = false) const {
    return decode(context, prepare_target(context, next, state), state, all_layers);
  }
  /// The projection of decoded states to the target vocabulary.
  virtual ops::Projection output() const = 0;
  /// The embedding tables, for callers that replace embeddings.
  virtual EmbeddingTables embedding_tables() const { return {}; }
  /// The width of the layers: d in the schedule `noam`. By default the input width of output().
  virtual std::int64_t width() const { return output().weight.value.value.cols; }
  /// The attention that serves as word alignment; memory index -1 if the model has none.
  virtual AlignmentHeads alignment_heads() const { return {}; }
  /// Returns true if the numbers of tokens, sequences and rows determine the ops that run_encoder(), memories() and
  /// run_decoder() call, and their shapes. Return false if lengths (other than the room for attention weights),
  /// positions or token values decide, too. Then devices do not record the model's steps.
  virtual bool recordable() const { return true; }
  /// Like recordable(), for training steps.
  virtual bool recordable_in_training() const { return recordable(); }
  /// Returns the model's part of config.json. The model's factory builds an equal model from it.
  virtual core::Json config() const = 0;

  const SequenceSpec& spec() const noexcept { return spec_; }
  const StateLayout& state_layout() const noexcept { return layout_; }
  ParameterStore& parameters() noexcept { return parameters_; }
  const ParameterStore& parameters() const noexcept { return parameters_; }

 protected:
  /// Implements encode(). The offsets of the result are source.offsets.
  virtual Encoding run_encoder(Context& context, const Sequences& source, bool all_layers) const = 0;
  /// Implements decode(). It must reach earlier target tokens through `state` only.
  virtual Decoding run_decoder(Context& context, const Sequences& next, DecoderState& state, bool all_layers) const = 0;
  StateLayout& mutable_layout() noexcept { return layout_; }

 private:
  Sequences begin_target(Context& context, const RaggedTokens& next, DecoderState& state) const;

  SequenceSpec spec_;
  StateLayout layout_;
  ParameterStore parameters_;
};

}  // namespace dragoman::nn
