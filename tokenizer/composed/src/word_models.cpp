#include "word_models.h"

#include "base/piece_table.h"
#include "base/trie.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/byte_pieces.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;

/// The pieces that the model lists, by text.
class ListedTexts {
 public:
  ListedTexts(const ComposedDefinition& definition, const std::string& name) : table_(definition.pieces) {
    core::StopCheck check("opening a tokenizer");
    for (std::size_t id = 0; id < definition.pieces.size(); ++id) {
      check(200);
      if (!definition.listed[id]) continue;
      require(table_.add(static_cast<std::int32_t>(id)), ErrorCode::kBadInput, "{}: {} is the text of two pieces", name,
              Quoted{definition.pieces[id]});
    }
  }
  std::int32_t find(std::string_view text) const noexcept { return table_.find(text); }

 private:
  PieceTable<> table_;
};

class MergingModel final : public WordModel {
 public:
  MergingModel(const MergesOfWords& merges, const std::string& name) : model_(merges.definition, name) {}

  std::unique_ptr<Buffers> make_buffers() const override { return std::make_unique<Merging>(); }
  void check(const EncodeOptions&) const override {}
  void encode(std::string_view word, const EncodeOptions& options, Buffers& buffers,
              std::vector<WordPiece>& out) const override {
    auto& own = static_cast<Merging&>(buffers).word;
    model_.encode_word(word, options, own);
    for (const Symbol& symbol : own.word) out.push_back({.id = symbol.id, .length = symbol.length});
  }

 private:
  struct Merging final : Buffers {
    WordBuffers word;
  };
  BpeModel model_;
};

/// A unigram model in double precision, as in the `tokenizers` library. UnigramModel is the one for SentencePiece's
/// files.
class UnigramWords final : public WordModel {
 public:
  UnigramWords(const ComposedDefinition& definition, const UnigramOfWords& unigram, const std::string& name)
      : unigram_(unigram), texts_(definition, name) {
    constexpr double kUnknownPenalty = 10;
    double least = std::numeric_limits<double>::max();
    std::vector<Trie::Entry> entries;
    core::StopCheck check_stop("opening a tokenizer");
    for (std::size_t id = 0; id < unigram.scores.size(); ++id) {
      check_stop(50);
      least = std::min(least, unigram.scores[id]);
      entries.emplace_back(definition.pieces[id], static_cast<std::int32_t>(id));
    }
    trie_ = Trie(std::move(entries));
    unknown_score_ = least - kUnknownPenalty;
    for (std::size_t byte = 0; byte < bytes_.size(); ++byte)
      bytes_[byte] = texts_.find(piece_of_byte(static_cast<unsigned char>(byte)));
  }

  std::unique_ptr<Buffers> make_buffers() const override { return std::make_unique<Lattice>(); }

  void check(const EncodeOptions& options) const override {
    require(options.mode == EncodingMode::kExact, ErrorCode::kUnsupported,
            "a tokenizer.json of the type Unigram encodes in the mode exact only (the most probable pieces); to draw "
            "segmentations, open the SentencePiece model file (.model) that it was made of");
  }
  void encode(std::string_view word, const EncodeOptions&, Buffers& buffers,
              std::vector<WordPiece>& out) const override {
    auto& lattice = static_cast<Lattice&>(buffers);
    find_best(word, lattice);
    lattice.cuts.clear();
    for (std::size_t end = word.size(); end > 0; end = lattice.best[end].begin)
      lattice.cuts.push_back({lattice.best[end].begin, lattice.best[end].id});
    std::size_t end = 0;
    for (std::size_t i = lattice.cuts.size(); i > 0; --i) {
      const std::size_t begin = lattice.cuts[i - 1].begin;
      const bool unknown = lattice.cuts[i - 1].id == unigram_.unknown;
      // A run of unknown characters is one segment, which may be a piece after all.
      while (unknown && i > 1 && lattice.cuts[i - 2].id == unigram_.unknown) --i;
      end = i > 1 ? lattice.cuts[i - 2].begin : word.size();
      if (unknown)
        add_unknown(word.substr(begin, end - begin), out);
      else
        out.push_back({.id = lattice.cuts[i - 1].id, .length = end - begin});
    }
  }

 private:
  struct Best {
    double score = 0;
    std::int32_t id = -1;
    std::size_t begin = 0;
    bool reached = false;
  };
  struct Cut {
    std::size_t begin;
    std::int32_t id;
  };
  struct Lattice final : Buffers {
    std::vector<Best> best;
    std::vector<Cut> cuts;  // from the end
  };

  void find_best(std::string_view word, Lattice& lattice) const {
    auto& best = lattice.best;
    best.assign(word.size() + 1, {});
    core::StopCheck check_stop("encoding a text");
    const auto consider = [&best](std::size_t begin, std::size_t end, std::int32_t id, double score) {
      if (!best[end].reached || score > best[end].score) best[end] = {score, id, begin, true};
    };
    for (std::size_t begin = 0; begin < word.size();) {
      check_stop(20);
      const double before = best[begin].score;
      const std::size_t character = core::decode_utf8(word, begin).length;
      bool known = false;
      trie_.for_each_prefix(word.substr(begin), [&](std::int32_t id, std::size_t length) {
        consider(begin, begin + length, id, unigram_.scores[static_cast<std::size_t>(id)] + before);
        known = known || length == character;
      });
      if (!known) {
        require(unigram_.unknown.has_value(), ErrorCode::kBadInput,
                "the tokenizer has no piece for a character of {}, and none for unknown ones", Quoted{word});
        consider(begin, begin + character, *unigram_.unknown, unknown_score_ + before);
      }
      begin += character;
    }
  }

