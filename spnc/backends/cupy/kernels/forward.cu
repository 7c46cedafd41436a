// Values, from the leaves up. A wide step of the circuit is one launch, of sums or of products;
// consecutive thin steps share one launch, whose blocks go through the steps together.

#include "circuit.cuh"

extern "C" __global__ void logarithms(long long count, const double* numbers, REAL* found) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  found[i] = (REAL)log(numbers[i]);
  TALLY_READ(sizeof(double));
  TALLY_WRITE(sizeof(REAL));
  TALLY_FLOPS(1);
}

// Leaves of all types are tables of log densities, here divided by the reference distribution.
extern "C" __global__ void leaves(int count, const double* log_densities, const int* sources,
                                  const double* log_reference, REAL* values) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  values[i] = (REAL)(log_densities[sources[i]] - log_reference[i]);
  TALLY_READ(2 * sizeof(double) + sizeof(int));
  TALLY_WRITE(sizeof(REAL));
  TALLY_FLOPS(1);
}

extern "C" __global__ void cell_sums(long long first, long long last, const int* owners,
                                     const long long* places, const int* starts,
                                     const int* first_slots, const long long* child_places,
                                     const REAL* log_weights, REAL* values) {
  long long entry = first + (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (entry >= last) return;
  int node = owners[entry];
  values[entry] = sum_value(entry - places[node], starts[node], starts[node + 1],
                            first_slots[node], child_places, log_weights, values);
  TALLY_WRITE(sizeof(REAL));
}

extern "C" __global__ void cell_products(long long first, long long last, const int* owners,
                                         const long long* places, const int* starts,
                                         const long long* child_places, const long long* child_maps,
                                         const unsigned short* maps, REAL* values) {
  long long entry = first + (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (entry >= last) return;
  int node = owners[entry];
  long long k = entry - places[node];
  values[entry] = product_value(k, k, starts[node], starts[node + 1], child_places, child_maps,
                                maps, values);
  TALLY_WRITE(sizeof(REAL));
}

// Thin steps first_step to last_step-1, by one block.
extern "C" __launch_bounds__(LONE_BLOCK)
__global__ void cell_steps(int first_step, int last_step, const int* steps, const int* owners,
                           const long long* places, const int* starts, const int* first_slots,
                           const long long* child_places, const long long* child_maps,
                           const unsigned short* maps, const REAL* log_weights, REAL* values) {
  for (int step = first_step; step < last_step; step++) {
    long long end = places[steps[step + 1]];
    for (long long entry = places[steps[step]] + threadIdx.x; entry < end; entry += blockDim.x) {
      int node = owners[entry];
      long long k = entry - places[node];
      values[entry] = node_value(k, k, node, starts, first_slots, child_places, child_maps, maps,
                                 log_weights, values);
      TALLY_WRITE(sizeof(REAL));
    }
    __syncthreads();
  }
}

extern "C" __global__ void row_sums(int first, int last, int rows, const long long* places,
                                    const int* starts, const int* first_slots,
                                    const long long* child_places, const REAL* log_weights,
                                    REAL* values) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= rows) return;
  for (int node = first + blockIdx.y; node < last; node += gridDim.y) {
    values[places[node] + k] = sum_value(k, starts[node], starts[node + 1], first_slots[node],
                                         child_places, log_weights, values);
    TALLY_WRITE(sizeof(REAL));
  }
}

extern "C" __global__ void row_products(int first, int last, int rows, long long first_row,
                                        const long long* places, const int* starts,
                                        const long long* child_places, const long long* child_maps,
                                        const unsigned short* maps, REAL* values) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= rows) return;
  for (int node = first + blockIdx.y; node < last; node += gridDim.y) {
    values[places[node] + k] = product_value(k, first_row + k, starts[node], starts[node + 1],
                                             child_places, child_maps, maps, values);
    TALLY_WRITE(sizeof(REAL));
  }
}

// Many steps in one launch: rows do not depend on one another, so a block takes a slice of them
// through all steps, its warps sharing out the nodes.
extern "C" __global__ void row_steps(int first_step, int last_step, int rows, long long first_row,
                                     const int* steps, const long long* places, const int* starts,
                                     const int* first_slots, const long long* child_places,
                                     const long long* child_maps, const unsigned short* maps,
                                     const REAL* log_weights, REAL* values) {
  int k = blockIdx.x * SLICE + threadIdx.x % SLICE;
  for (int step = first_step; step < last_step; step++) {
    int node = steps[step] + threadIdx.x / SLICE;
    for (; node < steps[step + 1] && k < rows; node += blockDim.x / SLICE) {
      values[places[node] + k] = node_value(k, first_row + k, node, starts, first_slots,
                                            child_places, child_maps, maps, log_weights, values);
      TALLY_WRITE(sizeof(REAL));
    }
    __syncthreads();
  }
}

// A chunk's log-likelihoods, kept while the next chunk is computed.
extern "C" __global__ void root_values(int rows, long long first_row, long long place,
                                       const REAL* values, REAL* found) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= rows) return;
  found[first_row + k] = values[place + k];
  TALLY_READ(sizeof(REAL));
  TALLY_WRITE(sizeof(REAL));
}
