// Loads a model and translates standard input:  translate MODEL < input > output
#include <iostream>

#include <dragoman/core/error.h>
#include <dragoman/pipeline/translator.h>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: translate MODEL < input > output\n";
    return 2;
  }
  try {
    dragoman::plugins::Host host;
    dragoman::pipeline::TranslateOptions options;
    options.decoding.beam_size = 5;
    dragoman::pipeline::Translator translator(argv[1], host, options);
    for (std::string line; std::getline(std::cin, line);) std::cout << translator.translate(line) << '\n';
  } catch (const dragoman::core::Error& error) {
    std::cerr << "translate: " << error.what() << '\n';
    return 1;
  }
}
