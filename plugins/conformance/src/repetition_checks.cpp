#include "checks.h"

namespace dragoman::plugins {
namespace {

Matrix all_gradients(Subject& subject) {
  nn::ParameterStore& store = subject.model().parameters();
  store.attach_gradients(subject.memory());
  loss(subject, example_pairs(), true);
  store.finish_gradients();
  return read(subject.context(), store.flat_gradients());
}

}  // namespace

Finding check_training_mode(const Bench& bench) {
  Subject subject = bench.subject();
  subject.model().parameters().attach_gradients(subject.memory());
  const std::vector<Pair> pairs = example_pairs();
  const Matrix inference = decode_whole(subject, pairs);
  const Distance training = distance(decode_whole(subject, pairs, {.record = true, .training = true}), inference);
  const Distance recording = distance(decode_whole(subject, pairs, {.record = true}), inference);
  // A device's library may choose another algorithm for products whose rows may depend on the number of rows.
  const double allowed = subject.memory().reads_host_memory() ? 0 : tolerance_of(subject.dtype());
  return judge(larger(training, recording), allowed, "training mode (without dropout) and a set tape against inference",
               "the forward pass does one thing in training and another in translation; or the example has dropout");
}

Finding check_determinism(const Bench& bench) {
  const std::vector<Pair> pairs = example_pairs();
  Subject one = bench.subject();
  Subject three = bench.subject(3);
  const Matrix states = decode_whole(one, pairs);
  Distance found = distance(decode_whole(one, pairs), states);
  found = larger(found, distance(decode_whole(three, pairs), states));
  const Matrix gradients = all_gradients(one);
  found = larger(found, distance(all_gradients(three), gradients));
  found = larger(found, distance(all_gradients(one), gradients));
  return judge(found, 0, "states and gradients of a second run, and with three threads",
               "something is drawn, or summed in an order that differs from run to run");
}

}  // namespace dragoman::plugins
