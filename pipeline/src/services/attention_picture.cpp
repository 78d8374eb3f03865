#include "dragoman/pipeline/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <dragoman/core/utf8.h>

namespace dragoman::pipeline {
namespace {

std::string escape_xml(std::string_view label) {
  std::string text(label);
  core::replace_invalid_utf8(text);
  // U+FFFE and U+FFFF are valid in UTF-8, but not in XML.
  for (const std::string_view none : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (std::size_t at = text.find(none); at != text.npos; at = text.find(none)) text.replace(at, none.size(), 1, '?');
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        // XML cannot represent most control characters.
        escaped += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
    }
  }
  return escaped;
}

/// Maps values between the minimum and the maximum of a picture to colours; weights range from 0 to 1.
class Scale {
 public:
  explicit Scale(const SentenceAttention& attention) {
    if (!attention.before_softmax) return;
    least_ = std::numeric_limits<float>::max();
    most_ = std::numeric_limits<float>::lowest();
    for (const float value : attention.maps.values) {
      if (!std::isfinite(value)) continue;
      least_ = std::min(least_, value);
      most_ = std::max(most_, value);
    }
  }
  /// Returns a colour between white and dark blue.
  std::string colour(float value) const {
    const double share = most_ > least_ ? std::clamp((value - least_) / (most_ - least_), 0.0F, 1.0F) : 0.0;
    const auto mix = [&](int light, int dark) { return static_cast<int>(std::lround(light + share * (dark - light))); };
    return fmt::format("#{:02x}{:02x}{:02x}", mix(255, 8), mix(255, 48), mix(255, 107));
  }

 private:
  float least_ = 0;
  float most_ = 1;
};

class Picture {
 public:
  Picture(const SentenceAttention& attention, const std::string& title)
      : attention_(attention),
        scale_(attention),
        left_(kLetter * longest(attention.queries) + 12),
        top_(kLetter * longest(attention.keys) + kTitle + 12),
        panel_width_(left_ + kCell * static_cast<int>(attention.maps.keys) + 16),
        panel_height_(top_ + kCell * static_cast<int>(attention.maps.queries) + 16) {
    const decoding::AttentionMaps& maps = attention.maps;
    const int width =
        std::max(panel_width_ * static_cast<int>(maps.heads.size()), 8 * static_cast<int>(title.size())) + 16;
    const int height = kTitle + panel_height_ * static_cast<int>(maps.layers.size()) + 16;
    add(R"svg(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}")svg", width,
        height);
    add(R"svg( font-family="sans-serif" font-size="11">{})svg", kLineEnd);
    add(R"svg(<rect width="{}" height="{}" fill="white"/>{})svg", width, height, kLineEnd);
    add(R"svg(<text x="8" y="16" font-size="13" font-weight="bold">{}</text>{})svg", escape_xml(title), kLineEnd);
    for (std::size_t layer = 0; layer < maps.layers.size(); ++layer)
      for (std::size_t head = 0; head < maps.heads.size(); ++head) add_panel(layer, head);
    text_ += "</svg>\n";
  }
  std::string take() { return std::move(text_); }

 private:
  static constexpr int kCell = 16;
  static constexpr int kLetter = 7;
  static constexpr int kTitle = 22;
  static constexpr char kLineEnd = '\n';

  static int longest(const std::vector<std::string>& labels) {
    std::size_t most = 1;
    // Counts characters, not bytes.
    for (const std::string& label : labels) {
      std::size_t letters = 0;
      for (const char c : label) letters += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
      most = std::max(most, letters);
    }
    return static_cast<int>(most);
  }
  static int at(int begin, std::size_t cell) { return begin + kCell * static_cast<int>(cell); }

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void add_panel(std::size_t layer, std::size_t head) {
    const decoding::AttentionMaps& maps = attention_.maps;
    add(R"svg(<g transform="translate({},{})">{})svg", 8 + panel_width_ * static_cast<int>(head),
        kTitle + panel_height_ * static_cast<int>(layer), kLineEnd);
    const std::string which = maps.heads[head] < 0 ? "mean of heads" : fmt::format("head {}", maps.heads[head]);
    add(R"svg(<text x="0" y="14" fill="#555">layer {}, {}</text>{})svg", maps.layers[layer], which, kLineEnd);
    for (std::size_t j = 0; j < attention_.keys.size(); ++j)
      add(R"svg(<text transform="translate({},{}) rotate(-90)">{}</text>{})svg", at(left_, j) + 12, top_ - 4,
          escape_xml(attention_.keys[j]), kLineEnd);
    for (std::size_t i = 0; i < attention_.queries.size(); ++i)
      add(R"svg(<text x="{}" y="{}" text-anchor="end">{}</text>{})svg", left_ - 4, at(top_, i) + 12,
          escape_xml(attention_.queries[i]), kLineEnd);
    for (std::size_t i = 0; i < attention_.queries.size(); ++i)
      for (std::size_t j = 0; j < attention_.keys.size(); ++j)
        add_cell(i, j, maps.at(layer, head, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)));
    text_ += "</g>\n";
  }

  void add_cell(std::size_t i, std::size_t j, float value) {
    if (!std::isfinite(value)) return;
    add(R"svg(<rect x="{}" y="{}" width="{}" height="{}" fill="{}" stroke="#ddd" stroke-width="0.5">)svg", at(left_, j),
        at(top_, i), kCell, kCell, scale_.colour(value));
    add("<title>{} \u2192 {}: {:.4f}</title></rect>\n", escape_xml(attention_.queries[i]),
        escape_xml(attention_.keys[j]), value);
  }

  const SentenceAttention& attention_;
  Scale scale_;
  int left_;
  int top_;
  int panel_width_;
  int panel_height_;
  std::string text_;
};

}  // namespace

namespace {

/// Returns a picture that explains why there is none.
std::string refusal(const SentenceAttention& attention, const std::string& title) {
  const decoding::AttentionMaps& maps = attention.maps;
  const std::string reason =
      fmt::format("{} panels of {} rows and {} columns are more than the {} squares of a picture.",
                  maps.layers.size() * maps.heads.size(), maps.queries, maps.keys, kMaxSquaresOfPicture);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"76\" viewBox=\"0 0 {0} 76\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{0}\" height=\"76\" fill=\"white\"/>\n"
      "<text x=\"8\" y=\"16\" font-size=\"13\" font-weight=\"bold\">{1}</text>\n<text x=\"8\" y=\"40\">{2}</text>\n"
      "<text x=\"8\" y=\"58\">Choose layers and heads, or their mean; arrays (attention_npy) have no such "
      "limit.</text>\n"
      "</svg>\n",
      std::max<std::size_t>(8 * title.size(), 600) + 16, escape_xml(title), reason);
}

}  // namespace

std::string to_svg(const SentenceAttention& attention, const std::string& title) {
  if (attention.maps.values.size() > kMaxSquaresOfPicture) return refusal(attention, title);
  return Picture(attention, title).take();
}

}  // namespace dragoman::pipeline
