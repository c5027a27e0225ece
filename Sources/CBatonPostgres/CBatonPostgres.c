#include "CBatonPostgres.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#if defined(__APPLE__)
// Homebrew does not link libpq into a folder that dlopen searches.
static const char *const names[] = {
    "libpq.5.dylib", "/opt/homebrew/opt/libpq/lib/libpq.5.dylib", "/usr/local/opt/libpq/lib/libpq.5.dylib"};
#define REMEDY "install it with: brew install libpq"
#else
static const char *const names[] = {"libpq.so.5"};
#define REMEDY "install the package libpq5 (Debian, Ubuntu), libpq (Fedora, RHEL) or postgresql-libs (Arch, SUSE)"
#endif

/// Writes the address of a function to `field`. POSIX lets a function's address stand in a `void *`.
static int find(void *library, const char *name, const char *function, void **field, char *error, size_t size) {
  *field = dlsym(library, function);
  if (*field != NULL) return 0;
  snprintf(error, size, "libpq (%s) is too old, it has no %s: version 14 or newer is needed", name, function);
  return -1;
}

#define FIND(function) \
  if (find(library, name, #function, (void **)&functions->function, error, size) != 0) return -1

static int find_all(void *library, const char *name, baton_pq *functions, char *error, size_t size) {
  FIND(PQlibVersion);
  FIND(PQisthreadsafe);
  FIND(PQconninfoParse);
  FIND(PQconninfoFree);
  FIND(PQfreemem);
  FIND(PQconnectStartParams);
  FIND(PQconnectPoll);
  FIND(PQconnectionNeedsPassword);
  FIND(PQfinish);
  FIND(PQstatus);
  FIND(PQsocket);
  FIND(PQerrorMessage);
  FIND(PQsetErrorVerbosity);
  FIND(PQsetNoticeReceiver);
  FIND(PQsetnonblocking);
  FIND(PQtransactionStatus);
  FIND(PQparameterStatus);
  FIND(PQserverVersion);
  FIND(PQbackendPID);
  FIND(PQhost);
  FIND(PQport);
  FIND(PQsslInUse);
  FIND(PQenterPipelineMode);
  FIND(PQexitPipelineMode);
  FIND(PQpipelineSync);
  FIND(PQsendQuery);
  FIND(PQsendPrepare);
  FIND(PQsendQueryParams);
  FIND(PQsendQueryPrepared);
  FIND(PQflush);
  FIND(PQconsumeInput);
  FIND(PQisBusy);
  FIND(PQgetResult);
  FIND(PQnotifies);
  FIND(PQresultStatus);
  FIND(PQresultErrorField);
  FIND(PQresultErrorMessage);
  FIND(PQntuples);
  FIND(PQnfields);
  FIND(PQfname);
  FIND(PQftype);
  FIND(PQgetvalue);
  FIND(PQgetlength);
  FIND(PQgetisnull);
  FIND(PQcmdTuples);
  FIND(PQclear);
  return 0;
}

int baton_pq_open(const char *name, baton_pq *functions, char *error, size_t size) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    const char *reason = dlerror();
    snprintf(error, size, "libpq, the client library of PostgreSQL, cannot be loaded (%s): " REMEDY,
             reason == NULL ? name : reason);
    return -1;
  }
  if (find_all(library, name, functions, error, size) != 0) return -1;
  if (functions->PQisthreadsafe() == 0) {
    snprintf(error, size, "libpq (%s) was built without threads: " REMEDY, name);
    return -1;
  }
  return 0;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static baton_pq loaded;
static int is_loaded;
static char problem[1024];

/// Keeps the text of the first name, which is the one to repair.
static void load(void) {
  char other[sizeof problem];
  for (size_t index = 0; index < sizeof names / sizeof names[0] && !is_loaded; index++) {
    char *text = index == 0 ? problem : other;
    is_loaded = baton_pq_open(names[index], &loaded, text, sizeof problem) == 0;
  }
}

const baton_pq *baton_pq_load(const char **error) {
  pthread_once(&once, load);
  *error = is_loaded ? NULL : problem;
  return is_loaded ? &loaded : NULL;
}
