#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // For pthread_setname_np.
#endif

#include "CBatonPostgres.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int baton_pq_wait(int socket, int events, int milliseconds) {
  // poll(2) ignores such an entry, and would wait for ever.
  if (socket < 0) return -EBADF;
  struct pollfd entry = {.fd = socket};
  if (events & BATON_PQ_READABLE) entry.events |= POLLIN;
  if (events & BATON_PQ_WRITABLE) entry.events |= POLLOUT;
  int count = poll(&entry, 1, milliseconds);
  if (count < 0) return errno == EINTR ? 0 : -errno;
  if (entry.revents & POLLNVAL) return -EBADF;
  if (entry.revents & (POLLERR | POLLHUP)) return BATON_PQ_READABLE | BATON_PQ_WRITABLE;
  return (entry.revents & POLLIN ? BATON_PQ_READABLE : 0) | (entry.revents & POLLOUT ? BATON_PQ_WRITABLE : 0);
}

typedef struct {
  char name[16];
  void (*body)(void *context);
  void *context;
} thread_start;

static void *run(void *argument) {
  thread_start start = *(thread_start *)argument;
  free(argument);
#if defined(__APPLE__)
  pthread_setname_np(start.name);
#else
  pthread_setname_np(pthread_self(), start.name);
#endif
  start.body(start.context);
  return NULL;
}

/// Creates the thread while all signals are blocked, because a thread inherits the mask of its creator.
static int create(thread_start *start) {
  sigset_t all, before;
  pthread_attr_t attributes;
  pthread_t thread;
  int error = pthread_attr_init(&attributes);
  if (error != 0) return error;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 4 << 20);
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  error = pthread_create(&thread, &attributes, run, start);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return error;
}

int baton_pq_start_thread(const char *name, void (*body)(void *), void *context) {
  thread_start *start = malloc(sizeof *start);
  if (start == NULL) return ENOMEM;
  snprintf(start->name, sizeof start->name, "%s", name);
  start->body = body;
  start->context = context;
  int error = create(start);
  if (error != 0) free(start);
  return error;
}

struct baton_pq_gate {
  pthread_mutex_t mutex;
  pthread_cond_t opened;
  unsigned long long count;
};

baton_pq_gate *baton_pq_gate_make(void) {
  baton_pq_gate *gate = calloc(1, sizeof *gate);
  if (gate == NULL) return NULL;
  pthread_mutex_init(&gate->mutex, NULL);
  pthread_cond_init(&gate->opened, NULL);
  return gate;
}

void baton_pq_gate_open(baton_pq_gate *gate) {
  pthread_mutex_lock(&gate->mutex);
  gate->count++;
  pthread_cond_signal(&gate->opened);
  pthread_mutex_unlock(&gate->mutex);
}

void baton_pq_gate_pass(baton_pq_gate *gate) {
  pthread_mutex_lock(&gate->mutex);
  while (gate->count == 0) pthread_cond_wait(&gate->opened, &gate->mutex);
  gate->count--;
  pthread_mutex_unlock(&gate->mutex);
}

void baton_pq_gate_free(baton_pq_gate *gate) {
  pthread_cond_destroy(&gate->opened);
  pthread_mutex_destroy(&gate->mutex);
  free(gate);
}
