#include "gemm_choices.h"

#include <charconv>

#include <fmt/format.h>

#include <dragoman/core/fingerprint.h>

namespace dragoman::backend::cuda {
namespace {

constexpr std::string_view kHeader = "dragoman products 3 ";
constexpr std::size_t kMaxAnswers = 100'000;
constexpr int kMaxBuckets = 16;
constexpr int kMaxCandidates = 64;

/// Numbers of a line, one after the other.
class Numbers {
 public:
  explicit Numbers(std::string_view line) : rest_(line) {}
  std::int64_t next(std::int64_t least, std::int64_t most) {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < least || value > most) {
      good_ = false;
      return least;
    }
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  bool good() const noexcept { return good_; }
  bool at_end() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace

std::string format_answers(const GemmAnswers& answers, std::string_view identity) {
  std::string text = fmt::format("{}{}\n", kHeader, identity);
  for (const auto& [question, answer] : answers) {
    const GemmShape& shape = question.shape;
    text +=
        fmt::format("{:d} {:d} {:d} {:d} {:d} {:d} {:d} {} {} {} {}", static_cast<int>(shape.type), shape.transpose_a,
                    shape.transpose_b, shape.accumulate, shape.bias, static_cast<int>(shape.activation),
                    shape.keeps_input, shape.alignment, shape.cols, shape.inner, answer.size());
    for (const int candidate : answer) text += fmt::format(" {}", candidate);
    text += '\n';
  }
  return text;
}

GemmAnswers parse_answers(std::string_view text, std::string_view identity) {
  GemmAnswers answers;
  const std::string_view header = take_line(text);
  if (!header.starts_with(kHeader) || header.substr(kHeader.size()) != identity) return answers;
  constexpr std::int64_t kMax = std::int64_t{1} << 40;
  while (!text.empty() && answers.size() < kMaxAnswers) {
    Numbers numbers(take_line(text));
    GemmQuestion question;
    GemmShape& shape = question.shape;
    shape.type = static_cast<GemmType>(numbers.next(0, static_cast<std::int64_t>(GemmType::kI8)));
    shape.transpose_a = numbers.next(0, 1) != 0;
    shape.transpose_b = numbers.next(0, 1) != 0;
    shape.accumulate = numbers.next(0, 1) != 0;
    shape.bias = numbers.next(0, 1) != 0;
    shape.activation =
        static_cast<GemmActivation>(numbers.next(0, static_cast<std::int64_t>(GemmActivation::kGeluTanh)));
    shape.keeps_input = numbers.next(0, 1) != 0;
    shape.alignment = static_cast<int>(numbers.next(1, 16));
    shape.cols = numbers.next(0, kMax);
    shape.inner = numbers.next(0, kMax);
    GemmAnswer answer(static_cast<std::size_t>(numbers.next(0, kMaxBuckets)));
    for (int& candidate : answer) candidate = static_cast<int>(numbers.next(0, kMaxCandidates - 1));
    if (numbers.good() && numbers.at_end()) answers.insert_or_assign(question, std::move(answer));
  }
  return answers;
}

std::filesystem::path answers_file(const std::filesystem::path& folder, std::string_view identity) {
  return folder / fmt::format("products-{:016x}.txt", core::fingerprint(identity));
}

}  // namespace dragoman::backend::cuda
