/* Stores, reads and changes a few keys, in C:  hello_in_c [SOCKET] */
#include <stdio.h>
#include <string.h>

#include "dunlin/dunlin.h"

static const char kGreeting[] = "hello:greeting";

static dunlin_outcome hello(dunlin_session* session) {
  dunlin_write_result written;
  dunlin_outcome outcome =
      dunlin_put(session, kGreeting, strlen(kGreeting), "Hello", 5, NULL, &written);
  if (outcome != DUNLIN_OK) return outcome;

  char value[64];
  dunlin_get_result got;
  outcome =
      dunlin_get(session, kGreeting, strlen(kGreeting), value, sizeof value, DUNLIN_UNSET, &got);
  if (outcome != DUNLIN_OK) return outcome;
  printf("greeting is '%.*s'\n", (int)got.value_bytes, value);

  /* Only if nobody has changed it since. */
  outcome = dunlin_compare_and_set(session, kGreeting, strlen(kGreeting), written.version,
                                   "Hello again", 11, NULL, NULL);
  printf("first compare-and-set: %s\n", dunlin_outcome_name(outcome));
  outcome = dunlin_compare_and_set(session, kGreeting, strlen(kGreeting), written.version,
                                   "Too late", 8, NULL, NULL);
  printf("second, with the old version: %s\n", dunlin_outcome_name(outcome));

  /* Many keys cost hardly more time than one. */
  char values[2][64];
  dunlin_get_request requests[2] = {
      {kGreeting, strlen(kGreeting), values[0], sizeof values[0], {0}},
      {"hello:nothing", 13, values[1], sizeof values[1], {0}},
  };
  dunlin_multi_get(session, requests, 2, DUNLIN_UNSET);
  for (int i = 0; i < 2; ++i) {
    const dunlin_get_result* result = &requests[i].result;
    printf("%s: %.*s\n", (const char*)requests[i].key,
           result->outcome == DUNLIN_OK ? (int)result->value_bytes : 64,
           result->outcome == DUNLIN_OK ? values[i] : dunlin_outcome_name(result->outcome));
  }
  return dunlin_remove(session, kGreeting, strlen(kGreeting), DUNLIN_UNSET, NULL);
}

int main(int argc, char** argv) {
  char target[256];
  snprintf(target, sizeof target, "shm://%s", argc > 1 ? argv[1] : "/run/dunlin/dunlin.sock");
  dunlin_error error;
  dunlin_client* client;
  if (dunlin_connect(target, NULL, &client, &error) != DUNLIN_CODE_OK) {
    fprintf(stderr, "hello_in_c: %s\n", error.message);
    return 1;
  }
  dunlin_session* session;
  dunlin_outcome outcome = DUNLIN_UNAVAILABLE;
  if (dunlin_open_session(client, NULL, &session, &error) == DUNLIN_CODE_OK) {
    outcome = hello(session);
    if (outcome != DUNLIN_OK) fprintf(stderr, "hello_in_c: %s\n", dunlin_outcome_name(outcome));
    dunlin_close_session(session);
  } else {
    fprintf(stderr, "hello_in_c: %s\n", error.message);
  }
  dunlin_close(client);
  return outcome == DUNLIN_OK ? 0 : 1;
}
