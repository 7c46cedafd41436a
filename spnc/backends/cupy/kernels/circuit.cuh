// Shared by all kernels: a node's value from its children, and its flow from its parents.
//
// Values are logarithms, [node, entry] with entries contiguous; those of a node start at
// places[node]. The entries of a cell are its projections; those of a row node are the rows of the
// current chunk. Entry k of a sum reads entry k of its children; a product reads its children
// through maps. REAL is double or float, by a compiler option; sums are always taken in double.

// The tests' build for the host counts traffic and operations; a device does not.
#ifndef TALLY_READ
#define TALLY_READ(bytes)
#define TALLY_WRITE(bytes)
#define TALLY_FLOPS(count)
#endif

#define LANES 32         // partial sums of an edge's flow, on every device
#define SLICE 32         // rows that one block takes through many steps
#define BLOCK 256        // threads of a block
#define LONE_BLOCK 1024  // threads of a block that is a launch by itself

__device__ __forceinline__ double exponential(double x) { return exp(x); }
__device__ __forceinline__ float exponential(float x) { return expf(x); }
__device__ __forceinline__ double logarithm(double x) { return log(x); }
__device__ __forceinline__ float logarithm(float x) { return logf(x); }

__device__ __forceinline__ REAL impossible() {
  return (REAL)__longlong_as_double((long long)0xfff0000000000000ULL);
}

// The log of the sum of weight times value, over the children of edges begin to end-1.
inline __device__ REAL sum_value(long long k, int begin, int end, int slot,
                                 const long long* child_places, const REAL* log_weights,
                                 const REAL* values) {
  REAL top = impossible();
  for (int e = begin; e < end; e++) {
    REAL term = values[child_places[e] + k] + log_weights[slot + e - begin];
    TALLY_READ(2 * sizeof(REAL));
    TALLY_FLOPS(2);
    top = term > top ? term : top;
  }
  if (top == impossible()) return top;
  double total = 0.0;
  for (int e = begin; e < end; e++) {
    REAL term = values[child_places[e] + k] + log_weights[slot + e - begin];
    TALLY_READ(2 * sizeof(REAL));
    TALLY_FLOPS(4);
    total += exponential(term - top);
  }
  TALLY_FLOPS(2);
  return logarithm((REAL)total) + top;
}

// The sum of the children's logarithms; entry k stands at `at` in the maps.
inline __device__ REAL product_value(long long k, long long at, int begin, int end,
                                     const long long* child_places, const long long* child_maps,
                                     const unsigned short* maps, const REAL* values) {
  double total = 0.0;
  for (int e = begin; e < end; e++) {
    long long entry = k;
    if (child_maps[e] >= 0) {
      entry = maps[child_maps[e] + at];
      TALLY_READ(sizeof(unsigned short));
    }
    total += values[child_places[e] + entry];
    TALLY_READ(sizeof(REAL));
    TALLY_FLOPS(1);
  }
  return (REAL)total;
}

inline __device__ REAL node_value(long long k, long long at, int node, const int* starts,
                                  const int* first_slots, const long long* child_places,
                                  const long long* child_maps, const unsigned short* maps,
                                  const REAL* log_weights, const REAL* values) {
  int begin = starts[node], end = starts[node + 1], slot = first_slots[node];
  if (slot >= 0) return sum_value(k, begin, end, slot, child_places, log_weights, values);
  return product_value(k, at, begin, end, child_places, child_maps, maps, values);
}

// The share of a sum's flow that goes to a child: flow * weight * child / sum.
__device__ __forceinline__ double shared_flow(REAL flow, REAL log_weight, REAL child, REAL sum) {
  TALLY_FLOPS(4);
  return flow > (REAL)0 ? (double)(flow * exponential(child + log_weight - sum)) : 0.0;
}

// The flow that a node gets from its parents. It is gathered, so no two threads write to one place.
inline __device__ double flow_from_parents(long long k, int begin, int end, REAL own,
                                           const long long* parent_places, const int* parent_slots,
                                           const long long* inverse_starts,
                                           const long long* inverse_orders, const int* list_starts,
                                           const unsigned short* lists, const REAL* log_weights,
                                           const REAL* values, const REAL* flows) {
  double total = 0.0;
  for (int e = begin; e < end; e++) {
    long long parent = parent_places[e];
    if (parent_slots[e] >= 0) {
      total += shared_flow(flows[parent + k], log_weights[parent_slots[e]], own,
                           values[parent + k]);
      TALLY_READ(3 * sizeof(REAL));
      TALLY_FLOPS(1);
    } else if (inverse_starts[e] < 0) {
      total += flows[parent + k];
      TALLY_READ(sizeof(REAL));
      TALLY_FLOPS(1);
    } else {
      const int* list = list_starts + inverse_starts[e] + k;
      const unsigned short* order = lists + inverse_orders[e];
      TALLY_READ(2 * sizeof(int));
      for (int i = list[0]; i < list[1]; i++) {
        total += flows[parent + order[i]];
        TALLY_READ(sizeof(unsigned short) + sizeof(REAL));
        TALLY_FLOPS(1);
      }
    }
  }
  return total;
}
