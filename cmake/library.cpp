/// The version of the library that is loaded, for programs that do not link to it: "MAJOR.MINOR.PATCH".
extern "C" const char* dragoman_version();

const char* dragoman_version() {
  return DRAGOMAN_VERSION;
}
