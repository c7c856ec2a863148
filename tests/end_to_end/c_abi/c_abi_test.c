/* The C interface against a real server:  c_abi_test SOCKET SERVER_PID */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dunlin/dunlin.h"

static int failures = 0;

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                     \
    }                                                                 \
  } while (0)

#define EXPECT_OUTCOME(expected, call)                                                     \
  do {                                                                                     \
    const dunlin_outcome outcome_ = (call);                                                \
    if (outcome_ != (expected)) {                                                          \
      fprintf(stderr, "%s:%d: %s: expected '%s', found '%s'\n", __FILE__, __LINE__, #call, \
              dunlin_outcome_name(expected), dunlin_outcome_name(outcome_));               \
      ++failures;                                                                          \
    }                                                                                      \
  } while (0)

/* The server has just been started and tells nobody when it listens. */
static dunlin_client* connect_to(const char* target, pid_t server) {
  dunlin_error error;
  dunlin_client* client = NULL;
  while (dunlin_connect(target, NULL, &client, &error) != DUNLIN_CODE_OK) {
    if (error.code != DUNLIN_CODE_UNAVAILABLE || kill(server, 0) != 0) {
      fprintf(stderr, "connect: code %d: %s\n", (int)error.code, error.message);
      return NULL;
    }
    const struct timespec pause = {0, 10000000};
    nanosleep(&pause, NULL);  // sleeps to look again later
  }
  return client;
}

static void test_one_key(dunlin_session* session) {
  const char key[] = {'o', 'n', 'e', '\0', 'k'};
  char buffer[16];
  dunlin_get_result got;
  dunlin_write_result first, second;

  EXPECT_OUTCOME(DUNLIN_NOT_FOUND, dunlin_get(session, key, 5, buffer, 16, DUNLIN_UNSET, &got));
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_put(session, key, 5, "value", 5, NULL, &first));
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_get(session, key, 5, buffer, 16, DUNLIN_UNSET, &got));
  EXPECT(got.value_bytes == 5 && memcmp(buffer, "value", 5) == 0);
  EXPECT(got.version == first.version && first.version != 0);
  EXPECT(got.ttl_left_ms == DUNLIN_UNSET);
  EXPECT_OUTCOME(DUNLIN_BUFFER_TOO_SMALL,
                 dunlin_get(session, key, 5, buffer, 4, DUNLIN_UNSET, &got));
  EXPECT(got.value_bytes == 5);
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_head(session, key, 5, DUNLIN_UNSET, &got));
  EXPECT(got.value_bytes == 5);

  dunlin_put_options if_absent = DUNLIN_PUT_OPTIONS_INIT;
  if_absent.mode = DUNLIN_PUT_IF_ABSENT;
  EXPECT_OUTCOME(DUNLIN_EXISTS, dunlin_put(session, key, 5, "x", 1, &if_absent, NULL));
  EXPECT_OUTCOME(DUNLIN_OK,
                 dunlin_compare_and_set(session, key, 5, first.version, "other", 5, NULL, &second));
  EXPECT(second.version != first.version);
  EXPECT_OUTCOME(DUNLIN_VERSION_MISMATCH,
                 dunlin_compare_and_set(session, key, 5, first.version, "x", 1, NULL, &first));
  EXPECT(first.version == second.version);

  EXPECT_OUTCOME(DUNLIN_OK, dunlin_touch(session, key, 5, 60000, DUNLIN_UNSET, NULL));
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_head(session, key, 5, DUNLIN_UNSET, &got));
  EXPECT(got.ttl_left_ms > 0 && got.ttl_left_ms <= 60000);

  dunlin_pinned* pinned = NULL;
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_get_pinned(session, key, 5, DUNLIN_UNSET, &pinned, &got));
  EXPECT(got.value_bytes == 5 && memcmp(dunlin_pinned_value(pinned), "other", 5) == 0);
  dunlin_unpin(pinned);

  EXPECT_OUTCOME(DUNLIN_OK, dunlin_remove(session, key, 5, DUNLIN_UNSET, NULL));
  EXPECT_OUTCOME(DUNLIN_NOT_FOUND, dunlin_remove(session, key, 5, DUNLIN_UNSET, NULL));
}

static void test_add(dunlin_session* session) {
  dunlin_write_result wrote;
  const int64_t initial = 40;
  EXPECT_OUTCOME(DUNLIN_NOT_FOUND, dunlin_add(session, "n", 1, 2, NULL, DUNLIN_UNSET, &wrote));
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_add(session, "n", 1, 2, &initial, DUNLIN_UNSET, &wrote));
  EXPECT(wrote.sum == 42);
  EXPECT_OUTCOME(DUNLIN_OVERFLOW,
                 dunlin_add(session, "n", 1, INT64_MAX, NULL, DUNLIN_UNSET, &wrote));
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_put(session, "n", 1, "many", 4, NULL, NULL));
  EXPECT_OUTCOME(DUNLIN_NOT_INTEGER, dunlin_add(session, "n", 1, 1, NULL, DUNLIN_UNSET, &wrote));
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_remove(session, "n", 1, DUNLIN_UNSET, NULL));
}

