/// An OpenMP runtime of one thread, for the wheel: the functions of GCC's libgomp that oneDNN calls. Every team
/// consists of the calling thread. oneDNN then computes what it computes with libgomp after omp_set_num_threads(1).
/// It starts no threads, so a process that also loads libgomp, as PyTorch does, has one OpenMP runtime and not two.
extern "C" {

void GOMP_parallel(void (*body)(void*), void* data, unsigned /*threads*/, unsigned /*flags*/) {
  body(data);
}
void GOMP_barrier() {}
int omp_get_max_threads() {
  return 1;
}
int omp_get_num_threads() {
  return 1;
}
int omp_get_thread_num() {
  return 0;
}
/// A team of one thread is not an active parallel region (OpenMP 4.5, section 3.2.6).
int omp_in_parallel() {
  return 0;
}
}
