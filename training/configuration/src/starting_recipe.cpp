#include "dragoman/training/starting_recipe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <string_view>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>
#include <dragoman/corpus/pair_file.h>

namespace dragoman::training {
namespace {

using core::ErrorCode;

constexpr std::uint64_t kMegabyte = 1'000'000;

/// A recipe for texts of at least `bytes_per_side`.
struct Tier {
  std::uint64_t bytes_per_side;
  std::int64_t vocabulary;
  std::int64_t d_model, heads, feed_forward, layers;
  double dropout, attention_dropout;
  std::int64_t batch_tokens, accumulate;
  std::int64_t warmup;
  std::int64_t least_updates, most_updates;
  const char* origin;
};

/// Sources of the values:
/// - The first tier has the shape of examples/multi30k/train.yml, for less text than that recipe has. The vocabulary is
///   half as large, the batches are smaller, and the dropout is 0.3, as Wu et al. 2021 have it for this shape. Sennrich
///   & Zhang 2019 ("Revisiting Low-Resource Neural Machine Translation") reduce vocabulary and batch for small corpora.
/// - The second tier is examples/multi30k/larger.yml: 29,000 pairs with 1.8 MB of English, 40.5 BLEU
///   (docs/project/results.md).
/// - The third tier is fairseq's recipe for IWSLT'14 (160,000 pairs, about 18 MB a side): transformer_iwslt_de_en with
///   dropout 0.3, batches of 4,096 tokens, 10,000 merges and a warm-up of 4,000 updates.
/// - The last tier is the base model of Vaswani et al. 2017 for WMT'14 (4.5 million pairs, about 600 MB a side):
///   dropout 0.1, 100,000 updates of about 25,000 tokens, 37,000 pieces.
/// - The fourth tier lies between the third and the last: the base model with a third of the last tier's batch and half
///   its vocabulary.
///
/// Batches above 4,096 tokens are accumulated, so that the base model needs 3.5 GB (docs/project/performance.md).
constexpr std::array kTiers{
    Tier{0, 2'000, 128, 4, 256, 4, 0.3, 0.1, 1'024, 1, 800, 2'000, 3'000, "the shape of examples/multi30k/train.yml"},
    Tier{kMegabyte / 2, 4'000, 256, 4, 512, 6, 0.2, 0.1, 4'096, 1, 800, 3'000, 7'500, "examples/multi30k/larger.yml"},
    Tier{5 * kMegabyte, 10'000, 512, 4, 1'024, 6, 0.3, 0, 4'096, 1, 4'000, 7'500, 50'000,
         "fairseq's recipe for IWSLT'14"},
    Tier{50 * kMegabyte, 16'000, 512, 8, 2'048, 6, 0.1, 0, 4'096, 2, 4'000, 50'000, 100'000,
         "the base model of Vaswani et al. 2017"},
    Tier{500 * kMegabyte, 32'000, 512, 8, 2'048, 6, 0.1, 0, 4'096, 6, 4'000, 100'000, 100'000,
         "the base model of Vaswani et al. 2017"},
};

/// The epochs of examples/multi30k/train.yml.
constexpr std::int64_t kEpochs = 24;
/// examples/multi30k/train.yml has 3.9 bytes of English per token. Larger vocabularies have up to 5.
constexpr std::int64_t kBytesPerToken = 4;

/// Alphabets above this size are cut to kCharacterCoverage, since rare characters would take the places of merges. They
/// are then written as bytes.
constexpr std::uint64_t kLargeAlphabet = 1'000;
/// The characters that the vocabularies of the tiers have room for.
constexpr std::uint64_t kOrdinaryAlphabet = 500;

std::int64_t rounded_up(std::int64_t number, std::int64_t step) {
  return (number + step - 1) / step * step;
}

std::int64_t choose_vocabulary(const Tier& tier, std::uint64_t alphabet) {
  if (alphabet <= kOrdinaryAlphabet) return tier.vocabulary;
  return tier.vocabulary + rounded_up(static_cast<std::int64_t>(alphabet - kOrdinaryAlphabet), 1'000);
}

/// The peak of Vaswani et al. 2017 (eq. 3). Rounded to one digit, it is also the rate of the recipes of
/// examples/multi30k with widths of 64, 128 and 256.
double peak_rate(const Tier& tier) {
  const double exact = 1 / std::sqrt(static_cast<double>(tier.d_model * tier.warmup));
  return std::round(exact * 1e4) / 1e4;
}

/// Counts characters by code point.
class CharacterCounts {
 public:
  void add(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const core::DecodedCharacter character = core::decode_utf8(text, at);
      if (character.valid) ++counts_[character.code_point];
      at += character.length;
    }
  }
  std::uint64_t distinct() const {
    return static_cast<std::uint64_t>(std::ranges::count_if(counts_, [](std::uint64_t count) { return count > 0; }));
  }
  /// The number of the most frequent ones that make up the share of all.
  std::uint64_t covering(double share) const {
    std::vector<std::uint64_t> sorted;
    std::ranges::copy_if(counts_, std::back_inserter(sorted), [](std::uint64_t count) { return count > 0; });
    std::ranges::sort(sorted, std::greater());
    double all = 0;
    for (const std::uint64_t count : sorted) all += static_cast<double>(count);
    double covered = 0;
    std::uint64_t number = 0;
    for (; number < sorted.size() && covered < share * all; ++number) covered += static_cast<double>(sorted[number]);
    return number;
  }

 private:
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(0x110000);
};

}  // namespace

CorpusSize measure_corpus(const std::string& source, const std::string& target, const core::ProgressSink& progress,
                          const std::stop_token& stop) {
  core::require(source != "-" && target != "-", ErrorCode::kInvalidArgument,
                "standard input cannot be measured, since training reads it again; write it to a file and name the "
                "file");
  corpus::PairReader reader({.source = source, .target = target}, stop);
  CorpusSize size;
  CharacterCounts characters;
  constexpr std::size_t kBlock = std::size_t{1} << 22;
  while (const auto pairs = reader.read(kBlock)) {
    core::require(!stop.stop_requested(), ErrorCode::kInterrupted, "{}: reading was interrupted", reader.name());
    for (std::size_t i = 0; i < pairs->size(); ++i) {
      const std::string_view from = pairs->line(i), to = pairs->target_line(i);
      if (core::is_blank(from) || core::is_blank(to)) continue;
      ++size.pairs;
      size.source_bytes += from.size();
      size.target_bytes += to.size();
      characters.add(from);
      characters.add(to);
    }
    core::report(progress, {.stage = "read",
                            .done = reader.bytes_from_disk(),
                            .total = reader.size_on_disk(),
                            .unit = "bytes",
                            .figures = {}});
  }
  core::require(size.pairs > 0, ErrorCode::kBadInput,
                "{}: no line has text on both sides; name two files with a sentence on each line, and its translation "
                "on the same line of the other file",
                reader.name());
  size.characters = characters.distinct();
  size.frequent_characters = characters.covering(kCharacterCoverage);
  return size;
}

StartingRecipe choose_recipe(const CorpusSize& size) {
  const std::uint64_t bytes = size.bytes_per_side();
  const auto above = std::ranges::upper_bound(kTiers, bytes, {}, &Tier::bytes_per_side);
  const Tier& tier = *std::prev(above);
  const bool large_alphabet = size.characters > kLargeAlphabet;
  const std::int64_t tokens_per_epoch = std::max<std::int64_t>(static_cast<std::int64_t>(bytes) / kBytesPerToken, 1);
  const std::int64_t tokens_per_update = tier.batch_tokens * tier.accumulate;
  const std::int64_t updates = std::clamp(rounded_up(tokens_per_epoch * kEpochs / tokens_per_update, 500),
                                          tier.least_updates, tier.most_updates);
  return {.vocabulary = choose_vocabulary(tier, large_alphabet ? size.frequent_characters : size.characters),
          .character_coverage = large_alphabet ? kCharacterCoverage : 1,
          .d_model = tier.d_model,
          .heads = tier.heads,
          .feed_forward = tier.feed_forward,
          .layers = tier.layers,
          .dropout = tier.dropout,
          .attention_dropout = tier.attention_dropout,
          .batch_tokens = tier.batch_tokens,
          .accumulate = tier.accumulate,
          .updates = updates,
          .warmup = tier.warmup,
          .learning_rate = peak_rate(tier),
          // About fifteen validations and checkpoints, more of long runs.
          .validation_every = std::clamp<std::int64_t>(updates / 1'500 * 100, 100, 5'000),
          .epochs = std::max<std::int64_t>(updates * tokens_per_update / tokens_per_epoch, 1),
          .origin = tier.origin};
}

}  // namespace dragoman::training