  void add_unknown(std::string_view text, std::vector<WordPiece>& out) const {
    if (const std::int32_t id = texts_.find(text); id >= 0) return out.push_back({.id = id, .length = text.size()});
    const auto has_piece = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)] >= 0; };
    if (!unigram_.byte_fallback || !std::ranges::all_of(text, has_piece))
      return out.push_back({.id = *unigram_.unknown, .length = text.size(), .shows_text = true});
    for (std::size_t i = 0; i < text.size(); ++i)
      out.push_back(
          {.id = bytes_[static_cast<unsigned char>(text[i])], .length = 1, .before = i, .after = text.size() - i - 1});
  }

  const UnigramOfWords& unigram_;
  ListedTexts texts_;
  Trie trie_;
  double unknown_score_;
  std::array<std::int32_t, 256> bytes_{};
};

class WordPieceModel final : public WordModel {
 public:
  WordPieceModel(const ComposedDefinition& definition, const WordPieces& pieces, const std::string& name)
      : pieces_(pieces), first_(entries_of(definition, "")), later_(entries_of(definition, pieces.prefix)) {
    const ListedTexts unique(definition, name);
  }

  void encode(std::string_view word, const EncodeOptions&, Buffers&, std::vector<WordPiece>& out) const override {
    const std::size_t before = out.size();
    bool unknown = is_too_long(word);
    for (std::size_t begin = 0; begin < word.size() && !unknown;) {
      const Trie::Match match = longest(begin == 0 ? first_ : later_, word.substr(begin));
      unknown = match.value < 0;
      out.push_back({.id = match.value, .length = match.length});
      begin += match.length;
    }
    if (!unknown) return;
    out.resize(before);
    out.push_back({.id = pieces_.unknown, .length = word.size()});
  }

 private:
  /// Returns the remainders of the pieces that begin with a prefix. A piece that equals the prefix is ignored.
  static Trie entries_of(const ComposedDefinition& definition, std::string_view prefix) {
    std::vector<Trie::Entry> entries;
    for (std::size_t id = 0; id < definition.pieces.size(); ++id) {
      const std::string_view piece = definition.pieces[id];
      if (definition.listed[id] && piece.starts_with(prefix) && piece.size() > prefix.size())
        entries.emplace_back(piece.substr(prefix.size()), static_cast<std::int32_t>(id));
    }
    return Trie(std::move(entries));
  }

  /// A piece must end at a character boundary.
  static Trie::Match longest(const Trie& trie, std::string_view text) {
    Trie::Match best;
    trie.for_each_prefix(text, [&](std::int32_t id, std::size_t length) {
      const bool inside = length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80;
      if (!inside) best = {id, length};
    });
    return best;
  }

  bool is_too_long(std::string_view word) const {
    std::size_t characters = 0;
    for (std::size_t at = 0; at < word.size() && characters <= pieces_.longest_word; ++characters)
      at += core::decode_utf8(word, at).length;
    return characters > pieces_.longest_word;
  }

  const WordPieces& pieces_;
  Trie first_;
  Trie later_;
};

class WholeWordModel final : public WordModel {
 public:
  WholeWordModel(const ComposedDefinition& definition, const WholeWords& words, const std::string& name)
      : words_(words), texts_(definition, name) {}

  void encode(std::string_view word, const EncodeOptions&, Buffers&, std::vector<WordPiece>& out) const override {
    const std::int32_t id = texts_.find(word);
    require(id >= 0 || words_.unknown, ErrorCode::kBadInput,
            "the tokenizer has no piece for the word {}, and none for unknown ones", Quoted{word});
    out.push_back({.id = id >= 0 ? id : *words_.unknown, .length = word.size()});
  }

 private:
  const WholeWords& words_;
  ListedTexts texts_;
};

}  // namespace

void WordModel::check(const EncodeOptions& options) const {
  require(options.mode == EncodingMode::kExact, ErrorCode::kUnsupported,
          "a model of whole words or of WordPiece knows one segmentation of a text; use the mode exact");
}

std::unique_ptr<WordModel> make_word_model(const ComposedDefinition& definition, const std::string& name) {
  struct Make {
    const ComposedDefinition& definition;
    const std::string& name;
    std::unique_ptr<WordModel> operator()(const MergesOfWords& merges) const {
      return std::make_unique<MergingModel>(merges, name);
    }
    std::unique_ptr<WordModel> operator()(const UnigramOfWords& unigram) const {
      return std::make_unique<UnigramWords>(definition, unigram, name);
    }
    std::unique_ptr<WordModel> operator()(const WordPieces& pieces) const {
      return std::make_unique<WordPieceModel>(definition, pieces, name);
    }
    std::unique_ptr<WordModel> operator()(const WholeWords& words) const {
      return std::make_unique<WholeWordModel>(definition, words, name);
    }
  };
  return std::visit(Make{definition, name}, definition.model);
}

}  // namespace dragoman::tokenizer
