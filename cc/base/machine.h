// Memory and caches of this machine.
#ifndef CAVS_CC_BASE_MACHINE_H_
#define CAVS_CC_BASE_MACHINE_H_

#include <cstddef>

namespace cavs {

// Bytes that the system, or the container of this process, can still provide;
// SIZE_MAX if unknown.
size_t AvailableMemory();

// Whether the system could provide `bytes`; always true for small numbers, for
// which it is not asked. Linux grants memory that it does not have, and kills
// the process that writes to it.
bool MayFit(size_t bytes);

// Bytes of the cache that a processor has to itself; 1 MiB if unknown.
size_t CacheBytes();

}  // namespace cavs

#endif  // CAVS_CC_BASE_MACHINE_H_