static void test_limits(dunlin_session* session) {
  const uint32_t most = dunlin_max_key_bytes(session);
  char* key = calloc(most + 1, 1);
  EXPECT(key != NULL && most != 0);
  EXPECT_OUTCOME(DUNLIN_TOO_LARGE, dunlin_put(session, key, most + 1, "v", 1, NULL, NULL));
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_put(session, key, most, "v", 1, NULL, NULL));
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_remove(session, key, most, DUNLIN_UNSET, NULL));
  EXPECT_OUTCOME(DUNLIN_INVALID_ARGUMENT, dunlin_put(session, key, 0, "v", 1, NULL, NULL));
  EXPECT_OUTCOME(DUNLIN_INVALID_ARGUMENT, dunlin_put(session, NULL, 3, "v", 1, NULL, NULL));
  free(key);
}

enum { kMany = 100 };

static void test_many_keys(dunlin_session* session) {
  static char keys[kMany][16], values[kMany][16];
  static dunlin_put_request puts[kMany];
  static dunlin_get_request gets[kMany + 1];
  static dunlin_remove_request removes[kMany];
  for (int i = 0; i < kMany; ++i) {
    const size_t bytes = (size_t)snprintf(keys[i], sizeof keys[i], "many:%d", i);
    const dunlin_put_request put = {keys[i],           bytes,        keys[i], bytes,
                                    DUNLIN_PUT_ALWAYS, DUNLIN_UNSET, {0}};
    const dunlin_get_request get = {keys[i], bytes, values[i], sizeof values[i], {0}};
    const dunlin_remove_request remove = {keys[i], bytes, {0}};
    puts[i] = put;
    gets[i] = get;
    removes[i] = remove;
  }
  gets[kMany].key = "many:none";
  gets[kMany].key_bytes = 9;
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_multi_put(session, puts, kMany, DUNLIN_UNSET));
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_multi_get(session, gets, kMany, DUNLIN_UNSET));
  for (int i = 0; i < kMany; ++i) {
    EXPECT(gets[i].result.version == puts[i].result.version);
    EXPECT(gets[i].result.value_bytes == puts[i].value_bytes);
    EXPECT(memcmp(values[i], keys[i], puts[i].value_bytes) == 0);
  }
  EXPECT_OUTCOME(DUNLIN_NOT_FOUND, dunlin_multi_get(session, gets, kMany + 1, DUNLIN_UNSET));
  EXPECT(gets[kMany].result.outcome == DUNLIN_NOT_FOUND && gets[0].result.outcome == DUNLIN_OK);
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_multi_remove(session, removes, kMany, DUNLIN_UNSET));
  EXPECT_OUTCOME(DUNLIN_NOT_FOUND, dunlin_multi_remove(session, removes, kMany, DUNLIN_UNSET));
}

static void count_write(void* context, const dunlin_write_result* result) {
  EXPECT(result->outcome == DUNLIN_OK);
  ++*(int*)context;
}

static void count_get(void* context, const dunlin_get_result* result) {
  EXPECT(result->outcome == DUNLIN_OK && result->value_bytes == 4);
  ++*(int*)context;
}

static void count_entry(void* context, const dunlin_scan_entry* entry) {
  EXPECT(entry->key_bytes == 6 && memcmp(entry->key, "sub:", 4) == 0);
  EXPECT(entry->value_bytes == 4 && memcmp(entry->value, "text", 4) == 0);
  ++*(int*)context;
}

static void test_submitted_and_scan(dunlin_session* session) {
  static char keys[10][8];
  static char values[10][8];
  int done = 0;
  for (int i = 0; i < 10; ++i) {
    snprintf(keys[i], sizeof keys[i], "sub:%02d", i);
    EXPECT_OUTCOME(DUNLIN_OK,
                   dunlin_submit_put(session, keys[i], 6, "text", 4, NULL, count_write, &done));
  }
  EXPECT(dunlin_in_flight(session) == 10);
  dunlin_drain(session);
  EXPECT(done == 10 && dunlin_in_flight(session) == 0);
  for (int i = 0; i < 10; ++i) {
    EXPECT_OUTCOME(DUNLIN_OK, dunlin_submit_get(session, keys[i], 6, values[i], 8, DUNLIN_UNSET,
                                                count_get, &done));
  }
  while (dunlin_in_flight(session) != 0) dunlin_poll(session);
  EXPECT(done == 20 && memcmp(values[9], "text", 4) == 0);

  dunlin_scan_options options = DUNLIN_SCAN_OPTIONS_INIT;
  options.prefix = "sub:";
  options.prefix_bytes = 4;
  options.limit = 3;
  int entries = 0;
  uint64_t cursor = 0;
  for (bool last = false; !last;) {
    dunlin_error error;
    if (dunlin_scan(session, &cursor, &options, count_entry, &entries, &last, &error) !=
        DUNLIN_CODE_OK) {
      fprintf(stderr, "scan: %s\n", error.message);
      ++failures;
      break;
    }
  }
  EXPECT(entries == 10);
  for (int i = 0; i < 10; ++i) {
    EXPECT_OUTCOME(DUNLIN_OK,
                   dunlin_submit_remove(session, keys[i], 6, DUNLIN_UNSET, count_write, &done));
  }
  dunlin_drain(session);
  EXPECT(done == 30);
}

