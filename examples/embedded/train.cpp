// Learns a vocabulary and trains a small model:  train SOURCE TARGET FOLDER
#include <iostream>

#include <dragoman/dragoman.h>

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::cerr << "usage: train SOURCE TARGET FOLDER\n";
    return 2;
  }
  const std::string source = argv[1], target = argv[2], folder = argv[3];
  const std::string tokenizer = folder + ".tokenizer.json";
  dragoman::learn_bpe({source, target}, {.vocab_size = 1000}).save(tokenizer);

  auto config = dragoman::TrainConfig::parse(R"(
model: {d_model: 64, heads: 4, feed_forward: 128, encoder_layers: 2, decoder_layers: 2}
training: {updates: 200, batch_tokens: 2048}
)");
  config.set("output", folder);
  config.set("data.tokenizer", tokenizer);
  config.set("data.train.source", source);
  config.set("data.train.target", target);
  const auto result =
      dragoman::train(config, {.log = [](auto, std::string_view message) { std::cerr << message << '\n'; }});
  std::cout << "model: " << result.model.string() << '\n';
} catch (const dragoman::Error& error) {
  std::cerr << "train: " << error.what() << '\n';
  return 1;
}
