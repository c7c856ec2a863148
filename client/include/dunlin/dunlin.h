/* The C interface of the client library: the calls of dunlin/client.h and dunlin/session.h, for C
   and for every language that can call C. Those headers say more about costs and guarantees.

   Keys and values are bytes with a length; nothing is zero-terminated unless it says so. A pointer
   may be NULL where its length is 0, and where its comment says so; a NULL elsewhere is answered
   with DUNLIN_INVALID_ARGUMENT. No call throws, exits or aborts; memory that is not to be had is
   DUNLIN_INTERNAL.

   Threads: a client may be used by many threads at once, a session by one at a time. */
#ifndef DUNLIN_DUNLIN_H_
#define DUNLIN_DUNLIN_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define DUNLIN_API __attribute__((visibility("default")))
#else
#define DUNLIN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dunlin_client dunlin_client;
typedef struct dunlin_session dunlin_session;
typedef struct dunlin_pinned dunlin_pinned;

/* How an operation ended. dunlin/outcome.h describes each. */
typedef enum dunlin_outcome {
  DUNLIN_OK = 0,
  DUNLIN_NOT_FOUND = 1,
  DUNLIN_EXISTS = 2,
  DUNLIN_VERSION_MISMATCH = 3,
  DUNLIN_NOT_INTEGER = 4,
  DUNLIN_OVERFLOW = 5,
  DUNLIN_TOO_LARGE = 6,
  DUNLIN_BUFFER_TOO_SMALL = 7,
  DUNLIN_MEMORY_FULL = 8,
  DUNLIN_INDEX_FULL = 9,
  DUNLIN_CONTENDED = 10,
  DUNLIN_DEADLINE_EXCEEDED = 11,
  DUNLIN_UNAVAILABLE = 12,
  DUNLIN_UNKNOWN = 13,
  DUNLIN_DATA_LOSS = 14,
  DUNLIN_INVALID_ARGUMENT = 15,
  DUNLIN_PERMISSION_DENIED = 16,
  DUNLIN_FORKED = 17,
  DUNLIN_INTERNAL = 18
} dunlin_outcome;

/* The name of a dunlin_outcome: "not found", "memory full", ...; zero-terminated, never NULL, lives
   for ever. */
DUNLIN_API const char* dunlin_outcome_name(int outcome);

/* How connecting and administration ended: the codes of absl::StatusCode. */
typedef enum dunlin_code {
  DUNLIN_CODE_OK = 0,
  DUNLIN_CODE_CANCELLED = 1,
  DUNLIN_CODE_UNKNOWN = 2,
  DUNLIN_CODE_INVALID_ARGUMENT = 3,
  DUNLIN_CODE_DEADLINE_EXCEEDED = 4,
  DUNLIN_CODE_NOT_FOUND = 5,
  DUNLIN_CODE_ALREADY_EXISTS = 6,
  DUNLIN_CODE_PERMISSION_DENIED = 7,
  DUNLIN_CODE_RESOURCE_EXHAUSTED = 8,
  DUNLIN_CODE_FAILED_PRECONDITION = 9,
  DUNLIN_CODE_ABORTED = 10,
  DUNLIN_CODE_OUT_OF_RANGE = 11,
  DUNLIN_CODE_UNIMPLEMENTED = 12,
  DUNLIN_CODE_INTERNAL = 13,
  DUNLIN_CODE_UNAVAILABLE = 14,
  DUNLIN_CODE_DATA_LOSS = 15,
  DUNLIN_CODE_UNAUTHENTICATED = 16
} dunlin_code;

/* What went wrong, in words: what was expected, what was found, and the remedy. Zero-terminated;
   cut short if it is longer. Calls that take one accept NULL, and empty it when all went well. */
typedef struct dunlin_error {
  dunlin_code code;
  char message[508];
} dunlin_error;

/* Where a time in milliseconds may be unset: no deadline but the session's default, no time to
 * live. */
#define DUNLIN_UNSET (-1)