static void test_reports(dunlin_client* client, dunlin_session* session) {
  dunlin_statistics statistics = {.size = sizeof statistics};
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_stats(session, &statistics));
  EXPECT(statistics.gets > 0 && statistics.puts > 0 && statistics.round_trips > 0);
  uint64_t round_trip_ns = 0;
  EXPECT(dunlin_ping(client, &round_trip_ns, NULL) == DUNLIN_CODE_OK && round_trip_ns > 0);
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_put(session, "counted", 7, "v", 1, NULL, NULL));
  dunlin_server_status status = {.size = sizeof status};
  EXPECT(dunlin_status(client, true, &status, NULL) == DUNLIN_CODE_OK);
  EXPECT(status.counted && status.items == 1 && status.locks_held == 0);
  EXPECT(status.sessions >= 1 && status.region_bytes > 0);
  EXPECT(strcmp(status.state, "serving") == 0 && status.release[0] != '\0');
  EXPECT_OUTCOME(DUNLIN_OK, dunlin_remove(session, "counted", 7, DUNLIN_UNSET, NULL));
}

static void never_called(void* context, const dunlin_snapshot* snapshot, const char* trouble) {
  (void)context;
  (void)snapshot;
  (void)trouble;
  EXPECT(false);
}

/* Of a server without a directory for them. */
static void test_no_snapshots(dunlin_client* client) {
  dunlin_error error;
  dunlin_snapshot snapshot = {.size = sizeof snapshot};
  EXPECT(dunlin_create_snapshot(client, 1000, &snapshot, &error) ==
         DUNLIN_CODE_FAILED_PRECONDITION);
  EXPECT(strstr(error.message, "snapshot-dir") != NULL);
  EXPECT(dunlin_list_snapshots(client, never_called, NULL, NULL) ==
         DUNLIN_CODE_FAILED_PRECONDITION);
  EXPECT(dunlin_delete_snapshot(client, 1, NULL) == DUNLIN_CODE_FAILED_PRECONDITION);
  dunlin_server_status status = {.size = sizeof status};
  EXPECT(dunlin_status(client, false, &status, NULL) == DUNLIN_CODE_OK);
  EXPECT(!status.snapshots && status.snapshot_id == 0);
}

static void test_read_only(const char* target) {
  dunlin_client_options options = DUNLIN_CLIENT_OPTIONS_INIT;
  options.read_only = true;
  dunlin_client* client = NULL;
  dunlin_session* session = NULL;
  EXPECT(dunlin_connect(target, &options, &client, NULL) == DUNLIN_CODE_OK);
  EXPECT(dunlin_open_session(client, NULL, &session, NULL) == DUNLIN_CODE_OK);
  if (session != NULL) {
    EXPECT_OUTCOME(DUNLIN_PERMISSION_DENIED, dunlin_put(session, "k", 1, "v", 1, NULL, NULL));
    EXPECT_OUTCOME(DUNLIN_NOT_FOUND, dunlin_head(session, "k", 1, DUNLIN_UNSET, NULL));
  }
  dunlin_close_session(session);
  dunlin_close(client);
}

static void test_child(dunlin_client* client, dunlin_session* session) {
  const pid_t child = fork();
  if (child == 0) {
    dunlin_session* own = NULL;
    const bool refused =
        dunlin_put(session, "k", 1, "v", 1, NULL, NULL) == DUNLIN_FORKED &&
        dunlin_open_session(client, NULL, &own, NULL) == DUNLIN_CODE_FAILED_PRECONDITION;
    dunlin_close_session(session);
    dunlin_close(client);
    _exit(refused ? 0 : 1);
  }
  int result = -1;
  EXPECT(waitpid(child, &result, 0) == child && result == 0);
  EXPECT_OUTCOME(DUNLIN_NOT_FOUND, dunlin_head(session, "k", 1, DUNLIN_UNSET, NULL));
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s SOCKET SERVER_PID\n", argv[0]);
    return 2;
  }
  char target[256];
  snprintf(target, sizeof target, "shm://%s", argv[1]);
  dunlin_client* client = connect_to(target, (pid_t)atol(argv[2]));
  if (client == NULL) return 1;
  dunlin_error error;
  dunlin_session* session = NULL;
  if (dunlin_open_session(client, NULL, &session, &error) != DUNLIN_CODE_OK) {
    fprintf(stderr, "open session: %s\n", error.message);
    return 1;
  }
  test_one_key(session);
  test_add(session);
  test_limits(session);
  test_many_keys(session);
  test_submitted_and_scan(session);
  test_reports(client, session);
  test_no_snapshots(client);
  test_read_only(target);
  test_child(client, session);
  dunlin_close_session(session);
  dunlin_close(client);
  if (failures == 0) puts("all passed");
  return failures == 0 ? 0 : 1;
}
