#pragma once

#include <string>

#include <dragoman/decoding/ensemble.h>
#include <dragoman/decoding/search.h>
#include <dragoman/decoding/shortlist.h>
#include <dragoman/formats/languages.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/tokenizer/piece_lines.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::pipeline {

/// The languages of a sentence, as codes of the model's table. Empty: the table's defaults.
struct LanguagePair {
  std::string source{};
  std::string target{};
};

/// The parts of a Model that a translation uses. All are const and shared by all workers. The model must outlive the
/// view.
struct ModelView {
  const nn::Seq2SeqModel* model = nullptr;
  const tokenizer::Tokenizer* source_tokenizer = nullptr;
  const tokenizer::Tokenizer* target_tokenizer = nullptr;
  /// The shortlist of target tokens. nullptr: the whole vocabulary.
  const decoding::Shortlist* shortlist = nullptr;
  /// If not empty: all models, with `model` first.
  decoding::Ensemble ensemble{};
  /// nullptr: the model has no language tags.
  const formats::LanguageTable* languages = nullptr;
  /// Set if texts are lines of pieces of the source tokenizer, or translations of the target tokenizer.
  const tokenizer::PieceLines* source_pieces = nullptr;
  const tokenizer::PieceLines* target_pieces = nullptr;
  /// The search defaults of the model's folder.
  decoding::Search search_defaults{};

  decoding::Ensemble models() const {
    return ensemble.models.empty() ? decoding::Ensemble{.models = {model}} : ensemble;
  }
  /// Returns the tags around the tokens of a sentence. Throws as formats::LanguageTable::tags().
  formats::SequenceTags tags(const LanguagePair& pair = {}) const {
    static const formats::LanguageTable none;
    return (languages != nullptr ? *languages : none).tags(pair.source, pair.target);
  }
  /// Returns the spec that all models share.
  nn::SequenceSpec spec() const { return ensemble.models.empty() ? model->spec() : ensemble.spec(); }
};

}  // namespace dragoman::pipeline
