// Flows, from the root down: every node gathers from its parents.

#include "circuit.cuh"

// The root's flow is the row's weight, or zero for an impossible row.
extern "C" __global__ void root_flows(int rows, long long first_row, long long place,
                                      const double* weights, const REAL* values, REAL* flows) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= rows) return;
  REAL value = values[place + k];
  flows[place + k] = value == impossible() ? (REAL)0 : (REAL)weights[first_row + k];
  TALLY_READ(sizeof(REAL) + sizeof(double));
  TALLY_WRITE(sizeof(REAL));
}

extern "C" __global__ void row_flows(int first, int last, int rows, const long long* places,
                                     const int* parent_starts, const long long* parent_places,
                                     const int* parent_slots, const long long* inverse_starts,
                                     const long long* inverse_orders, const int* list_starts,
                                     const unsigned short* lists, const REAL* log_weights,
                                     const REAL* values, REAL* flows) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= rows) return;
  for (int node = first + blockIdx.y; node < last; node += gridDim.y) {
    long long place = places[node] + k;
    flows[place] = (REAL)flow_from_parents(k, parent_starts[node], parent_starts[node + 1],
                                           values[place], parent_places, parent_slots,
                                           inverse_starts, inverse_orders, list_starts, lists,
                                           log_weights, values, flows);
    TALLY_READ(sizeof(REAL));
    TALLY_WRITE(sizeof(REAL));
  }
}

// Steps last_step-1 to first_step, a slice of rows by each block.
extern "C" __global__ void row_flow_steps(int first_step, int last_step, int rows, const int* steps,
                                          const long long* places, const int* parent_starts,
                                          const long long* parent_places, const int* parent_slots,
                                          const long long* inverse_starts,
                                          const long long* inverse_orders, const int* list_starts,
                                          const unsigned short* lists, const REAL* log_weights,
                                          const REAL* values, REAL* flows) {
  int k = blockIdx.x * SLICE + threadIdx.x % SLICE;
  for (int step = last_step - 1; step >= first_step; step--) {
    int node = steps[step] + threadIdx.x / SLICE;
    for (; node < steps[step + 1] && k < rows; node += blockDim.x / SLICE) {
      long long place = places[node] + k;
      flows[place] = (REAL)flow_from_parents(k, parent_starts[node], parent_starts[node + 1],
                                             values[place], parent_places, parent_slots,
                                             inverse_starts, inverse_orders, list_starts, lists,
                                             log_weights, values, flows);
      TALLY_READ(sizeof(REAL));
      TALLY_WRITE(sizeof(REAL));
    }
    __syncthreads();
  }
}

// Adds up the flows of row nodes for the cells below them: for every edge, projection and list,
// over the rows of the chunk, in an order that does not depend on the chunks.
extern "C" __global__ void feed(long long count, long long lists_first, long long list_rows,
                                long long first_row, const int* feed_owners,
                                const long long* feed_firsts, const long long* gate_places,
                                const int* feed_maps, const long long* feed_lists,
                                const int* feed_list_starts, const unsigned short* feed_orders,
                                const REAL* flows, double* fed) {
  long long item = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= count) return;
  int edge = feed_owners[item];
  int map = feed_maps[edge];
  const int* list = feed_list_starts + lists_first + feed_lists[map] + (item - feed_firsts[edge]);
  const unsigned short* order = feed_orders + map * list_rows + first_row;
  const REAL* gate = flows + gate_places[edge];
  double total = fed[item];
  TALLY_READ(2 * sizeof(int) + sizeof(double));
  for (int i = list[0]; i < list[1]; i++) {
    total += gate[order[i]];
    TALLY_READ(sizeof(unsigned short) + sizeof(REAL));
    TALLY_FLOPS(1);
  }
  fed[item] = total;
  TALLY_WRITE(sizeof(double));
}

// A cell's flow: what was fed to it by row nodes, and the flow from its parents among the cells.
inline __device__ double cell_flow(long long entry, int node, const long long* places,
                                   const int* feed_starts, const long long* feed_firsts,
                                   const long long* feed_dealt, const int* dealt,
                                   const double* fed, const int* parent_starts,
                                   const long long* parent_places, const int* parent_slots,
                                   const long long* inverse_starts, const long long* inverse_orders,
                                   const int* list_starts, const unsigned short* lists,
                                   const REAL* log_weights, const REAL* values,
                                   const REAL* flows) {
  long long k = entry - places[node];
  double total = 0.0;
  for (int edge = feed_starts[node]; edge < feed_starts[node + 1]; edge++) {
    const double* own = fed + feed_firsts[edge];
    const int* list = dealt + feed_dealt[edge] + k;
    TALLY_READ(2 * sizeof(int));
    for (int i = list[0]; i < list[1]; i++) {
      total += own[i];
      TALLY_READ(sizeof(double));
      TALLY_FLOPS(1);
    }
  }
  TALLY_READ(sizeof(REAL));
  return total + flow_from_parents(k, parent_starts[node], parent_starts[node + 1], values[entry],
                                   parent_places, parent_slots, inverse_starts, inverse_orders,
                                   list_starts, lists, log_weights, values, flows);
}

extern "C" __global__ void cell_flows(long long first, long long last, const int* owners,
                                      const long long* places, const int* feed_starts,
                                      const long long* feed_firsts, const long long* feed_dealt,
                                      const int* dealt, const double* fed, const int* parent_starts,
                                      const long long* parent_places, const int* parent_slots,
                                      const long long* inverse_starts,
                                      const long long* inverse_orders, const int* list_starts,
                                      const unsigned short* lists, const REAL* log_weights,
                                      const REAL* values, REAL* flows) {
  long long entry = first + (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (entry >= last) return;
  flows[entry] = (REAL)cell_flow(entry, owners[entry], places, feed_starts, feed_firsts, feed_dealt,
                                 dealt, fed, parent_starts, parent_places, parent_slots,
                                 inverse_starts, inverse_orders, list_starts, lists, log_weights,
                                 values, flows);
  TALLY_WRITE(sizeof(REAL));
}

// Thin steps last_step-1 to first_step, by one block.
extern "C" __launch_bounds__(LONE_BLOCK)
__global__ void cell_flow_steps(int first_step, int last_step, const int* steps, const int* owners,
                                const long long* places, const int* feed_starts,
                                const long long* feed_firsts, const long long* feed_dealt,
                                const int* dealt, const double* fed, const int* parent_starts,
                                const long long* parent_places, const int* parent_slots,
                                const long long* inverse_starts, const long long* inverse_orders,
                                const int* list_starts, const unsigned short* lists,
                                const REAL* log_weights, const REAL* values, REAL* flows) {
  for (int step = last_step - 1; step >= first_step; step--) {
    long long end = places[steps[step + 1]];
    for (long long entry = places[steps[step]] + threadIdx.x; entry < end; entry += blockDim.x) {
      flows[entry] = (REAL)cell_flow(entry, owners[entry], places, feed_starts, feed_firsts,
                                     feed_dealt, dealt, fed, parent_starts, parent_places,
                                     parent_slots, inverse_starts, inverse_orders, list_starts,
                                     lists, log_weights, values, flows);
      TALLY_WRITE(sizeof(REAL));
    }
    __syncthreads();
  }
}
