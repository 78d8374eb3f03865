// Nothing: what is compiled with it are the headers of others (CMakeLists.txt).
int main() {}
