#include "dragoman/core/name_hints.h"

#include "edit_distance.h"

#include <algorithm>
#include <utility>

namespace dragoman::core {
namespace {

constexpr std::size_t kMaxWord = 64;  // computing the distance takes the product of the lengths
constexpr std::size_t kMaxGuesses = 3;

/// Returns the form in which names are compared: `--Max-Len` becomes max_len.
std::string normal_form(std::string_view name) {
  std::string result(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  std::ranges::transform(result, result.begin(), [](char c) {
    if (c == '-') return '_';
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

struct Candidate {
  std::string name;    ///< as in `known`
  std::string normal;  ///< normal_form() of it
  bool in_section = false;
  bool below_section = false;

  std::string_view last() const { return last_part(normal); }
};

/// Returns the known names and the sections that contain them, each once, in their order.
std::vector<Candidate> candidates_of(std::string_view scope, const std::vector<std::string>& known) {
  const std::string inside = scope.empty() ? std::string() : normal_form(scope) + ".";
  std::vector<Candidate> all;
  const auto add = [&](std::string_view name) {
    Candidate candidate{.name = std::string(name), .normal = normal_form(name)};
    if (std::ranges::find(all, candidate.normal, &Candidate::normal) != all.end()) return;
    candidate.below_section = candidate.normal.starts_with(inside);
    candidate.in_section = candidate.below_section && candidate.normal.find('.', inside.size()) == std::string::npos;
    all.push_back(std::move(candidate));
  };
  for (const std::string& name : known) {
    add(name);
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
      add(std::string_view(name).substr(0, dot));
  }
  return all;
}

using Guesses = std::vector<std::string>;

template <class Condition>
Guesses names_where(const std::vector<Candidate>& candidates, const Condition& condition) {
  Guesses names;
  for (const Candidate& candidate : candidates)
    if (names.size() < kMaxGuesses && condition(candidate)) names.push_back(candidate.name);
  return names;
}

/// Returns the candidates for one of Dragoman's names: those in the section whose last part matches, otherwise the name
/// itself.
Guesses known_as(std::string_view ours, const std::vector<Candidate>& candidates) {
  const std::string wanted = normal_form(ours);
  const std::string_view last = last_part(wanted);
  if (auto same = names_where(candidates, [&](const Candidate& c) { return c.in_section && c.last() == last; });
      !same.empty())
    return same;
  return names_where(candidates, [&](const Candidate& c) {
    return c.normal == wanted || std::string_view(wanted).ends_with("." + c.normal);
  });
}

NameHint foreign_hint(const std::string& word, const std::vector<Candidate>& candidates) {
  const auto table = foreign_names();
  const auto found = std::ranges::find(table, word, &ForeignName::theirs);
  NameHint hint;
  if (found == table.end()) return hint;
  for (std::string_view rest = found->ours; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    for (std::string& name : known_as(rest.substr(0, end), candidates))
      if (hint.names.size() < kMaxGuesses && std::ranges::find(hint.names, name) == hint.names.end())
        hint.names.push_back(std::move(name));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!hint.names.empty()) hint.remark = found->remark;
  return hint;
}

/// Returns the names whose last part is closest to the word, if the distance is at most `furthest`.
Guesses close_names(const std::string& word, const std::vector<Candidate>& candidates, bool in_section,
                    std::size_t furthest) {
  std::string_view nearest;
  std::size_t bound = furthest + 1;
  for (const Candidate& candidate : candidates) {
    if (candidate.in_section != in_section || candidate.last().size() > kMaxWord) continue;
    const std::size_t distance = edit_distance(word, candidate.last());
    if (distance >= bound) continue;
    nearest = candidate.last();
    bound = distance;
  }
  if (nearest.empty()) return {};
  return names_where(candidates, [&](const Candidate& c) { return c.in_section == in_section && c.last() == nearest; });
}

Guesses names_that_begin_alike(const std::string& word, const std::vector<Candidate>& candidates) {
  constexpr std::size_t kShortest = 3;
  if (word.size() < kShortest) return {};
  return names_where(candidates, [&](const Candidate& c) {
    return c.in_section && (c.last().starts_with(word) || (c.last().size() > kShortest && word.starts_with(c.last())));
  });
}

}  // namespace

NameHint hint_name(std::string_view word, std::string_view scope, const std::vector<std::string>& known) {
  if (word.size() > kMaxWord) return {};
  const std::string wanted = normal_form(word);
  if (wanted.empty()) return {};
  const std::vector<Candidate> candidates = candidates_of(scope, known);
  for (const auto& place : {&Candidate::in_section, &Candidate::below_section})
    if (auto same = names_where(candidates, [&](const Candidate& c) { return c.*place && c.last() == wanted; });
        !same.empty())
      return {std::move(same)};
  if (auto same = names_where(candidates, [&](const Candidate& c) { return c.last() == wanted; }); !same.empty())
    return {std::move(same)};
  if (NameHint foreign = foreign_hint(wanted, candidates); !foreign.names.empty()) return foreign;
  constexpr std::size_t kTwoLetters = 2, kFourLetters = 4;  // all shorter names are close
  const std::size_t one_error = wanted.size() > kTwoLetters ? 1 : 0;
  if (auto close = close_names(wanted, candidates, true, one_error); !close.empty()) return {std::move(close)};
  if (auto alike = names_that_begin_alike(wanted, candidates); !alike.empty()) return {std::move(alike)};
  const std::size_t errors = wanted.size() >= kFourLetters ? furthest_distance(wanted) : one_error;
  if (auto close = close_names(wanted, candidates, true, errors); !close.empty()) return {std::move(close)};
  constexpr std::size_t kOneErrorIn = 5;
  return {close_names(wanted, candidates, false, wanted.size() / kOneErrorIn)};
}

std::string did_you_mean(std::string_view word, std::string_view scope, const std::vector<std::string>& known) {
  NameHint hint = hint_name(word, scope, known);
  const std::string inside = std::string(scope) + ".";
  for (std::string& name : hint.names)
    if (!scope.empty() && name.starts_with(inside) && name.find('.', inside.size()) == std::string::npos)
      name.erase(0, inside.size());
  return did_you_mean(hint);
}

std::string did_you_mean(const NameHint& hint) {
  std::string text;
  for (const std::string& name : hint.names) text += (text.empty() ? "; did you mean '" : " or '") + name + "'";
  if (text.empty()) return text;
  if (!hint.remark.empty()) text += (hint.remark.starts_with("with") ? " " : ", ") + std::string(hint.remark);
  return text + "?";
}

}  // namespace dragoman::core
