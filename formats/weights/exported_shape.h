#pragma once

#include "dragoman/imports/exports.h"
#include "weights/transformer_names.h"

namespace dragoman::imports {

/// Returns the properties of a Dragoman model that the plans need. Throws Error{kUnsupported} if its type is not
/// transformer or, with `may_recur`, ssru.
TransformerShape exported_shape(const ExportedModel& exported, bool may_recur);

/// Returns the value of a parameter that must exist.
const tensor::Tensor& value_of(const ExportedModel& exported, const std::string& parameter);

/// Returns the rows of computed positions as the model uses them: F32, [count, d_model].
std::vector<float> position_table(const transformer::Config& config, std::int64_t count);

/// Returns the first `count` pieces of a tokenizer.
std::vector<std::string> pieces_of(const tokenizer::Tokenizer& tokenizer, std::int64_t count);

/// Throws Error{kUnsupported}: "FOLDER: cannot be exported as FORMAT: ..."
[[noreturn]] void refuse_export(const ExportedModel& exported, std::string_view format, std::string_view reason);

/// Throws Error{kUnsupported} if the arrays of the plan have many times the size of the model's parameters, because the
/// format stores tied layers separately (most_unfolded_bytes()). Call it before anything is written.
void require_proportionate_export(const ExportedModel& exported, std::string_view format, const WeightPlan& plan);

/// Copies the tokenizers into an export under the names that find_tokenizers() recognises, if other programs can use
/// them.
void copy_tokenizers(const ExportedModel& exported, const std::filesystem::path& folder);

}  // namespace dragoman::imports
