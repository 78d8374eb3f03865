#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace dragoman::core {

template <class Signature>
class FunctionRef;

/// A non-owning reference to a callable, two pointers wide. Hot loops use it instead of std::function, which allocates
/// memory for larger captures. The callable must outlive the reference.
///
///     const auto square = [](int number) { return number * number; };
///     const FunctionRef<int(int)> function = square;
///     std::cout << function(3);
template <class Result, class... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<Result, F&, Args...>)
      FunctionRef(F&& callable)  // NOLINT: implicit on purpose, as a parameter type
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}

  Result operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  Result (*call_)(void*, Args...);
};

}  // namespace dragoman::core