/* Options and reports begin with their size, so that later releases can add to them: set it with
   the INIT macros, as in  dunlin_put_options options = DUNLIN_PUT_OPTIONS_INIT; */

typedef struct dunlin_client_options {
  size_t size;
  const char* name;            /* zero-terminated; NULL or "": the program's name */
  int64_t connect_deadline_ms; /* 1000; for dunlin_connect and dunlin_open_session */
  bool read_only;
  int64_t server_timeout_ms; /* 1000: a server over a network that is gone is noticed within it,
                                also by idle sessions; 0: only by calls that fail */
} dunlin_client_options;
#define DUNLIN_CLIENT_OPTIONS_INIT \
  { sizeof(dunlin_client_options), NULL, 1000, false, 1000 }

typedef struct dunlin_session_options {
  size_t size;
  int64_t default_deadline_ms;   /* 1000 */
  uint64_t location_cache_bytes; /* 4 MiB; 0: none */
  uint32_t max_in_flight;        /* 64 */
} dunlin_session_options;
#define DUNLIN_SESSION_OPTIONS_INIT \
  { sizeof(dunlin_session_options), 1000, 4u << 20, 64 }

typedef enum dunlin_put_mode {
  DUNLIN_PUT_ALWAYS = 0,
  DUNLIN_PUT_IF_ABSENT = 1,
  DUNLIN_PUT_IF_PRESENT = 2
} dunlin_put_mode;

typedef struct dunlin_put_options {
  size_t size;
  dunlin_put_mode mode;
  int64_t ttl_ms;      /* at least 1, or DUNLIN_UNSET: never expires */
  int64_t deadline_ms; /* or DUNLIN_UNSET */
} dunlin_put_options;
#define DUNLIN_PUT_OPTIONS_INIT \
  { sizeof(dunlin_put_options), DUNLIN_PUT_ALWAYS, DUNLIN_UNSET, DUNLIN_UNSET }

typedef struct dunlin_get_result {
  dunlin_outcome outcome;
  uint64_t value_bytes; /* after DUNLIN_OK and DUNLIN_BUFFER_TOO_SMALL */
  uint64_t version;     /* equality is its only meaning; never 0, never used twice */
  int64_t ttl_left_ms;  /* DUNLIN_UNSET: never expires */
} dunlin_get_result;

typedef struct dunlin_write_result {
  dunlin_outcome outcome;
  uint64_t version; /* of the value written; after DUNLIN_VERSION_MISMATCH of the one found */
  int64_t sum;      /* of dunlin_add */
} dunlin_write_result;

/* --- Connecting ---------------------------------------------------------------------------------
   `target` is zero-terminated: "shm:///run/dunlin/dunlin.sock". NULL options are the defaults.
   After success *client (*session) is the caller's to close; after an error it is NULL. */
DUNLIN_API dunlin_code dunlin_connect(const char* target, const dunlin_client_options* options,
                                      dunlin_client** client, dunlin_error* error);
/* Close its sessions first. NULL is ignored. */
DUNLIN_API void dunlin_close(dunlin_client* client);

DUNLIN_API dunlin_code dunlin_open_session(dunlin_client* client,
                                           const dunlin_session_options* options,
                                           dunlin_session** session, dunlin_error* error);
/* Unpin what is pinned first. Waits for what was submitted; its callbacks run. NULL is ignored. */
DUNLIN_API void dunlin_close_session(dunlin_session* session);

/* --- Blocking calls -----------------------------------------------------------------------------
   Each returns the outcome, which is also in *result; `result` may be NULL. deadline_ms may be
   DUNLIN_UNSET. */

/* Copies the value into `buffer`; nothing is copied after DUNLIN_BUFFER_TOO_SMALL. */
DUNLIN_API dunlin_outcome dunlin_get(dunlin_session* session, const void* key, size_t key_bytes,
                                     void* buffer, size_t buffer_bytes, int64_t deadline_ms,
                                     dunlin_get_result* result);
