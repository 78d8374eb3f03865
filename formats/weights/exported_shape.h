#pragma once

#include "dragoman/imports/exports.h"
#include "weights/transformer_names.h"

namespace dragoman::imports {

/// What the plans need to know of a model of ours. Error{kUnsupported} if it is of another type than transformer or,
/// where `may_recur`, ssru.
TransformerShape exported_shape(const ExportedModel& exported, bool may_recur);

/// The value of a parameter that must be there.
const tensor::Tensor& value_of(const ExportedModel& exported, const std::string& parameter);

/// The rows of computed positions as the model sees them: F32, [count, d_model].
std::vector<float> position_table(const transformer::Config& config, std::int64_t count);

/// The first `count` pieces of a tokenizer.
std::vector<std::string> pieces_of(const tokenizer::Tokenizer& tokenizer, std::int64_t count);

/// Error{kUnsupported}: "FOLDER: cannot be exported as FORMAT: ..."
[[noreturn]] void refuse_export(const ExportedModel& exported, std::string_view format, std::string_view reason);

/// Copies the tokenizers beside an export under the names that find_tokenizers() knows, as far as other programs have
/// a use for them.
void copy_tokenizers(const ExportedModel& exported, const std::filesystem::path& folder);

}  // namespace dragoman::imports
