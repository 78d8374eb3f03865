#include "kernel_name.h"

#include <cctype>

namespace dragoman::backend::cuda {
namespace {

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// "a::{anonymous}::(anonymous namespace)::B<c::D>" to "B<D>".
std::string without_namespaces(std::string_view type) {
  std::string text;
  std::size_t begin = 0;  // in text, of the name that is being read
  for (std::size_t i = 0; i < type.size(); ++i) {
    if (type.substr(i).starts_with("::")) {
      text.resize(begin);
      ++i;
      continue;
    }
    text += type[i];
    if (!in_name(type[i]) && type[i] != '{' && type[i] != '}' && type[i] != '(' && type[i] != ')' &&
        !(type[i] == ' ' && type.substr(i).starts_with(" namespace)")))
      begin = text.size();
  }
  return text;
}

}  // namespace

std::string kernel_name(std::string_view function) {
  constexpr std::string_view kMark = "Kernel = ";
  const std::size_t mark = function.find(kMark);
  if (mark == std::string_view::npos) return std::string(function);
  std::string_view type = function.substr(mark + kMark.size());
  // Until the bracket that closes the list, or the next name of it.
  int depth = 0;
  for (std::size_t i = 0; i < type.size(); ++i) {
    if (type[i] == '<') ++depth;
    if (type[i] == '>') --depth;
    if (depth == 0 && (type[i] == ']' || type[i] == ';')) {
      type = type.substr(0, i);
      break;
    }
  }
  return without_namespaces(type);
}

}  // namespace dragoman::backend::cuda
