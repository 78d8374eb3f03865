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

/// What every model needs to know about its token sequences. Lives in config.json, not in the tokenizer.
struct SequenceSpec {
  std::int64_t source_vocabulary = 0;
  std::int64_t target_vocabulary = 0;
  std::int32_t begin = 1;
  std::int32_t end = 2;
  std::int32_t unknown = 0;
  /// The first decoder input; many published models use `end` here.
  std::int32_t decoder_start = 1;
  /// In tokens, the source's closing `end` included. Longer input is split by the pipeline, never cut silently.
  std::int32_t maximum_source_length = 512;
  std::int32_t maximum_target_length = 512;
};

SequenceSpec read_sequence_spec(const core::Json& json, const std::string& where);
core::Json to_json(const SequenceSpec& spec);

/// What an encoder leaves behind. Everything lies in step memory of the context that encoded.
struct Encoding {
  Variable states;               ///< [T_source, d]
  ops::Offsets offsets;          ///< the batch's offsets; the caller's memory
  std::vector<Variable> layers;  ///< on request: the embedded input, then the output of every layer
};

struct Decoding {
  Variable states;  ///< [T, d]: what output() projects
  std::vector<Variable> layers;
};

/// The tables of a model whose row i stands for piece i, of the sources and of what the decoder reads; the same one if
/// they share it. Null: it does not say.
struct EmbeddingTables {
  const Parameter* source = nullptr;
  const Parameter* target = nullptr;
};

/// Interface of every sequence-to-sequence model: what a model plugin implements. Subclasses register their parameters
/// and state entries in their constructor and implement the run_* functions with ops and layers; they never mention a
/// device, a dtype or a thread, and the same code serves teacher forcing and stepping. After loading or initialising,
/// const calls on different contexts may run at the same time.
class Seq2SeqModel {
 public:
  explicit Seq2SeqModel(SequenceSpec spec) : spec_(spec) {}
  Seq2SeqModel(const Seq2SeqModel&) = delete;
  Seq2SeqModel& operator=(const Seq2SeqModel&) = delete;
  virtual ~Seq2SeqModel();

  /// Checks and uploads B ragged sources, each with its closing end token. It is part of the preparation of a step.
  /// Error{kInvalidArgument} for tokens outside the vocabulary, and for empty or over-long sources.
  Sequences prepare_source(Context& context, const RaggedTokens& source) const;
  Encoding encode(Context& context, const Sequences& source, bool all_layers = false) const {
    return run_encoder(context, source, all_layers);
  }
  /// Both, where the step is not to be recorded.
  Encoding encode(Context& context, const RaggedTokens& source, bool all_layers = false) const {
    return encode(context, prepare_source(context, source), all_layers);
  }
  /// Keys and values of every MemoryId of the layout, [T_source, width], from an encoding: made once per sentence.
  virtual std::vector<KeyValue> memories(Context& context, const Encoding& encoding) const = 0;
  /// Checks and uploads the tokens that decode() appends, and makes room for them in the state.
  Sequences prepare_target(Context& context, const RaggedTokens& next, DecoderState& state) const;
  /// Prepares a step that begins before the host has read the candidates of the last one. For the rows that `chosen`
  /// names (one token each), the device chooses tokens and parents. The host passes any valid ones in `next` and
  /// `state`.
  Sequences prepare_target(Context& context, const RaggedTokens& next, PooledState& state,
                           const ops::NextChoices& chosen) const;
  /// Row r of the state gets next.sequence(r) (at least one token) appended; the result has one row per new token.
  /// Teacher forcing is one call with whole targets on a WholeState. On a PooledState, a step is one token and a forced
  /// prefix is several.
  Decoding decode(Context& context, const Sequences& next, DecoderState& state, bool all_layers = false) const {
    return run_decoder(context, next, state, all_layers);
  }
  Decoding decode(Context& context, const RaggedTokens& next, DecoderState& state, bool all_layers = false) const {
    return decode(context, prepare_target(context, next, state), state, all_layers);
  }
  /// The projection of decoded states to the target vocabulary.
  virtual ops::Projection output() const = 0;
  /// For those who bring embeddings of their own.
  virtual EmbeddingTables embedding_tables() const { return {}; }
  /// Width of the layers: the d of the schedule `noam`. As wide as what output() projects, unless the model says else.
  virtual std::int64_t width() const { return output().weight.value.value.cols; }
  /// The attention that serves as word alignment; memory index -1 if the model has none.
  virtual AlignmentHeads alignment_heads() const { return {}; }
  /// Whether the ops that run_encoder(), memories() and run_decoder() call, and their shapes, follow from the numbers
  /// of tokens, sequences and rows. If lengths (but for the room of attention weights), positions or tokens decide,
  /// too, a device cannot make the calls of one step again for the next, and does not try.
  virtual bool recordable() const { return true; }
  /// The same of a step of training.
  virtual bool recordable_in_training() const { return recordable(); }
  /// The model's own part of config.json: given back to its factory, it makes an equal model.
  virtual core::Json config() const = 0;

  const SequenceSpec& spec() const noexcept { return spec_; }
  const StateLayout& state_layout() const noexcept { return layout_; }
  ParameterStore& parameters() noexcept { return parameters_; }
  const ParameterStore& parameters() const noexcept { return parameters_; }

 protected:
  virtual Encoding run_encoder(Context& context, const Sequences& source, bool all_layers) const = 0;
  virtual Decoding run_decoder(Context& context, const Sequences& next, DecoderState& state, bool all_layers) const = 0;
  StateLayout& mutable_layout() noexcept { return layout_; }

 private:
  Sequences begin_target(Context& context, const RaggedTokens& next, DecoderState& state) const;

  SequenceSpec spec_;
  StateLayout layout_;
  ParameterStore parameters_;
};

}  // namespace dragoman::nn