/* Version, length and time to live without the value. */
DUNLIN_API dunlin_outcome dunlin_head(dunlin_session* session, const void* key, size_t key_bytes,
                                      int64_t deadline_ms, dunlin_get_result* result);
/* The value where it lies in the server's memory, not copied, until dunlin_unpin. It holds back the
   reuse of memory in the server: keep it shortly. After an error *pinned is NULL. */
DUNLIN_API dunlin_outcome dunlin_get_pinned(dunlin_session* session, const void* key,
                                            size_t key_bytes, int64_t deadline_ms,
                                            dunlin_pinned** pinned, dunlin_get_result* result);
/* result->value_bytes of dunlin_get_pinned says how many there are. */
DUNLIN_API const void* dunlin_pinned_value(const dunlin_pinned* pinned);
/* NULL is ignored. */
DUNLIN_API void dunlin_unpin(dunlin_pinned* pinned);

/* NULL options are the defaults, here and below. */
DUNLIN_API dunlin_outcome dunlin_put(dunlin_session* session, const void* key, size_t key_bytes,
                                     const void* value, size_t value_bytes,
                                     const dunlin_put_options* options,
                                     dunlin_write_result* result);
DUNLIN_API dunlin_outcome dunlin_remove(dunlin_session* session, const void* key, size_t key_bytes,
                                        int64_t deadline_ms, dunlin_write_result* result);
/* Puts if the key has this version. The mode of the options is ignored. */
DUNLIN_API dunlin_outcome dunlin_compare_and_set(dunlin_session* session, const void* key,
                                                 size_t key_bytes, uint64_t version,
                                                 const void* value, size_t value_bytes,
                                                 const dunlin_put_options* options,
                                                 dunlin_write_result* result);
/* Adds to a decimal integer. `initial`: NULL, or what an absent key is taken to hold. */
DUNLIN_API dunlin_outcome dunlin_add(dunlin_session* session, const void* key, size_t key_bytes,
                                     int64_t delta, const int64_t* initial, int64_t deadline_ms,
                                     dunlin_write_result* result);
/* Sets the time to live; DUNLIN_UNSET: never expires. */
DUNLIN_API dunlin_outcome dunlin_touch(dunlin_session* session, const void* key, size_t key_bytes,
                                       int64_t ttl_ms, int64_t deadline_ms,
                                       dunlin_write_result* result);

/* --- Many keys at once --------------------------------------------------------------------------
   All keys' work goes in the same round trips; each request has its own result. */
typedef struct dunlin_get_request {
  const void* key;
  size_t key_bytes;
  void* buffer;
  size_t buffer_bytes;
  dunlin_get_result result;
} dunlin_get_request;

typedef struct dunlin_put_request {
  const void* key;
  size_t key_bytes;
  const void* value;
  size_t value_bytes;
  dunlin_put_mode mode;
  int64_t ttl_ms; /* or DUNLIN_UNSET */
  dunlin_write_result result;
} dunlin_put_request;

typedef struct dunlin_remove_request {
  const void* key;
  size_t key_bytes;
  dunlin_write_result result;
} dunlin_remove_request;

/* They return DUNLIN_OK if every request ended so, otherwise the outcome of the first that did not.
   After DUNLIN_INVALID_ARGUMENT and DUNLIN_INTERNAL of a call that could not begin, all requests
   have it as their result. */
DUNLIN_API dunlin_outcome dunlin_multi_get(dunlin_session* session, dunlin_get_request* requests,
                                           size_t count, int64_t deadline_ms);
DUNLIN_API dunlin_outcome dunlin_multi_put(dunlin_session* session, dunlin_put_request* requests,
                                           size_t count, int64_t deadline_ms);
DUNLIN_API dunlin_outcome dunlin_multi_remove(dunlin_session* session,
                                              dunlin_remove_request* requests, size_t count,
                                              int64_t deadline_ms);

