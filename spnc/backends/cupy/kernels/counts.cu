// The expected counts of sum edges: their flows, added up over all entries.

#include "circuit.cuh"

// Adds the flows of an edge's entries lane, lane + LANES, ... to `total`.
inline __device__ double lane_flow(double total, int lane, int size, long long sum, long long child,
                                   REAL log_weight, const REAL* values, const REAL* flows) {
  for (int k = lane; k < size; k += LANES) {
    total += shared_flow(flows[sum + k], log_weight, values[child + k], values[sum + k]);
    TALLY_READ(3 * sizeof(REAL));
    TALLY_FLOPS(1);
  }
  return total;
}

// One warp for each edge of a row node. Row k goes to lane k mod LANES, and a lane continues its sum
// from chunk to chunk, so the order of additions does not depend on the size of chunks.
extern "C" __global__ void edge_flows(long long count, int rows, const int* edges,
                                      const long long* sum_places, const long long* child_places,
                                      const REAL* log_weights, const REAL* values,
                                      const REAL* flows, double* lanes) {
  long long item = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= count * LANES) return;
  int slot = edges[item / LANES];
  lanes[item] = lane_flow(lanes[item], (int)(item % LANES), rows, sum_places[slot],
                          child_places[slot], log_weights[slot], values, flows);
  TALLY_READ(sizeof(double));
  TALLY_WRITE(sizeof(double));
}

extern "C" __global__ void lane_totals(int count, const int* edges, const double* lanes,
                                       double* totals) {
  int item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= count) return;
  double total = 0.0;
  for (int lane = 0; lane < LANES; lane++) {
    total += lanes[(long long)item * LANES + lane];
    TALLY_READ(sizeof(double));
    TALLY_FLOPS(1);
  }
  totals[edges[item]] = total;
  TALLY_WRITE(sizeof(double));
}

// One warp for each edge of a cell, whose entries are all available at once.
extern "C" __global__ void cell_edge_flows(long long count, const int* edges,
                                           const long long* sum_places,
                                           const long long* child_places, const int* sizes,
                                           const REAL* log_weights, const REAL* values,
                                           const REAL* flows, double* totals) {
  __shared__ double lanes[BLOCK];
  long long item = (long long)blockIdx.x * BLOCK + threadIdx.x;
  int lane = threadIdx.x % LANES;
  int slot = item < count * LANES ? edges[item / LANES] : -1;
  if (slot >= 0)
    lanes[threadIdx.x] = lane_flow(0.0, lane, sizes[slot], sum_places[slot], child_places[slot],
                                   log_weights[slot], values, flows);
  __syncthreads();
  if (slot < 0 || lane > 0) return;
  double total = 0.0;
  for (int i = 0; i < LANES; i++) {
    total += lanes[threadIdx.x + i];
    TALLY_FLOPS(1);
  }
  totals[slot] = total;
  TALLY_WRITE(sizeof(double));
}
