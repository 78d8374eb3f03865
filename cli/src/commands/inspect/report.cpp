#include "report.h"

#include "options/printing.h"

#include <algorithm>

namespace dragoman::cli {
namespace {

std::string as_text(const core::Json& value) {
  return value.is_string() ? value.get<std::string>() : core::one_line(value);
}

}  // namespace

void Report::add(std::string_view key, core::Json value, std::string text) {
  std::string label(key);
  std::ranges::replace(label, '_', ' ');
  add_row(label, std::move(text));
  add_value(key, std::move(value));
}

void Report::add(std::string_view key, core::Json value) {
  std::string text = as_text(value);
  add(key, std::move(value), std::move(text));
}

void Report::append(Report other) {
  for (auto& [key, value] : other.object_.items()) add_value(key, std::move(value));
  append_lines(other);
}

void Report::add_part(std::string_view key, Report part) {
  add_value(key, std::move(part.object_));
  append_lines(part);
}

void Report::append_lines(Report& other) {
  for (auto& row : other.rows_) rows_.push_back(std::move(row));
  tables_ += other.tables_;
}

void Report::add_settings(std::string_view key, const core::Json& settings, const std::string& prefix) {
  add_value(key, settings);
  add_setting_rows(settings, prefix);
}

void Report::add_setting_rows(const core::Json& settings, const std::string& prefix) {
  for (const auto& [key, value] : settings.items()) {
    if (value.is_object() && !value.empty())
      add_setting_rows(value, prefix + key + ".");
    else
      add_row(prefix + key, as_text(value));
  }
}

void Report::print(std::string_view title) const {
  fmt::print("{}\n", title);
  for (const auto& [label, text] : rows_) print_row(label, text);
  fmt::print("{}", tables_);
}

}  // namespace dragoman::cli
