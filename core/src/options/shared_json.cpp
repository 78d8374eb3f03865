#include "dragoman/core/shared_json.h"

#include "dragoman/core/json.h"

namespace dragoman::core {

SharedJson::SharedJson(Json tree) : tree_(std::make_shared<const Json>(std::move(tree))) {}

SharedJson SharedJson::null() {
  static const SharedJson null{Json()};  // every option without a default shares it
  return null;
}

const Json& SharedJson::get() const noexcept {
  static const Json empty_object = Json::object();
  return tree_ == nullptr ? empty_object : *tree_;
}

bool SharedJson::empty() const noexcept {
  return get().empty();
}

bool SharedJson::operator==(const SharedJson& other) const {
  return get() == other.get();
}

}  // namespace dragoman::core
