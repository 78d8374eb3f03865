#include "program/removed_options.h"

#include <algorithm>
#include <iterator>

namespace dragoman::cli {
namespace {

struct RemovedOption {
  std::string_view command;
  std::string_view option;
  std::string_view advice;
};

constexpr std::string_view kLearnElsewhere =
    "learn with subword-nmt or tokenizers itself; every command reads the file that it writes, and `dragoman convert` "
    "makes a tokenizer.json of it";
constexpr std::string_view kKeepWhole =
    "`subword-nmt apply-bpe --glossaries` keeps words whole, and `translate --input-pieces` reads its lines";

constexpr std::string_view kWaitsForNobody =
    "leave it out; `mpirun` and `srun` start all processes of a job together, and end it if one cannot start";

constexpr RemovedOption kRemoved[] = {
    {"learn-bpe", "--reproduce", kLearnElsewhere},
    {"learn-bpe", "--merges", kLearnElsewhere},
    {"learn-bpe", "--total-symbols", kLearnElsewhere},
    {"learn-bpe", "--words", kLearnElsewhere},
    {"learn-bpe", "--add-prefix-space", kLearnElsewhere},
    {"learn-bpe", "--limit-alphabet", kLearnElsewhere},
    {"learn-bpe", "--max-token-length", kLearnElsewhere},
    {"learn-bpe", "--end-of-word-suffix", kLearnElsewhere},
    {"encode", "--glossary", kKeepWhole},
    {"decode", "--glossary", kKeepWhole},
    {"convert", "--glossary", kKeepWhole},
    {"verify", "--glossary", kKeepWhole},
    {"vocab", "--glossary", kKeepWhole},
    {"train", "--join-timeout", kWaitsForNobody},
};

}  // namespace

std::string_view removed_option(std::string_view command, std::string_view option) {
  const auto* found = std::ranges::find_if(
      kRemoved, [&](const RemovedOption& each) { return each.command == command && each.option == option; });
  return found == std::end(kRemoved) ? std::string_view() : found->advice;
}

}  // namespace dragoman::cli