/* --- Submitted calls ----------------------------------------------------------------------------
   Start an operation and return at once. The callback runs inside a later dunlin_poll, dunlin_drain
   or blocking call of this session, with the context; it may submit. Key, value and buffer must
   stay until then, whatever the deadline. DUNLIN_OK: submitted, the callback will run. Otherwise it
   will not: DUNLIN_CONTENDED if max_in_flight operations are under way (poll first), or
   DUNLIN_INVALID_ARGUMENT. A callback returns; it must not throw or jump. */
typedef void (*dunlin_get_callback)(void* context, const dunlin_get_result* result);
typedef void (*dunlin_write_callback)(void* context, const dunlin_write_result* result);

DUNLIN_API dunlin_outcome dunlin_submit_get(dunlin_session* session, const void* key,
                                            size_t key_bytes, void* buffer, size_t buffer_bytes,
                                            int64_t deadline_ms, dunlin_get_callback callback,
                                            void* context);
DUNLIN_API dunlin_outcome dunlin_submit_put(dunlin_session* session, const void* key,
                                            size_t key_bytes, const void* value, size_t value_bytes,
                                            const dunlin_put_options* options,
                                            dunlin_write_callback callback, void* context);
DUNLIN_API dunlin_outcome dunlin_submit_remove(dunlin_session* session, const void* key,
                                               size_t key_bytes, int64_t deadline_ms,
                                               dunlin_write_callback callback, void* context);
/* Carries submitted operations on; returns how many completed. 0 for a NULL session. */
DUNLIN_API uint32_t dunlin_poll(dunlin_session* session);
DUNLIN_API uint32_t dunlin_in_flight(const dunlin_session* session);
/* Polls until none is in flight. */
DUNLIN_API void dunlin_drain(dunlin_session* session);

/* --- Scan ---------------------------------------------------------------------------------------
   One page of the store, in no order. *cursor is 0 for the first page and is moved on to the next;
   *done tells when there is none. The callback runs once for each entry; its pointers live until it
   returns. It must not use the session, throw or jump. */
typedef struct dunlin_scan_options {
  size_t size;
  const void* prefix; /* only keys that begin with these bytes */
  size_t prefix_bytes;
  uint32_t limit; /* 100: a page ends after the bucket with which it has so many entries */
  bool values;    /* true: with their values */
  int64_t deadline_ms;
} dunlin_scan_options;
#define DUNLIN_SCAN_OPTIONS_INIT \
  { sizeof(dunlin_scan_options), NULL, 0, 100, true, DUNLIN_UNSET }

typedef struct dunlin_scan_entry {
  const void* key;
  size_t key_bytes;
  const void* value;
  size_t value_bytes;
  uint64_t version;
  int64_t ttl_left_ms; /* or DUNLIN_UNSET */
} dunlin_scan_entry;
typedef void (*dunlin_scan_callback)(void* context, const dunlin_scan_entry* entry);

DUNLIN_API dunlin_code dunlin_scan(dunlin_session* session, uint64_t* cursor,
                                   const dunlin_scan_options* options,
                                   dunlin_scan_callback callback, void* context, bool* done,
                                   dunlin_error* error);

/* --- Reports ------------------------------------------------------------------------------------
 */

/* What a session has done so far; dunlin/types.h describes each counter. */
typedef struct dunlin_statistics {
  size_t size;
  uint64_t gets, puts, removes, compare_and_sets, adds, touches;
  uint64_t hits, misses, failures;
  uint64_t round_trips, chains, verbs, reads, writes, atomics;
  uint64_t retries, absorbed, cache_hits, cache_misses, lane_messages;
  uint64_t reconnects, resolved;
  uint64_t clock_error_ns;
} dunlin_statistics;

/* Fills in statistics->size bytes; set that first. */
DUNLIN_API dunlin_outcome dunlin_stats(const dunlin_session* session,
                                       dunlin_statistics* statistics);

/* The server's limits; 0 for a NULL session. */
DUNLIN_API uint32_t dunlin_max_key_bytes(const dunlin_session* session);
DUNLIN_API uint64_t dunlin_max_value_bytes(const dunlin_session* session);

