#include "op_harness.h"
#include "test_data.h"

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/slice.h>
#include <dragoman/ops/softmax.h>
#include <dragoman/ops/softmax_cross_entropy.h>

// golden/make_torch_golden.py made the file: values and gradients as PyTorch computes them in double precision.
namespace dragoman::testing {
namespace {

using Operands = std::span<const Variable>;
using Op = std::function<Variable(Context&, Operands)>;

const core::Json& golden() {
  static const core::Json file = core::load_json(golden_file("torch.json").string());
  return file;
}

Variable attend(Context& context, Operands x, int heads, bool causal) {
  static const std::vector<std::int32_t> q_offsets[2] = {{0, 3}, {0, 2}};
  static const std::vector<std::int32_t> k_offsets = {0, 4};
  return ops::attention(context, x[0], x[1], x[2], context.indices(q_offsets[causal ? 1 : 0]),
                        context.indices(k_offsets), {.heads = heads, .causal = causal})
      .output;
}

Op activation(ops::Activation kind) {
  return [kind](Context& c, Operands x) { return ops::activate(c, x[0], kind); };
}

std::vector<std::pair<std::string, Op>> ops_by_name() {
  return {{"gelu", activation(ops::Activation::kGelu)},
          {"swish", activation(ops::Activation::kSwish)},
          {"relu", activation(ops::Activation::kRelu)},
          {"sigmoid", activation(ops::Activation::kSigmoid)},
          {"tanh", activation(ops::Activation::kTanh)},
          {"softmax", [](Context& c, Operands x) { return ops::softmax(c, x[0]); }},
          {"log_softmax", [](Context& c, Operands x) { return ops::log_softmax(c, x[0]); }},
          {"layer_norm", [](Context& c, Operands x) { return ops::layer_norm(c, x[0], x[1], x[2], 1e-5); }},
          {"linear",
           [](Context& c, Operands x) {
             return ops::linear(c, x[0], {x[1], nullptr}, x[2]);
           }},
          {"attention", [](Context& c, Operands x) { return attend(c, x, 2, false); }},
          {"gelu_tanh", activation(ops::Activation::kGeluTanh)},
          {"rms_norm", [](Context& c, Operands x) { return ops::rms_norm(c, x[0], x[1], 1e-5); }},
          {"attention_biased",
           [](Context& c, Operands x) {
             static const std::vector<std::int32_t> q_offsets{0, 3};
             static const std::vector<std::int32_t> k_offsets{0, 5};
             return ops::attention(c, x[0], x[1], x[2], c.indices(q_offsets), c.indices(k_offsets),
                                   {.heads = 2, .scale = 1}, false, x[3])
                 .output;
           }},
          {"attention_causal", [](Context& c, Operands x) { return attend(c, x, 3, true); }}};
}

std::vector<double> numbers(const core::Json& json) {
  return json.get<std::vector<double>>();
}

std::vector<Variable> inputs_of(Rig& rig, const core::Json& entry) {
  std::vector<Variable> inputs;
  for (const core::Json& input : entry["inputs"])
    inputs.push_back(rig.variable(input["shape"][0], input["shape"][1], numbers(input["values"]), true));
  return inputs;
}

class TorchGolden : public ::testing::TestWithParam<Device> {
 protected:
  double tolerance() const { return GetParam() == Device::kReference ? 1e-10 : 2e-5; }
};
INSTANTIATE_TEST_SUITE_P(Ops, TorchGolden, kAllDevices, device_name);

TEST_P(TorchGolden, ValuesAndGradientsOfEachOp) {
  for (const auto& [name, op] : ops_by_name()) {
    const core::Json& entry = golden().at(name);
    Rig rig(GetParam());
    rig.record();
    const std::vector<Variable> inputs = inputs_of(rig, entry);
    const Variable output = op(rig.context(), inputs);
    expect_close(values_of(output.value), numbers(entry["output"]), tolerance(), name);
    const Tensor weights = rig.matrix(output.value.rows, output.value.cols, numbers(entry["weights"]));
    rig.backward(ops::weighted_sum(rig.context(), output, weights));
    for (std::size_t i = 0; i < inputs.size(); ++i)
      expect_close(gradient_of(inputs[i]), numbers(entry["gradients"][i]), tolerance(),
                   name + ": gradient of operand " + std::to_string(i));
  }
}

TEST_P(TorchGolden, CrossEntropyWithAndWithoutLabelSmoothing) {
  for (const char* name : {"cross_entropy", "cross_entropy_smoothed"}) {
    const core::Json& entry = golden().at(name);
    Rig rig(GetParam());
    rig.record();
    const std::vector<Variable> inputs = inputs_of(rig, entry);
    const auto targets = entry["targets"].get<std::vector<std::int32_t>>();
    // PyTorch's loss was multiplied by a weight before it was differentiated.
    const double scale = entry["weights"][0];
    const ops::LossSums sums = ops::softmax_cross_entropy(
        rig.context(), inputs[0], {{inputs[1], nullptr}, inputs[2]}, rig.context().indices(targets),
        {.label_smoothing = entry["smoothing"], .gradient_scale = scale});
    rig.tape().backward(rig.context());
    EXPECT_NEAR(sums.loss, entry["output"][0].get<double>(), tolerance() * 10) << name;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      expect_close(gradient_of(inputs[i]), numbers(entry["gradients"][i]), tolerance(),
                   std::string(name) + ": gradient of operand " + std::to_string(i));
  }
}

}  // namespace
}  // namespace dragoman::testing
