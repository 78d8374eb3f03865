#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/tensor/tensor.h>

namespace dragoman::tensor {

/// The name of an op's kernel and its C++ signature. Op headers declare their keys as constexpr objects. Plugins may
/// declare further keys.
///
///     struct NegateArguments {
///       Tensor x;
///       Tensor y;
///     };
///     inline constexpr KernelKey<void(Context&, const NegateArguments&)> kNegate{"mine.negate"};
template <class Signature>
struct KernelKey {
  std::string_view name;
};

/// The kernels of one kind of device, by key. A table is filled by plain calls, without static initialisers. Afterwards
/// it is read-only and shared by all contexts of the device.
///
///     void add(Context& context, const ops::AddArguments& arguments) {     // ops/elementwise.h
///       context.kernels().get(ops::kAdd)(context, arguments);
///     }
class KernelTable {
 public:
  /// `device` is any device of the kind.
  explicit KernelTable(Device device) : device_(device) {}

  /// Registers `kernel`. Error{kInvalidArgument} if the name is registered already.
  template <class Result, class... Args>
  void set(KernelKey<Result(Args...)> key, std::type_identity_t<Result (*)(Args...)> kernel) {
    insert(key.name, reinterpret_cast<ErasedKernel>(kernel), signature_id<Result(Args...)>());
  }

  /// Returns the kernel; nullptr if this device has none.
  template <class Result, class... Args>
  auto find(KernelKey<Result(Args...)> key) const -> Result (*)(Args...) {
    return reinterpret_cast<Result (*)(Args...)>(lookup(key.name, signature_id<Result(Args...)>()));
  }

  /// Returns the kernel. Throws Error{kUnsupported}, which names op and device, if there is none.
  template <class Result, class... Args>
  auto get(KernelKey<Result(Args...)> key) const -> Result (*)(Args...) {
    auto* kernel = find(key);
    if (kernel == nullptr)
      core::fail(core::ErrorCode::kUnsupported, "the {} backend has no kernel for the op '{}'", device_.backend(),
                 key.name);
    return kernel;
  }

  Device device() const noexcept { return device_; }
  std::size_t count() const noexcept { return kernels_.size(); }
  /// Removes a kernel, so that a plugin whose registration throws leaves no kernels in the table.
  void erase(std::string_view name);
  /// Calls visitor(name) for every registered kernel.
  template <class Visitor>
  void for_each_name(Visitor&& visitor) const {
    for (const auto& [name, entry] : kernels_) visitor(name);
  }

 private:
  using ErasedKernel = void (*)();
  struct Entry {
    ErasedKernel kernel;
    std::string_view signature;
  };

  /// The compiler's spelling of the signature. It is equal across shared libraries, unlike the address of a template
  /// instantiation.
  template <class Signature>
  static constexpr std::string_view signature_id() {
    return __PRETTY_FUNCTION__;
  }

  void insert(std::string_view name, ErasedKernel kernel, std::string_view signature);
  ErasedKernel lookup(std::string_view name, std::string_view signature) const;

  Device device_;
  std::map<std::string_view, Entry> kernels_;
};

}  // namespace dragoman::tensor
