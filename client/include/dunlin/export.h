#pragma once

#if defined(__GNUC__)
#define DUNLIN_EXPORT __attribute__((visibility("default")))
#else
#define DUNLIN_EXPORT
#endif
