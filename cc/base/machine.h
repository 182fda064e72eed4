// What this machine has.
#ifndef CAVS_CC_BASE_MACHINE_H_
#define CAVS_CC_BASE_MACHINE_H_

#include <cstddef>

namespace cavs {

// What the system, or the container that the process is in, could still give;
// SIZE_MAX where that cannot be found out.
size_t AvailableMemory();

// Could the system give so many bytes? It is asked for many only. Linux gives
// memory that it does not have, and ends who writes to it.
bool MayFit(size_t bytes);

// Of the cache that a processor has to itself; 1 MiB where that cannot be found
// out.
size_t CacheBytes();

}  // namespace cavs

#endif  // CAVS_CC_BASE_MACHINE_H_