/* The next operation on each key finds it anew. */
DUNLIN_API void dunlin_forget_locations(dunlin_session* session);

/* The time to the server's process and back. */
DUNLIN_API dunlin_code dunlin_ping(dunlin_client* client, uint64_t* round_trip_ns,
                                   dunlin_error* error);

typedef struct dunlin_server_status {
  size_t size;
  char release[32]; /* zero-terminated, as is state */
  char state[16];
  uint32_t layout_version;
  uint32_t grace_ms;
  uint64_t incarnation;
  uint64_t uptime_ms;
  uint64_t tick, tick_lag_ms_max;
  uint64_t region_bytes;
  uint64_t heap_bytes, heap_used_bytes, heap_grace_bytes, heap_free_bytes, allocator_bytes;
  uint64_t index_bytes, index_slots, subtables;
  uint64_t items, locks_held; /* exact if counted */
  uint64_t max_value_bytes;
  uint32_t max_key_bytes;
  uint32_t sessions; /* open now */
  uint64_t sessions_opened, sessions_lost, connections_refused, returns_refused;
  bool huge_pages;
  bool counted;
  bool snapshots;       /* the server makes some; what follows is 0 otherwise */
  bool snapshot_failed; /* the last attempt; dunlin/client.h and kvctl status say why */
  uint64_t snapshot_id, snapshot_records; /* of the newest; 0: there is none */
  int64_t snapshot_finished_unix_ms;
  int64_t snapshot_at_risk_ms; /* a crash now would lose what was acknowledged within this time;
                                  DUNLIN_UNSET: all since the server's start */
  uint64_t snapshot_pass_ms;   /* the last pass, until it was on disk */
  uint64_t snapshots_made, snapshots_failed;
  uint64_t loaded_snapshot_id, loaded_records; /* what the server was started from; 0: nothing */
} dunlin_server_status;

/* Fills in status->size bytes; set that first. `count_index`: have the server count items and
   locks, which takes it a while. */
DUNLIN_API dunlin_code dunlin_status(dunlin_client* client, bool count_index,
                                     dunlin_server_status* status, dunlin_error* error);

/* --- Snapshots ----------------------------------------------------------------------------------
   In the server's directory. DUNLIN_CODE_FAILED_PRECONDITION: the server makes none. */
typedef struct dunlin_snapshot {
  size_t size;
  uint64_t id;
  uint64_t records;
  uint64_t bytes;            /* of all keys and values; 0 with records: not known */
  uint64_t file_bytes;       /* on disk; snapshots share most of it with each other */
  uint64_t changed, deleted; /* entries that its pass wrote, and removed */
  int64_t started_unix_ms, finished_unix_ms;
  bool full; /* its pass wrote every record */
  bool usable;
} dunlin_snapshot;

/* Has the server make one that holds what was acknowledged before this call, and returns when it is
   on disk. DUNLIN_CODE_DEADLINE_EXCEEDED: not within patience_ms; it may come yet. `snapshot`:
   NULL, or filled in as far as snapshot->size says; set that first. */
DUNLIN_API dunlin_code dunlin_create_snapshot(dunlin_client* client, int64_t patience_ms,
                                              dunlin_snapshot* snapshot, dunlin_error* error);

/* The callback runs once for each, newest first; its pointers live until it returns. `trouble` says
   why it is not usable; NULL if it is. */
typedef void (*dunlin_snapshot_callback)(void* context, const dunlin_snapshot* snapshot,
                                         const char* trouble);
DUNLIN_API dunlin_code dunlin_list_snapshots(dunlin_client* client,
                                             dunlin_snapshot_callback callback, void* context,
                                             dunlin_error* error);

/* DUNLIN_CODE_FAILED_PRECONDITION, too: it is the newest usable one, or what the next builds on. */
DUNLIN_API dunlin_code dunlin_delete_snapshot(dunlin_client* client, uint64_t id,
                                              dunlin_error* error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DUNLIN_DUNLIN_H_ */
