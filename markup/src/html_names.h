#pragma once

#include <cstdint>
#include <string_view>

namespace dragoman::markup {

/// The treatment of an element in a translation.
enum class Role : std::uint8_t {
  kInline,          ///< also every unknown element
  kVoid,            ///< inline, without content
  kBlock,           ///< ends a segment
  kVoidBlock,       ///< ends a segment, without content
  kUntouched,       ///< inline; its content is not translated
  kHidden,          ///< inline; its content is neither translated nor visible
  kUntouchedBlock,  ///< ends a segment; its content is not translated
};

/// Names of elements are compared without case.
Role role_of(std::string_view name);

/// Returns whether tags have no meaning in the content of the element.
bool has_raw_content(std::string_view name);

/// Returns whether the start tag of an element implies the end of the open element, as in `<li>a<li>b`.
bool implies_end_of(std::string_view name, std::string_view open);

/// Returns whether the values of the attribute are translated.
bool is_translated_attribute(std::string_view name);

}  // namespace dragoman::markup
