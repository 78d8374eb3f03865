#include "any_shape_matmul.h"

#include "onednn.h"

#include <array>
#include <optional>
#include <tuple>
#include <utility>

namespace dragoman::backend::cpu {
namespace {

using onednn::Dimension;
using onednn::Element;
using onednn::Layout;

struct Form {
  bool transpose_a;
  bool transpose_b;
  bool accumulate;
};

/// Returns the layout of an operand [rows, cols], which may be stored transposed.
Layout operand(Element element, Dimension rows, Dimension cols, Dimension stride, bool transposed) {
  return transposed ? onednn::strided(element, rows, cols, 1, stride) : onednn::strided(element, rows, cols, stride, 1);
}

/// A kernel for all shapes of one form. Belongs to one thread.
class AnyShapeMatmul {
 public:
  explicit AnyShapeMatmul(const Form& form) : form_(form) {
    onednn::require_memory_for_code();
    constexpr Dimension kAny = DNNL_RUNTIME_DIM_VAL;
    dnnl::primitive_attr attributes;
    if (form.accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1.0F);
      attributes.set_post_ops(sum);
    }
    const auto description =
        onednn::describe_matmul(operand(Element::bf16, kAny, kAny, kAny, form.transpose_a),
                                operand(Element::bf16, kAny, kAny, kAny, form.transpose_b),
                                operand(Element::f32, kAny, kAny, kAny, /*transposed=*/false), std::move(attributes));
    primitive_ = dnnl::matmul(description);
    scratchpad_ = dnnl::memory(description.scratchpad_desc(), onednn::cpu_engine());
  }

  void run(const GemmArguments<std::uint16_t>& arguments) {
    const auto [m, n, k] = std::tuple(arguments.m, arguments.n, arguments.k);
    const auto at = [](const Layout& layout, const void* data) {
      return dnnl::memory(layout, onednn::cpu_engine(), const_cast<void*>(data));
    };
    primitive_.execute(
        onednn::thread_stream(),
        {{DNNL_ARG_SRC, at(operand(Element::bf16, m, k, arguments.a_stride, form_.transpose_a), arguments.a)},
         {DNNL_ARG_WEIGHTS, at(operand(Element::bf16, k, n, arguments.b_stride, form_.transpose_b), arguments.b)},
         {DNNL_ARG_DST, at(operand(Element::f32, m, n, arguments.c_stride, /*transposed=*/false), arguments.c)},
         {DNNL_ARG_SCRATCHPAD, scratchpad_}});
  }

 private:
  Form form_;
  dnnl::matmul primitive_;
  dnnl::memory scratchpad_;
};

/// Returns the kernel of this thread.
AnyShapeMatmul& matmul_of(const Form& form) {
  thread_local std::array<std::optional<AnyShapeMatmul>, 8> made;
  std::optional<AnyShapeMatmul>& matmul =
      made[(form.transpose_a ? 4U : 0U) + (form.transpose_b ? 2U : 0U) + (form.accumulate ? 1U : 0U)];
  if (!matmul) matmul.emplace(form);
  return *matmul;
}

}  // namespace

void any_shape_matmul(const GemmArguments<std::uint16_t>& arguments) {
  onednn::on_one_thread([&] {
    onednn::translating_errors([&] {
      matmul_of({arguments.transpose_a, arguments.transpose_b, arguments.accumulate}).run(arguments);
    });
  });
}

}  // namespace dragoman::backend::cpu
