#include "program/program.h"
#include "program/standard_streams.h"

#include <new>

int main(int argc, char** argv) {
  try {
    return dragoman::cli::run_program({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {  // no memory for the arguments or for a message
    dragoman::cli::write_to_standard_error("dragoman: out of memory\n");
    return 1;
  }
}
