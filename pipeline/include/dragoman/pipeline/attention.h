#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dragoman/core/json_fwd.h>
#include <dragoman/core/option_table.h>
#include <dragoman/decoding/inner_states.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::pipeline {

struct ModelView;  // model_view.h

/// What to show of a model's attention, as people ask for it. The table has the keys `attention`, `attention_layers`
/// and so on.
struct AttentionSettings {
  /// Nothing: no attention is asked for.
  std::optional<decoding::AttentionKind> kind{};
  decoding::AttentionRequest request{};  ///< but for the kind
  std::string svg{};                     ///< folder for a picture of each sentence; empty: none
  std::string npy{};                     ///< folder for an array of each sentence; empty: none

  decoding::InnerStatesRequest inner() const;
};
const core::OptionTable<AttentionSettings>& attention_table();
/// Error{kBadInput} that names the option which says how attention is shown where none is asked for.
void check(const AttentionSettings& settings, const core::OptionReader& options);

/// The attention of a sentence with the pieces that its rows and columns are of.
struct SentenceAttention {
  decoding::AttentionKind kind = decoding::AttentionKind::kCross;
  bool before_softmax = false;
  bool full_context = false;
  decoding::AttentionMaps maps{};
  /// Of the encoder and the decoder: the input tokens. Of attention to the source: the tokens that are predicted.
  std::vector<std::string> queries{};
  std::vector<std::string> keys{};
};

/// `source` with its end, `target` without.
SentenceAttention label_attention(const ModelView& model, const AttentionSettings& settings,
                                  decoding::AttentionMaps maps, std::span<const std::int32_t> source,
                                  std::span<const std::int32_t> target);

/// {"of": "cross", "layers": [..], "heads": [..] or "mean", "queries": [..], "keys": [..], "weights" (or "scores"):
/// [layers][heads][queries][keys]}; what causality forbids is null in scores.
core::Json to_json(const SentenceAttention& attention);

/// Each takes some 160 bytes.
inline constexpr std::size_t kMaxSquaresOfPicture = std::size_t{1} << 18;
/// A picture that needs nothing else: a panel for each layer and head, a square for each weight, with its number as
/// tooltip. `title` is above. If there are more than kMaxSquaresOfPicture weights, the picture is a message about this.
std::string to_svg(const SentenceAttention& attention, const std::string& title);

/// Error{kBadInput} if one of these folders holds anything: an earlier run's files would be mixed with this one's, or
/// replaced, and so would be whatever else is there.
void require_empty_folders(const AttentionSettings& settings);

/// Writes NAME.svg and NAME.npy into the folders that the settings name, which are made if need be.
void write_attention(const SentenceAttention& attention, const AttentionSettings& settings, const std::string& name);

}  // namespace dragoman::pipeline
