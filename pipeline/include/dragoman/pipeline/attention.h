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

/// The attention of a model to show, as users specify it. The table has the keys `attention`, `attention_layers` and so
/// on.
struct AttentionSettings {
  /// Unset: no attention.
  std::optional<decoding::AttentionKind> kind{};
  decoding::AttentionRequest request{};  ///< except the kind
  std::string svg{};                     ///< folder for one picture per sentence; empty: none
  std::string npy{};                     ///< folder for one array per sentence; empty: none

  decoding::InnerStatesRequest inner() const;
};
const core::OptionTable<AttentionSettings>& attention_table();
/// Error{kBadInput} naming an option that specifies how attention is shown although no attention is requested.
void check(const AttentionSettings& settings, const core::OptionReader& options);

/// The attention of a sentence, with the pieces of its rows and columns.
struct SentenceAttention {
  decoding::AttentionKind kind = decoding::AttentionKind::kCross;
  bool before_softmax = false;
  bool full_context = false;
  decoding::AttentionMaps maps{};
  /// For the encoder and the decoder: the input tokens. For attention to the source: the predicted tokens.
  std::vector<std::string> queries{};
  std::vector<std::string> keys{};
};

/// Adds the pieces to attention maps. `source` includes the end, `target` excludes it.
SentenceAttention label_attention(const ModelView& model, const AttentionSettings& settings,
                                  decoding::AttentionMaps maps, std::span<const std::int32_t> source,
                                  std::span<const std::int32_t> target);

/// Returns {"of": "cross", "layers": [..], "heads": [..] or "mean", "queries": [..], "keys": [..], "weights" (or
/// "scores"): [layers][heads][queries][keys]}. In scores, positions that causality forbids are null.
core::Json to_json(const SentenceAttention& attention);

/// Each square takes about 160 bytes.
inline constexpr std::size_t kMaxSquaresOfPicture = std::size_t{1} << 18;
/// Returns a self-contained picture: one panel per layer and head, with a square per weight and the value as tooltip.
/// `title` is at the top. If there are more than kMaxSquaresOfPicture weights, the picture is a message that says this.
///
///     void draw(const SentenceAttention& attention) {
///       core::write_file("attention.svg", to_svg(attention, "Guten Morgen!"));     // core/file.h
///     }
std::string to_svg(const SentenceAttention& attention, const std::string& title);

/// Error{kBadInput} if one of these folders is not empty. The files of this run would be mixed with others, or replace
/// them.
void require_empty_folders(const AttentionSettings& settings);

/// Writes NAME.svg and NAME.npy to the folders of the settings, which are created if necessary.
void write_attention(const SentenceAttention& attention, const AttentionSettings& settings, const std::string& name);

}  // namespace dragoman::pipeline
