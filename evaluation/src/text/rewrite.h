#pragma once

#include <string>
#include <string_view>

namespace dragoman::evaluation {

// The substitutions from which the reference tokenizers are composed. Each is one pass from left to right without
// overlap: consumed characters cannot be part of another match. They work on bytes as well as on code points if the
// tests match ASCII characters only, because every byte of a longer character then gives the same answer.

/// Replaces every `from` by `to`.
inline void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::size_t next = text.find(from);
  if (next == std::string::npos) return;
  std::string result;
  std::size_t begin = 0;
  for (; next != std::string::npos; next = text.find(from, begin)) {
    result.append(text, begin, next - begin).append(to);
    begin = next + from.size();
  }
  text = result.append(text, begin, std::string::npos);
}

/// Replaces x by " x ".
template <class Char, class Test>
std::basic_string<Char> pad(const std::basic_string<Char>& text, Test&& test) {
  std::basic_string<Char> result;
  result.reserve(text.size() + text.size() / 2);
  for (const Char c : text) {
    if (test(c)) {
      result.push_back(' ');
      result.push_back(c);
      result.push_back(' ');
    } else {
      result.push_back(c);
    }
  }
  return result;
}

/// Replaces xy by "x y ".
template <class Char, class First, class Second>
std::basic_string<Char> pad_second(const std::basic_string<Char>& text, First&& first, Second&& second) {
  std::basic_string<Char> result;
  result.reserve(text.size() + text.size() / 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    result.push_back(text[i]);
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) continue;
    result.push_back(' ');
    result.push_back(text[++i]);
    result.push_back(' ');
  }
  return result;
}

/// Replaces xy by " x y".
template <class Char, class First, class Second>
std::basic_string<Char> pad_first(const std::basic_string<Char>& text, First&& first, Second&& second) {
  std::basic_string<Char> result;
  result.reserve(text.size() + text.size() / 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      result.push_back(text[i]);
      continue;
    }
    result.push_back(' ');
    result.push_back(text[i]);
    result.push_back(' ');
    result.push_back(text[++i]);
  }
  return result;
}

}  // namespace dragoman::evaluation
