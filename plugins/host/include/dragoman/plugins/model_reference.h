#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/formats/model_reference.h>
#include <dragoman/plugins/load_model.h>
#include <dragoman/tensor/context.h>

namespace dragoman::plugins {

/// Sentences of random tokens with the tags that the model wants around them, as formats::ReferenceSentence without
/// what a model makes of them. The same for the same vocabularies.
std::vector<formats::ReferenceSentence> draw_reference_sentences(const nn::Seq2SeqModel& model,
                                                                 const tokenizer::Tokenizer& source_tokenizer,
                                                                 const tokenizer::Tokenizer& target_tokenizer,
                                                                 const formats::LanguageTable& languages);

/// What a model makes of a sentence: everything but source, target and tags, which it is given. Frees the context's
/// step memory. Error{kInterrupted} if `stop` asks.
void read_reference_sentence(const nn::Seq2SeqModel& model, tensor::Context& context,
                             formats::ReferenceSentence& sentence, const std::stop_token& stop = {});

/// Makes the content of reference.json of the folder of an imported model, whose weights are all F32: they are used
/// where they are mapped, without being packed. Sentences of which the model makes something that is not finite are
/// left out.
std::string make_model_reference(const std::filesystem::path& folder, Host& host,
                                 std::vector<std::pair<std::string, std::uint64_t>> weights,
                                 const std::stop_token& stop = {});

}  // namespace dragoman::plugins
