#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/formats/model_reference.h>
#include <dragoman/plugins/load_model.h>
#include <dragoman/tensor/context.h>

namespace dragoman::plugins {

/// Returns sentences of random tokens, with the language tags that the model needs, and without the model's outputs.
/// The result is the same for equal vocabularies.
std::vector<formats::ReferenceSentence> draw_reference_sentences(const nn::Seq2SeqModel& model,
                                                                 const tokenizer::Tokenizer& source_tokenizer,
                                                                 const tokenizer::Tokenizer& target_tokenizer,
                                                                 const formats::LanguageTable& languages);

/// Fills in the model's outputs for a sentence: everything except source, target and tags, which are given. Frees the
/// context's step memory. Error{kInterrupted} if `stop` is requested.
void read_reference_sentence(const nn::Seq2SeqModel& model, tensor::Context& context,
                             formats::ReferenceSentence& sentence, const std::stop_token& stop = {});

/// Returns the content of reference.json for the folder of an imported model, whose weights are all F32. The weights
/// are used where they are mapped, without being packed. Sentences with outputs that are not finite are omitted.
std::string make_model_reference(const std::filesystem::path& folder, Host& host,
                                 std::vector<std::pair<std::string, std::uint64_t>> weights,
                                 const std::stop_token& stop = {});

}  // namespace dragoman::plugins
