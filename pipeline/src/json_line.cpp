#include "json_line.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

namespace dragoman::pipeline {
namespace {

using core::Json;
using Members = Json::object_t;

constexpr std::size_t kDeepest = 100;

/// Makes keys unique.
void drop_replaced(Members& members) {
  if (members.size() < 2) return;
  std::vector<std::size_t> order(members.size());
  const auto member = members.begin();
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int difference = member[a].first.compare(member[b].first);
    return difference != 0 ? difference < 0 : a < b;
  });
  std::vector<bool> replaced(members.size());
  bool any = false;
  for (std::size_t i = 0; i < order.size();) {
    const std::size_t first = order[i];
    while (++i < order.size() && member[order[i]].first == member[first].first) {
      member[first].second = std::move(member[order[i]].second);
      replaced[order[i]] = any = true;
    }
  }
  if (!any) return;
  Members unique;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!replaced[i]) unique.emplace_back(member[i].first, std::move(member[i].second));
  members = std::move(unique);
}

/// Builds the tree from what the library's parser meets.
class TreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(std::move(value)); }
  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool start_object(std::size_t /*members*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*elements*/) override { return open(Json::array()); }
  bool end_object() override {
    drop_replaced(open_.back()->get_ref<Members&>());
    open_.pop_back();
    return true;
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t byte, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    error_ = fmt::format("not a JSON object: wrong at byte {}", byte);
    return false;
  }

  JsonLine take() {
    if (error_.empty() && !root_.is_object()) error_ = "not a JSON object";
    if (!error_.empty()) return {nullptr, std::move(error_)};
    return {std::move(root_), {}};
  }

 private:
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json container) {
    if (open_.size() == kDeepest) {
      error_ = fmt::format("nested deeper than {} levels", kDeepest);
      return false;
    }
    open_.push_back(&place(std::move(container)));
    return true;
  }
  /// Puts a value where it belongs. It stays there until its container gets another one.
  Json& place(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return parent.back();
    }
    Members& members = parent.get_ref<Members&>();
    members.emplace_back(std::move(key_), std::move(value));
    return members.back().second;
  }

  Json root_;
  std::vector<Json*> open_;
  std::string key_;
  std::string error_;
};

}  // namespace

JsonLine parse_json_line(std::string_view text) {
  TreeBuilder builder;
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace dragoman::pipeline
