#include "mutation.h"

#include <algorithm>
#include <cctype>

namespace dragoman::fuzz {
namespace {

bool is_alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool is_punctuation(char c) {
  return !is_alphanumeric(c) && c != '"' && c != '\'' && c != '_';
}

struct Part {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// From behind one punctuation mark to behind another of its kind, as an element of a list with its comma.
Part between_punctuation(std::string_view bytes, std::mt19937& random) {
  const auto start =
      std::find_if(bytes.begin() + static_cast<std::ptrdiff_t>(random() % bytes.size()), bytes.end(), is_punctuation);
  if (start == bytes.end()) return {};
  const auto begin = static_cast<std::size_t>(start - bytes.begin()) + 1;
  std::size_t end = begin;
  for (auto marks = 1 + random() % 3; marks > 0; --marks) {
    const std::size_t next = bytes.find(random() % 2 == 0 ? *start : ',', end);
    if (next == std::string_view::npos) break;
    end = next + 1;
  }
  return {begin, end};
}

Part any_part(std::string_view bytes, std::mt19937& random) {
  const std::size_t begin = random() % bytes.size();
  const std::size_t longest = std::min<std::size_t>(bytes.size() - begin, 40);
  return {begin, begin + 1 + random() % longest};
}

/// The part with `number` behind its first word.
std::string numbered(std::string_view part, std::size_t number) {
  const auto word = std::find_if(part.begin(), part.end(), is_alphanumeric);
  const auto end = std::find_if_not(word, part.end(), is_alphanumeric);
  const auto at = static_cast<std::size_t>(end - part.begin());
  return std::string(part.substr(0, at)) + std::to_string(number) + std::string(part.substr(at));
}

void change_once(std::string& bytes, std::mt19937& random) {
  constexpr std::string_view kMarks("\"{}[],:\\ <>\n\t\x00\xFF-.=#&*|", 23);
  const std::size_t at = random() % bytes.size();
  const std::size_t length = std::min<std::size_t>(1 + random() % 20, bytes.size() - at);
  switch (random() % 6) {
    case 0:
      bytes[at] = static_cast<char>(random() % 256);
      break;
    case 1:
      bytes.erase(at, length);
      break;
    case 2:
      bytes.insert(random() % bytes.size(), bytes.substr(at, length));
      break;
    case 3:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      break;
    case 4:
      if (const std::size_t digit = bytes.find_first_of("0123456789", at); digit != std::string::npos)
        bytes[digit] = static_cast<char>('0' + random() % 10);
      break;
    default:
      bytes[at] = kMarks[random() % kMarks.size()];
  }
}

}  // namespace

std::string change(std::string bytes, std::mt19937& random) {
  for (auto changes = 1 + random() % 3; changes > 0 && !bytes.empty(); --changes) change_once(bytes, random);
  return bytes;
}

std::string repeat_part(std::string_view bytes, std::size_t size, std::mt19937& random, Numbering numbering) {
  if (bytes.empty()) return {};
  Part part = random() % 4 != 0 ? between_punctuation(bytes, random) : Part{};
  if (part.begin >= part.end) part = any_part(bytes, random);
  const std::string_view copied = bytes.substr(part.begin, part.end - part.begin);
  const bool drawn = random() % 4 != 0;
  const bool with_numbers = numbering == Numbering::kDrawn ? drawn : numbering == Numbering::kEach;
  std::string result(bytes.substr(0, part.begin));
  const std::size_t copies_end = size > bytes.size() ? size - (bytes.size() - part.end) : part.end;
  for (std::size_t number = 0; result.size() < copies_end; ++number)
    result += with_numbers ? numbered(copied, number) : std::string(copied);
  return result.append(bytes.substr(part.end));
}

}  // namespace dragoman::fuzz
